"""Edits of a memory's text: some leave what it says, some change one fact in it.

Each takes the text and a generator of chance, and returns the text edited, or as it is where it
has nothing to edit.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from recall.core.analysis import RUN
from recall.core.sentences import blocks

Edit = Callable[[str, random.Random], str]

_OTHERS = {
    "must": "has to",
    "use": "employ",
    "because": "since",
    "should": "ought to",
    "always": "every time",
    "need": "require",
    "before": "ahead of",
    "after": "following",
    "also": "too",
    "but": "however",
    "when": "whenever",
    "with": "using",
    "the": "this",
    "new": "fresh",
    "file": "document",
    "make": "build",
    "get": "obtain",
    "run": "execute",
    "check": "verify",
    "所以": "因此",
    "因为": "由于",
    "但是": "不过",
    "需要": "必须",
    "今天": "今日",
    "可以": "能够",
    "如果": "要是",
    "非常": "十分",
    "和": "与",
}


def words_dropped(text: str, chance: random.Random) -> str:
    """Leave out one word in ten, or two characters in twenty of a script without blanks."""
    if RUN.search(text):
        return "".join(c for at, c in enumerate(text) if not (at % 20 in (7, 8) and RUN.match(c)))
    return re.sub(r"\b[a-z]{3,}\b ?", lambda m: "" if chance.random() < 0.1 else m[0], text)


def case_changed(text: str, _: random.Random) -> str:
    """Write it in capitals."""
    return text.upper()


def punctuation_changed(text: str, _: random.Random) -> str:
    """Take out emphasis and code marks, and write other commas and dashes."""
    return re.sub(r"[*`]", "", text).replace(", ", " - ").replace("，", "、")


def sentences_moved(text: str, chance: random.Random) -> str:
    """Put the sentences into another order, each on a line of its own."""
    found = [block.text for block in blocks(text)]
    chance.shuffle(found)
    return "\n\n".join(found)


def words_exchanged(text: str, _: random.Random) -> str:
    """Write common words as others say them."""
    for one, other in _OTHERS.items():
        text = re.sub(rf"\b{one}\b" if one.isascii() else one, other, text)
    return text


def all_at_once(text: str, chance: random.Random) -> str:
    """Do all of these."""
    edited = words_exchanged(words_dropped(punctuation_changed(text, chance), chance), chance)
    return sentences_moved(edited.lower(), chance)


def half_of_it(text: str, _: random.Random) -> str:
    """Keep the first half of the sentences."""
    found = [block.text for block in blocks(text)]
    return "\n\n".join(found[: max(1, len(found) // 2)])


def number_changed(text: str, chance: random.Random) -> str:
    """Add one to a number that stands in a sentence."""
    found = list(re.finditer(r"(?<=[^\W\d_] )\d+", text)) or list(
        re.finditer(r"(?<=[一-鿿])\d+", text)
    )
    if not found:
        return text
    hit = chance.choice(found)
    return f"{text[: hit.start()]}{int(hit[0]) + 1}{text[hit.end() :]}"


def denied(text: str, chance: random.Random) -> str:
    """Put a `not` behind a verb, or a 不 before 是."""
    if "是" in text:
        return text.replace("是", "不是", 1)
    found = list(re.finditer(r"\b(?:is|are|must|should|can|will|does)\b", text))
    if not found:
        return text
    end = chance.choice(found).end()
    return f"{text[:end]} not{text[end:]}"


def name_changed(text: str, chance: random.Random) -> str:
    """Write another name for one that stands in a sentence."""
    found = re.findall(r"(?<=[a-z] )[A-Z][a-z]{3,}\b", text)
    return text.replace(chance.choice(found), "Zanzibar") if found else text


SAME: dict[str, Edit] = {
    "words dropped": words_dropped,
    "case changed": case_changed,
    "punctuation changed": punctuation_changed,
    "sentences moved": sentences_moved,
    "words exchanged": words_exchanged,
    "all at once": all_at_once,
    "half of it": half_of_it,
}
CHANGED: dict[str, Edit] = {
    "number changed": number_changed,
    "denied": denied,
    "name changed": name_changed,
}
