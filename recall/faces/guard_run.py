"""`recall guard run`: a command where the memories are not. No command line library is imported."""

from __future__ import annotations

import os
import sys

from recall.disk import bubblewrap, rootmemo, sandboxed
from recall.errors import GuardError, RecallError

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from collections.abc import Sequence

    from recall.settings import Arguments

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
    known = rootmemo.recalled(os.environ) if arguments is None else None
    roots, own, around = known or _found(arguments)
    hides = how == bubblewrap.HIDE
    if not hides:
        own = []
    _refuse_inside(roots, own)
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


def _found(arguments: Arguments | None) -> rootmemo.Found:
    """Return the roots, recall's own folders, and where second names of memories are looked for.

    Its own folders hold texts of memories too, or servers that tell them.
    """
    from pathlib import Path

    from recall.disk import config, places, rendezvous

    env, cwd = os.environ, Path.cwd()
    home = places.home_folder(env)
    loaded = config.load(cwd, env=env, arguments=arguments, home=home)
    settings = loaded.settings
    own = (places.cache_dir(settings, env, home), places.state_dir(settings, env, home))
    found = (
        [root.path for root in settings.roots],
        [*map(str, own), rendezvous.folder(env)],
        [settings.project_dir or str(cwd), str(home), "/tmp", "/var/tmp"],
    )
    if arguments is None:
        rootmemo.keep(loaded, env, home, found)
    return found


def _refuse_inside(roots: Sequence[str], own: Sequence[str]) -> None:
    here = os.path.realpath(os.curdir)
    for folder in (*roots, *own):
        real = os.path.realpath(folder)
        if here == real or here.startswith(f"{real}/"):
            raise GuardError(
                f"the working folder {here} lies in {folder}, which is hidden.",
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
