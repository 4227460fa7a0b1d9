"""What a body says of itself: a title from its heading, a description from its first sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

from recall.core.headlines import lines_of
from recall.core.lazy import pattern

MAX_BODY = 1 << 16
"""Characters of a body that are looked at."""
MAX_LINES = 1_000
MAX_SENTENCE = 200
"""Characters of a description that is taken from the body."""

_LINE = 4_096  # characters of one line that are looked at


class Derived(NamedTuple):
    """A body's own title and first sentence, each empty where there is none."""

    heading: str
    sentence: str


_ATX = pattern(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = pattern(r" {0,3}(`{3,}|~{3,})")
_RULE = pattern(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_SETEXT = pattern(r" {0,3}(=+|-+)[ \t]*$")
_ITEM = pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\](?:[ \t]+|$))?")
_QUOTE = pattern(r" {0,3}>[ \t]?")
_NO_PROSE = pattern(
    r"[ \t]*(?:\||\{[%:{]|\[![A-Za-z]+\]|\[[^\]]{1,100}\]:|(?:import|export)[ \t].*(?:from|=)|:{3})"
)


def from_body(body: str, *, want_sentence: bool = True) -> Derived:
    """Return the title and the first sentence that a person would take from a body.

    The title is the first `# heading` outside code, a setext one too; where there is none, a
    deeper heading that the body begins with. The sentence is the first paragraph's, at most 200
    characters; headings, code, comments, tables, images and rules are no paragraphs, a list's
    first item only where there is none.
    """
    scan = _Scan(want_sentence)
    lines = lines_of(body[:MAX_BODY])
    for line in lines[:MAX_LINES]:
        if scan.done:
            break
        scan.line(line[:_LINE])
    scan.end_paragraph()
    return Derived(scan.title or scan.opening, first_sentence(scan.prose or scan.item))


class _Scan:
    """One pass over a body's lines."""

    __slots__ = (
        "fence", "in_comment", "item", "opening", "paragraph", "prose", "title", "want_sentence",
    )  # fmt: skip

    def __init__(self, want_sentence: bool) -> None:
        self.want_sentence = want_sentence
        self.title = self.opening = self.prose = self.item = ""
        self.paragraph: list[str] = []
        self.fence = ""
        self.in_comment = False

    @property
    def done(self) -> bool:
        return bool(self.title) and (bool(self.prose) or not self.want_sentence)

    def line(self, line: str) -> None:
        if self.in_comment or self.fence:
            self._inside(line)
            return
        bare = line.strip()
        if not bare:
            self.end_paragraph()
            return
        first = bare[0]
        if first == "#" and self._heading(line):
            return
        if first in "`~" and (fence := _FENCE.match(line)):
            self.end_paragraph()
            self.fence = fence[1]
            return
        if first == "<" and bare.startswith("<!--"):
            self.end_paragraph()
            self.in_comment = "-->" not in bare[4:]
            return
        if first in "=-*_" and self._underline_or_rule(line):
            return
        self._prose(line, bare)

    def _inside(self, line: str) -> None:
        if self.in_comment:
            self.in_comment = "-->" not in line
        elif line.strip().startswith(self.fence) and not line.strip(" \t" + self.fence[0]):
            self.fence = ""

    def _heading(self, line: str) -> bool:
        match = _ATX.match(line)
        if match is None:
            return False
        begins = not (self.prose or self.item or self.paragraph or self.opening)
        self.end_paragraph()
        text = plain(match[2] or "")
        if text and len(match[1]) == 1 and not self.title:
            self.title = text
        elif text and begins:
            self.opening = text
        return True

    def _underline_or_rule(self, line: str) -> bool:
        setext = _SETEXT.match(line)
        if setext and setext[1][0] == "=" and self.paragraph:
            self.title = self.title or plain(" ".join(self.paragraph))
            self.paragraph.clear()
            return True
        if setext and len(setext[1]) > 1 and self.paragraph:
            self.paragraph.clear()  # a heading of the second level is no paragraph
            return True
        if _RULE.match(line):
            self.end_paragraph()
            return True
        return False

    def _prose(self, line: str, bare: str) -> None:
        if self.prose:
            return
        if _NO_PROSE.match(line) or (not self.paragraph and line.startswith(("    ", "\t"))):
            self.end_paragraph()
            return
        item = _ITEM.match(line)
        if item and item.end() and bare[0] in "-*+0123456789":
            self.end_paragraph()
            self.item = self.item or _prose_of(line[item.end() :])
            return
        quote = _QUOTE.match(line)
        text = line[quote.end() :] if quote else bare
        if _NO_PROSE.match(text):
            return
        if sum(map(len, self.paragraph)) < 4 * MAX_SENTENCE:
            self.paragraph.append(text.strip())

    def end_paragraph(self) -> None:
        """Take what was gathered as the first paragraph, unless only marks and images are in it."""
        if not self.paragraph:
            return
        if not self.prose:
            self.prose = _prose_of(" ".join(self.paragraph))
        self.paragraph.clear()


