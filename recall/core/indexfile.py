"""A `MEMORY.md` index, rebuilt: only one that lists memories and says nothing else.

Managed is a file whose first line is MARK, or in which every line is a heading, blank, or a list
item that links to a markdown file, as hosts write it: `- [Title](path.md) — what it is about`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from recall.model import Memory

NAMES: Final = ("MEMORY.md", "memory.md")
MARK: Final = "<!-- recall rebuilds this index; what else stands here is lost -->"
_ITEM = re.compile(r"[-*+] \[[^\]]*\]\([^()\s]+\.(?:md|markdown|mdx)\)(?: *(?:[-–—:].*)?)", re.I)
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
    if not marked and not all(map(_is_index_line, lines)):
        return None
    if not marked and not any(map(_ITEM.fullmatch, map(str.strip, lines))):
        return None  # headings alone are somebody's beginning
    above = [line for line in lines if line.strip() == MARK]
    above += [line for line in lines if _HEADING.fullmatch(line.strip())][:1]
    items = [_item(memory) for memory in sorted(memories, key=lambda one: one.path)]
    new = end.join([*above, *([""] if above else []), *items, ""]).encode()
    return None if new == raw else new


def _is_index_line(line: str) -> bool:
    line = line.strip()
    return not line or bool(_ITEM.fullmatch(line) or _HEADING.fullmatch(line))


def _item(memory: Memory) -> str:
    title = memory.title.replace("[", "(").replace("]", ")")
    about = memory.description
    if len(about) > _HOOK:
        about = about[: _HOOK - 1].rstrip() + "…"
    return f"- [{title}]({quote(memory.path, errors='surrogateescape')})" + (
        f" — {about}" if about else ""
    )
