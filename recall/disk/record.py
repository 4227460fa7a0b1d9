"""Reading one file for the catalog and the text index."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from recall.core.frontmatter import is_binary
from recall.core.metadata import clean, parse_memory
from recall.core.refs import make_ref
from recall.core.tree import leaf_digest
from recall.disk.inside import Stamp, read_inside, stamp_of, unsettled
from recall.disk.rows import UNREADABLE, Entry, Known, is_unreadable
from recall.disk.textindex import Document
from recall.model import SEPARATOR, SHOWN_DESCRIPTION, SHOWN_TITLE, Memory, Parsed, Taxonomy

SHOWN_CATEGORY = 64
_SHOWN_REASON = 200
_OUR_OWN_TROUBLE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Says nothing about the file."""


class Recorded(NamedTuple):
    """What became of one file: its catalog entry, and what to index, if it is a memory."""

    entry: Entry
    document: Document | None


class Reader:
    """Reads files of one root; knows nothing of the database."""

    def __init__(self, index: int, scope: str, root: str, taxonomy: Taxonomy) -> None:
        """`root` is the resolved folder, `index` its place in the settings' list of roots."""
        self.index = index
        self.scope = scope
        self.root = root
        self.taxonomy = taxonomy

    def record(self, path: str, known: Known | None, content: bytes = b"") -> Recorded | None:
        """Read the file again; None if nothing about it changed since it was `known`.

        `content` is the digest that goes with `known`. Raises FileNotFoundError or
        NotADirectoryError if the file is gone, and OSError where this process can open nothing.
        """
        now = time.time_ns()
        try:
            data, stamp = read_inside(self.root, path)
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError as error:
            if error.errno in _OUR_OWN_TROUBLE:
                raise
            return self._refused(path, known, error)
        racy = unsettled(stamp.ctime_ns, now)
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if known is not None and content == digest and not is_unreadable(known.state):
            return self._touched(known, stamp, racy)
        if is_binary(data):
            entry = Entry(self.index, path, stamp, racy, "binary", digest)
            return Recorded(entry, None)
        return self._parsed(path, stamp, racy, digest, parse_memory(data, path))

    def _touched(self, known: Known, stamp: Stamp, racy: bool) -> Recorded | None:
        if known.stamp == stamp and known.racy == racy:
            return None
        memory = known.memory and known.memory._replace(mtime_ns=stamp.mtime_ns)
        entry = Entry(self.index, known.path, stamp, racy, known.state, memory=memory, touched=True)
        return Recorded(entry, None)

    def _refused(self, path: str, known: Known | None, error: OSError) -> Recorded | None:
        state = UNREADABLE + clean(error.strerror or str(error), _SHOWN_REASON)
        stamp = _stamp_anyway(self.root, path)
        if known is not None and (known.state, known.stamp) == (state, stamp):
            return None
        return Recorded(Entry(self.index, path, stamp, False, state), None)

    def _parsed(
        self, path: str, stamp: Stamp, racy: bool, content: bytes, parsed: Parsed
    ) -> Recorded:
        meta = parsed.metadata
        memory = self._memory(path, stamp, parsed)
        text = _as_text(path)
        document = Document(
            key=memory.key,
            scope=self.scope,
            category=memory.category,
            names=(meta.title, text.rpartition("/")[2]),
            keywords=memory.keywords,
            about=_about(parsed, text),
            exact=(meta.title, *memory.keywords),
            dated=f"{meta.created} {meta.updated}",
            body=parsed.body,
        )
        entry = Entry(
            root=self.index,
            path=path,
            stamp=stamp,
            racy=racy,
            content=content,
            memory=memory,
            missing=meta.missing,
            faults=parsed.faults,
        )
        return Recorded(entry, document)

    def _memory(self, path: str, stamp: Stamp, parsed: Parsed) -> Memory:
        meta = parsed.metadata
        folder = clean(path.partition("/")[0], SHOWN_CATEGORY) if "/" in path else ""
        category = _cut(self.taxonomy.place(meta.category, folder), SHOWN_CATEGORY)
        ref = make_ref(self.scope, path)
        title = _cut(meta.title, SHOWN_TITLE)
        description = _cut(meta.description, SHOWN_DESCRIPTION)
        keywords, scenarios = meta.keywords, meta.usage_scenarios
        return Memory(
            key=(int.from_bytes(os.urandom(8)) >> 2) or 1,
            ref=ref,
            scope=self.scope,
            root=self.index,
            path=path,
            title=title,
            description=description,
            type=sys.intern(meta.type),
            category=sys.intern(category),
            keyword_text=SEPARATOR.join(keywords),
            scenario_text=SEPARATOR.join(scenarios),
            agent=meta.agent,
            pinned=int(meta.pinned),
            structured=int(meta.structured),
            mtime_ns=stamp.mtime_ns,
            version=parsed.version,
            total=len(parsed.body),
            digest=leaf_digest(
                ref, self.scope, meta.type, category, title, description, keywords, scenarios
            ),
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


def _stamp_anyway(root: str, path: str) -> Stamp:
    try:
        st = os.stat(os.path.join(root, path))
    except OSError:
        return Stamp(-1, 0, 0, 0)
    return stamp_of(st)


def _cut(text: str, limit: int) -> str:
    """Cut on a grapheme boundary."""
    if len(text) <= limit:
        return text
    from recall.core.window import cut

    return text[: cut(text, 0, limit - 1)].rstrip() + "…"


def _as_text(path: str) -> str:
    """Return a path as the index can hold it: undecodable bytes become question marks.

    Metadata needs no such care: the parser lets no lone surrogate through.
    """
    return path if path.isascii() else path.encode("utf-8", "replace").decode("utf-8")
