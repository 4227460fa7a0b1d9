"""The edits of a splice: where a value's bytes go, and what must not go with them.

Edits are planned in characters of the head and given in bytes of the file. A value is replaced in
its own lines; whatever else stands there, above all a comment, stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recall.core.fences import MAX_HEAD
from recall.core.frontmatter import Split
from recall.core.lazy import pattern
from recall.core.salvage import HASH_IS_TEXT, LINE_END
from recall.core.splice_marks import Entry, line_end, trimmed, value_end
from recall.core.splice_reading import Reading
from recall.core.splice_record import Cannot, Edit
from recall.core.splice_values import (
    ListStyle,
    Value,
    block_lines,
    joinable,
    key_lines,
    one_line,
    plain,
    scalar,
)

_MOST = MAX_HEAD - 1_024
"""A closing fence, with its blanks, must be found within MAX_HEAD bytes."""


class _Change(NamedTuple):
    """The head's characters [start, end) become `new`."""

    start: int
    end: int
    new: str


def new_head(parts: Split, values: Mapping[str, Value]) -> Edit:
    """Return the edit that gives a head to a file without one: behind the BOM, above the rest."""
    lines = ["---"]
    for key, value in values.items():
        lines += key_lines(key, value, 0, ListStyle())
    return Edit(parts.bom, parts.bom, parts.newline.join((*lines, "---", "")).encode())


def head_edits(
    before: Reading,
    replaced: Mapping[str, Value],
    extended: Mapping[str, tuple[str, ...]],
    added: Mapping[str, Value],
) -> list[Edit]:
    """Return the edits of a head, in the file's order; raise Cannot where one is not safe.

    `extended` holds what goes behind the items that stand there.
    """
    changes: list[_Change] = []
    for entry in before.marks.entries:
        if entry.name in replaced:
            changes += _Replacement(before, entry).changes(replaced[entry.name])
        elif extended.get(entry.name):
            changes.append(_Extension(before, entry).change(extended[entry.name]))
    if added:
        kept = [entry for entry in before.marks.entries if entry.name not in replaced]
        changes.append(_additions(before, kept, added))
    edits = [Edit(before.offset(c.start), before.offset(c.end), c.new.encode()) for c in changes]
    size = before.parts.fence_offset - before.parts.head_offset
    if edits and size + sum(len(edit.new) for edit in edits) > _MOST:
        raise Cannot("head-too-large", f"The frontmatter would pass {MAX_HEAD:,} bytes.")
    return sorted(edits)


def _additions(before: Reading, kept: Sequence[Entry], added: Mapping[str, Value]) -> _Change:
    marks = before.marks
    at = _place(before.head, max((entry.tail for entry in kept), default=0))
    newline = _newline(before, at)
    lines: list[str] = []
    for key, value in added.items():
        lines += key_lines(key, value, marks.column, marks.list_style)
    return _Change(at, at, newline.join((*lines, "")))


def _place(head: str, last: int) -> int:
    """Return the start of the line before which new keys go, `last` being the last value's end.

    That is behind all values and comments, before the blank lines at the end; but these may belong
    to a block scalar, and one with a tab in it YAML takes only behind a bare text.
    """
    said = trimmed(head, 0, len(head))
    ending = LINE_END.search(head, said)
    at = ending.end() if said and ending else said
    return at if at >= last and "\t" not in head[at:] else len(head)


def _newline(before: Reading, at: int) -> str:
    """Return the line end of the line above; the fence's above the head's first line."""
    above = before.raw[: before.offset(at)][-2:]
    if above == b"\r\n":
        return "\r\n"
    return "\r" if above.endswith(b"\r") else "\n"


class _Value:
    """One value that is written to."""

    def __init__(self, before: Reading, entry: Entry) -> None:
        self.before = before
        self.text = before.head
        self.entry = entry
        self._refuse_value()

    # --- spans -------------------------------------------------------------------------------

    def _start(self) -> int:
        """Return the value's start, or the colon's end where the value begins on a later line."""
        entry = self.entry
        gap = self.text[entry.colon : entry.start]
        return entry.colon if "\n" in gap or "\r" in gap else entry.start

    def _hash_follows(self, at: int) -> bool:
        """Return whether a comment stands behind: our reader would join it with a bare text."""
        return self._rest(at).lstrip().startswith("#")

    def _rest(self, at: int) -> str:
        return self.text[at : line_end(self.text, at)]

    # --- what is refused ---------------------------------------------------------------------

    def _cannot(self, kind: str, reason: str) -> Cannot:
        return Cannot(kind, f"`{self.entry.key[:64]}`: {reason}", self.before.line(self.entry.line))

    def _refuse_value(self) -> None:
        entry = self.entry
        if entry.colon < 0:
            raise self._cannot("explicit-key", "its value begins on another line, after `?`.")
        if entry.aliases:
            raise self._cannot("alias-in-value", "its value is, or holds, an alias.")
        if entry.anchors & self.before.marks.aliases:
            raise self._cannot("anchored-value", "an alias refers to its value.")
        field = self.before.fields.get(entry.name)
        if field is not None and field.template:
            raise self._cannot("template", "its value is a template's placeholder.")

    def _refuse_comments(self, start: int, end: int) -> None:
        """Raise Cannot where a comment would go with the value."""
        at = start
        end = min(end, self.entry.end)  # a ` #…` behind it that goes too is no comment
        for leaf in (*self.entry.leaves, None):
            if self.text.find("#", at, leaf.start if leaf else end) >= 0:
                raise self._cannot("comment-in-value", "a comment stands within its value.")
            if leaf is None:
                return
            at = max(at, leaf.end)
            if leaf.style in ("|", ">") and "#" in self._rest(leaf.start):
                raise self._cannot("comment-in-value", "a comment stands behind its sign.")


