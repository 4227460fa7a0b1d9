"""Running a command where the managed roots are not, or can't be written: with bubblewrap.

All of the file system is there as it is, except: the roots and every other way to the same files
that this machine shows (mounts of them, second names, raw disks, what a process outside could be
asked to read), and processes outside. docs/guard.md has the whole list, and what is left.
"""

from __future__ import annotations

import os
import stat
from _struct import pack

from recall.errors import GuardError

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

HIDE, READ_ONLY = "hide", "read-only"
PROGRAM = "bwrap"
_INSTALL = "Install bubblewrap (Debian, Ubuntu, Fedora, Arch: the package bubblewrap)."
_MOST_LOOKED_AT = 300_000
"""Files looked at for a second name of a memory."""
_KEPT_CAPS = (
    "CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE NET_RAW NET_ADMIN"
    " AUDIT_WRITE SYS_NICE SYS_RESOURCE IPC_LOCK LEASE"
).split()
"""What root keeps: nothing that mounts, traces, makes devices or opens files by number."""
_CAPS = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE"
    " NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO"
    " SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME"
    " SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE"
).split()
"""By the kernel's numbers."""
_HOME = ".recall"
"""As `places.PROJECT_FOLDER`, whose module takes longer to import than all of this."""
_SERVANTS = (
    *("/run/systemd/private", "/run/dbus/system_bus_socket", "/run/docker.sock"),
    *("/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"),
)
_SERVANTS_AT_RUN = ("systemd/private", "bus", "docker.sock", "podman/podman.sock", "emacs/server")
"""Sockets of processes that run commands for whoever asks."""
_NO_DISKS = frozenset("shm pts mqueue hugepages fd input snd dri char bus net cpu usb".split())
_TERMINAL_TRICKS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: to type for whoever reads next
_IOCTL = (16, 29, 54, 0x40000000 + 514)  # x86-64, arm64, 32-bit ones, x32


class Cover:
    """One place and what stands there instead.

    `nothing`: an empty folder; `empty`: an empty file; `itself`: the same, read-only; `fixed`: the
    same, but it can't be renamed.
    """

    __slots__ = ("by", "path")

    def __init__(self, path: str, by: str) -> None:
        self.path = path
        self.by = by


def program() -> str:
    """Return bubblewrap's path; raises GuardError where it is not installed."""
    import sys

    if sys.platform != "linux":
        raise GuardError(
            "recall guard run is not available on this system: it needs Linux.",
            fix="Steering works here; for more, run the command as a user who may not read the "
            "memories.",
        )
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, PROGRAM)
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise GuardError("bubblewrap is not installed: nothing was run.", fix=_INSTALL)


def covers(
    roots: Sequence[str], own: Sequence[str], around: Sequence[str], how: str
) -> list[Cover]:
    """Return what has to be covered so that no memory is read (`hide`) or written.

    `own` are recall's folders that hold texts of memories, `around` those in which second names
    of memories are looked for. Raises GuardError where one can't be found.
    """
    real = _outermost(os.path.realpath(path) for path in roots)
    kept = [path for path in real if os.path.isdir(path)]
    found = [Cover(path, "fixed") for path in _outermost(_homes(kept))]
    if how == READ_ONLY:
        found += [Cover(path, "itself") for path in _every_way(kept)]
        return found + [Cover(path, "itself") for path in _twins(kept, around)]
    hidden = _outermost([*kept, *(os.path.realpath(path) for path in own if os.path.isdir(path))])
    found += [
        Cover(path, "nothing" if os.path.isdir(path) else "empty") for path in _every_way(hidden)
    ]
    found += [Cover(path, "empty") for path in _twins(hidden, around)]
    found += [Cover(path, "empty") for path in _disks()]
    return found + [Cover(path, "empty") for path in _servants()]


def arguments(found: Sequence[Cover], status: int, filter_from: int) -> list[str]:
    """Return bubblewrap's options; `status` and `filter_from` are descriptors that it shall use."""
    words = ["--dev-bind", "/", "/"]
    for one in found:
        path, by = one.path, one.by
        if by == "nothing":
            words += ["--perms", "0500", "--tmpfs", path, "--remount-ro", path]
        elif by == "itself":
            words += ["--ro-bind", path, path]
        elif by == "fixed":
            words += ["--dev-bind", path, path]
        else:
            words += ["--ro-bind", os.devnull, path]
    words += ["--unshare-pid", "--proc", "/proc", "--die-with-parent"]
    words += ["--json-status-fd", str(status), "--seccomp", str(filter_from)]
    if os.geteuid() == 0:
        words += ["--cap-drop", "ALL"]
        held = _held()
        words += [word for cap in _KEPT_CAPS if cap in held for word in ("--cap-add", f"CAP_{cap}")]
    return words


def seccomp() -> bytes:
    """Return the filter that keeps a program from typing into the terminal it shares."""
    load, equal, give = 0x20, 0x15, 0x06
    out: list[tuple[int, int, int, int]] = [(load, 0, 0, 24)]  # the second argument
    out.append((equal, 1, 0, _TERMINAL_TRICKS[0]))
    out.append((equal, 0, 1 + len(_IOCTL), _TERMINAL_TRICKS[1]))
    out.append((load, 0, 0, 0))  # the system call's number
    for at, number in enumerate(_IOCTL):
        out.append((equal, len(_IOCTL) - at, 0, number))
    out.append((give, 0, 0, 0x7FFF0000))  # allowed
    out.append((give, 0, 0, 0x00050001))  # EPERM
    return b"".join(pack("=HBBI", *one) for one in out)


