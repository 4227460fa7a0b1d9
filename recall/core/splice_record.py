"""What a splice gives: the new bytes, the way back, or the reason why there are none.

Edits are all that a splice does to a file: runs of bytes that are replaced, in order, apart from
each other. The same runs, read from the other side, restore the file to the byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Refused(NamedTuple):
    """Why nothing is written. `kind` is stable (docs/splice.md lists all), the reason for people;
    `line` is 1-based in the file, None where no line is to blame."""

    kind: str
    reason: str
    line: int | None = None


class Cannot(Exception):  # not an error of ours: `splice` catches it and returns the refusal
    """Carries a refusal out of the depths of a splice."""

    def __init__(self, kind: str, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.refused = Refused(kind, reason, line)


class Edit(NamedTuple):
    """The bytes [start, end) of the original become `new`."""

    start: int
    end: int
    new: bytes


class Restored(NamedTuple):
    """In the result, the `length` bytes at `at` were `old`."""

    at: int
    length: int
    old: bytes


class Undo(NamedTuple):
    """The way back: small (it holds only what was replaced), and good for one result only.

    `before` and `after` are the SHA-256 of the whole file, in hex digits.
    """

    restored: tuple[Restored, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Spliced:
    """The file with its new values; `data` is the original where all of them stood there already.

    `added`, `replaced` and `extended` name the keys that were written.
    """

    data: bytes
    undo: Undo
    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    """What stood there stays as it is written; more stands behind it."""

    @property
    def written(self) -> tuple[str, ...]:
        """The keys that were written, however."""
        return (*self.replaced, *self.extended, *self.added)

    @property
    def changed(self) -> bool:
        """Whether a byte differs from the original."""
        return bool(self.undo.restored)


def digest(data: bytes) -> str:
    """Return the SHA-256 of a whole file, in hex digits."""
    return hashlib.sha256(data).hexdigest()


def apply(raw: bytes, edits: Sequence[Edit]) -> tuple[bytes, Undo]:
    """Return the edited bytes and the way back; `edits` are sorted and don't overlap."""
    out: list[bytes] = []
    restored: list[Restored] = []
    at = size = 0
    for edit in edits:
        out += (raw[at : edit.start], edit.new)
        size += edit.start - at
        restored.append(Restored(size, len(edit.new), raw[edit.start : edit.end]))
        size += len(edit.new)
        at = edit.end
    out.append(raw[at:])
    data = b"".join(out)
    return data, Undo(tuple(restored), digest(raw), digest(data))


def unsplice(data: bytes, undo: Undo) -> bytes | Refused:
    """Return the original of a spliced file, byte for byte.

    Refuses (`changed-since`) where `data` is not exactly what the splice gave: an edit that came
    later would be lost, or cut in two.
    """
    if digest(data) != undo.after:
        return Refused("changed-since", "The file was changed since its metadata was written.")
    out: list[bytes] = []
    at = 0
    for part in undo.restored:
        out += (data[at : part.at], part.old)
        at = part.at + part.length
    out.append(data[at:])
    raw = b"".join(out)
    if digest(raw) != undo.before:
        return Refused("bad-undo", "The record of what was replaced is damaged.")
    return raw