class _Replacement(_Value):
    """One value on its way out."""

    def changes(self, value: Value) -> Sequence[_Change]:
        entry, own = self.entry, self.entry.list_style
        if isinstance(value, str):
            return [self._inline(value)]
        if own is not None and own.block and not entry.marked:
            return [self._items(value, own)]
        style = own or self.before.marks.list_style
        return self._below(value, style) if style.block else [self._inline(value)]

    def _inline(self, value: Value) -> _Change:
        """Put the value behind its colon."""
        entry = self.entry
        start, end = self._start(), value_end(self.text, self.entry)
        self._refuse_comments(start, end)
        quote = self._hash_follows(end) and entry.name in HASH_IS_TEXT
        new = one_line(entry.name, value, quote=quote)
        return _Change(start, end, f" {new}" if start == entry.colon else new)

    def _items(self, items: tuple[str, ...], style: ListStyle) -> _Change:
        """Put a block list's items where its items stand."""
        entry = self.entry
        self._refuse_comments(entry.start, entry.end)
        line_start = max(self.text.rfind(end, 0, entry.start) for end in "\r\n") + 1
        column = entry.start - line_start
        newline = _newline(self.before, line_start)
        quote = self._hash_follows(entry.end)
        lines = block_lines(items, column, style.gap, quote_last=quote)
        return _Change(entry.start, entry.end, newline.join(lines)[column:])

    def _below(self, items: tuple[str, ...], style: ListStyle) -> Sequence[_Change]:
        """Put a block list below the key's line, and take what stands behind the colon away."""
        entry = self.entry
        self._refuse_comments(entry.colon, entry.end)
        at = line_end(self.text, entry.end)
        newline = LINE_END.match(self.text, at)
        end = newline[0] if newline else "\n"
        lines = block_lines(items, self.before.marks.column + style.indent, style.gap)
        below = _Change(at, at, end + end.join(lines))
        if entry.end == entry.colon:
            return [below]
        return [_Change(entry.colon, entry.end, ""), below]


_LIST_END = pattern(r"\s*,?\s*\]")


class _Extension(_Value):
    """A value that stays: a list, or a text that is read as one, which others go behind."""

    def change(self, items: tuple[str, ...]) -> _Change:
        entry, style = self.entry, self.entry.list_style
        if entry.kind == "list" and entry.style == "flow" and entry.leaves:
            return self._in_brackets(items)
        if entry.kind == "list" and style is not None and style.block and not entry.marked:
            return self._on_lines(items, style)
        if entry.kind == "text" and not entry.marked:
            return self._in_text(items)
        raise self._foreign()

    def _in_brackets(self, items: tuple[str, ...]) -> _Change:
        at = trimmed(self.text, self.entry.start, self.entry.leaves[-1].end)
        self._refuse_comments(at, self.entry.end)
        if not _LIST_END.fullmatch(self.text, at, self.entry.end):
            raise self._foreign()
        return _Change(at, at, "".join(f", {scalar(item, flow=True)}" for item in items))

    def _on_lines(self, items: tuple[str, ...], style: ListStyle) -> _Change:
        entry = self.entry
        line_start = max(self.text.rfind(end, 0, entry.start) for end in "\r\n") + 1
        newline = _newline(self.before, line_start)
        at = line_end(self.text, entry.end)
        lines = block_lines(items, entry.start - line_start, style.gap)
        return _Change(at, at, newline + newline.join(lines))

    def _in_text(self, items: tuple[str, ...]) -> _Change:
        """Put them behind a comma: a text stays one, for whoever else reads the file."""
        entry = self.entry
        text = self.text[entry.start : entry.end]
        if self._hash_follows(entry.end):
            raise self._cannot("comment-in-value", "a comment stands behind it.")
        if entry.style in ("|", ">") or LINE_END.search(text) or not all(map(joinable, items)):
            raise self._foreign()
        more = ("" if text.endswith((",", "，", "、")) else ",") + " " + ", ".join(items)
        if not entry.style:
            if not plain(text + more):
                raise self._foreign()
            return _Change(entry.end, entry.end, more)
        return _Change(entry.end - 1, entry.end - 1, more)

    def _foreign(self) -> Cannot:
        return self._cannot("foreign-value", "nothing can be put behind what stands there.")
