"""Writes of several memories on a disk with ever less room: all of them, or an error and none.

The disk is a file system in memory (tmpfs) of its own, seen by a child process alone; it goes with
the child. Where that is not permitted, a limit on the size of files stands for it.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.write_stage import Job, Stage
from recall.errors import RecallError

_DISK = 16 << 20
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000  # CLONE_NEWUSER, CLONE_NEWNS
_PRIVATE = 0x4000 | (1 << 18)  # MS_REC | MS_PRIVATE
_WORKS = ("consolidate", "seed")


@dataclass(slots=True)
class Full:
    """What came of writes with ever less room."""

    disk: str = ""
    tried: int = 0
    made: int = 0
    refused: int = 0
    """Writes that ended with an error, and every file as before at once."""
    later: int = 0
    """Those whose files were as before only once there was room again, and said so."""
    codes: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def show(row: Full) -> None:
    """Print what came of it."""
    print(f"  full disk ({row.disk}), {row.tried} writes:")
    codes = ", ".join(f"{code} {count}" for code, count in sorted(row.codes.items()))
    print(f"    made whole {row.made}; refused with nothing written {row.refused} ({codes});")
    print(f"    taken back once there was room again {row.later}; wrong {len(row.wrong)}")
    for text in row.wrong[:5]:
        print(f"    {text}")


def values(row: Full) -> dict[str, Any]:
    """Return the figures as JSON-ready values."""
    return {name: getattr(row, name) for name in Full.__slots__}


def full_disk(*, step: int = 4_096, seeds: int = 20) -> Full:
    """Make writes with more and more room, `step` bytes more each time, until they are made."""
    with tempfile.TemporaryDirectory(prefix="recall-write-full-") as name:
        told, say = os.pipe()
        child = os.fork()
        if not child:
            status = 1
            try:
                os.close(told)
                row = _campaign(Path(name), step, seeds)
                with open(say, "w", encoding="utf-8") as pipe:
                    json.dump(values(row), pipe)
                status = 0
            finally:
                os._exit(status)
        os.close(say)
        with open(told, encoding="utf-8") as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return Full(**json.loads(text)) if text else Full(wrong=["the child failed"])


def _campaign(base: Path, step: int, seeds: int) -> Full:
    disk, cache = base / "disk", base / "cache"
    disk.mkdir()
    row = Full("a file system of its own" if _mount(disk) else "a limit on the size of files")
    for work in _WORKS:
        for standing in (False, True):
            stage = Stage(disk, cache=cache, seeds=seeds, standing=standing)
            room, made = 0, 0
            while made < 3 and room < _DISK:  # a little more room than it takes, too
                made += _attempt(row, stage, work, disk, room)
                room += step
    return row


def _attempt(row: Full, stage: Stage, work: str, disk: Path, room: int) -> bool:
    """Make one write with so much room; return whether it was made."""
    job = stage.prepared(work)
    row.tried += 1
    code = ""
    ballast = _filled(disk, room)
    try:
        stage.make(job)
    except RecallError as error:
        code = error.code
    except Exception as error:  # noqa: BLE001  # any other one is a wrong answer
        row.wrong.append(f"{work}, {room} bytes: {type(error).__name__}: {error}")
    at_once = stage.files()
    _emptied(ballast)
    where = f"{work}, {room} bytes, {code or 'made'}"
    try:
        _count(row, stage, job, code, at_once, where)
    except Exception as error:  # noqa: BLE001
        row.wrong.append(f"{where}: {type(error).__name__}: {error}")
    return not code


def _count(
    row: Full, stage: Stage, job: Job, code: str, at_once: dict[str, bytes], where: str
) -> None:
    stage.next_process()
    now = stage.files()
    if now != (job.before if code else job.after):
        row.wrong.append(f"{where}: half, or not what was told")
    if not code:
        row.made += 1
        if at_once != job.after:
            row.wrong.append(f"{where}: it was not all there at once")
    else:
        row.codes = dict(Counter(row.codes) + Counter([code]))
        if at_once == job.before:
            row.refused += 1
        else:
            row.later += 1
        stage.make(job)
        if stage.files() != job.after:
            row.wrong.append(f"{where}: it can't be made with room either")
    actions, findings = stage.audit()
    row.wrong += [f"{where}: audit: {one}" for one in findings]
    rows = actions.count(job.write.action) - job.earlier
    if rows != len(job.plan.changes):
        row.wrong.append(f"{where}: {rows} rows of the audit")


# --- the disk


def _mount(disk: Path) -> bool:
    """Mount a small file system there, for this process alone; False where that can't be."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        user, group = os.getuid(), os.getgid()
        if libc.unshare(_NEW_MOUNTS):
            if libc.unshare(_NEW_MOUNTS | _NEW_USER):
                return False
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        libc.mount(b"none", b"/", None, _PRIVATE, None)
        size = f"size={_DISK},mode=700".encode()
        return not libc.mount(b"tmpfs", os.fsencode(disk), b"tmpfs", 0, size)
    except (OSError, AttributeError):
        return False


def _filled(disk: Path, room: int) -> Path | None:
    """Leave so much room; returns the file that takes the rest."""
    if not os.path.ismount(disk):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        return None
    found = os.statvfs(disk)
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        left = found.f_bavail * found.f_frsize - room
        os.posix_fallocate(file.fileno(), 0, max(left, 1))
    return ballast


def _emptied(ballast: Path | None) -> None:
    if ballast is not None:
        ballast.unlink()
        return
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
