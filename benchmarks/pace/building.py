"""The first index of a corpus, its size on disk, and what processes over it hold in memory."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import floors
from benchmarks.opening import opened
from benchmarks.pace.timing import Stopwatch

_HERE = Path(__file__).resolve().parents[2]
_CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from benchmarks.opening import largest_resident, opened
base = Path(sys.argv[1])
with opened(base / "memory", base / sys.argv[3]) as recall:
    snapshot = recall.store.refresh(index=True)
    recall.router(snapshot)
    session = recall.session()
    for words in ("config server", "driver device", "how is it used"):
        session.confirm(session.begin_turn(words))
        session.search_memory(mode="search", keywords=[words])
    print(len(snapshot.memories), largest_resident())
"""


def first_index(base: Path, rounds: int) -> dict[str, Any]:
    """Index from nothing beside the floor, by turns; the last cache stays.

    Returns the ratio, and bytes: of the memories, of the cache and of its parts.
    """
    root, cache, floor = base / "memory", base / "cache", base / "floor"
    watch = Stopwatch()

    def ours() -> None:
        with opened(root, cache) as recall:
            recall.store.refresh(index=True)

    for _ in range(rounds):
        for folder in (cache, floor):
            shutil.rmtree(folder, ignore_errors=True)
        watch.take("floor", lambda: floors.index(root, floor))
        watch.take("index", ours)
    found = watch.ratio("index", "floor")
    found["bytes"] = {
        "memories": _bytes(root),
        "cache": _bytes(cache),
        "text index": sum(_bytes(one) for one in cache.rglob("index-*") if one.is_dir()),
        "floor": _bytes(floor),
    }
    found["folders"] = sum(one.is_dir() for one in root.rglob("*"))
    shutil.rmtree(floor)
    return found


def resident(base: Path, *, building: bool) -> int:
    """Return the most bytes that a process of its own held: tree, three turns, three searches.

    `building`: it makes the first index, too; else the cache is warm.
    """
    name = "cache-of-child" if building else "cache"
    if not building and not (base / name).exists():
        with opened(base / "memory", base / name) as recall:
            recall.store.refresh(index=True)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(base), str(_HERE), name],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    if building:
        shutil.rmtree(base / name)
    return int(done.stdout.split()[1])


def bare_resident() -> int:
    """Return what a Python that imports nothing holds, in bytes."""
    code = "print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    return int(done.stdout) * 1024


def _bytes(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
