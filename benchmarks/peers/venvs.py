"""The peers' virtual environments: found or made, each with one peer installed by pip."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.closed import last_words

_NAMES = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")
_PROBE = "import sys; print(*sys.version_info[:2])"
_INSTALL_SECONDS = 1800


class Absent(Exception):
    """A side can't take part; the text says why."""


class Package(NamedTuple):
    """What to install: `name` is also the folder, `least` the oldest Python that it takes."""

    name: str
    requirement: str
    least: tuple[int, int]


def provide(package: Package, venvs: Path, pythons: Sequence[str] = ()) -> Path:
    """Return the Python of `package`'s environment in `venvs`, made and filled where it isn't.

    `pythons` are tried before this process's own and those on the PATH. Raises Absent where no
    Python fits or pip fails.
    """
    folder = venvs / package.name
    python = folder / "bin" / "python"
    done = folder / "installed.txt"
    if done.is_file() and done.read_text(encoding="utf-8") == package.requirement:
        return python
    base = find_python(package.least, (*pythons, sys.executable, *_NAMES))
    if base is None:
        least = ".".join(map(str, package.least))
        raise Absent(f"needs Python {least} or newer: name one with --python")
    venvs.mkdir(parents=True, exist_ok=True)
    _succeed([base, "-m", "venv", "--clear", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _succeed([*pip, "--no-input", package.requirement])
    # Written last: an installation that was interrupted is made again.
    done.write_text(package.requirement, encoding="utf-8")
    return python


def find_python(least: tuple[int, int], candidates: Sequence[str]) -> str | None:
    """Return the first of the candidates that runs and is at least that new."""
    for candidate in candidates:
        try:
            done = subprocess.run(
                [candidate, "-c", _PROBE], capture_output=True, text=True, timeout=30, check=True
            )
        except (OSError, subprocess.SubprocessError):
            continue
        if fits(done.stdout, least):
            return candidate
    return None


def fits(printed: str, least: tuple[int, int]) -> bool:
    """Tell whether what the probe printed (`3 12`) is a version of at least `least`."""
    parts = printed.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        return False
    return (int(parts[0]), int(parts[1])) >= least


def _succeed(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Absent(f"can't be installed: {error}") from error
    if done.returncode:
        raise Absent(f"can't be installed: {last_words(done.stderr)}")
