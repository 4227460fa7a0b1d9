"""A body's prose as people read it: paragraphs and list items, each on one line, markup off.

Hard-wrapped lines are joined, Chinese ones without a blank. Code, tables, comments, addresses,
images, and what is nothing but links (a table of contents, a list of pages) are left out.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Literal, NamedTuple

from recall.core.analysis import RUN
from recall.core.derive import plain
from recall.core.headlines import lines_of
from recall.core.lazy import pattern

Kind = Literal["heading", "text", "item"]

_FENCE = pattern(r"[ \t]*(`{3,}|~{3,})")
_COMMENT = pattern(r"(?is)<!--.*?(?:-->|\Z)|<(script|style|table|svg)\b.*?</\1>")
_HEADING = pattern(r" {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = pattern(r" {0,3}(?:=+|-{2,})[ \t]*$")
_RULE = pattern(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = pattern(
    r"[ \t]*(?:(?:[-*+•]|\d{1,3}[.)、])[ \t]+(?:\[[ xX]\](?:[ \t]+|$))?"
    r"|[(（](?:[a-z]|\d{1,2})[)）][ \t]*)(?=\S)"
)
_QUOTE = pattern(r"[ \t]*(?:>[ \t]?)+")
_NO_PROSE = pattern(
    r"[ \t]*(?:\||\{[%:{]|\[![A-Za-z]+\]|\[[^\]]{1,100}\]:[ \t]|:{3}"
    r"|(?:import|export)[ \t].*(?:from|=)|[-+|:=─│└├ ]+$)"
)
_TABLE = pattern(r"[^|]*\|[^|]*\|[^|]*\|")
_URL = pattern(r"<?(?:https?|ftp)://[^\s<>)\]，。；）】]+>?")
_LINK = pattern(
    r"\[[^\[\]]*\](?:\([^()]*(?:\([^()]*\)[^()]*)?\)|\[[^\[\]]*\])|\[\[[^\[\]]*\]\]"
    r"|(?:https?|ftp)://\S+"
)
_MARKS = pattern(r"(?<![^\W_])[*]+|[*]+(?![^\W_])|\[\^[^\]]*\]|(?<!\w):[a-z0-9_]+:(?!\w)")
_NESTED_LINK = pattern(r"\[([^\[\]]*)\]\([^()\s]*\)|[\[]([^\[\]]*)\]\[[^\[\]]*\]")


class Paragraph(NamedTuple):
    """A heading, a paragraph of text or a list's item, on one line."""

    kind: Kind
    text: str
    lines: tuple[str, ...]
    """The same as it was wrapped, without markup."""
    level: int = 0
    """Of a heading, 1 to 6."""


def paragraphs(body: str) -> list[Paragraph]:
    """Return the body's headings, paragraphs and items in order; linear in its length."""
    return list(_read(_COMMENT.sub("\n", body) if "<" in body else body))


def _read(body: str) -> Iterator[Paragraph]:
    kind: Kind = "text"
    held: list[str] = []
    fence = ""
    for line in lines_of(body):
        if fence:
            if line.strip().startswith(fence) and not line.strip(" \t" + fence[0]):
                fence = ""
            continue
        opens = _FENCE.match(line)
        quote = _QUOTE.match(line)
        text = line[quote.end() :] if quote else line
        underlined = bool(held) and kind == "text" and _UNDERLINE.match(line)
        if underlined:
            yield from _made("heading", held, level=1 if line.lstrip()[0] == "=" else 2)
            held = []
            continue
        heading, item = _HEADING.match(text), _ITEM.match(text)
        apart = opens or heading or _RULE.match(text) or _stands_apart(text, bool(held))
        if apart or item:
            yield from _made(kind, held)
            held, kind = [], "text"
        if opens:
            fence = opens[1]
        elif heading:
            yield from _made("heading", [heading[1] or ""], level=_level(text))
        elif item and not apart:
            kind, held = "item", [text[item.end() :]]
        elif not apart:
            held.append(text)
    yield from _made(kind, held)


def _level(heading: str) -> int:
    bare = heading.lstrip()
    return len(bare) - len(bare.lstrip("#"))


def _stands_apart(text: str, within: bool) -> bool:
    """Tell whether a line is none of a paragraph's: blank, a table's, a directive, code."""
    if not text.strip() or _NO_PROSE.match(text) or _TABLE.match(text):
        return True
    return not within and text.startswith(("    ", "\t"))


def _made(kind: Kind, lines: list[str], level: int = 0) -> Iterator[Paragraph]:
    if kind != "heading" and lines and _is_links(lines):
        return
    clean = tuple(filter(None, (without_markup(line) for line in _unwrapped_marks(lines))))
    if any(c.isalnum() for line in clean for c in line):
        yield Paragraph(kind, joined(clean), clean, level)


def _is_links(lines: list[str]) -> bool:
    """Tell whether nothing stands there but links, images and addresses."""
    whole = " ".join(lines)
    bare, links = _LINK.subn("", whole) if "[" in whole or "://" in whole else (whole, 0)
    return links > 0 and not any(c.isalnum() for c in bare)


def _unwrapped_marks(lines: list[str]) -> list[str]:
    """Return the lines with marks that begin in one and end in the next one taken off."""
    whole = "\n".join(lines)
    if "[" in whole:
        whole = _NESTED_LINK.sub(lambda hit: hit[1] or hit[2] or "", whole)
    return whole.split("\n")


def without_markup(line: str) -> str:
    """Return a line's text: inline markup, addresses, entities and stray asterisks off."""
    text = plain(line)
    if "&" in text:
        text = html.unescape(text)
    if "://" in text:
        text = _URL.sub("", text)
    return " ".join(_MARKS.sub("", text).split())


def joined(lines: tuple[str, ...]) -> str:
    """Return wrapped lines as one: a blank between words, none between Chinese characters."""
    out = ""
    for line in lines:
        blank = not out or (RUN.match(out[-1]) and RUN.match(line)) or out[-1] in "，。；：、！？"
        out += line if blank else f" {line}"
    return out
