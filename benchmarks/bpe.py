"""Real byte-pair encoders, from the development dependency bpe-openai, where it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable

Counter = Callable[[str], int]
PACKAGE = "bpe-openai"
_PIECE = 100_000
NEWEST, OLDER = "o200k_base", "cl100k_base"


def counter(encoding: str = NEWEST) -> Counter | None:
    """Return a function that counts a text's tokens; None where the package is not installed.

    What looks like a special token in a text is counted as the text that it is.
    """
    try:
        with warnings.catch_warnings():  # it reads its data in a way that is deprecated
            warnings.simplefilter("ignore", DeprecationWarning)
            import bpe_openai
    except ImportError:
        return None
    encode = bpe_openai.get_encoding(encoding).encode_ordinary

    def count(text: str) -> int:
        """Count in pieces: the encoder refuses what is very long."""
        return sum(len(encode(text[i : i + _PIECE])) for i in range(0, len(text), _PIECE))

    return count
