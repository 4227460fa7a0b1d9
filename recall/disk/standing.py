"""Whether a memory's file is as the catalog has it, asked of that file alone, not by a walk."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from recall.disk.inside import joined

if TYPE_CHECKING:
    from recall.disk.ledger import Ledger, Name
    from recall.disk.walks import Walks
    from recall.model import Memory


def stands(memory: Memory, walks: Walks, ledger: Ledger, suspects: Collection[Name]) -> bool:
    """Tell whether a walk would find the memory's file, and find it unchanged.

    So it is where its root, its folders, their ignore files and the file itself are as the last
    walk and the catalog have them: a stat for each, however large the corpus. False where that
    can't be told: links, folders that could not be read, files marked to be read again.
    """
    root, path = memory.root, memory.path
    if root >= len(walks.listings) or not walks.still_there(root):
        return False
    listing = walks.listings[root]
    if (root, path) in suspects or path in ledger.racy[root] or path in listing.links:
        return False
    if listing.failed or listing.moved_above(path):
        return False
    try:
        st = os.lstat(joined(listing.root, path))
    except OSError:
        return False
    return (st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino) == ledger.stamps[root].get(path)
