"""Real byte-pair encoders, from the development dependency bpe-openai, where it is installed."""

from __future__ import annotations

from collections.abc import Callable

Counter = Callable[[str], int]
PACKAGE = "bpe-openai"
NEWEST, OLDER = "o200k_base", "cl100k_base"


def counter(encoding: str = NEWEST) -> Counter | None:
    """Return a function that counts a text's tokens; None where the package is not installed.

    What looks like a special token in a text is counted as the text that it is.
    """
    try:
        import bpe_openai
    except ImportError:
        return None
    encode = bpe_openai.get_encoding(encoding).encode_ordinary
    return lambda text: len(encode(text))
