"""The catalog's rows in one file that Python loads four times as fast as SQLite fetches them.

Only a copy: it holds the rows as of one commit, the catalog tells what changed since. The
catalog also names the file that counts, so that no other one, and none of a state that a power
failure took back, is ever read. Whatever is wrong with it, the rows come from SQLite instead.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from recall.model import Memory
from recall.tuples import NamedTuple

_MAGIC = b"recall rows 1\n"
# marshal is as fast as it is because it is this interpreter's own format.
_MAKER = f"{sys.implementation.cache_tag} {sys.hexversion:x} {marshal.version}".encode()
_END = b"end"
_PORTION = 10_000


class Rows(NamedTuple):
    """Memories of one root, and their fingerprints, in the same order."""

    root: int
    memories: Sequence[tuple[Any, ...]]
    stamps: Sequence[tuple[int, int, int, int]]


def write(folder: str, commit: int, rest: object, rows: Iterable[Rows]) -> str:
    """Write an image and return its name; `rest` is any value of plain Python types.

    Raises OSError.
    """
    return keep(folder, "rows-", chain(((commit, rest),), map(tuple, rows), (_END,)))


def keep(folder: str, prefix: str, values: Iterable[object]) -> str:
    """Write values of plain types into a new file in the place of others with that prefix.

    Returns its name. Raises OSError. Not synced: a damaged file is only not used.
    """
    name = prefix + os.urandom(8).hex()
    path = os.path.join(folder, name)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(_MAGIC)
            for value in chain((_MAKER,), values):
                data = marshal.dumps(value)  # type: ignore[arg-type]  # plain types only
                file.write(len(data).to_bytes(8, "big") + zlib.crc32(data).to_bytes(4, "big"))
                file.write(data)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    for old in os.listdir(folder):
        if old.startswith(prefix) and old != name:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, old))
    return name


def portions(root: int, memories: Iterable[Memory], stamps: dict[str, Any]) -> Iterator[Rows]:
    """Yield the rows of one root for `write`, in the tree's order: that loads and sorts best."""
    rows: list[tuple[Any, ...]] = sorted(
        map(tuple, memories), key=lambda row: (row[_CATEGORY], row[_REF])
    )
    for at in range(0, len(rows), _PORTION):
        some = rows[at : at + _PORTION]
        yield Rows(root, some, [tuple(stamps[row[_PATH]]) for row in some])


_CATEGORY, _REF, _PATH = (Memory._fields.index(name) for name in ("category", "ref", "path"))


def read(folder: str, name: str) -> tuple[int, Any, list[Rows]] | None:
    """Return (commit, rest, rows) of the image, None where it can't be used."""
    values = kept(folder, name)
    try:
        commit, rest = next(values)
        return commit, rest, [Rows._make(value) for value in iter(values.__next__, _END)]
    except (OSError, ValueError, TypeError, EOFError, StopIteration):
        return None


def kept(folder: str, name: str) -> Iterator[Any]:
    """Yield the values of a file; raises OSError, and ValueError for one that can't be used."""
    with open(os.path.join(folder, name), "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC or _value(file) != _MAKER:
            raise ValueError("not ours")
        while True:
            yield _value(file)


def _value(file: Any) -> Any:
    """Return the next value; raises ValueError for damage, and where there is none."""
    head = file.read(12)
    data = file.read(int.from_bytes(head[:8], "big"))
    if zlib.crc32(data) != int.from_bytes(head[8:], "big") or len(head) < 12:
        raise ValueError("damaged")
    return marshal.loads(data)
