"""Memories as markdown lists: Hermes' `memory.md`, and documents like `CLAUDE.md`.

Both are written alike, a section for each track and scope, and such a section is read back as
what it says. Any other section's name becomes a tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from recall.core.adapters.registry import Adapter, mapped, text_in, unmapped
from recall.core.lazy import pattern
from recall.core.protocol import ENTRY_SCOPES, USER_GLOBAL, Entry, checked_tags, draft_of
from recall.core.writing import Draft
from recall.errors import WriteError
from recall.model import TRACKS

_SECTION = pattern(r"## +(.*?)[ \t]*")
_HEADING = pattern(r"#{1,6} +(.*?)(?:[ \t]+#+)?[ \t]*")
_BULLET = pattern(r"[-*] +(.*?)[ \t]*")
_ITEM = pattern(r"(?:[-*+]|\d{1,9}[.)]) +(.*?)[ \t]*")
_FENCE = pattern(r" {0,3}(`{3,}|~{3,})[^`]*")
_RULE = pattern(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_UNDERLINE = pattern(r" {0,3}(?:=+|-{2,})[ \t]*")
"""Below a line of text it makes that a heading."""
_LINE_END = pattern(r"\r\n|\r|\n")
_BREAKS = pattern(r"[ \t]*[\r\n]\s*")
_OWN = {f"{track}/{scope}": (track, scope) for track in TRACKS for scope in ENTRY_SCOPES}


class _Piece(NamedTuple):
    """One memory's text, the line where it begins, the section that it stands in and its line."""

    text: str
    line: int
    section: str
    named: int


def _lines(adapter: str, payload: object) -> list[str]:
    text = text_in(payload)
    if text is None:
        raise unmapped(adapter, 'the payload is neither markdown nor {"text": …}.')
    return _LINE_END.split(text.removeprefix("\ufeff"))


def _drafts(adapter: str, pieces: Iterator[_Piece]) -> list[Draft]:
    return [_draft(adapter, piece) for piece in pieces]


def _draft(adapter: str, piece: _Piece) -> Draft:
    track, scope = _OWN.get(piece.section, ("user", USER_GLOBAL))
    tags = [] if piece.section in _OWN or not piece.section else [piece.section]
    try:
        checked_tags(tags)
    except WriteError as error:
        fix = "The section's name becomes a tag: shorten it."
        raise unmapped(adapter, error.message, line=piece.named, fix=fix) from None
    told = {"track": track, "scope": scope, "text": piece.text, "tags": tags, "source": adapter}
    return mapped(adapter, draft_of(told), line=piece.line)


# --- Hermes: sections and bullets, nothing else


def adapt_hermes(payload: object) -> list[Draft]:
    """Return each bullet as a draft, tagged with its section."""
    return _drafts(_HERMES, _bullets(_lines(_HERMES, payload)))


def _bullets(lines: Sequence[str]) -> Iterator[_Piece]:
    section, named = "", 0
    for number, line in enumerate(lines, 1):
        heading, bullet = _SECTION.fullmatch(line), _BULLET.fullmatch(line)
        if heading:
            section, named = heading[1], number
        elif bullet and bullet[1].strip():
            yield _Piece(bullet[1], number, section, named)
        elif bullet is None and line.strip() not in ("", "-", "*"):
            what = f"{line[:40]!r} is neither a section (`## `) nor a bullet (`- `)."
            raise unmapped(_HERMES, what, line=number, fix="Make it a bullet of its own.")


# --- CLAUDE.md: headings, items, paragraphs


def adapt_claude(payload: object) -> list[Draft]:
    """Return each item of a list and each paragraph as a draft, tagged with its section.

    What is indented below an item belongs to it; a code block and a table are kept line by line.
    """
    return _drafts(_CLAUDE, _Reader(_lines(_CLAUDE, payload)).pieces())


