"""Text of memories as people see it: what is invisible, or turns lines around, is spelled out."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, but for tab, line feed, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
    "|\r(?!\n)"
)
_FLAGS = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]+\U000e007f")
"""Flags that are written with tag characters (UTS #51)."""


def visible(text: str) -> str:
    """Return the text with each hidden character as `‹U+202E›`.

    Controls of direction (that make a line read otherwise than it is), characters without width
    and lone surrogates are spelled out; joiners and variation selectors stay, without which some
    scripts and emoji can't be written.
    """
    if text.isascii() and text.isprintable():
        return text
    parts, at = [], 0
    for flag in _FLAGS.finditer(text):
        parts += [_spelled(text[at : flag.start()]), flag[0]]
        at = flag.end()
    return "".join([*parts, _spelled(text[at:])]).replace("\r\n", "\n")


def hides(text: str) -> bool:
    """Tell whether the text holds anything that `visible` spells out."""
    return bool(_HIDDEN.search(_FLAGS.sub("", text)))


def _spelled(text: str) -> str:
    return _HIDDEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)
