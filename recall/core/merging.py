"""Several texts that say the same as one: the longest, and what only the others say.

Mechanical: nothing is put in other words. What comes in addition stands below the heading that it
stood under, where the longest has that one too, else at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recall.core.facts import Held
from recall.core.nearness import says
from recall.core.sentences import Block, Paragraph, bag, paragraphs, unmarked

Words = Counter[str]


class _Part(NamedTuple):
    """A paragraph, or the rows of a table, as it stands; and the heading that it stands under."""

    kind: str
    text: str
    sentences: tuple[str, ...]
    heading: str
    """The heading's line; empty before the first."""


def merged(texts: Sequence[str]) -> str:
    """Return the first text with whatever the others say in addition, each thing once.

    Texts are bodies without blank lines around them. The first should be the longest.
    """
    whole, *others = texts
    for text in others:
        whole = _joined(whole, list(_additions(whole, text)))
    return whole


def _additions(whole: str, text: str) -> Iterator[_Part]:
    """Yield the parts of a text that say what the whole doesn't, cut to what does so."""
    known = [bag(unmarked(Block(s, kind=p.kind))) for p in paragraphs(whole) for s in p.sentences]
    titles = {_key(part.text) for part in paragraphs(whole) if part.kind == "heading"}
    held = Held(whole)
    for part in _parts(text):
        if part.kind == "heading":
            continue
        new = [one for one in part.sentences if _is_new(one, part.kind, known, whole, held)]
        if not new:
            continue
        heading = part.heading if _key(part.heading) in titles or part.heading else ""
        kept = part.text if part.kind in ("code", "row") or len(new) == len(part.sentences) else ""
        if not kept:
            kept = " ".join(new)
            if part.kind == "item" and new[0] != part.sentences[0]:
                kept = f"- {kept}"
        yield part._replace(text=kept, sentences=tuple(new), heading=heading)


def _is_new(sentence: str, kind: str, known: Sequence[Words], whole: str, held: Held) -> bool:
    words = bag(unmarked(Block(sentence, kind=kind)))
    if not words:
        return sentence.strip() not in whole
    if kind == "code":
        return sentence not in whole
    return not says(words, known) or bool(held.lacks(sentence))


def _parts(text: str) -> Iterator[_Part]:
    heading, rows = "", list[Paragraph]()
    for one in paragraphs(text):
        if rows and one.kind != "row":
            yield _table(rows, heading)
            rows = []
        if one.kind == "row":
            rows.append(one)
            continue
        if one.kind == "heading":
            heading = one.text
        yield _Part(one.kind, "\n".join(one.lines).strip("\n"), tuple(one.sentences), heading)
    if rows:
        yield _table(rows, heading)


def _table(rows: Sequence[Paragraph], heading: str) -> _Part:
    lines = tuple(row.text for row in rows)
    return _Part("row", "\n".join(lines), lines, heading)


def _joined(whole: str, additions: Sequence[_Part]) -> str:
    """Return the whole with the additions below their headings, or at the end."""
    lines = whole.split("\n")
    places = _places(whole)
    below: dict[int, list[_Part]] = {}
    last: list[_Part] = []
    for part in additions:
        key = _key(part.heading)
        if part.heading and key in places:
            below.setdefault(places[key], []).append(part)
        else:
            last.append(part)
    out: list[str] = []
    for number, line in enumerate(lines):
        out.append(line)
        if number + 1 in below:
            out = _put(out, below.pop(number + 1))
            if number + 1 < len(lines) and out[-1].strip():
                out.append("")
    heading = ""
    for part in last:
        if part.heading and part.heading != heading:
            out = [*_stripped(out), "", part.heading]
            heading = part.heading
        out = _put(out, [part])
    return "\n".join(out).strip("\n")


def _put(lines: list[str], parts: Sequence[_Part]) -> list[str]:
    """Return the lines with the parts after them; an item directly after another item."""
    blanks = len(lines) - len(_stripped(lines))
    lines = _stripped(lines)
    for part in parts:
        beside = part.kind == "item" and lines and _is_item(lines[-1])
        lines += [part.text] if beside else ["", part.text]
        lines = "\n".join(lines).split("\n")
    return lines + [""] * blanks


def _places(whole: str) -> dict[str, int]:
    """Return for each heading the number of lines up to its section's end."""
    lines = whole.split("\n")
    found: dict[str, int] = {}
    at, current = 0, ""
    for one in paragraphs(whole):
        size = len(one.lines)
        while at < len(lines) and tuple(lines[at : at + size]) != one.lines:
            at += 1
        if one.kind == "heading":
            if current and current not in found:
                found[current] = at
            current = _key(one.text)
        at += size
    if current and current not in found:
        found[current] = len(lines)
    return found


def _key(heading: str) -> str:
    return " ".join(sorted(bag(heading).elements()))


def _is_item(line: str) -> bool:
    return next(paragraphs(line), Paragraph("", ())).kind == "item"


def _stripped(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]
