"""The words of a run that has no blanks between them: Chinese by a dictionary, other scripts by
what stands between function characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from recall.core.dull import DULL_ZH, VAGUE_ZH
from recall.core.lazy import pattern

Kind = Literal["word", "weak", "phrase"]
"""A weak word is a verb or an adjective: it tells where a title has it, and within phrases."""

PHRASE = 10
"""Characters of a Chinese phrase at most."""
_WORDS = 3
_LONGEST_RUN, _SHORTEST = 6, 2
_REMEMBERED, _REMEMBERED_RUN = 1 << 13, 12
"""Short runs, which come again and again, are cut once only."""

_HAN = pattern(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_KANA = pattern(r"[\u3041-\u30ff\uff66-\uff9f]")
_JAPANESE = pattern(r"[\u30a1-\u30ff]{2,}|[\u3400-\u9fff々]{2,8}")
_FUNCTION_TAGS = frozenset("rpcumqyefohkdtiz")
_NO_ADVERBS = frozenset(
    "同步 异步 更新 并行 串行 并发 循环 增量 全量 动态 静态 分布式 临时".split()
)
"""What the dictionary takes for adverbs."""
_WEAK_TAGS = frozenset(("v", "a", "vd", "ad", "vi", "l", "b"))
_CONTENT_TAGS = frozenset("nvabjxg")
_PARTICLES = frozenset(
    "的了是在和与或及等为对把被将从到给让向以而且但因所并其该此这那些我你您他她它请如若则"
)
_FUNCTION = _PARTICLES | frozenset(
    "吗呢吧么啊之个们何怎什哪谁会能可要应须很不都也就还再又已有里一只没想着得上中下内外前后时当即仅由用至于按比"
    "更多少做使起来去过每各另均未无非需说看见叫出入先才成占受指第最较太真好大小新旧高低"
)
_PIECED = pattern(
    "[的了是在和与或及等为对把被将从到给让向以而且但因所并其该此这那些我你您他她它请如若则吗呢吧么啊之个们何怎"
    "什哪谁会能可要应须很不都也就还再又已有里没着得上中下内前后时当即仅由至于每各另均未需才]"
)


def words_of(run: str) -> tuple[tuple[str, Kind], ...]:
    """Return each occurrence of a term in a run of an unspaced script, with its kind."""
    return _remembered(run) if len(run) <= _REMEMBERED_RUN else tuple(_words_of(run))


@lru_cache(_REMEMBERED)
def _remembered(run: str) -> tuple[tuple[str, Kind], ...]:
    return tuple(_words_of(run))


def _words_of(run: str) -> Iterator[tuple[str, Kind]]:
    if _KANA.search(run):
        yield from ((word, "word") for word in _JAPANESE.findall(run))
    elif _HAN.fullmatch(run):
        yield from _chinese(run)
    elif _SHORTEST <= len(run) <= _LONGEST_RUN:
        yield run, "word"


def is_word(term: str) -> bool:
    """Tell whether a dictionary vouches for a term, so that it need not be met twice."""
    if _HAN.fullmatch(term) is None:
        return False
    import rjieba

    return rjieba.has_word(term)


def han_words(text: str) -> tuple[str, ...]:
    """Return the telling words of two characters and more of a text's Chinese runs, each once.

    A run that touches kana is Japanese, for which there is no dictionary: it has none.
    """
    runs = [
        m
        for m in _HAN.finditer(text)
        if not _KANA.search(text[max(0, m.start() - 1) : m.end() + 1])
    ]
    if not runs:
        return ()
    import rjieba

    words = (one for run in runs for one in rjieba.tag(run.group()))
    return tuple(dict.fromkeys(word for word, tag in words if len(word) > 1 and _tells(word, tag)))


def _touches_kana(text: str, start: int, end: int) -> bool:
    return _KANA.search(text[max(0, start - 1) : end + 1]) is not None


class _Piece(NamedTuple):
    """A word of a run, and whether it tells alone; `open`: what stands beside it may belong to
    it, since a single character that is no particle stands there.
    """

    word: str
    tells: bool
    weak: bool = False
    open_before: bool = False
    open_after: bool = False


def _chinese(run: str) -> Iterator[tuple[str, Kind]]:
    import rjieba  # its dictionary takes a tenth of a second to load

    held: list[_Piece] = []
    is_open = False
    for word, tag in rjieba.tag(run):
        tells = _tells(word, tag)
        if tells is not None:
            held.append(_Piece(word, tells, tag in _WEAK_TAGS, is_open and not held))
            is_open = False
            continue
        is_open = len(word) == 1 and word not in _PARTICLES
        if held:
            held[-1] = held[-1]._replace(open_after=is_open)
            yield from _terms(held)
            held = []
    yield from _terms(held)


def _tells(word: str, tag: str) -> bool | None:
    """Return whether a word tells alone; None where it joins nothing: a function word."""
    if len(word) == 1:
        return None if word in _FUNCTION or tag[0] not in _CONTENT_TAGS else False
    if word in VAGUE_ZH:
        return False
    if word in DULL_ZH or (tag[0] in _FUNCTION_TAGS and word not in _NO_ADVERBS):
        return None
    # What is in no dictionary was pieced together; with a function character it was pieced wrong.
    return None if _PIECED.search(word) and not is_word(word) else True


def _terms(words: list[_Piece]) -> Iterator[tuple[str, Kind]]:
    """Yield the telling words of a stretch without function words, and its phrases."""
    for at, one in enumerate(words):
        if one.tells:
            yield one.word, "weak" if one.weak else "word"
        for end in range(at + 2, min(len(words), at + _WORDS) + 1):
            part = words[at:end]
            phrase = "".join(piece.word for piece in part)
            if len(phrase) <= PHRASE and any(piece.tells for piece in part) and _whole(part):
                yield phrase, "phrase"


def _whole(part: list[_Piece]) -> bool:
    """Tell whether a phrase stands on whole words: at most one is a single character (云服务器),
    and none that may be the rest of a longer word.
    """
    first, last = part[0], part[-1]
    if (first.open_before and len(first.word) == 1) or (last.open_after and len(last.word) == 1):
        return False
    return sum(len(piece.word) == 1 for piece in part) <= 1
