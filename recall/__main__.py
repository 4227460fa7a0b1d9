"""`python -m recall`, and the command `recall`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> None:
    """Run what the command line says, and exit with its code."""
    if len(sys.argv) == 5 and sys.argv[1] == "hook" and sys.argv[3] == "--host":
        # A hook's process must start fast: nothing of the command line is imported for it.
        from recall.faces.hook import main as hook

        _end(hook(sys.argv[2], sys.argv[4]))
    if sys.argv[1:3] == ["guard", "run"]:
        from recall.faces.guard_run import fast

        found = fast(sys.argv[3:])
        if found is not None:
            _end(found)
    from recall.faces.cli import run

    sys.exit(run(sys.argv[1:]))


def _end(code: int) -> NoReturn:
    """Exit, and call first what wants to be; to take the interpreter apart takes 8 ms more."""
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        sys.exit(code)
    registered = sys.modules.get("atexit")
    if registered is not None:
        registered._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - contextlib is a slow import
            stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads it any more
    os._exit(code)


if __name__ == "__main__":
    main()
