"""`recall guard run`: a command where the memories are not. No command line library is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from recall.disk import bubblewrap, config, places, rendezvous, sandboxed
from recall.errors import GuardError, RecallError
from recall.settings import Arguments, Settings

EXIT_NOT_RUN = 1


def fast(argv: Sequence[str]) -> int | None:
    """Return the code of `guard run [--hide|--read-only] -- COMMAND…`; None for other words."""
    how = bubblewrap.HIDE
    for at, word in enumerate(argv):
        if word == "--":
            command = list(argv[at + 1 :])
            return guarded(how, command, None) if command else None
        if word not in ("--hide", "--read-only"):
            return None
        how = word[2:]
    return None


def guarded(how: str, command: Sequence[str], arguments: Arguments | None) -> int:
    """Run a command and return its exit code; what is wrong is said on standard error."""
    try:
        return enforce(how, command, arguments)
    except RecallError as error:
        sys.stderr.write(f"recall: {error.message}\n")
        if error.fix:
            sys.stderr.write(f"        {error.fix}\n")
        return EXIT_NOT_RUN


def enforce(how: str, command: Sequence[str], arguments: Arguments | None) -> int:
    """Run a command without the memories, or where they can't be written.

    Returns its exit code. Raises GuardError where that can't be done: nothing was run then.
    """
    bwrap = bubblewrap.program()
    env, cwd = os.environ, Path.cwd()
    home = places.home_folder(env)
    settings = config.load(cwd, env=env, arguments=arguments, home=home).settings
    roots = [root.path for root in settings.roots]
    hides = how == bubblewrap.HIDE
    own = _own_folders(settings, home) if hides else []
    _refuse_inside(cwd, roots, own)
    around = [settings.project_dir or str(cwd), str(home), "/tmp", "/var/tmp"]
    found = bubblewrap.covers(roots, own, around, how)
    if hides:
        _close_leaks(roots, own)
    ours, status = os.pipe()
    filtered, filled = os.pipe()
    os.write(filled, bubblewrap.seccomp())
    os.close(filled)
    for number in (status, filtered):
        os.set_inheritable(number, True)
    options = bubblewrap.arguments(found, status, filtered)
    return sandboxed.run(bwrap, options, command, status, ours)


def _own_folders(settings: Settings, home: Path) -> list[str]:
    """Return recall's own folders: they hold texts of memories too, or servers that tell them."""
    return [
        rendezvous.folder(os.environ),
        str(places.cache_dir(settings, os.environ, home)),
        str(places.state_dir(settings, os.environ, home)),
    ]


def _refuse_inside(cwd: Path, roots: Sequence[str], own: Sequence[str]) -> None:
    here = os.path.realpath(cwd)
    for folder in (*roots, *own):
        real = os.path.realpath(folder)
        if here == real or here.startswith(f"{real}/"):
            raise GuardError(
                f"the working folder {cwd} lies in {folder}, which is hidden.",
                fix="Run the command from another folder.",
            )


def _close_leaks(roots: Sequence[str], own: Sequence[str]) -> None:
    """Close inherited descriptors that lead to memory; refuse them as the command's own streams."""
    for number, path, is_folder in list(bubblewrap.leaking(roots, own)):
        if number <= 2:
            what = "a folder" if is_folder else "a memory"
            raise GuardError(
                f"stream {number} of the command is {what}: {path}.",
                fix="Run it without that redirection.",
            )
        try:
            os.close(number)
        except OSError:
            continue
