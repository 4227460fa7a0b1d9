"""A `MEMORY.md` index, rebuilt: only one that lists memories and says nothing else.

Managed is a file whose first line is MARK, or in which every line is blank, the one heading, or a
list item that links to a markdown file, as hosts write it: `- [Title](path.md) — what it is about`.
Without the MARK an item with words behind its link stays as it is written: they may be a person's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, unquote

from recall.model import Memory

NAMES: Final = ("MEMORY.md", "memory.md")
MARK: Final = "<!-- recall rebuilds this index; what else stands here is lost -->"
_ITEM = re.compile(r"[-*+] \[[^\]]*\]\([^()\s]+\.(?:md|markdown|mdx)\)(?: *(?:[-–—:].*)?)", re.I)
_HOOKED = re.compile(r"[-*+] \[[^\]]*\]\(([^()\s]+)\) *[-–—:] *\S")
_HEADING = re.compile(r"#{1,6} .*")
_HOOK = 120


def rebuilt(raw: bytes, memories: Iterable[Memory]) -> bytes | None:
    """Return the index over these memories (of its own root), in the file's own line ends.

    None where a person wrote something into it, where it is no UTF-8, or where nothing changes.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    marked = bool(lines) and lines[0].strip() == MARK
    if not marked and not _is_index(lines):
        return None
    above = [line for line in lines if line.strip() == MARK]
    above += [line for line in lines if _HEADING.fullmatch(line.strip())][:1]
    theirs = {} if marked else _hooked(lines)
    items = [
        theirs.pop(memory.path, "") or _item(memory)
        for memory in sorted(memories, key=lambda one: one.path)
    ]
    items += theirs.values()  # what they link to is no memory, or written in a way of its own
    new = end.join([*above, *([""] if above else []), *items, ""]).encode()
    return None if new == raw else new


def _is_index(lines: list[str]) -> bool:
    said = [line for line in map(str.strip, lines) if line]
    items = [line for line in said if _ITEM.fullmatch(line)]
    headings = [line for line in said if _HEADING.fullmatch(line)]
    # Headings alone are somebody's beginning, several are his order.
    return bool(items) and len(headings) <= 1 and len(items) + len(headings) == len(said)


def _hooked(lines: list[str]) -> dict[str, str]:
    """Return the items that say more than their link, by path; each line is kept once."""
    found: dict[str, str] = {}
    for line in lines:
        hooked = _HOOKED.match(line.strip())
        if hooked:
            path = unquote(hooked[1], errors="surrogateescape").removeprefix("./")
            found[path if path not in found else line] = line
    return found


def _item(memory: Memory) -> str:
    title = memory.title.replace("[", "(").replace("]", ")")
    about = memory.description
    if len(about) > _HOOK:
        about = about[: _HOOK - 1].rstrip() + "…"
    return f"- [{title}]({quote(memory.path, errors='surrogateescape')})" + (
        f" — {about}" if about else ""
    )
