"""Secrets in what is written: refused for the team, flagged elsewhere, in nothing that waits.

What a person approves at once is written as it stands. What waits for one is kept without its
secrets, and errors hold none; the audit sees to its own rows (recall/disk/auditlog.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from recall.core.redaction import Find, clean, redacted
from recall.core.writing import Draft, FileChange, Flag, Plan, Write
from recall.errors import WriteError
from recall.structs import replace


class Secrecy:
    """What a write service does about secrets; with a detector that finds none: nothing."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def flags(self, plan: Plan) -> list[Flag]:
        """Return a flag for each new file that holds a secret.

        Raises WriteError SECRET_FOUND where it brings one into the team's memories. What stands
        there already is only flagged, so that such a memory can be put right.
        """
        flags = []
        for change in plan.changes:
            found = self._found(change.after)
            if not found:
                continue
            if change.scope == "team" and (new := found - self._before(plan)):
                raise _refused(_kinds(new))
            message = f"{change.ref} holds what looks like a secret: {_kinds(found)}"
            flags.append(Flag("secret", message, change.ref))
        return flags

    def redacted(self, text: str) -> str:
        """Return the text with `[secret: KIND]` in place of each secret."""
        return redacted(text, self._find(text))

    def kept(self, write: Write, changes: Sequence[FileChange]) -> Write:
        """Return the write as it may wait for a person; the same one where it holds no secret.

        Targets that were named by a secret are named by their refs, as the plan has them.
        """
        targets = tuple(one.ref for one in changes if one.before is not None)
        if self._clean(write.targets) == write.targets:
            targets = write.targets
        return replace(write, drafts=tuple(map(self._draft, write.drafts)), targets=targets)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Let errors of writes out without the secrets that they quote."""
        try:
            yield
        except WriteError as error:
            error.message, error.fix = self._clean(error.message), self._clean(error.fix)
            error.evidence = self._clean(error.evidence)
            error.args = (error.message,)
            raise

    def _draft(self, draft: Draft) -> Draft:
        values = {name: getattr(draft, name) for name in Draft.__fields__}
        clean = {name: self._clean(value) for name, value in values.items()}
        return replace(draft, **{n: value for n, value in clean.items() if value != values[n]})

    def _clean(self, value: Any) -> Any:
        return clean(value, self._find)

    def _before(self, plan: Plan) -> set[tuple[str, str]]:
        """Return the secrets that the team's memories among the plan's hold as they are."""
        return {
            one
            for change in plan.changes
            if change.scope == "team"
            for one in self._found(change.before)
        }

    def _found(self, raw: bytes | None) -> set[tuple[str, str]]:
        """Return each secret of a file, with its kind before it."""
        text = (raw or b"").decode("utf-8", "replace")
        return {(kind, text[start:end]) for kind, start, end in self._find(text)} if raw else set()


def _kinds(found: set[tuple[str, str]]) -> str:
    return ", ".join(sorted({kind for kind, _ in found}))


def _refused(kinds: str) -> WriteError:
    return WriteError(
        "SECRET_FOUND",
        f"The text holds what looks like a secret ({kinds}); team memories are read by others.",
        fix="Take it out, and say where it is kept instead.",
        kinds=kinds,
    )
