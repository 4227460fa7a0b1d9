"""Which files a migration takes, in which portions, and what it writes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core import migration as m
from recall.core.annotation import Annotation
from recall.core.metadata import parse_memory
from recall.core.snapshot import Snapshot
from recall.core.splice import Refused
from recall.core.tree import Tree
from recall.model import Memory

FULL = Annotation(
    "A title", "What it says", "project", "tech_stack", ("one", "two", "three"), ("when asked",)
)


def memory(path: str, scope: str = "project", total: int = 100, structured: int = 0) -> Memory:
    blank = Memory(*(0 if kind in ("int",) else "" for kind in Memory.__annotations__.values()))
    return blank._replace(
        path=path, scope=scope, ref=f"{scope}:{path}", total=total, structured=structured
    )


def test_candidates_are_the_legacy_files_in_path_order_scope_by_scope() -> None:
    """Whatever order the snapshot has; a structured one is none, another scope's is none."""
    all_of_them = [
        memory("b.md", "user"),
        memory("z.md"),
        memory("a.md", "user"),
        memory("c.md", structured=1),
        memory("a/b.md"),
    ]
    snapshot = Snapshot(1, ("/m",), {one.ref: one for one in all_of_them}, Tree.__new__(Tree))
    refs = [one.ref for one in m.candidates(snapshot)]
    assert refs == ["project:a/b.md", "project:z.md", "user:a.md", "user:b.md"]
    assert [one.ref for one in m.candidates(snapshot, ["user"])] == refs[2:]


@given(st.lists(st.integers(0, 60_000), max_size=60))
def test_batches_hold_ten_files_and_forty_thousand_characters_at_most(sizes: list[int]) -> None:
    """A longer file is a batch of its own; all files come, in order."""
    memories = [memory(f"{n}.md", total=size) for n, size in enumerate(sizes)]
    batches = list(m.batches(memories))
    assert [one for batch in batches for one in batch] == memories
    for batch in batches:
        assert 1 <= len(batch) <= m.MAX_FILES
        assert sum(one.total for one in batch) <= m.MAX_CHARS or len(batch) == 1
    for one, other in itertools.pairwise(batches):
        assert len(one) == m.MAX_FILES or sum(x.total for x in [*one, other[0]]) > m.MAX_CHARS


def test_only_what_is_missing_is_written() -> None:
    """A person's own values stay as they stand, generous ones too."""
    keywords = ", ".join(["k" * 70, *(f"word{n}" for n in range(7))])
    raw = f"---\nname: Mine # really\nkeywords: [{keywords}]\ntype: user\n---\nBody.\n".encode()
    done = m.change_of(raw, parse_memory(raw, "a.md"), FULL)
    assert not isinstance(done, Refused)
    assert done.added == ("description", "category", "usage_scenarios")
    assert done.replaced == ()
    assert f"name: Mine # really\nkeywords: [{keywords}]\ntype: user\n".encode() in done.data
    assert parse_memory(done.data, "a.md").metadata.structured


def test_a_single_keyword_of_the_persons_stays_and_stands_first() -> None:
    """One is too few to be structured; the annotator's are added to it, up to six in all."""
    raw = b"---\nkeywords: [Mine, ]\n---\nBody.\n"
    generous = FULL._replace(keywords=("mine", *(f"more{n}" for n in range(8))))
    done = m.change_of(raw, parse_memory(raw, "a.md"), generous)
    assert not isinstance(done, Refused)
    found = parse_memory(done.data, "a.md").metadata.keywords
    assert found == ("Mine", "more0", "more1", "more2", "more3", "more4")


def test_what_a_person_wrote_stays_and_the_file_is_structured_all_the_same() -> None:
    """A site's own type, one keyword in a text: both stand there afterwards as they did."""
    raw = b"---\ntype: post\nkeywords: Java\n---\nBody.\n"
    done = m.change_of(raw, parse_memory(raw, "a.md"), FULL)
    assert not isinstance(done, Refused)
    assert done.data.startswith(b"---\ntype: post\nkeywords: Java, one, two, three\n")
    now = parse_memory(done.data, "a.md").metadata
    assert (now.structured, now.type) == (True, "project")
    assert done.replaced == ()


def test_a_keyword_that_a_text_between_commas_can_not_hold_is_left_out() -> None:
    """The others are enough."""
    raw = b"---\nkeywords: Java\n---\nBody.\n"
    given = FULL._replace(keywords=("a, b", "a: b", "#c", "good"))
    done = m.change_of(raw, parse_memory(raw, "a.md"), given)
    assert not isinstance(done, Refused)
    assert parse_memory(done.data, "a.md").metadata.keywords == ("Java", "good")


@pytest.mark.parametrize("raw", [b"", b"\n \n", b"---\nauthor: me\n---\n\n"])
def test_a_file_that_says_nothing_is_known_before_an_annotator_is_asked(raw: bytes) -> None:
    """There is nothing to describe: its name is not what it says."""
    refused = m.spliceable(raw, parse_memory(raw, "empty.md"))
    assert refused is not None
    assert refused.kind == "empty"


def test_half_of_the_metadata_is_not_written() -> None:
    """A file is either as it was, or complete."""
    raw = b"Body.\n"
    done = m.change_of(raw, parse_memory(raw, "a.md"), FULL._replace(category="", keywords=("x",)))
    assert isinstance(done, Refused)
    assert done.kind == "incomplete"
    assert "category, keywords" in done.reason


def test_a_head_that_yaml_refuses_is_known_before_an_annotator_is_asked() -> None:
    """So that a hopeless file costs no call."""
    raw = b"---\na: [\n---\nBody.\n"
    refused = m.spliceable(raw, parse_memory(raw, "a.md"))
    assert refused is not None
    assert refused.kind == "yaml-syntax"
    assert m.spliceable(b"Body.\n", parse_memory(b"Body.\n", "a.md")) is None


def test_the_next_try_comes_later_each_time_and_at_last_never() -> None:
    """What may pass is tried again; what may not, or five times did not, is hopeless."""
    attempt = m.NEVER_TRIED
    waits = []
    for _ in m.RETRY_S:
        attempt = attempt.failed_again(1_000.0, "busy", retry=True)
        assert not attempt.hopeless
        waits.append(attempt.retry_at - 1_000.0)
    assert waits == list(m.RETRY_S) == sorted(waits)
    assert attempt.failed_again(1_000.0, "busy", retry=True).hopeless
    assert m.NEVER_TRIED.failed_again(1_000.0, "no text", retry=False).hopeless
    assert attempt.failed_again(1_000.0, "busy", retry=True).retry_at == 0, "there is no next try"


@pytest.mark.parametrize(("tries", "said"), [(0, "tried once"), (1, "tried 2 times")])
def test_it_is_told_how_often_it_was_tried(tries: int, said: str) -> None:
    once = m.NEVER_TRIED._replace(tries=tries).failed_again(1_000.0, "no text", retry=False)
    waits = once.waits(2_000.0, background=False)
    assert waits is not None
    assert waits[0] == "hopeless"
    assert said in waits[1]
