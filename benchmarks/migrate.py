"""`python -m benchmarks migrate`: the whole way of a legacy corpus, from the command line.

On a copy: what is legacy; what legacy recall answers to a few questions, as a host's hook hands it
over; a dry run, which must change nothing; the migration; every body as before; a search; what
structured recall answers, in the same conversation; a second run, which must write nothing; taking
it back; every file as before; a new conversation, which is a legacy one again. A step that is not
as it should be makes the exit code 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.machine import describe, one_line
from recall.core.frontmatter import split

HELP = "a legacy corpus migrated and taken back by the command line, every byte checked"
_HERE = str(Path(__file__).resolve().parents[1])
_COMMAND = (
    f"import sys; sys.path.insert(0, {_HERE!r})\n"
    "from recall.faces.cli import run; sys.exit(run(sys.argv[1:]))"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the corpora")
    parser.add_argument("--corpus", default="ken", help="a folder or archive in it")
    parser.add_argument("--below", default="", metavar="FOLDER", help="only this part of it")
    parser.add_argument(
        "--question", action="append", metavar="TEXT", help="what is asked; repeatable"
    )


QUESTIONS = {
    "ken": (
        "what does a reviewer check before the vote",
        "how is a branch handed over",
        "why does a test suite fail on a cold checkout",
    ),
    "blog-mzlogin-zh": (
        "Android 应用怎么调试",
        "Java 注解之间有什么区别",
        "Windows 命令行怎么设置代理",
    ),
    "skills-oddities": (
        "how are secrets kept out of a repository",
        "what belongs into a code review",
        "what to do when a build fails",
    ),
}
"""Of corpora that we know, where nothing else is asked."""
_REF = re.compile(r"\[((?:project|user|team):[^\]\s]+)\]")
_SECTIONS = {
    "legacy": ("## Memory index", "## Relevant memories"),
    "structured": ("## Complete memory tree", "## Memory focus for this turn"),
}
"""What a conversation gets once in a mode, and what it gets with a question."""


class Step(NamedTuple):
    """One step: what it is called, what was found, whether it is as it should be."""

    name: str
    found: str
    good: bool = True
    seconds: float = 0.0
    more: tuple[str, ...] = ()


def run(args: argparse.Namespace) -> int:
    """Go the whole way, print each step; return 1 where one is not as it should be."""
    print(one_line(describe(("recall-memory",))))
    try:
        with unpacked(args.data, [args.corpus]) as corpora, tempfile.TemporaryDirectory() as name:
            memory = Path(name, "memory")
            shutil.copytree(corpora[args.corpus] / args.below, memory, symlinks=True)
            steps = []
            asked = args.question or QUESTIONS.get(args.corpus, ("release checklist",))
            for step in Way(memory, Path(name)).steps(asked):
                mark = " " if step.good else "!"
                print(f"{mark} {step.name:24} {step.seconds:7.2f} s  {step.found}", flush=True)
                for line in step.more:
                    print(f"      {line}")
                steps.append(step)
    except MissingCorpus as error:
        print(error)
        return 2
    return 0 if all(step.good for step in steps) else 1


class Way:
    """The steps, over one copy."""

    def __init__(self, memory: Path, base: Path) -> None:
        self._memory, self._base = memory, base

    def steps(self, questions: Sequence[str]) -> Iterator[Step]:
        """Do each step and yield what came of it."""
        files, bodies = _digests(self._memory), _bodies(self._memory)
        status, took = self._recall("status")
        yield Step("before", _counted(status), seconds=took)
        yield from self._search("searched, legacy", questions[0])
        yield self._ask("asked, legacy", "one", "legacy", questions)
        report, took = self._recall("migrate", "--dry-run")
        yield Step("dry run", _told(report), _digests(self._memory) == files, took)
        report, took = self._recall("migrate", "--yes")
        yield Step("migrated", _told(report), bool(report["counts"]["written"]), took)
        same = sum(one == bodies[path] for path, one in _bodies(self._memory).items())
        yield Step("bodies as before", f"{same} of {len(bodies)}", same == len(bodies))
        status, took = self._recall("status")
        yield Step("after", _counted(status), seconds=took)
        yield from self._search("searched, structured", questions[0])
        yield self._ask("asked, structured", "one", "structured", questions)
        again, took = self._recall("migrate", "--yes")
        yield Step("once more", _told(again), not again["counts"]["written"], took)
        undone, took = self._recall("migrate", "--undo")
        restored = sum(one["result"] == "restored" for one in undone["files"])
        good = restored == report["counts"]["written"] + len(report["indexes"])
        yield Step("taken back", f"{restored} files restored", good, took)
        same = sum(one == files.get(path) for path, one in _digests(self._memory).items())
        yield Step("files as before", f"{same} of {len(files)}", same == len(files))
        yield self._ask("asked, taken back", "two", "legacy", questions)

    def _search(self, name: str, words: str) -> Iterator[Step]:
        answer, took = self._recall("search", words)
        found = ", ".join(one["ref"] for one in answer["results"][:2])
        yield Step(name, f"{len(answer['results'])} results: {found}", bool(found), took)

    def _ask(self, name: str, session: str, mode: str, questions: Sequence[str]) -> Step:
        """Ask by a host's hook; it must be in this mode, and find something for each question."""
        once, per_turn = _SECTIONS[mode]
        took, lines, good = 0.0, [], True
        for number, question in enumerate(questions):
            event = {
                "hook_event_name": "UserPromptSubmit",
                "session_id": session,
                "prompt": question,
                "cwd": str(self._base),
                "transcript_path": "",
            }
            answer, seconds = self._recall("hook", "UserPromptSubmit", "--host", "codex", say=event)
            text = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
            found = _REF.findall(text.partition(per_turn)[2])
            good = good and bool(found) and (once in text) == (not number)
            took += seconds
            first = f" (with {once.removeprefix('## ').lower()})" if once in text else ""
            lines.append(f"{question}: {len(text):,} characters{first}")
            lines += [f"  {ref}" for ref in found] or [f"  {answer.get('told', '')}"]
        return Step(name, f"{len(questions)} questions, {mode} recall", good, took, tuple(lines))

    def _recall(self, *arguments: str, say: Any = None) -> tuple[Any, float]:
        """Run a command; returns its JSON and the seconds of the whole process.

        `say` is what a hook is told; a hook speaks JSON anyhow.
        """
        places = ("--root", str(self._memory), "--state-dir", str(self._base / "state"))
        cache = ("--cache-dir", str(self._base / "cache"), *(() if say else ("--json",)))
        command = [sys.executable, "-c", _COMMAND, *arguments, *places, *cache]
        env = os.environ | {"HOME": str(self._base)}
        start = time.monotonic()
        done = subprocess.run(
            command,
            input=json.dumps(say) if say else "",
            capture_output=True,
            text=True,
            cwd=self._base,
            env=env,
        )
        took = time.monotonic() - start
        try:
            if say and not done.stdout.strip():  # nothing to inject, or a failure told on stderr
                return {"told": done.stderr.strip()}, took
            return json.loads(done.stdout), took
        except ValueError:
            raise RuntimeError(f"recall {' '.join(arguments)}: {done.stderr}") from None


def _counted(status: Any) -> str:
    return f"{status['memories']} memories: {status['legacy']} legacy"


def _told(report: Any) -> str:
    counts = ", ".join(f"{number} {what}" for what, number in report["counts"].items() if number)
    return f"{counts or 'nothing'}; annotator {report['annotator']}"


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


def _digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(folder)}


def _bodies(folder: Path) -> dict[str, str]:
    """Return the version of each markdown file's body: a digest of its bytes."""
    found = {}
    for path in _files(folder):
        if path.suffix.lower() in (".md", ".markdown", ".mdx"):
            found[str(path)] = split(path.read_bytes()).version
    return found
