"""The proof of a splice: what was written is read again and compared before anybody sees it.

It trusts none of the planning. By our own reader: body, version, other fields and all derived
metadata are the same, nothing is wrong that was right, the named keys read as wanted. By the
events: the other entries' source and meaning are the same, in their order. By a strict YAML
loader, where the original loads: the same again, as objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import yaml

from recall.core.lazy import pattern
from recall.core.salvage import Field, canonical
from recall.core.splice_marks import Entry, line_end, value_end
from recall.core.splice_reading import Reading, held, read_file
from recall.core.splice_record import Cannot, Edit, Spliced, unsplice
from recall.core.splice_values import NESTED, Value, bare
from recall.core.yamlevents import MAX_DEPTH

STRICT_CHARS = 1 << 16
STRICT_ALIASES = 16
"""Heads up to here are loaded as objects too: more of either takes time that is not linear."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What a key of a head gives to the metadata, where it is not the field of its name.
_GIVES = {
    "name": ("title",),
    "tags": ("tags", "keywords"),
    "version": ("entry_version",),
    NESTED: ("type",),
}


def prove(
    before: Reading, result: Spliced, edits: Sequence[Edit], wanted: Mapping[str, Value]
) -> None:
    """Raise Cannot (`unproven`, with what differs) unless the result is the file and `wanted`."""
    if unsplice(result.data, result.undo) != before.raw:
        raise _unproven("the original could not be restored")
    try:
        after = read_file(result.data)
    except Cannot as cannot:
        raise _unproven(cannot.refused.reason) from cannot
    taken = wanted.keys() - {*result.extended}
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("the body", lambda: _body(before) == _body(after)),
        (
            "a byte outside of the named values",
            lambda: _local(before, edits, taken),
        ),
        ("another key", lambda: _others(before, wanted) == _others(after, wanted)),
        ("a comment", lambda: _comments(before, wanted) == _comments(after, wanted)),
        ("another field", lambda: _fields(before, wanted) == _fields(after, wanted)),
        ("other metadata", lambda: _metadata(before, wanted) == _metadata(after, wanted)),
        ("a named value", lambda: _named(after, wanted)),
        ("what a strict loader reads", lambda: _strict(before, after, result, wanted)),
    )
    for what, holds in checks:
        if not holds():
            raise _unproven(f"{what} would not be as it should")
    _refuse_new_faults(before, after)


def _unproven(what: str) -> Cannot:
    return Cannot("unproven", f"The result was read again and is not taken: {what}.")


def _body(reading: Reading) -> tuple[bytes, str]:
    return reading.raw[reading.parts.body_offset :], reading.parts.version


# --- by marks and events -------------------------------------------------------------------------


def _local(before: Reading, edits: Sequence[Edit], replaced: Collection[str]) -> bool:
    """Nothing is taken but from a replaced key's colon to the end of its value's last line."""
    lines = [
        (before.offset(entry.colon), before.offset(line_end(before.head, entry.end)))
        for entry in before.marks.entries
        if entry.name in replaced
    ]
    return all(
        edit.start == edit.end or any(a <= edit.start and edit.end <= b for a, b in lines)
        for edit in edits
    )


def _others(reading: Reading, wanted: Mapping[str, Value]) -> list[tuple[Any, ...]]:
    """Return source and meaning of each entry that is not named."""
    return [
        (reading.head[entry.key_start : entry.end], entry.meaning)
        for entry in reading.marks.entries
        if entry.name not in wanted
    ]


_COMMENT = pattern(r"#[^\r\n]*")


def _comments(reading: Reading, wanted: Mapping[str, Value]) -> list[str]:
    """Return the comments between entries, and those within named ones; `_others` has the rest."""
    head, at = reading.head, 0
    found: list[str] = []
    for entry in reading.marks.entries:
        found += _COMMENT.findall(head, at, entry.key_start)
        at = entry.end
        if entry.name in wanted:
            found += _within(head, entry)
            at = value_end(head, entry)
    return found + _COMMENT.findall(head, at)


