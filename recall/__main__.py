"""`python -m recall`, and the command `recall`."""

import sys


def main() -> None:
    from recall.faces.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
