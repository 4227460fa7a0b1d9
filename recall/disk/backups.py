"""Previous bytes of files that were written to: compressed, by their digest, for this user only."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Collection
from pathlib import Path

from recall.disk import atomic

FOLDER = "backups"
_LEVEL = 6


class Backups:
    """The previous bytes kept in one state folder; a content is kept once."""

    def __init__(self, state_dir: Path, folder: str = FOLDER) -> None:
        self._folder = state_dir / folder

    def keep(self, data: bytes) -> str:
        """Keep the bytes, on disk when this returns; returns their digest. Raises OSError."""
        name = atomic.digest(data)
        path = self._path(name)
        if self.load(name) != data:  # a damaged one is written anew
            for folder in (self._folder.parent, self._folder, path.parent):
                if not folder.is_dir():
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                    _sync(folder.parent)
            atomic.replace(path, zlib.compress(data, _LEVEL), expected=atomic.ANYTHING)
        return name

    def load(self, name: str) -> bytes | None:
        """Return the bytes of a digest; None where they are not kept, or damaged."""
        try:
            data = zlib.decompress(self._path(name).read_bytes())
        except (OSError, zlib.error):
            return None
        return data if hashlib.sha256(data).hexdigest() == name else None

    def damaged(self, name: str) -> str:
        """Return the path of what is kept of a digest but does not hold it; empty if it does."""
        path = self._path(name)
        return str(path) if path.exists() and self.load(name) is None else ""

    def forget(self, but: Collection[str] = (), *, dry_run: bool = False) -> tuple[int, int]:
        """Delete what is kept, all but these digests; returns how many, and their bytes.

        With `dry_run` nothing is deleted, only counted.
        """
        files = size = 0
        for path in sorted(self._folder.glob("??/*")):
            if path.name not in but:
                size += path.stat().st_size
                files += 1
                if not dry_run:
                    path.unlink()
        return files, size

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
