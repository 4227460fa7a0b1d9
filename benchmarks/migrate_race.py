"""`python -m benchmarks migrate-race`: two other programs rewrite the file while we do.

One replaces it (a new file, renamed over it), one rewrites it in place (appending, and truncating
first, by turns). Each reads what is there, counts its one update, and writes it back; a lock of
their own keeps the two apart, as two careful programs would. We know nothing of that lock. Each of
our rounds reads the file, changes its first line and puts it back by compare-and-swap.

At the end the file's count must be the number of their updates: one lost update, ever, and it is
less. Whenever they read the file, it must be whole.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.machine import describe, one_line
from recall.disk import atomic
from recall.disk.swap import Swap
from recall.errors import ConflictError

HELP = "two programs rewrite a file while we do: not one of their updates is lost"
_PAD = 6_000
_HERE = str(Path(__file__).resolve().parents[1])


class Found(NamedTuple):
    """What came of a race."""

    rounds: int
    written: int
    conflicts: int
    taken_back: int
    """Conflicts that showed only after the swap."""
    theirs: dict[str, int]
    counted: int
    torn: int
    left: int

    @property
    def lost(self) -> int:
        """How many of their updates are not in the file."""
        return sum(self.theirs.values()) - self.counted

    @property
    def failed(self) -> bool:
        return bool(self.lost or self.torn or self.left)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--rounds", type=int, default=10_000, metavar="N", help="of ours")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Race, print a table; return 1 where an update was lost, or a file was torn or left over."""
    print(one_line(describe(("recall-memory",))))
    found = race(args.rounds)
    print(f"  {'our rounds':30} {found.rounds:8}")
    print(f"  {'  written':30} {found.written:8}")
    print(f"  {'  left alone (conflict)':30} {found.conflicts:8}")
    print(f"  {'  of these, swap taken back':30} {found.taken_back:8}")
    for name, count in found.theirs.items():
        print(f"  {'updates by ' + name:30} {count:8}")
    print(f"  {'their updates lost':30} {found.lost:8}")
    print(f"  {'torn files seen':30} {found.torn:8}")
    print(f"  {'files left over':30} {found.left:8}")
    if args.json:
        document = found._asdict() | {"lost": found.lost}
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if found.failed else 0


def race(rounds: int, at_most: int = 0) -> Found:
    """Race for so many of our rounds.

    For as long as none of ours was written, or none of theirs came in, it goes on, up to `at_most`
    rounds: on a machine that starves one of us, the first ones may show nothing.
    """
    with tempfile.TemporaryDirectory(prefix="recall-race-") as name:
        base = Path(name)
        folder = base / "memory"
        folder.mkdir()
        path = folder / "note.md"
        path.write_bytes(_text(b"none", 0))
        others = [_start(base, path, how) for how in ("replacing", "in place")]
        written = conflicts = 0
        taken_back, uncounted = _counted()
        try:
            for number in range(max(rounds, at_most)):
                if number >= rounds and written and _read(path.read_bytes())[1]:
                    break
                if _round(path, number):
                    written += 1
                else:
                    conflicts += 1
        finally:
            uncounted()
            (base / "stop").touch()
        told = [json.loads(other.communicate()[0]) for other in others]
        counted, torn = _read(path.read_bytes()), sum(one["torn"] for one in told)
        theirs = {one["how"]: one["updates"] for one in told}
        left = len(os.listdir(folder)) - 1
        return Found(
            written + conflicts, written, conflicts, len(taken_back), theirs, counted[1], torn, left
        )


def _counted() -> tuple[list[None], Callable[[], None]]:
    """Count from now on how often a swap is taken back; returns what grows by it, and its end."""
    found: list[None] = []
    real = Swap._take_back

    def counting(self: Swap) -> None:
        found.append(None)
        real(self)

    Swap._take_back = counting  # type: ignore[method-assign]
    return found, lambda: setattr(Swap, "_take_back", real)


def _round(path: Path, number: int) -> bool:
    try:
        before = atomic.read(path) or b""
        _, _, rest = before.partition(b"\n")
        after = b"ours: %d\n" % number + rest
        atomic.replace(path, after, expected=atomic.digest(before), strict=True)
    except ConflictError:
        return False
    return True


# --- the others


def _start(base: Path, path: Path, how: str) -> subprocess.Popen[str]:
    script = (
        f"import sys; sys.path.insert(0, {_HERE!r})\n"
        "from benchmarks.migrate_race import other; other(*sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, str(base), str(path), how]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    if child.stdout.readline() != "go\n":
        raise RuntimeError("the other program did not start")
    return child


def other(base: str, path: str, how: str) -> None:
    """Be the other program until told to stop; prints what it did."""
    print("go", flush=True)
    updates = torn = 0
    lock = os.open(os.path.join(base, "lock"), os.O_RDWR | os.O_CREAT)
    while not os.path.exists(os.path.join(base, "stop")):
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with open(path, "rb") as file:
                first, count = _read(file.read())
            if count < 0:
                torn += 1
            elif how == "replacing":
                _replace(path, base, first, count + 1)
                updates += 1
            else:
                _in_place(path, truncating=bool(updates % 2), first=first, count=count + 1)
                updates += 1
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
        # In bursts: at full speed hardly any of our rounds would come to its swap.
        time.sleep(random.random() * (0.004 if updates % 100 < 60 else 0.0002))
    print(json.dumps({"how": how, "updates": updates, "torn": torn}))


def _replace(path: str, base: str, first: bytes, count: int) -> None:
    fresh = os.path.join(base, "fresh")
    with open(fresh, "wb") as file:
        file.write(_text(first, count))
    os.rename(fresh, path)


def _in_place(path: str, *, truncating: bool, first: bytes, count: int) -> None:
    if truncating:
        with open(path, "wb") as file:
            file.write(_text(first, count))
        return
    with open(path, "r+b", buffering=0) as file:
        text = file.read()
        # What was read under the lock may have another first line by now: that is ours.
        first = text.partition(b"\n")[0].removeprefix(b"ours: ")
        file.seek(0)
        file.write(_text(first, count))
        file.truncate()


def _text(first: bytes, count: int) -> bytes:
    """Return a file: our line, their count, and enough text to be torn, with its digest."""
    rest = b"count: %d\n" % count + hashlib.sha256(b"%d" % count).hexdigest().encode() * (
        _PAD // 64
    )
    return b"ours: " + first + b"\n" + rest + b"\nend\n"


def _read(data: bytes) -> tuple[bytes, int]:
    """Return our line's value and their count; -1 where the file is not whole."""
    try:
        first, counted, _ = data.split(b"\n", 2)
        value, count = first.removeprefix(b"ours: "), int(counted.removeprefix(b"count: "))
    except ValueError:
        return b"", -1
    return (value, count) if data == _text(value, count) else (value, -1)
