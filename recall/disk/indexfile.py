"""A root's own index, `MEMORY.md`: read as it is, never a memory, never written here."""

from __future__ import annotations

import os

from recall.disk.inside import open_inside

NAMES = ("MEMORY.md", "memory.md")
_BYTES = 1 << 16
"""More than any host loads (core/legacy_index.py)."""


def read_index(root: str) -> str:
    """Return the beginning of the index of a resolved root, at most 64 KB as UTF-8 text.

    Empty where there is none, or none that can be read: a link that leads out of the root is not
    followed.
    """
    for name in NAMES:
        try:
            fd = open_inside(root, name)
        except OSError:
            continue
        try:
            data = os.read(fd, _BYTES)
        except OSError:
            continue
        finally:
            os.close(fd)
        return data.decode("utf-8-sig", "replace")
    return ""
