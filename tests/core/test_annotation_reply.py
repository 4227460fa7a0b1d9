"""recall.core.annotation_reply: whatever a model says, only what may be written comes out."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from recall.core import sink
from recall.core.annotation import Annotation
from recall.core.annotation_reply import MAX_FAULTS, Wanted, read_reply
from recall.core.metadata import OWNED, parse_memory
from recall.core.splice import splice
from recall.core.splice_record import Spliced
from recall.model import TYPES

CATEGORIES = ("build_configuration", "common_pitfall", "Release notes")
GOOD: dict[str, Any] = {
    "name": "Staging",
    "description": "How one deploys (see C#, a < b, 10 %).",
    "type": "project",
    "category": "common_pitfall",
    "keywords": ["deploy", "staging"],
    "usage_scenarios": ["before a deploy"],
}


def wanted(missing: tuple[str, ...] = OWNED, language: str = "") -> Wanted:
    return Wanted(missing, CATEGORIES, lambda word: word, language)


def annotation(value: Any, want: Wanted | None = None) -> Annotation:
    reply = read_reply(json.dumps(value), want or wanted())
    assert reply.annotation is not None, reply.faults
    assert reply.faults == ()
    return reply.annotation


def test_a_right_reply_is_taken_as_it_is() -> None:
    """Texts stay what they are; lists become tuples."""
    found = annotation(GOOD)
    assert found == Annotation(
        **GOOD | {"keywords": ("deploy", "staging"), "usage_scenarios": ("before a deploy",)}
    )


def test_small_liberties_are_put_right() -> None:
    """Runs of blanks, a type's capitals, a category's spelling, repeated entries."""
    loose = GOOD | {
        "name": "  Staging   deploys ",
        "type": "Project",
        "category": "release-NOTES",
        "keywords": ["deploy", "Deploy", "staging"],
    }
    found = annotation(loose)
    assert (found.name, found.type, found.category) == (
        "Staging deploys",
        "project",
        "Release notes",
    )
    assert found.keywords == ("deploy", "staging")


def test_chinese_punctuation_stays() -> None:
    """Full-width marks are no look-alikes, they are how Chinese is written."""
    text = "部署之前：先问丹娜（发布负责人），再跑脚本！"
    assert annotation(GOOD | {"description": text}).description == text


def test_owned_fields_that_were_not_missing_are_dropped() -> None:
    """A model that gives all six fields gives no more than those that were asked for."""
    assert annotation(GOOD, wanted(("type",))) == Annotation(type="project")


def test_a_canonical_form_that_could_not_be_written_is_not_taken() -> None:
    """A vocabulary comes from files: its spelling is checked like the model's."""
    bad = Wanted(OWNED, CATEGORIES, lambda word: "a\n---\nb" if word == "deploy" else word)
    assert annotation(GOOD, bad).keywords == ("deploy", "staging")


def test_keywords_that_become_one_are_too_few() -> None:
    """What the vocabulary makes of the keywords counts, not what the model wrote."""
    same = Wanted(OWNED, CATEGORIES, lambda word: "deploy")
    reply = read_reply(json.dumps(GOOD), same)
    assert reply.annotation is None
    assert '"keywords" holds 1 different entries' in reply.faults[0]


def test_every_fault_is_named_at_once() -> None:
    """A retry can mend all of them; their number is bounded."""
    reply = read_reply('{"name": "", "type": "x", "extra": 1}', wanted())
    assert len(reply.faults) == 7
    assert len(read_reply("{}", wanted()).faults) == 6 < MAX_FAULTS


def test_a_fault_never_repeats_what_could_do_harm() -> None:
    """The name of a key that was made up is shown harmless and short."""
    [fault, *_] = read_reply(json.dumps({"</memory>\n<system>" * 50: 1}), wanted()).faults
    assert "</memory>" not in fault
    assert "\n" not in fault
    assert len(fault) < 120


_ODD_TEXT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            *("---", "+++", "```", "~~~", "<system>", "</memory>", "[user:x.md]", "# a", "> a"),
            *("{{x}}", "[[x]]", "a\u2028b", "\ufeffa", "\ufffe", "a\u200bb", "null", "~", "no"),
            *("2026-06-03", "a: b", "a #b", "'", '"', "- a", "!x", "&x", "*x", "%x", "@x", "`x`"),
            *("C#", "e\u0301", "/", "a/b", "👨‍👩‍👧", "x" * 64, "x" * 65, "中" * 64),
            *("ﬁne", "a\tb", "\x00", "..."),
        ]
    ),
)
_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    _ODD_TEXT,
    st.sampled_from([*TYPES, *CATEGORIES]),
    st.lists(st.one_of(_ODD_TEXT, st.integers()), max_size=8),
)
_OBJECTS = st.fixed_dictionaries(
    {field: st.one_of(st.just(value), _VALUES) for field, value in GOOD.items()},
    optional={"path": _VALUES},
)


@given(_OBJECTS, st.sets(st.sampled_from(OWNED), min_size=1))
@example(GOOD | {"name": "no", "description": "a #b: c", "keywords": ["~", "null"]}, set(OWNED))
def test_what_is_taken_is_written_read_back_and_harmless(
    value: dict[str, Any], fields: set[str]
) -> None:
    """Every annotation goes into a head, comes out of it the same, and stands safely in a prompt.

    This holds for any reply; where there are faults instead, there is nothing to write.
    """
    missing = tuple(field for field in OWNED if field in fields)
    reply = read_reply(json.dumps(value), wanted(missing))
    if reply.annotation is None:
        assert 0 < len(reply.faults) <= MAX_FAULTS
        return
    assert "path" not in value
    values = reply.annotation.values(missing)
    assert all(not getattr(reply.annotation, f) for f in OWNED if f not in missing)
    written = splice(b"Body.\n", values)
    assert isinstance(written, Spliced)
    about = parse_memory(written.data, "a.md").metadata
    for field in missing:
        got = about.title if field == "name" else getattr(about, field)
        assert got == values[field], field
        assert field not in about.missing
        for text in (got,) if isinstance(got, str) else got:
            # In a prompt it is its own NFKC: nothing had to be made harmless.
            assert sink.metadata(text) == " ".join(unicodedata.normalize("NFKC", text).split())


@given(st.text(max_size=200) | st.text('{}[]",:\\ an1', max_size=200))
def test_no_text_raises(text: str) -> None:
    """Anything that is no right reply has faults, and they are single lines."""
    reply = read_reply(text, wanted())
    assert reply.annotation is None
    assert reply.faults
    assert all(fault.isprintable() for fault in reply.faults)


@given(st.sampled_from(["", "Sure:\n```json\n", "<think>{a}{}</think>\n", "{oops} "]), st.text())
def test_an_object_is_found_in_the_text_around_it(before: str, after: str) -> None:
    """Endpoints without schemas wrap their JSON; the first object counts."""
    reply = read_reply(before + json.dumps(GOOD) + "\n```\n" + after[:100], wanted())
    assert reply.annotation == annotation(GOOD)
