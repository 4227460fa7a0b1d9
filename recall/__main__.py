"""`python -m recall`, and the command `recall`."""

import os
import sys


def main() -> None:
    if len(sys.argv) == 5 and sys.argv[1] == "hook" and sys.argv[3] == "--host":
        # A hook's process must start fast: nothing of the command line is imported for it.
        from recall.faces.hook import main as hook

        code = hook(sys.argv[2], sys.argv[4])
        if "atexit" not in sys.modules:  # nobody wants to be called
            os._exit(code)  # to take the interpreter apart takes 8 ms
        sys.exit(code)
    if sys.argv[1:3] == ["guard", "run"]:
        from recall.faces.guard_run import fast

        code_of = fast(sys.argv[3:])
        if code_of is not None:
            sys.exit(code_of)
    from recall.faces.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