def leaking(roots: Sequence[str], own: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """Yield descriptors that lead to memory: (number, path, whether it is a folder)."""
    inside = _outermost(os.path.realpath(path) for path in (*roots, *own))
    known = {(one.st_dev, one.st_ino) for one in _files(inside)}
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            found = os.fstat(number)
            path = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode):
            yield number, path, True
        elif (found.st_dev, found.st_ino) in known or any(
            path.startswith(f"{root}/") for root in inside
        ):
            yield number, path, False


def _outermost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path == one or path.startswith(one.rstrip("/") + "/") for one in kept):
            kept.append(path)
    return kept


def _homes(roots: Iterable[str]) -> Iterator[str]:
    """Yield the folders `.recall` that roots lie in: renamed, they would make room for others."""
    for root in roots:
        above = os.path.dirname(root)
        if os.path.basename(above) == _HOME:
            yield above


class _Mount:
    """A mount: of which device, which folder of its file system it shows (`origin`), where."""

    __slots__ = ("device", "origin", "place")

    def __init__(self, device: str, origin: str, place: str) -> None:
        self.device = device
        self.origin = origin
        self.place = place


def _mounts() -> list[_Mount]:
    out = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.split(" ")
            out.append(_Mount(fields[2], _unescaped(fields[3]), _unescaped(fields[4])))
    return out


def _unescaped(text: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text


def _every_way(folders: Sequence[str]) -> list[str]:
    """Return the folders, and every other place where a mount shows them or a part of them."""
    mounts = _mounts()
    found = list(folders)
    for folder in folders:
        within = [one for one in mounts if _below(folder, one.place) is not None]
        at = max(within, key=lambda one: len(one.place.rstrip("/")), default=None)
        if at is None:
            continue
        path = _path(at.origin, _below(folder, at.place) or "")
        for other in mounts:
            if other.device != at.device:
                continue
            rest = _below(path, other.origin)
            if rest is not None:
                found.append(_path(other.place, rest))
            elif _below(other.origin, path) is not None:
                found.append(other.place)
        found += [one.place for one in mounts if _below(one.place, folder)]
    kept = [one for one in dict.fromkeys(found) if one in folders or _is_there(one)]
    return _outermost(kept)


def _below(path: str, folder: str) -> str | None:
    """Return the rest of a path below a folder, empty for the folder itself; None elsewhere."""
    if path == folder:
        return ""
    start = folder.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else None


def _path(folder: str, rest: str) -> str:
    return os.path.join(folder, rest) if rest else folder


def _is_there(path: str) -> bool:
    return os.path.lexists(path)


def _files(folders: Iterable[str]) -> Iterator[os.stat_result]:
    for folder in folders:
        for at, _, names in os.walk(folder):
            for name in names:
                try:
                    yield os.lstat(os.path.join(at, name))
                except OSError:
                    continue


def _twins(folders: Sequence[str], around: Sequence[str]) -> list[str]:
    """Return the second names, outside of the folders, of files in them."""
    wanted: dict[tuple[int, int], int] = {}
    for found in _files(folders):
        if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
            key = (found.st_dev, found.st_ino)
            wanted[key] = wanted.get(key, found.st_nlink) - 1
    wanted = {key: left for key, left in wanted.items() if left > 0}
    twins: list[str] = []
    for path in _named(folders, around, {inode for _, inode in wanted}) if wanted else ():
        key = _identity(path)
        if key in wanted:
            twins.append(path)
            wanted[key] -= 1
            if not wanted[key]:
                del wanted[key]
        if not wanted:
            break
    if wanted:
        raise GuardError(
            f"{len(wanted)} memories have a second name (a hard link) that was not found: nothing "
            "was run, since it would show them.",
            fix="Find it with: find / -xdev -samefile MEMORY; remove it, or make it a copy.",
        )
    return twins


def _named(without: Sequence[str], around: Sequence[str], inodes: Collection[int]) -> Iterator[str]:
    """Yield the files around that have one of the inodes; the nearest folders are searched first.

    A folder's entries tell the inode, so that no other file is asked for.
    """
    left = _MOST_LOOKED_AT
    done = set(without)
    for start in dict.fromkeys(map(os.path.realpath, around)):
        open_folders = [start]
        while open_folders:
            folder = open_folders.pop()
            if folder in done:
                continue
            done.add(folder)
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue
            left -= len(entries)
            if left < 0:
                return
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    open_folders.append(entry.path)
                elif entry.inode() in inodes:
                    yield entry.path


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.lstat(path)
    except OSError:
        return -1, -1
    return found.st_dev, found.st_ino


def _disks(folder: str = "/dev", depth: int = 2) -> Iterator[str]:
    """Yield the disks that could be read past the file system."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth and entry.name not in _NO_DISKS and os.access(entry.path, os.R_OK):
                    yield from _disks(entry.path, depth - 1)
            elif not entry.is_symlink() and not entry.is_file():
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISBLK(mode) and os.access(entry.path, os.R_OK):
                    yield entry.path


def _servants() -> Iterator[str]:
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    paths = [*_SERVANTS, *(os.path.join(runtime, name) for name in _SERVANTS_AT_RUN)]
    tmux = os.path.join(os.environ.get("TMUX_TMPDIR") or "/tmp", f"tmux-{os.getuid()}")
    if os.path.isdir(tmux):
        paths += [os.path.join(tmux, name) for name in os.listdir(tmux)]
    yield from dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path))


def _held() -> frozenset[str]:
    """Return which of the capabilities that root keeps this process has itself."""
    numbers = {name: at for at, name in enumerate(_CAPS)}
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        line = next((one for one in file if one.startswith("CapBnd:")), "CapBnd: 0")
    mask = int(line.split()[1], 16)
    return frozenset(name for name, at in numbers.items() if mask >> at & 1)
