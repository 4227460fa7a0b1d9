"""Writing metadata as a splice: only the bytes of the named keys change.

`splice` plans the edits from the YAML parser's marks, applies them, and gives the result only
after `splice_proof` has read it again; where it can't be done safely it says why and gives
nothing. `unsplice` takes the result back to the original's bytes. Both are pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recall.core.metadata import OWNED, keywords_in
from recall.core.splice_edits import head_edits, new_head
from recall.core.splice_proof import prove
from recall.core.splice_reading import Reading, held, read_file, says_something
from recall.core.splice_record import (
    Cannot,
    Edit,
    Refused,
    Restored,
    Spliced,
    Undo,
    apply,
    unsplice,
)
from recall.core.splice_values import KEYS, NESTED, Value, settle

__all__ = ["KEYS", "Edit", "Refused", "Restored", "Spliced", "Undo", "splice", "unsplice"]


def splice(
    raw: bytes, values: Mapping[str, str | Sequence[str]], *, keep: bool = False
) -> Spliced | Refused:
    """Return the file with the values in its head, proven, or the reason why not.

    `values` holds texts and, for `keywords`, `usage_scenarios` and `tags`, lists of texts, by
    canonical key (`KEYS`). A key that the head holds is replaced in place unless it reads as that
    value already; the others are added before the closing fence; a file without a head gets one.
    With `keep` a value that says something is never replaced: a foreign type stays, and ours goes
    below `metadata`; keywords are added behind those that stand there; else it is refused
    (`foreign-value`).
    Never raises, whatever the bytes; linear in their number. docs/splice.md has the rules.
    """
    try:
        return _spliced(raw, settle(values), keep)
    except Cannot as cannot:
        return cannot.refused


def _spliced(raw: bytes, wanted: dict[str, Value], keep: bool) -> Spliced:
    before = read_file(raw)
    _refuse_encoding(before, wanted)
    there = {entry.name for entry in before.marks.entries}
    extended: dict[str, tuple[str, ...]] = {}
    if keep:
        wanted, extended = _beside(before, wanted)
    _refuse_twice(before, wanted)
    added = {key: value for key, value in wanted.items() if key not in there}
    replaced = {
        key: value
        for key, value in wanted.items()
        if key in there and key not in extended and held(before, key) != value
    }
    if before.parts.head is not None:
        edits = head_edits(before, replaced, extended, added)
    else:
        edits = [new_head(before.parts, added)] if added else []
    data, undo = apply(raw, edits)
    result = Spliced(data, undo, tuple(added), tuple(replaced), tuple(extended))
    if edits:
        prove(before, result, edits, wanted)
    return result


def _beside(
    before: Reading, wanted: Mapping[str, Value]
) -> tuple[dict[str, Value], dict[str, tuple[str, ...]]]:
    """Return what is wanted such that no value of somebody's goes, and what goes behind which.

    Raises Cannot (`foreign-value`) where there is no such way.
    """
    result: dict[str, Value] = {}
    behind: dict[str, tuple[str, ...]] = {}
    for key, value in wanted.items():
        field = before.fields.get(key)
        if field is None or held(before, key) == value or not says_something(before, key):
            result[key] = value
        elif key == "type" and NESTED not in before.fields:
            result[NESTED] = value
        elif key == "keywords":
            own = {word.casefold() for word in keywords_in(field)}
            result[key] = value
            behind[key] = tuple(word for word in value if word.casefold() not in own)
        else:
            reason = f"`{field.key[:64]}` holds a value that is not read; it is yours to replace."
            raise Cannot("foreign-value", reason, field.line)
    return result, behind


def _refuse_encoding(before: Reading, wanted: Mapping[str, Value]) -> None:
    """Raise Cannot where a file that is not all UTF-8 would get a second encoding."""
    for fault in before.parts.faults:
        ascii_only = all("".join(value).isascii() for value in wanted.values())
        if fault.kind == "invalid-utf8" and not ascii_only:
            reason = (
                "The file is not UTF-8, and what was to be written is not plain ASCII: "
                "save the file as UTF-8."
            )
            raise Cannot("encoding", reason, fault.line)


def _refuse_twice(before: Reading, wanted: Mapping[str, Value]) -> None:
    """Raise Cannot where a key of ours stands twice: which of them counts is anybody's guess."""
    seen: set[str] = set()
    for entry in before.marks.entries:
        if entry.name in seen and (entry.name in OWNED or entry.name in wanted):
            reason = f"The key `{entry.key[:64]}` stands twice."
            raise Cannot("duplicate-key", reason, before.line(entry.line))
        seen.add(entry.name)
