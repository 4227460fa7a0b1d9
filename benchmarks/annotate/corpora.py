"""Files to which people gave a category, a type or keywords; and their files without them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recall.core.frontmatter import split
from recall.core.metadata import parse_memory
from recall.model import Metadata, Parsed

SUFFIXES = (".md", ".markdown", ".mdx")


class File(NamedTuple):
    """One file: what people wrote into its head, and what is left without it."""

    path: str
    people: Metadata
    hidden: Parsed
    """The file without its head; with the people's title and description where these are kept."""
    head: str = ""

    @property
    def half(self) -> int:
        """Return which half the file is in, 0 or 1: by its path's checksum."""
        return _sum(self.path) & 1


def files(root: Path, *, keep_words: bool = False, one_in: int = 1) -> list[File]:
    """Return every memory below a root, or one in so many, in order; `keep_words` leaves title
    and description.
    """
    found = []
    for path, raw in memories(root):
        if _sum(path) // 2 % one_in == 0:
            read = parse_memory(raw, path)
            bare = parse_memory(hidden(raw, read.metadata, keep_words), path)
            left = bare.metadata
            if not (left.category or left.type or left.keywords):
                # Where a head has no end, nothing says which lines to hide.
                found.append(File(path, read.metadata, bare, read.head))
    return found


def _sum(path: str) -> int:
    return zlib.crc32(path.encode("utf-8", "replace"))


def memories(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (path, bytes) of every markdown file below a root, in order."""
    for path in sorted(root.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            yield (
                path.relative_to(root).as_posix().encode("utf-8", "replace").decode(),
                (path.read_bytes()),
            )


def hidden(raw: bytes, people: Metadata, keep_words: bool = False) -> bytes:
    """Return a file without its head, but for its date: annotators write none."""
    parts = split(raw)
    if parts.head is None:
        return raw
    kept = [f"date: {_quoted(people.created)}"] if people.created else []
    if keep_words:
        if "name" not in people.missing:
            kept.append(f"name: {_quoted(people.title)}")
        if "description" not in people.missing:
            kept.append(f"description: {_quoted(people.description)}")
    head = "\n".join(("---", *kept, "---", "")) if kept else ""
    body = raw[parts.body_offset :]
    return head.encode("utf-8", "replace") + body


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
