"""What a text states to the letter, code, addresses, paths, numbers: a merge loses none of it."""

from __future__ import annotations

from typing import Final

from recall.core.analysis import normalize
from recall.core.lazy import pattern

_ASCII: Final = 256  # re.ASCII: other scripts write no blanks around a number
_CODE = pattern(r"(`{1,2})([^`\n]+)\1")
_FENCED = pattern(r"(?m)^ {0,3}(`{3,}|~{3,})[^\n]*\n(.*?)(?:^ {0,3}\1|\Z)", 16)  # re.DOTALL
_ADDRESS = pattern(r"[a-z][a-z0-9+.-]{1,20}://[^\s<>()\[\]\"'`，。；、）】]+")
_PATH = pattern(r"(?<![\w/.-])(?:~?/|\.{1,2}/)?(?:[\w@%+-][\w@%+.-]*/)+[\w@%+.-]*[\w@%+-]", _ASCII)
_NAME = pattern(r"(?<![\w/.-])[\w-]+\.[a-z]{1,4}\d?(?![\w-])", _ASCII)
_NUMBER = pattern(r"(?<![\w.])v?[-+]?\d[\d.,:/-]*(?:%|[a-zA-Z]{0,3}\b)?", _ASCII)
_EDGES: Final = " .,:;!?*_"


def facts(text: str) -> frozenset[str]:
    """Return every code span, line of code, address, path, file name and number of a text.

    Width, composition and what punctuation stands around them say nothing.
    """
    plain = normalize(text)
    found = {hit[2] for hit in _CODE.finditer(plain)}
    for hit in _FENCED.finditer(plain):
        found.update(hit[2].splitlines())
    bare = _FENCED.sub(" ", plain)
    for shape in (_ADDRESS, _PATH, _NAME, _NUMBER):
        found.update(hit[0] for hit in shape.finditer(bare))
    return frozenset(one for fact in found if (one := " ".join(fact.split()).strip(_EDGES)))


class Held:
    """What a text states, for asking about many others whether it states theirs as well."""

    def __init__(self, text: str) -> None:
        self._whole = " ".join(normalize(text).split())
        self._facts = facts(text)

    def lacks(self, source: str) -> list[str]:
        """Return the facts of a source that the text does not hold, in order."""
        wanted = facts(source) - self._facts
        return sorted(fact for fact in wanted if not _stands(fact, self._whole))


def lost(sources: list[str], result: str) -> list[str]:
    """Return the facts of any source that the result does not hold, in order."""
    held = Held(result)
    return sorted({fact for source in sources for fact in held.lacks(source)})


def _stands(fact: str, whole: str) -> bool:
    """Tell whether a fact stands in a text as it is, not as a part of another one."""
    at = whole.find(fact)
    while at >= 0:
        before, after = whole[at - 1 : at], whole[at + len(fact) : at + len(fact) + 1]
        if not (before.isalnum() and fact[0].isalnum()) and not (
            after.isalnum() and fact[-1].isalnum()
        ):
            return True
        at = whole.find(fact, at + 1)
    return False
