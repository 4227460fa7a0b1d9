"""`python -m benchmarks guard`: what the guard gets wrong, and what it costs.

Both kinds of error are counted on the corpus in `fixtures/guard`, class by class: what reaches
memory and was let through, what is ordinary work and was denied. With `--data`, the shell blocks
of the skills in two archives are asked about too: people wrote those for real, none of them
means memory, and each is gone through as if it were run in a project with memories. Then time: a
question of each kind, and `recall guard run -- true` beside `true`, `python -c pass` and
bubblewrap alone, all by turns.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.guard_corpus import Case, Stage, cases
from benchmarks.machine import describe, one_line
from recall.core.guard import Deny, Unknown, Verdict

HELP = "both kinds of the guard's errors, on a corpus and on real shell blocks, and its time"
_CORPORA = ("skills-oddities", "skills-wshobson")
_BLOCK = re.compile(
    r"^(?P<fence>```+)(?:bash|sh|shell|zsh|console)\s*\n(?P<text>.*?)^(?P=fence)\s*$",
    re.MULTILINE | re.DOTALL,
)
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)
_BAR_MS = 30.0
"""Issue 7: what `recall guard run` may add to a command."""
_WRONG = {"reaching": "let through", "ordinary": "denied", "unseen": "said to be allowed"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of corpora")
    parser.add_argument("--rounds", type=int, default=31, metavar="N", help="of each timed thing")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="errors to print")


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 1 where the corpus has an error or the bar is missed, 2 without
    the data.
    """
    print(one_line(describe(("recall-memory", "tree-sitter", "tree-sitter-bash"))))
    with tempfile.TemporaryDirectory(prefix="recall-guard-") as folder:
        linked = Stage.make(Path(folder) / "linked")
        plain = Stage.make(Path(folder) / "plain", links=False)
        wrong = sum(
            _corpus(name, stage, args.show)
            for name, stage in (("reaching", linked), ("ordinary", plain), ("unseen", linked))
        )
        if args.data is not None:
            try:
                with unpacked(args.data, _CORPORA) as folders:
                    _blocks(folders, plain, args.show)
            except MissingCorpus as error:
                print(f"guard: {error}")
                return 2
        _questions(plain, args.rounds)
        slow = _enforcing(plain, args.rounds)
    return 1 if wrong or slow else 0


def _corpus(name: str, stage: Stage, show: int) -> int:
    """Print what became of one file's cases; returns how many are errors.

    What can't be seen is no error: the last file is counted, and no error comes of it.
    """
    by_group: dict[str, Counter[str]] = defaultdict(Counter)
    errors: list[Case] = []
    for case in cases(name):
        kind = stage.verdict(case).kind
        by_group[case.group][kind] += 1
        wanted = {"reaching": "deny", "ordinary": "allow"}.get(name, kind)
        if kind != wanted:
            errors.append(case)
    total = sum(sum(counts.values()) for counts in by_group.values())
    print(f"\n{name}: {total} cases")
    for group, counts in by_group.items():
        told = ", ".join(f"{kind} {number}" for kind, number in sorted(counts.items()))
        print(f"  {group:58} {told}")
    if name != "unseen":
        print(f"  {_WRONG[name]}: {len(errors)} of {total} ({len(errors) / total:.1%})")
        for case in errors[:show]:
            print(f"    {case.id}")
    return len(errors)


def _blocks(folders: Mapping[str, Path], stage: Stage, show: int) -> None:
    """Print what becomes of shell blocks that people wrote: none of them means memory."""
    guard, cwd = stage.guard(), str(stage.folder("shop"))
    found: Counter[str] = Counter()
    denied: list[tuple[str, str]] = []
    took = []
    for text in _written(folders.values()):
        start = time.perf_counter()
        verdict = guard.check_shell(text, cwd, stage.env)
        took.append((time.perf_counter() - start) * 1_000)
        found[verdict.kind] += 1
        if isinstance(verdict, Deny):
            denied.append((verdict.reason, " ".join(text.split())[:100]))
    total = sum(found.values())
    print(f"\nshell blocks of real Markdown: {total}")
    for kind, number in sorted(found.items()):
        print(f"  {kind:8} {number:6} ({number / total:.2%})")
    print(f"  one takes {median(took):.2f} ms in the median, {max(took):.0f} ms at most")
    for reason, text in denied[:show]:
        print(f"    {reason.partition(',')[0]}: {text}")


def _written(folders: Iterable[Path]) -> Iterator[str]:
    seen = set()
    for folder in folders:
        for path in sorted(folder.rglob("*.md")):
            for block in _BLOCK.finditer(path.read_text(encoding="utf-8", errors="replace")):
                text = _PROMPT.sub("", block["text"])
                if text not in seen:
                    seen.add(text)
                    yield text


def _questions(stage: Stage, rounds: int) -> None:
    """Print how long one question takes, in a process that has asked before."""
    guard, shop = stage.guard(), str(stage.folder("shop"))
    asked: dict[str, Callable[[], Verdict]] = {
        "a path": lambda: guard.check_path("src/main.py", cwd=shop),
        "a pattern": lambda: guard.check_glob("src/**/*.{py,md}", shop),
        "a command": lambda: guard.check_shell("cd src && rg -n def | head", shop, stage.env),
    }
    print("\none question")
    for name, ask in asked.items():
        assert not isinstance(ask(), (Deny, Unknown))
        print(f"  {name:10} {median(_took(ask) for _ in range(rounds)):6.2f} ms")


def _enforcing(stage: Stage, rounds: int) -> bool:
    """Print what `recall guard run` adds; returns whether that is more than it may be."""
    program = shutil.which("recall", path=str(Path(sys.executable).parent))
    ours = [program] if program else [sys.executable, "-m", "recall"]
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        print("\nbubblewrap is not installed: what recall guard run costs was not measured")
        return False
    commands = {
        "true": ["true"],
        "python -c pass": [sys.executable, "-c", "pass"],
        "bubblewrap alone": [bwrap, *"--dev-bind / / --unshare-pid --proc /proc true".split()],
        "recall guard run -- true": [*ours, "guard", "run", "--", "true"],
        "recall guard run --read-only -- true": [*ours, *"guard run --read-only -- true".split()],
    }
    env = stage.env | {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds + 2):
        for name, words in commands.items():
            times[name].append(_took(partial(_run, words, env, stage.folder("shop"))))
    print("\na command, by turns; beside: `true`, median of the rounds' differences, the least")
    missed = False
    for name, found in times.items():
        added = [one - bare for one, bare in zip(found[2:], times["true"][2:], strict=True)]
        bar = ""
        if name.startswith("recall"):
            missed = missed or median(added) > _BAR_MS
            bar = f" ≤ {_BAR_MS:.0f} ms {'MISSED' if median(added) > _BAR_MS else 'pass'}"
        print(
            f"  {name:38} {median(found[2:]):7.1f} ms, adds {median(added):6.1f} ms"
            f" ({min(added):.1f}){bar}"
        )
    return missed


def _run(words: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
    subprocess.run(words, env=env, cwd=cwd, check=True, stdin=subprocess.DEVNULL)


def _took(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1_000
