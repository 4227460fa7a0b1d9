"""search_memory, mode search: what must be found, how it is ranked, what an answer holds."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, write
from hypothesis import given, settings
from hypothesis import strategies as st

from recall.app import Recall, open_recall
from recall.core.cursor import CursorSigner
from recall.core.question import Question
from recall.core.ranking import Candidate
from recall.core.sink import json_text
from recall.engine.session import Session
from recall.errors import RequestError


def found(recall: Recall, *keywords: str, **more: Any) -> list[str]:
    """Return the paths of what a search in a conversation of its own finds, best first."""
    answer = recall.session().search_memory(mode="search", keywords=list(keywords), **more)
    return [result["ref"].partition(":")[2] for result in answer["results"]]


IDENTIFIERS = {
    "crew.md": "Run agent-crew with `crew:run`, see task_tools and getUserName().",
    "langs.md": "We write C++ and C# here, put secrets into .env, and use Go.",
    "errors.md": "It fails with ERR_CONN_RESET or E1234 since version 3.14.2-rc1.",
    "paths.md": "The handler is in src/app/handlers/main.py, a class HTTPServerPool.",
    "ci.md": "CI runs on every PR.",
    "other.md": "Nothing of that: a rapid river, google, cigars, spring.",
}


@pytest.mark.parametrize(
    ("keyword", "path"),
    [
        ("agent-crew", "crew.md"),
        ("crew:run", "crew.md"),
        ("task_tools", "crew.md"),
        ("tools", "crew.md"),
        ("getUserName", "crew.md"),
        ("user name", "crew.md"),
        ("C++", "langs.md"),
        ("C#", "langs.md"),
        (".env", "langs.md"),
        ("Go", "langs.md"),
        ("ERR_CONN_RESET", "errors.md"),
        ("conn", "errors.md"),
        ("E1234", "errors.md"),
        ("3.14.2", "errors.md"),
        ("src/app/handlers/main.py", "paths.md"),
        ("handlers/main.py", "paths.md"),
        ("HTTPServerPool", "paths.md"),
        ("server pool", "paths.md"),
        ("CI", "ci.md"),
        ("PR", "ci.md"),
    ],
)
def test_identifiers_are_found_whole_and_in_parts(
    root: Path, opened: Opener, keyword: str, path: str
) -> None:
    """Identifiers, two-letter words, language names, error codes, versions and paths are found."""
    for name, body in IDENTIFIERS.items():
        write(root, name, body, name=name.removesuffix(".md"))
    assert found(opened(), keyword)[:1] == [path]


@pytest.mark.parametrize("keyword", ["3f2a9bc41d7e", "E4711", "K8s", "S3", "fooBarBaz", "iPhone"])
def test_an_identifier_that_is_not_there_finds_nothing(
    root: Path, opened: Opener, keyword: str
) -> None:
    """Pieces of an identifier are words of other things, and no reason to answer."""
    for i in range(3):
        write(root, f"{i}.md", "It's 3 of 7, a b c d e f; foo or bar, 8 s.", name=f"N{i}")
    assert found(opened(), keyword) == []


def test_a_typo_in_camel_case_is_mended(root: Path, opened: Opener) -> None:
    """One typo in an identifier is one typo in a word."""
    write(root, "a.md", "TiFlash stores columns.", name="A")
    write(root, "b.md", "TiProxy and a flash.", name="B")
    assert found(opened(), "TiFlsh") == ["a.md"]


def test_long_words_are_words(root: Path, opened: Opener) -> None:
    """A digest of 64 or 128 digits is found whole, a word of two hundred letters as well."""
    digest, long = "5f" * 32, "donaudampfschiff" * 12
    write(root, "a.md", f"sha256:{digest} and {digest * 2} and {long}", name="A")
    recall = opened()
    for word in (digest, digest * 2, long):
        assert found(recall, word) == ["a.md"]


def test_a_partial_match_says_so(root: Path, opened: Opener) -> None:
    """A keyword of which only some words are there is marked as partial."""
    write(root, "a.md", "Nothing else.", name="Java upgrade")
    answer = opened().search_memory(mode="search", keywords=["java zzzqqq", "upgrade"])
    assert answer["results"][0]["matches"] == [
        {"keyword": "java zzzqqq", "source": "title", "kind": "contains", "partial": True},
        {"keyword": "upgrade", "source": "title", "kind": "contains"},
    ]


def test_a_word_inside_another_is_no_match(root: Path, opened: Opener) -> None:
    """ "api" does not find "Rapid"; C does not find C++ before C."""
    write(root, "a.md", "Rapid growth.", name="Rapid")
    assert found(opened(), "api") == []


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("重跑gen-itgc后失败", "重跑gen-itgc后"),
        ("重跑gen-itgc后失败", "重跑"),
        ("重跑gen-itgc后失败", "itgc"),
        ("数据库连接池已满", "连接池"),
        ("予約メールの文面", "メール"),
        ("배포 절차를 확인", "절차"),
        ("ＡＰＩの説明", "API"),
        ("La déploiement à Zürich", "deploiement zurich"),
        ("cafe\u0301 noir", "café"),
        ("Running migrations", "run migration"),
        ("the libraries", "library"),
        ("Кот сидит", "кот"),
    ],
)
def test_scripts_accents_and_inflections(
    root: Path, opened: Opener, text: str, keyword: str
) -> None:
    """CJK of two characters and more, glued ASCII, folded accents, inflected forms are found."""
    write(root, "wanted.md", text, name="W")
    write(root, "other.md", "Something else entirely.", name="O")
    assert found(opened(), keyword) == ["wanted.md"]


@pytest.mark.parametrize(
    "field", ["name", "description", "keywords", "usage_scenarios", "category"]
)
def test_every_field_is_searched(root: Path, opened: Opener, field: str) -> None:
    """A word that stands in one metadata field only is found by it."""
    write(root, "a.md", "Body.", **({"name": "A"} | {field: "zanzibar"}))
    write(root, "b.md", "Body.", name="B")
    assert found(opened(), "zanzibar") == ["a.md"]


def test_one_keyword_of_three_in_a_title_is_enough(root: Path, opened: Opener) -> None:
    """Three keywords of which one stands in a title only still find it."""
    write(root, "a.md", "x", name="Staging deploys")
    assert found(opened(), "kubernetes", "staging", "helm") == ["a.md"]


def test_a_word_finds_a_longer_keyword(root: Path, opened: Opener) -> None:
    """ "pod" finds the keyword "kubernetes pod restart policy"."""
    write(root, "a.md", "x", name="A", keywords="[kubernetes pod restart policy, other]")
    assert found(opened(), "pod") == ["a.md"]


def test_text_past_20000_characters_is_found(root: Path, opened: Opener) -> None:
    """Search sees all of every body, and the window stands around the hit."""
    body = "filler words here\n" * 5_000 + "the zanzibar clause\n" + "more filler\n" * 100
    write(root, "a.md", body, name="A")
    answer = opened().search_memory(mode="search", keywords=["zanzibar clause"])
    (result,) = answer["results"]
    assert "the zanzibar clause" in result["content"]
    assert result["range"]["start"] <= body.index("zanzibar") < result["range"]["end"]
    assert body.index("zanzibar") - result["range"]["start"] <= 300 + 120


def test_one_typo_in_a_long_word_when_nothing_else_matches(root: Path, opened: Opener) -> None:
    """A misspelt word of five letters or more finds its neighbour, and the answer says so."""
    write(root, "a.md", "The kubernetes cluster.", name="A", description="B")
    answer = opened().search_memory(mode="search", keywords=["kubernetse"])
    (result,) = answer["results"]
    assert result["matches"] == [{"keyword": "kubernetse", "source": "body", "kind": "fuzzy"}]
    assert any("spelling" in warning for warning in answer["warnings"])
    assert found(opened(), "clu") == []


@pytest.mark.parametrize(
    "keyword",
    ["memory:safe", "(python", '"', "a AND", "x~2", "[1 TO 2]", "^", "field:*", "\\", "+-"],
)
def test_search_syntax_means_nothing(root: Path, opened: Opener, keyword: str) -> None:
    """Operators, quotes and brackets in a keyword are text: no error, no silence."""
    write(root, "a.md", "python memory safe and x2 a 1 field to 2", name="A")
    recall = opened()
    if any(c.isalnum() for c in keyword):
        assert found(recall, keyword) == ["a.md"]
    else:
        with pytest.raises(RequestError) as caught:
            found(recall, keyword)
        assert caught.value.field == "keywords"


def test_a_phrase_ranks_above_its_words(root: Path, opened: Opener) -> None:
    """The memory with the words side by side comes before those that only hold them."""
    for i in range(8):
        write(root, f"scattered{i}.md", f"The train {i} was late. We release it.", name=f"S{i}")
    write(root, "phrase.md", "Everything about the release train, weekly.", name="P")
    assert found(opened(), "release train")[0] == "phrase.md"


def test_partial_matches_rank_below_full_ones(root: Path, opened: Opener) -> None:
    """A memory with all words of a short phrase comes before one with a rare word of it."""
    write(root, "full.md", "postgres is here. " + "noise " * 200 + "vacuum is there.", name="F")
    write(root, "part.md", "vacuum vacuum vacuum", name="vacuum")
    for i in range(10):
        write(root, f"n{i}.md", "postgres", name=f"n{i}")
    assert found(opened(), "postgres vacuum")[0] == "full.md"


def test_an_equal_title_or_keyword_comes_first(root: Path, opened: Opener) -> None:
    """A keyword equal to the question wins over memories that mention it often."""
    write(root, "keyword.md", "x", name="A", keywords="[rollback, other]")
    write(root, "often.md", "rollback " * 50, name="rollback rollback story")
    answer = opened().search_memory(mode="search", keywords=["Rollback"])
    assert answer["results"][0]["ref"] == "project:keyword.md"
    assert answer["results"][0]["matches"] == [
        {"keyword": "Rollback", "source": "keyword", "kind": "exact"}
    ]


def test_results_answer_different_keywords(root: Path, opened: Opener) -> None:
    """Among equals, what answers a keyword that nothing picked so far answers comes next."""
    for i in range(6):
        write(root, f"deploy{i}.md", "deploy deploy deploy deploy", name=f"deploy {i}")
    write(root, "backup.md", "Somewhere in a long text there is a backup. " * 3, name="B")
    assert "backup.md" in found(opened(), "deploy", "backup", limit=2)


def test_ties_come_in_the_order_of_their_refs(root: Path, opened: Opener) -> None:
    """Equal memories are found in the same order, whatever order they were written and read in."""
    for i in (3, 1, 4, 2):
        write(root, f"{i}.md", f"needle number x{i}", name="Same", description="The same")
        opened(cache_dir=root.parent / "one").search_memory(mode="search", keywords=["needle"])
    expected = ["1.md", "2.md", "3.md", "4.md"]
    assert found(opened(cache_dir=root.parent / "one"), "needle") == expected
    assert found(opened(cache_dir=root.parent / "two"), "needle") == expected


def test_copies_do_not_crowd_out_others(root: Path, opened: Opener) -> None:
    """Of several memories with the same body one comes first, the copies after the others."""
    for i in range(6):
        write(root, f"copy{i}.md", "The certificate renewal steps.", name="Renewal")
    write(
        root, "other.md", "certificate renewal happened in March, with many other words", name="O"
    )
    assert "other.md" in found(opened(), "certificate renewal", limit=2)


WALKS = {
    "ann.md": "Ann was in Lisbon. Ann has a dog, and Ann likes long runs. Ann went home.",
    "ben.md": "Ben found a painted rainbow on the pavement on a walk. Ben has a cat. Ben went.",
    "both.md": "Ann and Ben met. They talked. Ann asked Ben about the cat, and Ben was proud.",
}


def test_what_is_told_of_somebody_else_is_no_answer(root: Path, opened: Opener) -> None:
    """The one asked about is not mistaken for another; the memory is named, should it be meant."""
    for name, body in WALKS.items():
        write(root, name, body, name=name.removesuffix(".md"))
    recall = opened()
    question = "What painted thing on the pavement did {} find on a walk?"
    assert found(recall, question.format("Ben"))[0] == "ben.md"
    answer = recall.session().search_memory(mode="search", keywords=[question.format("Ann")])
    assert answer["results"] == []
    assert answer["warnings"] == [
        "Nothing found about Ann: what holds these words tells of Ben. Fetch it if that is who was "
        "meant: project:ben.md."
    ]


def test_of_several_keywords_one_that_is_met_is_enough(root: Path, opened: Opener) -> None:
    """A keyword of few words, or one that names nobody, is met by what holds it."""
    for name, body in WALKS.items():
        write(root, name, body, name=name.removesuffix(".md"))
    recall = opened()
    question = "What painted thing on the pavement did Ann find on a walk?"
    assert "ben.md" in found(recall, question, "painted rainbow")
    assert "ben.md" in found(recall, question.replace("Ann", "somebody"))


def test_a_question_about_something_else_finds_nothing_in_chinese_too(
    root: Path, opened: Opener
) -> None:
    """Pairs of characters that many texts share are not enough: its words must be there."""
    write(root, "a.md", "我们每周五下午在会议室讨论部署计划，由小王负责记录结果。", name="周会")
    recall = opened()
    assert found(recall, "周五下午的部署计划由谁负责记录？") == ["a.md"]
    assert found(recall, "小王上次旅行时在海边拍下的照片后来由谁负责冲洗并寄回？") == []


def test_nothing_relevant_gives_nothing_and_says_where(root: Path, opened: Opener) -> None:
    """Without a match the results are empty, and the answer names what was searched."""
    write(root, "a.md", "The cat sat on the mat.", name="A")
    answer = opened().search_memory(mode="search", keywords=["quantum chromodynamics"])
    assert answer["results"] == []
    assert answer["sourceStatus"]["searchedScopes"] == ["project"]
    assert "project" in answer["warnings"][0]


def test_function_words_alone_match_only_together(root: Path, opened: Opener) -> None:
    """A question whose words every text has is not answered by any text."""
    write(root, "a.md", "The cat sat on the mat, and it was so.", name="A")
    write(root, "b.md", "To be or not to be.", name="B")
    recall = opened()
    assert found(recall, "to be or not to be") == ["b.md"]
    assert found(recall, "how would the aardvark") == []


def test_scopes_and_categories_narrow_the_search(tmp_path: Path, opened: Opener) -> None:
    """`scopes` and `categories` restrict what is searched, and the status says so."""
    for scope in ("project", "user"):
        write(tmp_path / scope, "a/x.md", "needle", name=scope)
        write(tmp_path / scope, "b/x.md", "needle", name=scope + "2")
    recall = opened(roots=[(s, tmp_path / s) for s in ("project", "user")])
    answer = recall.search_memory(
        mode="search", keywords=["needle"], scopes=["user"], categories=["b"]
    )
    assert [result["ref"] for result in answer["results"]] == ["user:b/x.md"]
    assert answer["sourceStatus"]["searchedScopes"] == ["user"]


def test_a_category_can_be_named_as_the_tree_shows_it(root: Path, opened: Opener) -> None:
    """A search in a category takes its label, and says so where there is none of that name."""
    write(root, "a.md", "needle", name="A", category="ＡＰＩ notes")
    recall = opened()
    assert found(recall, "needle", categories=["API notes"]) == ["a.md"]
    answer = recall.search_memory(mode="search", keywords=["needle"], categories=["API nots"])
    assert answer["results"] == []
    assert "API notes" in answer["warnings"][0]


def test_the_same_search_twice_in_a_turn_is_a_duplicate(root: Path, opened: Opener) -> None:
    """A repeated search is answered with a reminder, until the turn ends."""
    write(root, "a.md", "needle", name="A")
    session = opened().session()
    session.search_memory(mode="search", keywords=["needle"])
    again = session.search_memory(mode="search", keywords=["needle"])
    assert again["duplicateRequest"] is True
    session.next_turn()
    assert "duplicateRequest" not in session.search_memory(mode="search", keywords=["needle"])


def test_a_repeated_search_after_an_addition_is_answered(root: Path, opened: Opener) -> None:
    """A memory added in the same turn makes the same search a new one."""
    write(root, "a.md", "needle", name="A")
    session = opened().session()
    session.search_memory(mode="search", keywords=["needle"])
    write(root, "b.md", "needle too", name="B")
    again = session.search_memory(mode="search", keywords=["needle"])
    assert "project:b.md" in [result["ref"] for result in again["results"]]


def test_windows_of_a_search_are_resident(root: Path, opened: Opener) -> None:
    """A window that a search sent is not sent by the next search, which leads on instead."""
    body = "start\n" + "filler words\n" * 300 + "needle and thread\n" + "filler words\n" * 300
    write(root, "a.md", body, name="A")
    session = opened().session()
    first = session.search_memory(mode="search", keywords=["needle"])["results"][0]
    second = session.search_memory(mode="search", keywords=["thread"])["results"][0]
    assert "needle" in first["content"]
    assert second["alreadyAvailable"] is True
    assert "content" not in second
    onward = session.search_memory(
        mode="fetch", refs=["project:a.md"], cursor=second["nextCursor"]
    )["results"][0]
    assert onward["range"]["start"] == first["range"]["end"]


def test_previous_cursor_never_sends_again_what_was_sent(root: Path, opened: Opener) -> None:
    """The window before a search's window ends where that one begins."""
    body = "filler words\n" * 300 + "needle\n" + "filler words\n" * 300
    write(root, "a.md", body, name="A")
    session = opened().session()
    hit = session.search_memory(mode="search", keywords=["needle"])["results"][0]
    before = session.search_memory(
        mode="fetch", refs=["project:a.md"], cursor=hit["previousCursor"]
    )["results"][0]
    assert before["range"]["end"] == hit["range"]["start"]
    after = session.search_memory(mode="fetch", refs=["project:a.md"], cursor=hit["nextCursor"])[
        "results"
    ][0]
    assert after["range"]["start"] == hit["range"]["end"]
    pieces = sorted([before, hit, after], key=lambda piece: piece["range"]["start"])
    joined = "".join(piece["content"] for piece in pieces)
    assert joined == body[before["range"]["start"] : after["range"]["end"]]


