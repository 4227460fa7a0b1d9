"""The text index: what is written can be found, replaced and removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recall.core.question import ask
from recall.disk.textindex import Document, TextIndex


def document(key: int, body: str, **more: object) -> Document:
    given = {
        "scope": "project",
        "category": "c",
        "names": (f"title{key}",),
        "keywords": (),
        "about": "",
        "exact": (f"title{key}",),
        "dated": "",
    }
    return Document(key=key, body=body, **(given | more))  # type: ignore[arg-type]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[TextIndex]:
    yield TextIndex(str(tmp_path / "index"))


def put(index: TextIndex, *documents: Document, gone: tuple[int, ...] = ()) -> None:
    writer = index.writer(len(documents))
    writer.write(documents, gone)
    writer.commit()
    writer.close()


def keys(index: TextIndex, *keywords: str, **more: object) -> list[int]:
    return [hit.key for hit in index.find([ask(k) for k in keywords], **more)]  # type: ignore[arg-type]


def test_what_is_written_is_found(index: TextIndex) -> None:
    """A committed document is found by its words, another one is not."""
    put(index, document(1, "alpha beta"), document(2, "gamma"))
    assert keys(index, "beta") == [1]
    assert index.documents == 2


def test_writing_a_key_again_replaces_it(index: TextIndex) -> None:
    """The same key twice is one document: repeating after a crash is harmless."""
    put(index, document(1, "alpha"))
    put(index, document(1, "alpha"))
    assert index.documents == 1
    put(index, document(1, "beta"))
    assert keys(index, "alpha") == []
    assert keys(index, "beta") == [1]


def test_gone_keys_are_not_found(index: TextIndex) -> None:
    """A removed key leaves the index with the next commit."""
    put(index, document(1, "alpha"), document(2, "alpha"))
    put(index, gone=(1,))
    assert keys(index, "alpha") == [2]


def test_another_reader_sees_a_commit_after_reloading(index: TextIndex, tmp_path: Path) -> None:
    """Readers keep their state until they reload."""
    reader = TextIndex(str(tmp_path / "index"))
    put(index, document(1, "alpha"))
    assert keys(reader, "alpha") == []
    reader.reload()
    assert keys(reader, "alpha") == [1]


def test_scope_and_category_are_required_where_given(index: TextIndex) -> None:
    """Filters restrict without changing the order of what is left."""
    put(
        index,
        document(1, "alpha alpha", scope="user"),
        document(2, "alpha", category="d"),
        document(3, "alpha beta beta beta"),
    )
    assert keys(index, "alpha", scopes=["user"]) == [1]
    assert keys(index, "alpha", categories=["d"]) == [2]
    assert keys(index, "alpha", scopes=["project"], categories=["c", "d"]) == [2, 3]


def test_a_limit_keeps_the_best(index: TextIndex) -> None:
    """Only the best documents are returned, best first, with falling scores."""
    put(index, *(document(i, "alpha " * i + "noise " * 20) for i in range(1, 30)))
    hits = index.find([ask("alpha")], limit=5)
    assert len(hits) == 5
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_probes_tell_any_all_phrase_and_near(index: TextIndex) -> None:
    """A probe says which of the given documents hold a question, and how."""
    put(
        index,
        document(1, "release train"),
        document(2, "the train after the release"),
        document(3, "a train"),
        document(4, "releese"),
    )
    question = ask("release train")
    every = [1, 2, 3, 4]
    assert set(index.probe(question, every, "any")) == {1, 2, 3}
    assert set(index.probe(question, every, "all")) == {1, 2}
    assert set(index.probe(question, every, "phrase")) == {1}
    assert set(index.probe(question, every, "fuzzy")) >= {4}
    assert index.probe(question, [3], "all") == {}
    assert index.probe(question, [], "any") == {}


def test_a_keyword_that_the_body_holds_is_no_name(index: TextIndex) -> None:
    """What says more than the body counts as a name does; what repeats it counts as more text."""
    body = "The barcode scanner reads the vault. "
    put(
        index,
        document(1, body, keywords=("barcode", "printer")),
        document(2, body, about="barcode printer"),
    )
    again = index.probe(ask("barcode"), [1, 2], "any")
    assert again[1] == again[2]
    new = index.probe(ask("printer"), [1, 2], "any")
    assert new[1] > new[2]


def test_a_keyword_that_is_asked_for_comes_first_wherever_it_stands(index: TextIndex) -> None:
    """The whole keyword as the question finds its memory before those that only talk of it."""
    talk = "release train, release train, release train"
    put(index, document(1, talk), document(2, "x " * 50 + talk, exact=("release train",)))
    assert keys(index, "release train") == [2, 1]


def test_dates_are_found_by_head_and_text(index: TextIndex) -> None:
    """A question about a day finds what is dated by its head or its text."""
    put(
        index,
        document(1, "nothing", dated="2025-01-25 08:00"),
        document(2, "It was on January 25, 2025."),
        document(3, "It was in summer."),
    )
    assert sorted(keys(index, "what happened on 25 January")) == [1, 2]


def test_rarer_terms_tell_more(index: TextIndex) -> None:
    """Rarity falls with the number of documents that hold a term."""
    put(index, *(document(i, "common" + (" rare" if i == 1 else "")) for i in range(1, 20)))
    rarity = index.rarity(ask("common rare absent"))
    assert rarity["common"] < rarity["rare"] < rarity["absent"]


def test_a_huge_word_is_no_error(index: TextIndex) -> None:
    """A run of a million letters is not indexed, and harms nothing around it."""
    put(index, document(1, "before " + "x" * 1_000_000 + " after"))
    assert keys(index, "before") == keys(index, "after") == [1]
