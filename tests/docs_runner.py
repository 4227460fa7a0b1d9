"""Reading the documentation's code blocks, and running them: docs that can't drift.

- `console`: each `$ ` line is a command (lines that begin with `> ` go on with it), run through a
  shell; what stands below is its output, errors included. `…` stands for any text in a line, a
  line of its own for any lines. A command that holds `…` is completed from what was printed
  before it, as a reader would copy it.
- `python`: run as a program; a `text` block right behind it is its output, else there is none.
- `json request` and `json answer`: see test_docs.py.

`python -m tests.docs_runner --write` writes what `--help` says into docs/cli.md.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CLI_PAGE = ROOT / "docs" / "cli.md"
WIDTH = "80"
"""Columns of the terminal on which the pages' output was printed."""
_HANG_S = 60

_FENCE = re.compile(r"(?ms)^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```[ \t]*$")
_HEADING = re.compile(r"(?m)^#{1,6} +(.+?)[ \t]*$")
_COMMAND = re.compile(r"(?m)^\$ (?P<command>.*(?:\n> .*|\n>$)*)\n?(?P<output>(?:(?!\$ ).*\n?)*)")
ANY = "…"


class Block(NamedTuple):
    """One fenced block: its info string, its text, the line of its fence, the heading above."""

    info: str
    text: str
    line: int
    heading: str


class Command(NamedTuple):
    """One command of a `console` block and the output that the page shows."""

    command: str
    expected: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Return every fenced block of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    headings = [(m.start(), m[1]) for m in _HEADING.finditer(prose(text))]
    for match in _FENCE.finditer(text):
        above = [title for at, title in headings if at < match.start()]
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match["info"].strip(), match["text"], line, above[-1] if above else ""))
    return found


def prose(text: str) -> str:
    """Return the page with its fenced blocks blanked out, every offset kept."""
    return _FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a `console` block with what each of them prints."""
    for match in _COMMAND.finditer(block.text):
        text = re.sub(r"(?m)^> ?", "", match["command"])
        line = block.line + 1 + block.text.count("\n", 0, match.start())
        yield Command(text, match["output"], line)


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with a home of its own and this checkout's `recall` on PATH."""
    programs, home = folder / "bin", folder / "home"
    programs.mkdir(parents=True, exist_ok=True)
    home.mkdir(exist_ok=True)
    script = programs / "recall"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m recall "$@"\n')
    script.chmod(0o755)
    return {
        "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": WIDTH,
    }


class Reader:
    """Somebody who follows a page: runs its blocks in order, and compares what comes out."""

    def __init__(self, page: Path, folder: Path, cwd: Path = ROOT) -> None:
        """`folder` is for the home and the like, `cwd` where the commands run."""
        self.page = page
        self._cwd = cwd
        self._env = environment(folder)
        self._printed = ""

    def follow(self, found: Sequence[Block]) -> None:
        """Run the blocks that can be run; AssertionError with a diff where output differs."""
        for block, after in zip(found, [*found[1:], None], strict=True):
            self.step(block, after)

    def step(self, block: Block, after: Block | None) -> None:
        """Run one block, if it is one to be run; `after` is the block behind it."""
        if block.info == "console":
            self._console(block)
        elif block.info == "python":
            self._python(block, after.text if after and after.info == "text" else "")

    def _console(self, block: Block) -> None:
        for command in commands(block):
            text = completed(command.command, self._printed)
            actual = self._run(["/bin/sh", "-c", text])
            self._printed += actual
            self._compare(f"$ {command.command}", command.line, command.expected, actual)

    def _python(self, block: Block, expected: str) -> None:
        actual = self._run([sys.executable, "-c", block.text])
        self._compare("the program", block.line, expected, actual)

    def _run(self, command: Sequence[str]) -> str:
        done = subprocess.run(
            command,
            cwd=self._cwd,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=_HANG_S,
            check=False,
        )
        return done.stdout

    def _compare(self, what: str, line: int, expected: str, actual: str) -> None:
        difference = differs(expected, actual)
        assert not difference, f"{self.page.name}:{line}: {what}\n{difference}"


def completed(command: str, printed: str) -> str:
    """Return the command with each `…` as the last output that fits says; a reader copies it."""
    if ANY not in command:
        return command
    pattern = r"\S*".join(re.escape(part) for part in command.split(ANY))
    found = re.findall(pattern, printed)
    assert found, f"nothing was printed that completes: {command}"
    return str(found[-1])


def differs(expected: str, actual: str) -> str:
    """Return a diff for people, or an empty text where the output is what the page shows."""
    wanted, got = _lines(expected), _lines(actual)
    pattern = "".join(map(_line_pattern, wanted))
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in got)):
        return ""
    shown = list(_aligned(wanted, got))
    return "\n".join(difflib.unified_diff(shown, got, "the page", "printed", lineterm="", n=2))


def _aligned(wanted: Sequence[str], got: Sequence[str]) -> Iterator[str]:
    """Yield the page's lines, each `…` as what it stands for, so that only differences are left."""
    at = 0
    for i, line in enumerate(wanted):
        if line.strip() == ANY:
            after = wanted[i + 1] if i + 1 < len(wanted) else None
            while at < len(got) and (after is None or not re.fullmatch(_inline(after), got[at])):
                yield got[at]
                at += 1
            continue
        fits = [n for n in range(at, len(got)) if re.fullmatch(_inline(line), got[n])]
        if fits:
            at = fits[0] + 1
        yield got[fits[0]] if fits else line


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _line_pattern(line: str) -> str:
    return r"(?:.*\n)*?" if line.strip() == ANY else _inline(line) + r"\n"


def _inline(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split(ANY))


# ---------------------------------------------------------------------------------------------
# --help in docs/cli.md


def help_of(command: str) -> str:
    """Return what a command line that ends in `--help` prints, at the pages' width."""
    from recall.faces.cli import run

    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            code = run(shlex.split(command)[1:])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    assert code == 0, f"{command}: exit code {code}"
    return printed.getvalue()


def with_help(text: str) -> str:
    """Return the page with every `$ recall … --help` block as the command prints it now."""

    def fresh(match: re.Match[str]) -> str:
        return f"```console\n$ {match[1]}\n{help_of(match[1])}```"

    return re.sub(r"(?ms)^```console\n\$ (recall[^\n]* --help)\n.*?^```", fresh, text)


def main(arguments: Sequence[str]) -> int:
    """Write the help texts into the page; returns the exit code."""
    if list(arguments) != ["--write"]:
        sys.stderr.write("usage: python -m tests.docs_runner --write\n")
        return 2
    CLI_PAGE.write_text(with_help(CLI_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
