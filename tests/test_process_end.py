"""A process that ends fast leaves nothing undone."""

from __future__ import annotations

import subprocess
import sys

_END = "from recall.__main__ import _end; _end(3)"


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a process of its own, with its output in a pipe."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_what_wants_to_be_called_at_the_end_is_and_what_was_written_goes_out() -> None:
    done = run(f"import atexit; atexit.register(print, 'closed'); print('said'); {_END}")
    assert (done.returncode, done.stdout, done.stderr) == (3, "said\nclosed\n", "")


def test_a_thread_at_work_is_waited_for() -> None:
    work = "import threading, time; slow = lambda: (time.sleep(0.2), print(1)); "
    work += "threading.Thread(target=slow).start()"
    done = run(f"{work}; {_END}")
    assert (done.returncode, done.stdout) == (3, "1\n")


def test_an_output_that_is_closed_does_not_matter() -> None:
    done = run(f"import sys; sys.stdout.close(); {_END}")
    assert (done.returncode, done.stderr) == (3, "")