def test_a_fetch_after_a_search_fills_the_gaps(root: Path, opened: Opener) -> None:
    """Fetching around a resident window sends each character once."""
    body = "".join(f"{i:05} filler\n" for i in range(1_000))
    body = body.replace("00500 filler", "00500 needle")
    write(root, "a.md", body, name="A")
    session = opened().session()
    hit = session.search_memory(mode="search", keywords=["needle"])["results"][0]
    got = {(hit["range"]["start"], hit["range"]["end"]): hit["content"]}
    for _ in range(10):
        result = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
        if "content" not in result:
            break
        got[(result["range"]["start"], result["range"]["end"])] = result["content"]
    assert "".join(text for _, text in sorted(got.items())) == body


class Backwards:
    """A second ranker that turns the order round."""

    def rerank(self, questions: Sequence[Question], found: Sequence[Candidate]) -> list[Candidate]:
        assert [question.text for question in questions] == ["needle"]
        return sorted(found, key=lambda candidate: candidate.score)


def test_a_second_ranker_decides_the_order(root: Path, opened: Opener) -> None:
    """Who brings a ranker of their own gets the candidates, and its order is the answer's."""
    write(root, "often.md", "needle " * 20, name="A")
    write(root, "once.md", "a needle in a long text of other words " * 3, name="B")
    recall = opened()
    assert found(recall, "needle") == ["often.md", "once.md"]
    signer = CursorSigner([b"k" * 32])
    session = Session(recall.store, recall.settings, signer, Backwards())
    answer = session.search_memory(mode="search", keywords=["needle"])
    assert [result["ref"] for result in answer["results"]] == [
        "project:once.md",
        "project:often.md",
    ]


