"""Reading one file for the catalog and the text index."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Sequence
from typing import NamedTuple

from recall.core.frontmatter import is_binary
from recall.core.metadata import parse_memory
from recall.core.refs import make_ref
from recall.core.tree import leaf_digest
from recall.disk import catalog
from recall.disk.catalog import Entry, Row
from recall.disk.guard import Stamp, read_inside
from recall.disk.scan import TICK_NS
from recall.disk.textindex import Document
from recall.model import SEPARATOR, Parsed, Taxonomy

SHOWN_TITLE = 256
SHOWN_DESCRIPTION = 512
SHOWN_CATEGORY = 64
_COARSE_NS = 2_000_000_000
"""File systems without sub-second stamps: FAT counts two seconds."""


class Recorded(NamedTuple):
    """What became of one file: its catalog entry, and what to index, if it is a memory."""

    entry: Entry
    document: Document | None


class Reader:
    """Reads files of one root; knows nothing of the database."""

    def __init__(self, index: int, scope: str, root: str, taxonomy: Taxonomy) -> None:
        self.index = index
        self.scope = scope
        self.root = root
        self.taxonomy = taxonomy

    def exists(self, path: str) -> bool:
        """Tell whether there is a file; a link counts by its target."""
        return os.path.exists(os.path.join(self.root, path))

    def record(self, path: str, known: Row | None) -> Recorded | None:
        """Read the file again; None if it is gone, or nothing about it changed."""
        now = time.time_ns()
        try:
            data, stamp = read_inside(self.root, path)
        except FileNotFoundError:
            return None
        except OSError as error:
            refused = self._refused(path, _stamp_anyway(self.root, path), error)
            return None if refused.row == known else Recorded(refused, None)
        racy = int(_is_racy(stamp, now))
        content = hashlib.blake2b(data, digest_size=16).digest()
        if known is not None and known[catalog.CONTENT] == content and not known[catalog.STATE]:
            return self._touched(known, stamp, racy)
        if is_binary(data):
            return Recorded(self._not_a_memory(path, stamp, racy, content, "binary"), None)
        return self._parsed(path, stamp, racy, content, parse_memory(data, path))

    def _touched(self, known: Row, stamp: Stamp, racy: int) -> Recorded | None:
        row = (stamp.size, stamp.ctime_ns, stamp.ino, racy, *known[catalog.RACY + 1 :])
        row = (*row[: catalog.MTIME], stamp.mtime_ns, *row[catalog.MTIME + 1 :])
        return None if row == known else Recorded(Entry(row, touched=True), None)

    def _parsed(
        self, path: str, stamp: Stamp, racy: int, content: bytes, parsed: Parsed
    ) -> Recorded:
        meta = parsed.metadata
        folder = path.partition("/")[0] if "/" in path else ""
        category = _clean(self.taxonomy.place(meta.category, folder))[:SHOWN_CATEGORY]
        ref = make_ref(self.scope, path)
        title = _clean(_cut(meta.title, SHOWN_TITLE))
        description = _clean(_cut(meta.description, SHOWN_DESCRIPTION))
        keywords = [_clean(k) for k in meta.keywords]
        scenarios = [_clean(s) for s in meta.usage_scenarios]
        key = secrets.randbits(62)
        row: Row = (
            *(stamp.size, stamp.ctime_ns, stamp.ino, racy, "", content, 0),
            *(key, ref, self.scope, self.index, path, title, description, meta.type, category),
            *(SEPARATOR.join(keywords), SEPARATOR.join(scenarios), _clean(meta.agent)),
            *(int(meta.pinned), int(meta.structured), stamp.mtime_ns),
            *(parsed.version, len(parsed.body)),
            leaf_digest(
                ref, self.scope, meta.type, category, title, description, keywords, scenarios
            ),
        )
        document = Document(
            key=key,
            scope=self.scope,
            category=category,
            names=(_clean(meta.title), *keywords, _clean(path.rpartition("/")[2])),
            about=_clean(_about(parsed, path)),
            exact=(_clean(meta.title), *keywords),
            dated=f"{meta.created} {meta.updated}",
            body=parsed.body,
        )
        return Recorded(Entry(row, meta.missing, parsed.faults), document)

    def _refused(self, path: str, stamp: Stamp, error: OSError) -> Entry:
        why = error.strerror or str(error)
        return self._not_a_memory(path, stamp, 0, b"", f"unreadable: {why}")

    def _not_a_memory(
        self, path: str, stamp: Stamp, racy: int, content: bytes, state: str
    ) -> Entry:
        ref = make_ref(self.scope, path)
        return Entry(
            (
                *(stamp.size, stamp.ctime_ns, stamp.ino, racy, state, content, 0),
                *(0, ref, self.scope, self.index, path, "", "", "", "", "", "", "", 0, 0),
                *(stamp.mtime_ns, "", 0, b""),
            )
        )


def _about(parsed: Parsed, path: str) -> str:
    meta = parsed.metadata
    parts: Sequence[str] = (
        meta.description,
        *meta.usage_scenarios,
        *meta.tags,
        meta.category,
        path.rpartition("/")[0],
    )
    return "\n".join(dict.fromkeys(part for part in parts if part))


def _is_racy(stamp: Stamp, now_ns: int) -> bool:
    """Tell whether the file could still change without its stamp changing (git's rule).

    By ctime, which no program can set back; also true of stamps from the future.
    """
    coarse = stamp.ctime_ns % 1_000_000_000 == 0
    return stamp.ctime_ns > now_ns - (_COARSE_NS if coarse else TICK_NS)


def _stamp_anyway(root: str, path: str) -> Stamp:
    try:
        st = os.stat(os.path.join(root, path))
    except OSError:
        return Stamp(-1, 0, 0, 0)
    return Stamp(st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)


def _cut(text: str, limit: int) -> str:
    """Cut on a grapheme boundary."""
    if len(text) <= limit:
        return text
    from recall.core.window import cut

    return text[: cut(text, 0, limit - 1)].rstrip() + "…"


def _clean(text: str) -> str:
    """Return the text as SQLite and the index can hold it: no lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
