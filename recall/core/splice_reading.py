"""A file read for a splice: what stands where in it, and what our own reader makes of it.

Before and after a splice a file is read by this one function, so that the proof compares like
with like; what it refuses is nothing to write to.
"""

from __future__ import annotations

from dataclasses import dataclass

from recall.core import yamlhead
from recall.core.fences import count_lines
from recall.core.frontmatter import Split, is_binary, split
from recall.core.lazy import pattern
from recall.core.metadata import MAX_DESCRIPTION, clean, parse_memory
from recall.core.salvage import Field
from recall.core.splice_marks import NO_MARKS, Marks, read_marks
from recall.core.splice_record import Cannot
from recall.core.splice_values import NESTED, Value
from recall.model import Metadata, Parsed


@dataclass(frozen=True, slots=True)
class Reading:
    """The file's bytes, its parts, the head's fields and marks, and the memory that they give."""

    raw: bytes
    parts: Split
    fields: dict[str, Field]
    marks: Marks
    parsed: Parsed

    @property
    def head(self) -> str:
        return self.parts.head or ""

    def offset(self, at: int) -> int:
        """Return the byte in the file where a character of the head begins."""
        return self.parts.head_offset + len(self.head[:at].encode())

    def line(self, line: int) -> int:
        """Return the file's 1-based line of a 0-based one in the head."""
        return self.parts.head_line + line


_PLUS = pattern(rb"\+\+\+[ \t]*[\r\n]")
_BROKEN = ("unclosed-head", "text-in-head", "one-line-head", "escaped-newlines")


def read_file(raw: bytes) -> Reading:
    """Read one file; raise Cannot where it as such is nothing to write to."""
    if is_binary(raw):
        raise Cannot("binary", "The file is no text.")
    parts = split(raw)
    if parts.encoding != "utf-8":
        raise Cannot("encoding", f"The file is {parts.encoding.upper()}; only UTF-8 is written.", 1)
    if parts.head_kind in ("toml", "json"):
        language = parts.head_kind.upper()
        raise Cannot("foreign-head", f"The frontmatter is {language}; only YAML is written.", 1)
    for fault in parts.faults:
        if fault.kind in _BROKEN or fault.kind == "conflict-markers":
            raise Cannot(fault.kind, fault.message, fault.line)
    if parts.head is None:
        if _PLUS.match(raw, parts.bom):
            raise Cannot("foreign-head", "A TOML frontmatter without an end stands here.", 1)
        return Reading(raw, parts, {}, NO_MARKS, parse_memory(raw, ""))
    try:
        raw[parts.head_offset : parts.fence_offset].decode()
    except UnicodeDecodeError as error:
        line = 1 + count_lines(raw[: parts.head_offset + error.start])
        raise Cannot("encoding", "The frontmatter is not UTF-8.", line) from None
    fields, faults = yamlhead.read(parts.head, parts.head_line)
    for fault in faults:
        if fault.kind in ("yaml-syntax", "control-character"):
            raise Cannot(fault.kind, fault.message, fault.line)
    marks = read_marks(parts.head, parts.head_line)
    return Reading(raw, parts, fields, marks, parse_memory(raw, ""))


def says_something(reading: Reading, key: str) -> bool:
    """Return whether somebody wrote a value there: neither nothing, nor a template's placeholder.

    A splice refuses placeholders by itself.
    """
    field = reading.fields.get(key)
    if field is None or field.template or field.kind == "null":
        return False
    if field.kind == "map":
        return any(entry.leaves for entry in reading.marks.entries if entry.name == key)
    return any(text.strip() for text in (field.text, *field.items))


def held(reading: Reading, key: str) -> Value | None:
    """Return the value that the head's own key gives to our reader, or None."""
    field = reading.fields.get(key)
    if field is None or field.kind == "null":
        return None
    if key == NESTED:
        return clean(field.text, MAX_DESCRIPTION) if field.kind == "map" else None
    metadata: Metadata = reading.parsed.metadata
    if key in ("type", "category", "keywords", "usage_scenarios", "tags"):
        value: Value = getattr(metadata, key)
        return value
    return clean(field.text, MAX_DESCRIPTION) if field.kind == "text" else None