def _within(head: str, entry: Entry) -> list[str]:
    found: list[str] = []
    at = entry.colon
    for leaf in entry.leaves:
        found += _COMMENT.findall(head, at, leaf.start)
        if leaf.style in ("|", ">"):
            found += _COMMENT.findall(head, leaf.start, line_end(head, leaf.start))
        at = leaf.end
    return found + (_COMMENT.findall(head, at, entry.end) if at < entry.end else [])


# --- by our own reader ---------------------------------------------------------------------------


def _fields(reading: Reading, wanted: Mapping[str, Value]) -> dict[str, Field]:
    return {
        name: field._replace(line=0) for name, field in reading.fields.items() if name not in wanted
    }


def _metadata(reading: Reading, wanted: Mapping[str, Value]) -> dict[str, Any]:
    """Return the metadata but for what the named keys give; of what is missing, the other keys."""
    said = reading.parsed.metadata
    metadata = {name: getattr(said, name) for name in type(said).__fields__}
    for key in wanted:
        for attribute in _GIVES.get(key, (key,)):
            metadata.pop(attribute, None)
    metadata["missing"] = [key for key in said.missing if key not in wanted]
    for key, field in (("tags", "keywords"), (NESTED, "type")):
        if key in wanted and field in metadata["missing"]:
            metadata["missing"].remove(field)
    return metadata


def _named(after: Reading, wanted: Mapping[str, Value]) -> bool:
    """Each named key stands there once, and reads as wanted."""
    names = Counter(entry.name for entry in after.marks.entries)
    return all(names[key] == 1 and held(after, key) == wanted[key] for key in wanted)


def _refuse_new_faults(before: Reading, after: Reading) -> None:
    """Raise Cannot where something is wrong that was right, or was not seen."""
    then, now = (Counter(fault.kind for fault in r.parsed.faults) for r in (before, after))
    new = now - then
    if new["second-head"] and before.parts.head is None:
        reason = "The file begins with what looks like a frontmatter, and is not read as one."
        raise Cannot("looks-like-head", reason, 1)
    if new:
        raise _unproven(f"there would be new faults ({', '.join(sorted(new))})")


# --- by a strict loader --------------------------------------------------------------------------


def _strict(before: Reading, after: Reading, result: Spliced, wanted: Mapping[str, Value]) -> bool:
    """As objects, the other keys are equal and the written ones are texts and lists of texts."""
    then = _load(before)
    if then is None:
        return True
    now = _load(after)
    if now is None or _rest(then, wanted) != _rest(now, wanted):
        return False
    written = {*result.added, *result.replaced}
    return all(
        _means(now.get(entry.key), wanted[entry.name], entry.name)
        for entry in after.marks.entries
        if entry.name in written
    ) and all(
        _goes_on(then.get(entry.key), now.get(entry.key))
        for entry in after.marks.entries
        if entry.name in result.extended
    )


def _goes_on(then: Any, now: Any) -> bool:
    """What was a list, or a text, is still one, and begins as it did."""
    if isinstance(then, list):
        return isinstance(now, list) and repr(now[: len(then)]) == repr(then)
    return isinstance(now, str) and now.startswith(then if isinstance(then, str) else "")


def _means(found: Any, value: Value, key: str) -> bool:
    if key == NESTED:
        return bool(found == {"type": value})
    if isinstance(value, str):
        return found == value or bare(key, value)
    return isinstance(found, list) and tuple(found) == value


def _rest(loaded: dict[Any, Any], wanted: Mapping[str, Value]) -> list[tuple[str, str]]:
    # Compared as written out: nan is not equal to itself, and 1 is equal to true.
    return [
        (repr(key), repr(value))
        for key, value in loaded.items()
        if not (isinstance(key, str) and canonical(key) in wanted)
    ]


_REFUSALS = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, RecursionError)


def _load(reading: Reading) -> dict[Any, Any] | None:
    """Return what a strict loader makes of the head, None where it refuses or should not try."""
    marks = reading.marks
    if len(reading.head) > STRICT_CHARS or marks.alias_count > STRICT_ALIASES:
        return None
    if marks.depth > MAX_DEPTH:
        return None
    try:
        loaded = yaml.load(reading.head, Loader=_LOADER)
    except _REFUSALS:
        return None
    if loaded is None:
        return {}
    return loaded if isinstance(loaded, dict) else None
