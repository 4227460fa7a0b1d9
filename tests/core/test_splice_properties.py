"""Properties of a splice over generated files: heads as people write them, and plain noise."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from recall.core.frontmatter import split
from recall.core.metadata import parse_memory
from recall.core.salvage import canonical
from recall.core.splice import KEYS, Refused, Spliced, splice, unsplice
from recall.core.splice_marks import read_marks
from recall.core.yamlevents import PureParser

HANG_S = 20
"""No file may take so long; the worst here takes a second or two."""

LISTS = ("keywords", "usage_scenarios", "tags")

# --- files as people write them ------------------------------------------------------------------

VALUES = [
    *(
        "plain",
        "'sin''gle'",
        '"dou\\u00e9ble"',
        "7",
        "2026-06-03",
        "yes",
        "~",
        "",
        "  spaced",
        "é😀",
    ),
    *("[x, 'y']", "[]", "{a: [b], c: d}", "{}", "[x,\n  y]", "[x, # within\n  y]"),
    *("|\n  literal\n   deeper", ">-\n  folded\n\n  on", "|+\n  kept\n\n", ">2\n    two"),
    *("\n  - a\n  - b", "\n- a\n- b", "\n    -  a\n    -  'b' # c", "\n  - - a\n    - b\n  - c: d"),
    *("\n  k: v\n  # within\n  l: [m]", "\n  - k: v\n    l: m\n  - {}", "!!str 5", "one\n  two"),
    *("plain # behind", "'quoted'  # behind", "# only", "PR #7 is # text", "[x] # behind"),
]
INVALID = {
    "name": ["", "[x]", "{a: b}", "~", "''", "\n  - x"],
    "type": ["wrong", "[user, project]", "", "|\n  wrong", "\n  k: v", "7 # c"],
    "category": ["", "{a: b}", "~ # c", "''"],
    "keywords": ["one", "[one]", "\n  - one", "\n- one # c", "", "# none", ">-\n  one", "{}"],
    "usage_scenarios": ["", "[]", "~", "\n  # none\n  []"],
    "description": ["", "\n  a: b", "[x, y]", "null # c"],
}
OTHER = ["title", "author", "tags", "date", "x-y", "'quoted key'", "draft", "metadata", "deep"]


class File(NamedTuple):
    raw: bytes
    others: tuple[bytes, ...]
    """The source of what is not ours: entries and comments, in order."""


@st.composite
def files(draw: st.DrawFn) -> File:
    """Return a file with a head that YAML reads: other keys, comments, and broken owned ones."""
    ours = draw(st.lists(st.sampled_from(sorted(INVALID)), unique=True, max_size=3))
    theirs = draw(st.lists(st.sampled_from(OTHER), unique=True, max_size=5))
    parts: list[tuple[str, bool]] = []
    for key in draw(st.permutations([*ours, *theirs])):
        mine = key in ours
        value = draw(st.sampled_from(INVALID[key] if mine else VALUES))
        gap = "" if value.startswith("\n") or not value else " "
        parts.append((f"{key}:{gap}{value}\n", mine))
    if draw(st.booleans()):
        parts.append(("anchor: &base {a: 1}\nalias: *base\n", False))
    for comment in draw(st.lists(st.sampled_from(["# note\n", "#\n", "\n", "  \n"]), max_size=3)):
        at = draw(st.integers(0, len(parts)))
        parts.insert(at, (comment, False))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    mixed = draw(st.booleans()) and newline != "\r"

    def ends(text: str) -> bytes:
        lines = text.split("\n")
        out = lines[0]
        for line in lines[1:]:
            out += (draw(st.sampled_from(["\n", "\r\n"])) if mixed else newline) + line
        return out.encode()

    sources = [(ends(text), mine) for text, mine in parts]
    top = draw(st.sampled_from(["", "\ufeff"])) + draw(
        st.sampled_from(["", "", "\n", "<!-- c -->\n"])
    )
    fence = draw(st.sampled_from(["---", "---", "---  ", "..."]))
    body = draw(st.sampled_from(["", "Body", "\n# T\n\ntext\n", "text\r\n  \r\n", "---\n\n---\n"]))
    if fence == "..." and body.startswith("---"):
        body = ""  # a `...` that `---` follows closes nothing
    raw = ends(f"{top}---\n") + b"".join(source for source, _ in sources)
    raw += ends(f"{fence}\n") + body.encode()
    return File(raw, tuple(source for source, mine in sources if not mine))


TEXTS = st.one_of(
    st.text(min_size=1, max_size=30),
    st.sampled_from(["a: b", "yes", "# x", "- y", 'it\'s "quoted"', "a #b", "2026-06-03", "ok"]),
    st.text("ab :#-?*&'\"\\,[]{}\n", min_size=1, max_size=8),
)


def wanted(keys: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    def value(key: str) -> st.SearchStrategy[Any]:
        if key in LISTS:
            return st.lists(TEXTS, min_size=1, max_size=3)
        if key == "type":
            return st.sampled_from(["user", "project", "reference"])
        return st.integers(0, 99).map(str) if key == "version" else TEXTS

    names = st.lists(keys, unique=True, min_size=1, max_size=6)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({key: value(key) for key in chosen}))


OWNED_VALUES = wanted(st.sampled_from(sorted(INVALID)))
REASONS = {"bad-value", "comment-in-value", "alias-in-value", "anchored-value"}
MANY = settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def in_order(parts: tuple[bytes, ...], data: bytes) -> bool:
    """Return whether the parts stand in the bytes one behind the other."""
    at = 0
    for part in parts:
        found = data.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def strict(head: str | None) -> dict[Any, Any] | None:
    try:
        loaded = yaml.safe_load(head or "")
    except (yaml.YAMLError, ValueError):
        return None
    return loaded if isinstance(loaded, dict) else {} if loaded is None else None


@given(files(), OWNED_VALUES)
@example(File(b"---\n\n# note\n---\n", (b"\n", b"# note\n")), {"type": "user"})
@example(File(b"---\r\n\r\n# note\r\n---\r\n", (b"\r\n", b"# note\r\n")), {"type": "user"})
@MANY
def test_only_the_named_keys_change(file: File, values: dict[str, Any]) -> None:
    """All that is not named stays byte for byte, in its order; the named keys read as wanted."""
    result = splice(file.raw, values)
    if isinstance(result, Refused):
        assert result.kind in REASONS, result
        event(result.kind)
        return
    before, after = split(file.raw), split(result.data)
    if before.head_kind:
        assert file.raw[: before.head_offset] == result.data[: after.head_offset]
        assert file.raw[before.fence_offset :] == result.data[after.fence_offset :]
    else:  # what only looks like a head is body: one is put before it
        ends = (b"---" + end + file.raw[before.bom :] for end in (b"\n", b"\r\n"))
        assert result.data[before.bom :].endswith(tuple(ends))
    assert before.version == after.version
    assert in_order(file.others, result.data)
    then, now = strict(before.head), strict(after.head)
    if then is not None:
        event("read by a strict loader too")
        assert now is not None
        rest = [{k: v for k, v in d.items() if canonical(k) not in values} for d in (then, now)]
        assert rest[0] == rest[1] and list(rest[0]) == list(rest[1])
    assert (
        not {"type", "name"} & values.keys() & set(parse_memory(result.data, "").metadata.missing)
    )
    assert set(result.added) | set(result.replaced) <= values.keys()


@given(files(), OWNED_VALUES)
@MANY
def test_the_way_back_restores_every_byte_and_twice_equals_once(
    file: File, values: dict[str, Any]
) -> None:
    """`unsplice` gives the original; a second splice of the same values changes nothing."""
    once = splice(file.raw, values)
    if isinstance(once, Spliced):
        assert unsplice(once.data, once.undo) == file.raw
        assert once.changed == (once.data != file.raw)
        twice = splice(once.data, values)
        assert isinstance(twice, Spliced) and twice.data == once.data and not twice.changed


@given(files())
@MANY
def test_both_parsers_mark_alike(file: File) -> None:
    """Without libyaml the same bytes would be replaced."""
    head = split(file.raw).head
    if head is not None and strict(head) is not None:
        assert read_marks(head, 2, PureParser) == read_marks(head, 2)


@given(st.binary(max_size=200), OWNED_VALUES)
def test_a_body_stays_whatever_its_bytes(body: bytes, values: dict[str, Any]) -> None:
    """Below a new head every byte of the file stands as it stood."""
    result = splice(body, values)
    if isinstance(result, Spliced) and result.added and split(body).head is None:
        bom = split(body).bom
        assert result.data.endswith(body[bom:]) and result.data.startswith(body[:bom])


# --- noise ---------------------------------------------------------------------------------------

NOISE = st.lists(
    st.sampled_from(
        [
            *(
                "name",
                "type",
                "keywords",
                "k",
                ": ",
                ":",
                "- ",
                "? ",
                "[",
                "]",
                "{",
                "}",
                ",",
                "&a ",
                "*a",
            ),
            *(
                "!!str ",
                "|",
                "|+",
                ">-",
                "#",
                " # c",
                "'",
                '"',
                "\\",
                "\n",
                "\n\n",
                "\r",
                "\r\n",
                "\t",
                "  ",
            ),
            *(
                "---",
                "\n---\n",
                "...",
                "%",
                "\u2028",
                "\x85",
                "\ufeff",
                "\x07",
                "é",
                "😀",
                "{{ t }}",
                "<<: *a",
            ),
            *(
                "\nname: x\n",
                "\nkeywords:\n  - ",
                "\ntype: wrong",
                "\nother: 1",
                "<<<<<<< a",
                "~",
                "12",
            ),
        ]
    ),
    max_size=25,
).map("".join)


@given(NOISE, st.booleans(), wanted(st.sampled_from(KEYS)))
@settings(max_examples=600, deadline=None)
def test_noise_raises_nothing(noise: str, fenced: bool, values: dict[str, Any]) -> None:
    """Whatever the bytes: a proven result, or a refusal with its reason."""
    raw = (f"---\n{noise}\n---\nBody\n" if fenced else noise).encode()
    result = splice(raw, values)
    if isinstance(result, Refused):
        assert result.kind and result.reason
        return
    assert unsplice(result.data, result.undo) == raw
    assert raw[split(raw).body_offset :] == result.data[split(result.data).body_offset :]


@pytest.mark.timeout(HANG_S)
@pytest.mark.parametrize(
    "head",
    [
        "".join(f"k{i}: v # c\n" for i in range(14_000)),
        "a:\n" + "".join(f"  - item {i}\n" for i in range(40_000)),
        "a: |\n" + "  line\n" * 100_000,
        "a: " + "[" * 10_000 + "]" * 10_000 + "\n",
        "a: &a [x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(5_000)),
        "".join(
            f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" if i else "a0: &a0 [x]\n" for i in range(64)
        ),
        "# comment\n" * 90_000 + "a: 1\n",
        "a: 1\n" + "\n" * 500_000,
        "keywords: [" + "x, " * 20_000 + "]\n",
    ],
    ids=lambda head: head[:12],
)
def test_large_heads_take_linear_time(head: str) -> None:
    """Nothing in a head of up to a megabyte makes a splice hang."""
    result = splice(f"---\n{head}---\nBody".encode(), {"name": "x", "keywords": ["a", "b"]})
    assert isinstance(result, Spliced | Refused)