class _Reader:
    """Reads a document from top to bottom, piece by piece."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._section, self._named = "", 0

    def pieces(self) -> Iterator[_Piece]:
        while self._at < len(self._lines):
            line, start = self._lines[self._at], self._at + 1
            self._at += 1
            if not line.strip() or _RULE.fullmatch(line):
                continue
            heading = _HEADING.fullmatch(line)
            if heading:
                self._section, self._named = heading[1], start
                continue
            text = self._piece(line)
            if text.strip():
                yield _Piece(text, start, self._section, self._named)

    def _piece(self, line: str) -> str:
        fence, item = _FENCE.fullmatch(line), _ITEM.fullmatch(line)
        if fence:
            return self._block(line, fence[1])
        if item:
            return self._item(item[1])
        if line.lstrip().startswith("|"):
            return "\n".join([line, *self._while(lambda one: one.lstrip().startswith("|"))])
        start = self._at
        text = " ".join(one.strip() for one in (line, *self._while(self._continues)))
        if self._at < len(self._lines) and _UNDERLINE.fullmatch(self._lines[self._at]):
            self._at += 1
            self._section, self._named = text, start
            return ""
        return text

    def _block(self, line: str, fence: str) -> str:
        """Return a fenced block as it stands, to its closing fence or the end."""
        taken = [line]
        while self._at < len(self._lines):
            taken.append(self._lines[self._at])
            self._at += 1
            closing = taken[-1].strip()
            if len(closing) >= len(fence) and set(closing) == {fence[0]}:
                break
        return "\n".join(taken).rstrip()

    def _item(self, first: str) -> str:
        """Return an item with what is indented below it: text joined, inner items kept apart."""
        taken = [first]
        for line in self._while(lambda one: bool(one.strip()) and one[0] in " \t"):
            inner = _ITEM.fullmatch(line.strip())
            if inner or not taken[-1]:
                taken.append(line.rstrip())
            else:
                taken[-1] += " " + line.strip()
        return "\n".join(taken).strip(" \t\n")

    def _continues(self, line: str) -> bool:
        ends = (_HEADING, _FENCE, _ITEM, _RULE, _UNDERLINE)
        return bool(line.strip()) and not any(one.fullmatch(line) for one in ends)

    def _while(self, wanted: Callable[[str], bool]) -> list[str]:
        taken = []
        while self._at < len(self._lines) and wanted(self._lines[self._at]):
            taken.append(self._lines[self._at])
            self._at += 1
        return taken


# --- writing both


def _export(adapter: str, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return entries as bullets on one line each, below the track and scope that they have."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        line = _BREAKS.sub(" ", entry.text.strip(" \t\r\n"))
        groups.setdefault(f"{entry.track}/{entry.scope}", []).append(f"- {line}")
    parts = [f"## {name}\n" + "\n".join(groups[name]) for name in sorted(groups)]
    return {"plugin": adapter, "text": "\n\n".join(parts)}


_HERMES, _CLAUDE = "hermes-memory-md", "claude-code-memory-md"
_LOSES = (
    "Written, a memory is one bullet: its line breaks become blanks; tags, times, ids and agents "
    "are left out."
)
HERMES = Adapter(
    id=_HERMES,
    name="Hermes memory.md",
    description="Documents of `## section` headings and bullets: each bullet is a memory about the "
    "user, its section's name a tag. " + _LOSES,
    version="1.0.0",
    import_formats=(_HERMES,),
    export_format=_HERMES,
    adapt=adapt_hermes,
    export=lambda entries: _export(_HERMES, entries),
)
CLAUDE_CODE = Adapter(
    id=_CLAUDE,
    name="CLAUDE.md memory",
    description="Documents like CLAUDE.md: each list item, paragraph, table and code block is a "
    "memory about the user, its section's name a tag; lines of a paragraph are joined. " + _LOSES,
    version="1.0.0",
    import_formats=(_CLAUDE,),
    export_format=_CLAUDE,
    adapt=adapt_claude,
    export=lambda entries: _export(_CLAUDE, entries),
)
