"""A body as the sentences and blocks that it is made of, for comparing and merging memories.

Lines that only wrap a paragraph are joined; a heading, a list's item, a table's row, a quote's
paragraph begin anew; code between fences is one block, whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from recall.core.analysis import RUN, normalize
from recall.core.lazy import pattern

MAX_TEXT: Final = 100_000
"""Characters of a body that are looked at."""

_FENCE = pattern(r" {0,3}(`{3,}|~{3,})")
_BEGINS = pattern(r"\s*(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|>|\||={3,}\s*$|-{3,}\s*$|\[[^\]]+\]:)")
_ALONE = pattern(r"\s*(?:#{1,6}\s|\||={3,}\s*$|-{3,}\s*$|\[[^\]]+\]:)")
_MARKER = pattern(r"(?:#{1,6}|[-*+]|\d{1,9}[.)]|>)\s+(?:\[[ xX]\]\s+)?")
_END = pattern(
    r"(?<!^\d[.)])(?<!^\d\d[.)])(?<=[.!?])[\"'”’)\]*_`]{0,3}\s+(?=[^a-z\s])|(?<=[。！？；])[”’」』）]?\s*|(?<=;)\s+"
)
_WORD = pattern(r"[^\W_]+")
_NOT = pattern(r"n['’]t\b|(?<=can)not\b")


class Block(NamedTuple):
    """A sentence, a heading, an item's sentence, or a block of code.

    `group` numbers the paragraph, item or heading that it belongs to.
    """

    text: str
    group: int = 0
    kind: str = "prose"
    """`prose`, `heading`, `item`, `row`, `code`."""


class Paragraph(NamedTuple):
    """A paragraph, heading, item, row of a table or block of code: its lines, and its kind."""

    kind: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return it on one line; code as it stands."""
        return "\n".join(self.lines) if self.kind == "code" else _joined(self.lines)

    @property
    def sentences(self) -> list[str]:
        """Return the sentences of prose and items; anything else is one."""
        if self.kind not in ("prose", "item"):
            return [self.text]
        return [bare for part in _parts(self.text) if (bare := part.strip())]


def blocks(text: str) -> list[Block]:
    """Return the blocks of a body in order; joined by blanks they hold all that it says."""
    return [
        Block(sentence, group, paragraph.kind)
        for group, paragraph in enumerate(paragraphs(text))
        for sentence in paragraph.sentences
    ]


def unmarked(block: Block) -> str:
    """Return a block's text without what makes it a heading or an item of a list."""
    return block.text if block.kind == "code" else block.text[_marker_end(block.text) :]


def words(text: str) -> list[str]:
    """Return the words of a text in order, lower case; pairs of characters of unspaced scripts.

    `don't` and `cannot` are two words, so that a text and its negation differ in one.
    """
    plain = normalize(text).casefold()
    found: list[str] = []
    for word in _WORD.findall(_NOT.sub(" not", plain)):
        if word.isascii():
            found.append(word)
        else:
            found += _pieces(word)
    return found


def bag(text: str) -> Counter[str]:
    """Return how often each word stands in a text."""
    return Counter(words(text))


def _marker_end(text: str) -> int:
    mark = _MARKER.match(text)
    return mark.end() if mark else 0


def _pieces(word: str) -> Iterator[str]:
    """Yield the parts of a word that is written in more than one way: `用pnpm安装`."""
    last = 0
    for run in RUN.finditer(word):
        if run.start() > last:
            yield word[last : run.start()]
        text = run[0]
        yield from (text[at : at + 2] for at in range(max(1, len(text) - 1)))
        last = run.end()
    if last < len(word):
        yield word[last:]


def paragraphs(text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of a body in order; blank lines between them are left out."""
    fence, lines, kind = "", list[str](), "prose"
    for line in text[:MAX_TEXT].splitlines():
        mark = _FENCE.match(line)
        if fence:
            lines.append(line)
            if mark and mark[1].startswith(fence) and not line.strip("`~ \t"):
                yield Paragraph("code", tuple(lines))
                fence, lines = "", []
            continue
        if lines and (mark or not line.strip() or _BEGINS.match(line)):
            yield Paragraph(kind, tuple(lines))
            lines = []
        if mark:
            fence, lines = mark[1], [line]
        elif _ALONE.match(line):
            yield Paragraph(_kind(line), (line,))
        elif line.strip():
            kind = kind if lines else _kind(line)
            lines.append(line)
    if lines:
        yield Paragraph("code" if fence else kind, tuple(lines))


def _parts(text: str) -> Iterator[str]:
    """Yield the sentences of a text, each with the quotes and marks that close it."""
    last = 0
    for end in _END.finditer(text):
        yield text[last : end.end()]
        last = end.end()
    yield text[last:]


def _kind(line: str) -> str:
    bare = line.lstrip()
    if bare.startswith("#"):
        return "heading"
    if bare.startswith("|"):
        return "row"
    return "item" if _BEGINS.match(line) else "prose"


def _joined(lines: Sequence[str]) -> str:
    """Return the lines as one; no blank comes between two characters of an unspaced script."""
    whole = lines[0].strip()
    for line in lines[1:]:
        bare = line.strip()
        close = whole and RUN.match(whole[-1]) and RUN.match(bare[:1])
        whole += bare if close else f" {bare}"
    return whole