KEYWORDS = st.text(
    st.one_of(st.sampled_from(string.printable), st.characters(exclude_categories=[])),
    min_size=1,
    max_size=200,
)


@given(
    keywords=st.lists(KEYWORDS, min_size=1, max_size=5),
    title=st.text(max_size=300),
    body=st.text(max_size=400),
)
@settings(max_examples=60, deadline=None)
def test_any_keywords_are_answered_within_bounds(
    tmp_path_factory: pytest.TempPathFactory, keywords: list[str], title: str, body: str
) -> None:
    """Whatever is asked of whatever text, an answer is bounded and holds no raw control."""
    folder = tmp_path_factory.mktemp("any")
    text = (body + " needle ") * 40 + " ".join(keywords)
    for i in range(3):
        path = folder / "m" / f"{i}.md"
        path.parent.mkdir(exist_ok=True)
        head = f"---\nname: {title!r}\n---\n" if i else ""
        path.write_bytes((head + text).encode("utf-8", "replace"))
    with open_recall(
        roots=[folder / "m"],
        cwd=folder,
        cache_dir=folder / "c",
        state_dir=folder / "s",
        env={},
        home=folder,
    ) as recall:
        try:
            answer = recall.search_memory(mode="search", keywords=keywords)
        except RequestError as error:
            assert error.field == "keywords"
            return
    assert len(json_text(answer)) <= 25_000
    assert sum(len(result.get("content", "")) for result in answer["results"]) <= 6_000
    assert all(len(result.get("content", "")) <= 1_200 for result in answer["results"])


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"keywords": []}, "keywords"),
        ({"keywords": ["a"] * 6}, "keywords"),
        ({"keywords": ["a" * 201]}, "keywords"),
        ({"keywords": ["a"], "limit": 0}, "limit"),
        ({"keywords": ["a"], "limit": 6}, "limit"),
        ({"keywords": ["a"], "limit": True}, "limit"),
        ({"keywords": ["a"], "scopes": ["projct"]}, "scopes"),
        ({"keywords": ["a"], "refs": ["project:a.md"]}, "refs"),
    ],
)
def test_wrong_parameters_name_the_field(
    root: Path, opened: Opener, parameters: dict[str, Any], field: str
) -> None:
    """Parameters that can't be served are refused with the field at fault."""
    with pytest.raises(RequestError) as caught:
        opened().search_memory(mode="search", **parameters)
    assert caught.value.field == field
