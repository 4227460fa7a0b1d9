"""A store of its own for the memory protocol: one folder that holds all of it.

`user` is the user's memory root; `workspaces/*/memory` is that of a workspace, whose key stands in
the file `key` beside it; `state` and `cache` are recall's own.
"""

from __future__ import annotations

from pathlib import Path

from recall.core.digest import sha256
from recall.disk import atomic, places
from recall.settings import Arguments


class EntryStore:
    """The layout of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = places.resolved(folder)

    def keys(self) -> list[str]:
        """Return the keys of the workspaces that there are."""
        files = sorted((self.folder / "workspaces").glob("*/key"))
        return [file.read_bytes().decode("utf-8", "surrogatepass") for file in files]

    def arguments(self, key: str) -> Arguments:
        """Return what names a workspace's folders; makes those that are not there."""
        user, own = self.folder / "user", self._own(key)
        for one in (user, own / "memory"):
            one.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (own / "key").exists():
            data = key.encode("utf-8", "surrogatepass")
            atomic.replace(own / "key", data, expected=atomic.ANYTHING)
        return Arguments(
            roots=(f"user={user}", f"project={own / 'memory'}"),
            cache_dir=str(self.folder / "cache"),
            state_dir=str(self.folder / "state"),
        )

    def _own(self, key: str) -> Path:
        name = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self.folder / "workspaces" / name
