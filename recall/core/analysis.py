"""How text becomes the terms of the index: the same for memories and for questions.

Words are runs of letters and digits. Scripts written without spaces become overlapping pairs of
characters, made here; the rest (lower case, accents, stems) is done by the index's analyzers.
Identifiers are also kept whole (`c++`, `.env`) and in parts (`getUserName` → get, user, name).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from recall.core.lazy import pattern

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u30ff\u3100-\u312f"
    "\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
RUN = pattern(f"[{_UNSPACED}]+")
"""A run of a script that does not put spaces between words (CJK and South-East Asia)."""

# These patterns begin with what is rare in text, so that most of it is skipped quickly; what
# must stand before is checked by looking back.
_HUMP_START = pattern(r"[A-Z](?:(?<=[a-z0-9][A-Z])|(?<=[A-Z]{2})(?=[a-z]{2}))")
_WORD_REST = pattern(r"[A-Za-z0-9]*")
_HUMP = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LANGUAGE = pattern(
    r"(?:\+\+(?<=[A-Za-z]\+\+)(?<![\w+#][A-Za-z]\+\+)|#(?<=[A-Za-z]#)(?<![\w+#][A-Za-z]#))(?![\w+#])"
)
_DOTTED = pattern(r"\.(?<![\w.]\.)[A-Za-z][\w-]*")
_MAX_WORD = 64
_MAX_HITS = 10_000
"""Of one phrase inside of longer words: more of them are no text, and take time."""


def normalize(text: str) -> str:
    """Return the text as it is matched: NFKC, no lone surrogates; lengths may change."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))


def without_runs(text: str) -> str:
    """Return the text with runs of unspaced scripts taken out: what is left are words."""
    return text if text.isascii() else RUN.sub(" ", text)


def grams(text: str) -> str:
    """Return the overlapping character pairs of the text's unspaced runs, space-joined.

    A run of one character gives that character, so that nothing is unfindable.
    """
    if text.isascii():
        return ""
    out: list[str] = []
    for run in RUN.findall(text):
        if len(run) == 1:
            out.append(run)
        else:
            out.extend(map("".join, pairwise(run)))
    return " ".join(out)


def holds(text: str, phrase: str) -> bool:
    """Tell whether the text holds the phrase as it is written, not only as part of other words."""
    at = -1
    for _ in range(_MAX_HITS):
        at = text.find(phrase, at + 1)
        if at < 0 or not phrase:
            break
        end = at + len(phrase)
        if not (_joined(text[at - 1 : at], phrase[0]) or _joined(phrase[-1], text[end : end + 1])):
            return True
    return False


def _joined(one: str, two: str) -> bool:
    """Tell whether two neighbours belong to one word; scripts without spaces have no such."""
    pair = one + two
    return len(pair) == 2 and pair.isalnum() and (pair.isascii() or not RUN.search(pair))


def symbols(text: str) -> list[str]:
    """Return the identifiers whose punctuation is part of them: `c++`, `c#`, `.env`."""
    found = [text[hit.start() - 1 : hit.end()].lower() for hit in _LANGUAGE.finditer(text)]
    return found + [hit.lower() for hit in _DOTTED.findall(text)]


def humps(word: str) -> list[str]:
    """Return the parts of a camelCase word, lower-cased; [] if it has only one."""
    parts = [part.lower() for part in _HUMP.findall(word)]
    return parts if len(parts) > 1 else []


def camel_parts(text: str) -> str:
    """Return the parts of every camelCase word of the text, space-joined."""
    return " ".join(part for word in camel_words(text) for part in humps(word))


def camel_words(text: str) -> Iterator[str]:
    """Yield the words with an inner capital, in order, each occurrence once."""
    done = -1
    for hit in _HUMP_START.finditer(text):
        start = hit.start()
        if start < done:
            continue
        low = max(0, start - _MAX_WORD)
        while start > low and text[start - 1].isascii() and text[start - 1].isalnum():
            start -= 1
        rest = _WORD_REST.match(text, hit.start())
        done = rest.end() if rest else hit.end()
        yield text[start : min(done, start + 2 * _MAX_WORD)]
