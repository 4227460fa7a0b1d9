"""What writes took away, brought back: a memory that was removed, a text that was replaced."""

from __future__ import annotations

import hashlib
from typing import Protocol

from recall.core.drafts import text_of
from recall.core.metadata import parse_memory
from recall.core.writing import FileChange, Lost
from recall.errors import WriteError
from recall.model import Root


class Trash(Protocol):
    """What writes took away, as the state keeps it."""

    def lost(self) -> list[Lost]:
        """Return every file that a write made, changed or removed here, the newest first."""

    def load(self, digest: str) -> bytes | None:
        """Return the bytes of a digest, None where they are not kept."""

    def bytes_at(self, root: int, path: str) -> bytes | None:
        """Return what a file holds now, None where it is not there. Raises OSError."""


class Restorer:
    """Makes the changes that bring something back."""

    def __init__(self, trash: Trash, roots: tuple[Root, ...]) -> None:
        self._trash = trash
        self._roots = roots

    def changes(self, name: str) -> tuple[FileChange, ...]:
        """Return what brings back what `name` means: all of a write, by its name, or a ref's last
        earlier content.

        Raises WriteError NOT_IN_TRASH, and WRITE_CONFLICT where a file is not what the write left.
        """
        lost = self._trash.lost()
        found = [one for one in lost if one.operation == name]
        if not found:
            found = [one for one in lost if one.ref == name and one.before][:1]
        if not found:
            raise WriteError(
                "NOT_IN_TRASH",
                f"Nothing of {name[:200]!r} is in the trash.",
                fix="See `recall trash` for what is.",
            )
        made = map(self._change, found)
        return tuple(change for change in made if change.before != change.after)

    def _change(self, lost: Lost) -> FileChange:
        now, then = self._now(lost), self._then(lost)
        at = "" if now is None else hashlib.sha256(now).hexdigest()
        if at not in (lost.after, lost.before):
            what = "is not there any more" if now is None else "is not what the write left"
            raise WriteError(
                "WRITE_CONFLICT",
                f"{lost.ref} {what}; it was left as it is.",
                fix="Move it away or rename it, then restore again.",
                ref=lost.ref,
            )
        parsed = parse_memory(then or now or b"", lost.path)
        return FileChange(
            lost.ref,
            self._roots[lost.root].scope,
            lost.root,
            lost.path,
            now,
            then,
            title=parsed.metadata.title,
            type=parsed.metadata.type,
            entry=parsed.metadata.id,
            old_text=_text(now, lost.path),
            new_text=_text(then, lost.path),
        )

    def _now(self, lost: Lost) -> bytes | None:
        try:
            return self._trash.bytes_at(lost.root, lost.path)
        except OSError as error:
            raise WriteError(
                "NOT_WRITABLE",
                f"{lost.ref} can't be read: {error.strerror or error}.",
                ref=lost.ref,
            ) from error

    def _then(self, lost: Lost) -> bytes | None:
        if not lost.before:
            return None
        data = self._trash.load(lost.before)
        if data is None:
            raise WriteError(
                "NOT_IN_TRASH",
                f"What {lost.ref} held is not kept any more, or damaged.",
                ref=lost.ref,
            )
        return data


def _text(raw: bytes | None, path: str) -> str:
    return "" if raw is None else text_of(parse_memory(raw, path).body)
