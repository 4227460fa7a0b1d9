"""What the guard says: verdicts, the uses of paths that a tool call makes, a denial's words.

A use is what a command, a pattern or a tool may do with a path; `recall.disk.managed` finds out
whether it reaches memory. docs/guard.md has the rules.
"""

from __future__ import annotations

from typing import NamedTuple

READ, WRITE, LIST = "read", "write", "list"
ACTIONS = (READ, WRITE, LIST)
ALLOW, DENY = "allow", "deny"
"""What `guard.unknown` may be."""

DYNAMIC = "\0"
"""Stands in a pattern for text that only a run of the command would know."""
SUFFIXES = (".md", ".markdown", ".mdx")
"""How the names of memories end, in any case."""


class Allow(NamedTuple):
    """Nothing of it reaches memory."""

    kind: str = "allow"


class Deny(NamedTuple):
    """It reaches memory: why, the roots that it reaches, and what to do instead."""

    reason: str
    roots: tuple[str, ...] = ()
    hint: str = ""
    kind: str = "deny"


class Unknown(NamedTuple):
    """It can't be seen whether it does; `reason` says what could not be seen."""

    reason: str
    kind: str = "unknown"


Verdict = Allow | Deny | Unknown


class Use(NamedTuple):
    """What may happen to the files that a pattern names.

    In `path` a backslash makes the next character literal, DYNAMIC stands for unknown text, and
    `*`, `?`, `[` match as in a shell; it is relative to `cwd`, which may be DYNAMIC too.
    """

    path: str
    cwd: str
    how: str = READ
    deep: bool = False
    """Whether what lies below is used too, at any depth."""
    hidden: bool = True
    """Whether going down enters folders whose names begin with a dot."""
    dots: bool = False
    """Whether wildcards match such names."""
    stars: bool = False
    """Whether `**` matches any number of folders."""
    only: tuple[str, ...] = ()
    """If any: going down, only files whose names match one of these are used."""
    without: tuple[str, ...] = ()
    """Going down, folders whose name or path matches one of these are left out."""
    depth: int = -1
    """Going down, how many folders deep at most; -1: any."""
    tracked: bool = False
    """Only what git keeps a version of is used."""


class Seen(NamedTuple):
    """What a command line does, as far as it can be seen."""

    uses: tuple[Use, ...] = ()
    unknown: tuple[str, ...] = ()
    """What could not be seen, one phrase each."""


class Reached(NamedTuple):
    """A use that reaches memory: by which word, in which root, and the ref where it is one file."""

    word: str
    root: str
    how: str
    ref: str = ""
    above: bool = False
    """It goes through a folder that memory lies in."""


def denial(found: tuple[Reached, ...]) -> Deny:
    """Return the denial for what reaches memory, worded for the model."""
    first = found[0]
    roots = tuple(dict.fromkeys(one.root for one in found))
    what = f"{first.word} reaches" if first.above else f"{first.word} is in"
    reason = f"{what} managed memory ({first.root}), which only recall reads and writes."
    refs = tuple(dict.fromkeys(one.ref for one in found if one.ref))[:3]
    return Deny(reason, roots, _hint(first, refs))


def _hint(first: Reached, refs: tuple[str, ...]) -> str:
    if first.how == WRITE and not first.above:
        return "To change memory, use manage_memory if you have it, or ask the user to."
    if refs:
        listed = ", ".join(f'"{ref}"' for ref in refs)
        return f'Use search_memory instead: {{"mode": "fetch", "refs": [{listed}]}}.'
    if first.above:
        return (
            "Name the folders that you mean, or leave memory's out; for memories use "
            "search_memory (modes search, explore, fetch)."
        )
    return "Use search_memory instead (modes search, explore, fetch)."


def decided(verdict: Verdict, unknown: str) -> Verdict:
    """Return the verdict with the policy for what can't be seen laid on it."""
    if isinstance(verdict, Unknown) and unknown == DENY:
        return Deny(
            f"Not known to stay out of managed memory: {verdict.reason}.",
            (),
            "Write it so that its paths can be read in the command itself; for memories use "
            "search_memory.",
        )
    return verdict
