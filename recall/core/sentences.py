"""A body as the sentences and blocks that it is made of, for comparing and merging memories.

Lines that only wrap a paragraph are joined; a heading, a list's item, a table's row, a quote's
paragraph begin anew; code between fences is one block, whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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


def blocks(text: str) -> list[Block]:
    """Return the blocks of a body in order; joined by blanks they hold all that it says."""
    found: list[Block] = []
    for group, (kind, whole) in enumerate(_paragraphs(text[:MAX_TEXT])):
        if kind in ("prose", "item"):
            found += [Block(part, group, kind) for part in _sentences(whole)]
        else:
            found.append(Block(whole, group, kind))
    return found


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


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph, each with the quotes and brackets that close it."""
    last = 0
    for end in _END.finditer(text):
        yield from filter(None, (text[last : end.end()].strip(),))
        last = end.end()
    yield from filter(None, (text[last:].strip(),))


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


def _paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each paragraph, its lines joined; code with its lines and fences."""
    fence, lines, kind = "", list[str](), "prose"
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            lines.append(line)
            if mark and mark[1].startswith(fence) and not line.strip("`~ \t"):
                yield "code", "\n".join(lines)
                fence, lines = "", []
            continue
        if lines and (mark or not line.strip() or _BEGINS.match(line)):
            yield kind, _joined(lines)
            lines = []
        if mark:
            fence, lines = mark[1], [line]
        elif _ALONE.match(line):
            yield _kind(line), line.strip()
        elif line.strip():
            kind = kind if lines else _kind(line)
            lines.append(line)
    if lines:
        yield ("code", "\n".join(lines)) if fence else (kind, _joined(lines))


def _kind(line: str) -> str:
    bare = line.lstrip()
    if bare.startswith("#"):
        return "heading"
    if bare.startswith("|"):
        return "row"
    return "item" if _BEGINS.match(line) else "prose"


def _joined(lines: list[str]) -> str:
    """Return the lines as one; no blank comes between two characters of an unspaced script."""
    whole = lines[0].strip()
    for line in lines[1:]:
        bare = line.strip()
        close = whole and RUN.match(whole[-1]) and RUN.match(bare[:1])
        whole += bare if close else f" {bare}"
    return whole
