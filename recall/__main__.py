"""`python -m recall`, and the command `recall`."""

import sys


def main() -> None:
    if len(sys.argv) == 5 and sys.argv[1] == "hook" and sys.argv[3] == "--host":
        # A hook's process must start fast: nothing of the command line is imported for it.
        from recall.faces.hook import main as hook

        sys.exit(hook(sys.argv[2], sys.argv[4]))
    from recall.faces.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
