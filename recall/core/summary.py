"""A compaction's summary as the text of a memory: the host's tags taken off, bounded, a title.

Hosts ask their model for a summary in tags of their own: Claude Code for `<analysis>` and
`<summary>`, Qwen Code for a `<state_snapshot>` of named parts. What was recalled from memories and
stands there again is no news, and is left out.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from recall.core.drafts import title_of
from recall.core.lazy import pattern
from recall.core.messages import say
from recall.core.sink import shorten
from recall.core.window import cut

MOST: Final = 2_000
"""Characters of a captured summary, what is said of a cut among them."""
LOOKED_AT: Final = 100_000
"""Characters of what a host hands over that are looked at."""
TITLE: Final = 100
"""Characters of a title."""

_RECALLED = pattern(r"(?s)(?:<|&lt;)recall-memory\b.*?(?:(?:<|&lt;)/recall-memory(?:>|&gt;)|\Z)")
_SUMMARY = pattern(r"(?s)<summary>(.*?)(?:</summary>|\Z)")
_ANALYSIS = pattern(r"(?s)<analysis>.*?(?:</analysis>|\Z)")
_WRAPPER = pattern(r"</?(?:state_snapshot|summary|analysis)>")
_PART = pattern(r"<(/?)([a-z]+(?:_[a-z]+)+)>")
_EMPTY = pattern(r"^## [^\n]*\n\s*(?=## |\Z)", 8)  # re.MULTILINE
_UNSHOWN = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_GAPS = pattern(r"(?<![ \t])[ \t]+$|\n{3,}", 8)  # re.MULTILINE
_ENDS = pattern(r"(?<!\d)[.!?][\"'”’)\]*_`]{0,3}(?=\s)|[。！？；][”’」』）]?|\n")
_FENCE = pattern(r"(?m)^ {0,3}```")
_HEADING = pattern(r"\n*^[ \t]*#{1,6} [^\n]*\Z", 8)
_LABEL = pattern(r"\s*(?:#{1,6}\s.*|(?:[-*+]|\d{1,3}[.)])?\s*\**[^.!?。！？]{1,60}:\**)\s*\Z")
_MARK = pattern(r"^\s*(?:[-*+>]|\d{1,3}[.)])\s+")


class Summary(NamedTuple):
    """What is kept of a summary."""

    title: str
    text: str


def plain(handed: str) -> str:
    """Return what a summary says, without the tags around it; empty where it says nothing.

    Of `handed`, LOOKED_AT characters count.
    """
    text = handed[:LOOKED_AT].replace("\r\n", "\n").replace("\r", "\n")
    text = _UNSHOWN.sub("", _RECALLED.sub("", text))
    inside = _SUMMARY.search(text)
    text = inside[1] if inside else _ANALYSIS.sub("", text)
    text = _sections(_WRAPPER.sub("", text))
    text = _GAPS.sub(lambda gap: "\n\n" if gap[0].startswith("\n") else "", text)
    return text.strip()


def _sections(text: str) -> str:
    """Return the text with a heading for each named part; a tag that is never closed stays.

    A part that holds nothing is left out.
    """
    closed = {mark[2] for mark in _PART.finditer(text) if mark[1]}
    opened = {mark[2] for mark in _PART.finditer(text) if not mark[1]}

    def section(mark: re.Match[str]) -> str:
        if mark[2] not in closed & opened:
            return mark[0]
        return "\n\n" if mark[1] else f"\n\n## {mark[2].replace('_', ' ').capitalize()}\n\n"

    return _EMPTY.sub("", _PART.sub(section, text) + "\n") if closed & opened else text


def kept(text: str, language: str = "en") -> Summary:
    """Return what is kept of a plain summary: all of it, or its beginning up to a sentence's end.

    A text that was cut says so, and how long it was.
    """
    return Summary(_title(text, language), text if len(text) <= MOST else _cut(text, language))


def _cut(text: str, language: str) -> str:
    total = len(text)
    note = say("capture.cut", language, kept=f"{MOST:,}", total=f"{total:,}")
    room = MOST - len(note) - len("\n```\n\n")
    end = next((m.end() for m in reversed(list(_ENDS.finditer(text, 0, room + 1)))), 0)
    if not room // 2 <= end <= room:
        end = cut(text, 0, room)
    begun = _HEADING.sub("", text[:end].rstrip()).rstrip()
    length = len(begun)
    if len(_FENCE.findall(begun)) % 2:
        begun += "\n```"
    return f"{begun}\n\n{say('capture.cut', language, kept=f'{length:,}', total=f'{total:,}')}"


def _title(text: str, language: str) -> str:
    """Return a title: the first line that says something, not only what the next ones are about."""
    lines = [line for line in text.split("\n") if line.strip()]
    said = next((line for line in lines if not _LABEL.match(line)), lines[0] if lines else "")
    named = title_of(_MARK.sub("", said[:1_000]))
    return shorten(say("capture.title", language, text=named or "…"), TITLE)
