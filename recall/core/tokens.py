"""How many tokens a text is, without a tokenizer: for budgets and reports, never for billing.

A text falls into pieces as byte-pair encoders split it: words (those over ten letters in parts,
capitals in fours, `getUserName` in three), digits by three, runs of punctuation, line feeds, a few
letters of other alphabets. A piece is 0.94 tokens. Characters of Chinese, Japanese and Korean
count one by one, 0.77 tokens each.

A long run of base64 (a cursor, a key) is 0.68 tokens a character.

The figures are fitted to o200k_base; what the estimate is off by, per kind of text, is measured
by `python -m benchmarks estimate` and stands in docs/tokens.md: 4.9 % of a text on average over
1,876 texts that nothing was fitted to. 6,000 characters take 0.2 ms.
"""

from __future__ import annotations

from recall.core.lazy import pattern
from recall.tuples import NamedTuple

_PER_PIECE = 0.94
_PER_CJK = 0.77
PER_DENSE = 0.68  # a character of base64: cursors, keys, digests

_RUN = pattern(r"[A-Za-z0-9_-]{40,}")

# Each character beyond ASCII counts as the one that stands for its kind: patterns with sets of
# such characters take 3 ms to compile.
_CJK, _ALPHABET, _SYLLABLES, _EMOJI, _OTHER = "\u4e00", "\u0370", "\u0900", "\U0001f000", "\x80"
_KINDS = (
    *(("\u2e80", "\u9fff", _CJK), ("\uac00", "\ud7ff", _CJK), ("\uf900", "\ufaff", _CJK)),
    *(("\uff00", "\uffef", _CJK), ("\U00020000", "\U0003ffff", _CJK)),
    ("\u0370", "\u08ff", _ALPHABET),  # Greek, Cyrillic, Hebrew, Arabic
    ("\u0900", "\u1fff", _SYLLABLES),  # the scripts of India and South-East Asia, and others
    ("\U0001f000", "\U0001ffff", _EMOJI),
)
_PIECE = pattern(
    r"[A-Z]?[a-z]{1,10}|[A-Z]{1,4}|[0-9]{1,3}|[!-/:-@\[-`{-~]{1,8}|\n+"
    f"|{_ALPHABET}{{1,4}}|{_SYLLABLES}{{1,3}}|{_OTHER}{{1,2}}|{_EMOJI}"
)


def _kind(character: str) -> str:
    return next((kind for low, high, kind in _KINDS if low <= character <= high), _OTHER)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` is for a present-day model (see above for how near)."""
    count = counts(text)
    return round(_PER_PIECE * count.pieces + _PER_CJK * count.cjk + PER_DENSE * count.dense)


class Counts(NamedTuple):
    """What is counted in a text: CJK characters, those of dense runs, pieces of all the rest."""

    cjk: int
    dense: int
    pieces: int


def counts(text: str) -> Counts:
    """Return what an estimate is made of."""
    if not text.isascii():
        text = text.translate({ord(c): _kind(c) for c in set(text) if not c.isascii()})
    pieces, dense = len(_PIECE.findall(text)), 0
    for found in _RUN.findall(text):
        if _is_dense(found):
            dense += len(found)
            pieces -= len(_PIECE.findall(found))
    return Counts(text.count(_CJK), dense, max(0, pieces))


def _is_dense(run: str) -> bool:
    """Tell base64 from a long name: letters of both cases and many digits, hardly a hyphen."""
    digits = sum(map(run.count, "0123456789"))
    joints = run.count("-") + run.count("_")
    mixed = not run.isupper() and not run.islower()
    return mixed and digits * 20 >= len(run) and joints * 12 <= len(run)
