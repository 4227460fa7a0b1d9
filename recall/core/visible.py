"""Text of memories as people see it: what is invisible, or turns lines around, is spelled out."""

from __future__ import annotations

from collections.abc import Callable

from recall.core.lazy import pattern

_HIDDEN = pattern(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, but for tab, line feed, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
    "|\r(?!\n)"
)
_FLAGS = pattern("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]+\U000e007f")
"""Flags that are written with tag characters (UTS #51)."""


def visible(text: str) -> str:
    """Return the text with each hidden character as `‹U+202E›`.

    Controls of direction (that make a line read otherwise than it is), characters without width
    and lone surrogates are spelled out; joiners and variation selectors stay, without which some
    scripts and emoji can't be written.
    """
    return spelled(text, lambda character: f"‹U+{ord(character):04X}›").replace("\r\n", "\n")


def spelled(text: str, spell: Callable[[str], str]) -> str:
    """Return the text with each hidden character as `spell` writes it."""
    if text.isascii() and text.isprintable():
        return text
    parts, at = [], 0
    for flag in _FLAGS.finditer(text):
        parts += [_HIDDEN.sub(lambda found: spell(found[0]), text[at : flag.start()]), flag[0]]
        at = flag.end()
    return "".join([*parts, _HIDDEN.sub(lambda found: spell(found[0]), text[at:])])


def hides(text: str) -> bool:
    """Tell whether the text holds anything that `visible` spells out."""
    return bool(_HIDDEN.search(_FLAGS.sub("", text)))


def lines_of(text: str) -> list[str]:
    """Return the text's lines as a terminal or a browser breaks them: LF, CRLF and CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