def _prose_of(markdown: str) -> str:
    """Return the text, or '' where only marks, images and placeholders are in it."""
    text = plain(markdown)
    return text if any(c.isalnum() for c in text) else ""


_IMAGE = pattern(r"!\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])?")
_LINK = pattern(r"\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)?\)|\[[^\[\]]*\])")
_WIKI = pattern(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_TAG = pattern(r"</?[A-Za-z][^<>]*>|<!--.*?-->")
_ATTRIBUTES = pattern(r"[ \t]*\{[:#.][^{}]*\}[ \t]*$")
_EMPHASIS = pattern(r"(?<![\w*])\*([^\s*][^*]*)\*(?![\w*])|(?<!\w)_([^\s_][^_]*)_(?!\w)")
_BACKSLASH = pattern(r"\\([!-/:-@\[-`{-~])")
_MARKS = str.maketrans({"`": None})


def plain(text: str) -> str:
    """Reduce inline Markdown to its text: links to their words, images away, emphasis off."""
    text = text[:_LINE]
    if "<" in text:
        text = _TAG.sub("", text)
    if "[" in text:
        text = _IMAGE.sub("", text)
        text = _WIKI.sub(r"\1", text)
        text = _LINK.sub(r"\1", text)
    if "{" in text:
        text = _ATTRIBUTES.sub("", text)
    if "*" in text or "_" in text or "~" in text:
        text = text.replace("**", "").replace("~~", "")
        text = re.sub(r"(?<!\w)__|__(?!\w)", "", text)
        text = _EMPHASIS.sub(lambda m: m[1] or m[2], text)
    if "\\" in text:
        text = _BACKSLASH.sub(r"\1", text)
    return " ".join(text.translate(_MARKS).split())


_END = pattern(r"[。！？!?](?:[”’」』）)\"']*)|\.(?=[\s\"'”’)]|$)")
_SHORT_WORD = pattern(r"(?:\b(?:e\.g|i\.e|vs|cf|etc|Dr|Mr|Mrs|Ms|No|St|approx)|\b[A-Z]|^\d+)$")


def first_sentence(text: str) -> str:
    """Return the first sentence, at most 200 characters, cut at a word where it is longer."""
    text = text[: 4 * MAX_SENTENCE]
    for match in _END.finditer(text):
        if match[0][0] == "." and _SHORT_WORD.search(text[: match.start()]):
            continue
        if match[0][0] in "!?" and match.end() < len(text) and not text[match.end()].isspace():
            continue  # `a != b`, `?query=`
        return cut(text[: match.end()].strip(), MAX_SENTENCE)
    return cut(text, MAX_SENTENCE)


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters, cut between words where that loses little."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    if not text[limit].isspace():
        word = head.rfind(" ")
        head = head[:word] if word >= limit // 2 else _whole_characters(text, limit)
    return head.rstrip(" ,;:，、；：-–—")


_JOINS = pattern("[\u0300-\u036f\u200d\ufe00-\ufe0f\u20d0-\u20ff\U0001f3fb-\U0001f3ff]")


def _whole_characters(text: str, limit: int) -> str:
    """Step back from a cut that would part a mark or an emoji's joiner from its base."""
    at = limit
    while at > limit - 16 and (_JOINS.match(text[at]) or text[at - 1] == "\u200d"):
        at -= 1
    return text[:at]
