"""File names for new memories: from a title in any script, safe on every system.

A name is kebab case, of letters, marks and digits of every script (NFC, lower case) with `-`
between words: no name can be hidden, lead out of its folder, or end in a dot or a blank.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from recall.core.digest import sha256
from recall.core.window import is_boundary

SUFFIX: Final = ".md"
MAX_CHARACTERS: Final = 60
MAX_BYTES: Final = 180
"""Of a whole name in UTF-8, with its suffix; file systems take 255 bytes."""
SEVERAL: Final = 99
"""After `-99` a name goes on with eight digits of the text's digest: a thousand memories of one
title would look through a thousand names each."""

_SPECIAL: Final = frozenset(
    # Indexes and instructions of hosts and repositories: loaded whole, or no memories at all.
    "memory memories claude claude-local readme agents agent agents-override gemini qwen index "
    "skill license licence changelog contributing copilot-instructions user soul "
    # Devices on Windows, whatever the extension.
    "con prn aux nul conin$ conout$ clock$".split()
) | {f"{device}{digit}" for device in ("com", "lpt") for digit in "0123456789"}
_APOSTROPHES: Final = "'\u2018\u2019\u02bc\uff07"
_LEAST_SHARE: Final = 0.5
"""A name is cut between words where that leaves this share of it, else inside of a word."""


def file_name(title: str, taken: Callable[[str], bool], text: str = "") -> str:
    """Return a file name for a memory with this title, one that is not taken.

    `taken` says whether the folder has the name, however it is spelt there (case, NFC or NFD).
    Where the title has neither letters nor digits, the name is made of a digest of title and
    text.
    """
    digest = sha256(f"{title}\n{text}".encode("utf-8", "replace")).hexdigest()[:8]
    stem = _stem(title) or f"memory-{digest}"
    return next(name for name in _names(stem, digest) if not taken(name))


def _names(stem: str, digest: str) -> Iterator[str]:
    """Yield the names to try, the plainest first; without end."""
    yield _bounded(stem) + SUFFIX
    for number in range(2, SEVERAL + 1):
        yield _numbered(stem, f"-{number}")
    yield _numbered(stem, f"-{digest}")
    for number in count(2):
        yield _numbered(stem, f"-{digest}-{number}")


def _numbered(stem: str, end: str) -> str:
    return (_bounded(stem, len(end)) or "memory") + end + SUFFIX


def _stem(title: str) -> str:
    """Return the title's words joined by `-`, of bounded length; empty if it has none."""
    bare = title[: 4 * MAX_CHARACTERS].encode("utf-8", "replace").decode()
    lower = unicodedata.normalize("NFC", unicodedata.normalize("NFC", bare).lower())
    stem = _bounded("-".join(_words(lower)))
    if unicodedata.normalize("NFKC", stem).casefold() in _SPECIAL:
        return f"about-{stem}"
    return stem


def _words(text: str) -> list[str]:
    """Return the runs of letters, digits and their marks; none begins with a mark."""
    words: list[str] = []
    word = ""
    for character in text:
        kind = unicodedata.category(character)
        if kind[0] in "LN" or (kind[0] == "M" and word):
            word += character
        elif kind != "Cf" and character not in _APOSTROPHES:  # these join: `don't`, a joiner
            words.append(word)
            word = ""
    return [one for one in (*words, word) if one]


def _bounded(stem: str, less: int = 0) -> str:
    """Return the stem, or its beginning where it is longer than a name may be by `less`.

    Empty where not even its first grapheme has room.
    """
    characters = MAX_CHARACTERS - len(SUFFIX) - less
    room = MAX_BYTES - len(SUFFIX) - less
    short = stem[:characters].encode()[:room].decode("utf-8", "ignore")
    if short == stem:
        return stem
    end = len(short)
    if stem[end] != "-":
        word = short.rfind("-")
        if word >= end * _LEAST_SHARE:
            end = word
    while end and not is_boundary(stem, end):
        end -= 1
    return stem[:end].rstrip("-")
