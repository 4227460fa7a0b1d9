"""How many tokens a text is, without a tokenizer: for budgets and reports, never for billing.

A text falls into pieces as byte-pair encoders split it: words (those over ten letters in parts,
capitals in fours, `getUserName` in three), digits by three, runs of punctuation, line feeds, a few
letters of other alphabets. A piece is 0.93 tokens. Characters of Chinese, Japanese and Korean
count one by one, 0.77 tokens each.

The figures are fitted to o200k_base (bpe-openai 0.1.4) on 1,226 samples of up to 3,000 characters
of the public corpora named below. What the estimate is off by, measured in one run on the same
samples, against o200k_base, and the bias against cl100k_base, which is older and dearer in Chinese:

================================================  =====  =====  =======
kind of text (corpus)                             mean   p95    cl100k
================================================  =====  =====  =======
English prose (lifebench-en, longmemeval)         4.0 %   9.9 %   -3.6 %
English with code (skills-wshobson)               5.1 %  12.6 %   -4.0 %
reference of a C interface (docs-windows-ddi)     5.9 %  16.3 %   +1.4 %
Chinese prose (lifebench-zh)                      5.3 %  12.4 %  -28.7 %
Chinese documentation (docs-pingcap-cn)           4.9 %  13.6 %  -12.2 %
Chinese blog (blog-mzlogin-zh)                    3.8 %   8.6 %  -16.2 %
router lines, English (ken)                       3.7 %   7.6 %   -0.3 %
router lines, English (skills-wshobson)           5.6 %  10.7 %   +1.4 %
router lines, C names (docs-windows-ddi)          5.4 %  12.2 %   -7.8 %
router lines, Chinese (blog-mzlogin-zh)           2.4 %   5.4 %  -12.8 %
router lines, Chinese (docs-pingcap-cn)           2.9 %   5.8 %   -7.2 %
================================================  =====  =====  =======

All samples together: mean 4.6 %, p95 11.5 %. Base64, long runs of one character and emoji are
further off. 6,000 characters take 0.2 ms.
"""

from __future__ import annotations

import re
from functools import cache

_PER_PIECE = 0.93
_PER_CJK = 0.77

_CJK = "\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_PIECE = (
    r"[A-Z]?[a-z]{1,10}|[A-Z]{1,4}|[0-9]{1,3}|[!-/:-@\[-`{-~]{1,8}|\n+"
    "|[\u0370-\u08ff]{1,4}"  # Greek, Cyrillic, Hebrew, Arabic
    "|[\u0900-\u1fff]{1,3}"  # the scripts of India and South-East Asia, and others
    rf"|[^\x00-\x7f\u0370-\u1fff{_CJK}\U0001f000-\U0001ffff]{{1,2}}|[\U0001f000-\U0001ffff]"
)


@cache
def _compiled() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a CJK character and of a piece; compiling them takes 3 ms."""
    return re.compile(f"[{_CJK}]"), re.compile(_PIECE)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` is for a present-day model (see above for how near)."""
    cjk, pieces = counts(text)
    return round(_PER_PIECE * pieces + _PER_CJK * cjk)


def counts(text: str) -> tuple[int, int]:
    """Return what is counted in a text: CJK characters, and pieces of all the rest."""
    cjk_character, piece = _compiled()
    cjk = 0 if text.isascii() else len(cjk_character.findall(text))
    return cjk, len(piece.findall(text))
