"""In which script a text is written, for the most part."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import groupby

LOOKED_AT = 400
"""Characters of a text that are looked at."""
_EAST = ("CJK", "HIRAGANA", "KATAKANA")


def script(text: str) -> str:
    """Return LATIN, CYRILLIC, HANGUL …, CJK for Chinese and Japanese; empty without any letter.

    A word counts once, a Chinese or Japanese character is a word: names in Latin letters within a
    Chinese sentence don't outweigh it.
    """
    counted: Counter[str] = Counter()
    for name, run in groupby(text[:LOOKED_AT], _script_of):
        counted[name] += sum(1 for _ in run) if name == "CJK" else 1
    del counted[""]
    return counted.most_common(1)[0][0] if counted else ""


def _script_of(character: str) -> str:
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").split(" ", 1)[0].split("-", 1)[0]
    return "CJK" if name in _EAST else name
