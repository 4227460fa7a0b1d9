"""Where each key and each value of a YAML head stands, by the parser's own marks.

Nothing is constructed: events only, no recursion, at a bounded number of them. All offsets are
characters of the head's text.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import yaml

from recall.core.lazy import pattern
from recall.core.salvage import LINE_END, NULLS, TEXT_KEYS, canonical
from recall.core.splice_record import Cannot
from recall.core.splice_values import ListStyle
from recall.core.yamlevents import MAX_EVENTS
from recall.core.yamlhead import PARSER

_Scalar: Any = yaml.ScalarEvent
_Alias: Any = yaml.AliasEvent
_MapStart: Any = yaml.MappingStartEvent
_SeqStart: Any = yaml.SequenceStartEvent
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_COLON = pattern(r"[ \t]*:")
_BLANKS = " \t\r\n"
_BLOCK = ("|", ">")
_KEEP = pattern(r"[^|>\r\n]*[|>][1-9]?\+")


class Leaf(NamedTuple):
    """A scalar within a value; `style` is its quote, `|` or `>`, empty where it is bare."""

    start: int
    end: int
    style: str


class Entry(NamedTuple):
    """A key of the head's mapping, with its value.

    `name` is the canonical key, '' where nobody wants it; `colon` stands behind the key's colon,
    or is -1 where that is not on the key's line. [start, end) is the value, from its anchor or tag
    to its last character; an empty one stands behind the colon. `tail` counts the blank lines to
    it that are a block scalar's text.
    """

    name: str
    key: str
    line: int
    """0-based in the head."""
    key_start: int
    colon: int
    start: int
    end: int
    tail: int
    kind: str
    """null, text, list, map or alias."""
    style: str
    """Of a text as in Leaf; else `flow` or `block`."""
    marked: bool
    """An anchor or a tag stands before the value."""
    list_style: ListStyle | None
    leaves: tuple[Leaf, ...]
    anchors: frozenset[str]
    aliases: frozenset[str]
    meaning: tuple[Any, ...]
    """What a YAML parser makes of the value, comparable."""


class Marks(NamedTuple):
    """A whole head; its keys begin in `column`."""

    entries: tuple[Entry, ...]
    column: int
    list_style: ListStyle
    aliases: frozenset[str]
    alias_count: int
    depth: int
    """Of lists and mappings in one another, below the head's own."""


NO_MARKS = Marks((), 0, ListStyle(), frozenset(), 0, 0)
"""Of a file without a head."""


def read_marks(text: str, first_line: int, parser: Any = PARSER) -> Marks:
    """Return the marks of a head whose first line is the file's `first_line`.

    Raises Cannot: `yaml-syntax` where a strict parser does not take all of the text for one
    mapping, `flow-head` where that stands in braces, `head-too-large`.
    """
    reader = _Reader(text, parser)
    try:
        reader.read()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = str(error.problem or error.context or "not YAML")
        raise _syntax(reason, first_line + (mark.line if mark else 0)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _syntax(str(getattr(error, "reason", error)), first_line) from error
    except Cannot as cannot:
        kind, reason, line = cannot.refused
        raise Cannot(kind, reason, None if line is None else first_line + line) from None
    return reader.marks()


def line_end(text: str, at: int) -> int:
    """Return where the line that `at` stands in ends, before its line end."""
    ending = LINE_END.search(text, at)
    return ending.start() if ending else len(text)


def trimmed(text: str, start: int, end: int) -> int:
    """Return the end of text[start:end] without the blanks and line ends at its end."""
    while end > start and text[end - 1] in _BLANKS:
        end -= 1
    return end


def value_end(text: str, entry: Entry) -> int:
    """Return where the value ends to our own reader.

    It joins a bare text on one line with a ` #…` behind it where the key's value is prose
    (`description: PR #762 fixes it`); in lists and empty values that is a comment to a splice.
    """
    if entry.kind == "text" and not entry.style and entry.name in TEXT_KEYS:
        end = line_end(text, entry.start)
        rest = text[entry.end : end]  # empty where the text goes on below this line
        if rest.lstrip().startswith("#"):
            return entry.end + len(rest.rstrip())
    return entry.end


def _syntax(reason: str, line: int) -> Cannot:
    return Cannot("yaml-syntax", f"YAML refuses the frontmatter ({reason[:160]}).", line)


class _Reader:
    """Takes one mapping's events."""

    def __init__(self, text: str, parser: Any) -> None:
        self.text = text
        self.parser = parser(text)
        self.entries: list[Entry] = []
        self.styles: list[ListStyle] = []
        self.column = 0
        self.count = self.depth = 0
        self.alias_names: set[str] = set()
        self.alias_count = 0

    def read(self) -> None:
        get = self.parser.get_event
        get()  # the stream's start
        if type(get()) is yaml.StreamEndEvent:
            return
        event = get()
        if type(event) is not _MapStart:
            raise Cannot("yaml-syntax", "The frontmatter is no mapping.", 0)
        if event.flow_style:
            raise Cannot("flow-head", "The frontmatter's keys stand in braces.", 0)
        self.column = event.start_mark.column
        while type(event := self.next()) is not yaml.MappingEndEvent:
            self._entry(event)
        event = get()
        if event.explicit or type(get()) is not yaml.StreamEndEvent:
            line = event.start_mark.line
            raise Cannot("yaml-syntax", "A YAML document ends within the frontmatter.", line)

    def next(self) -> Any:
        self.count += 1
        if self.count > MAX_EVENTS:
            raise Cannot("head-too-large", f"More than {MAX_EVENTS:,} entries.")
        return self.parser.get_event()

    def marks(self) -> Marks:
        style = Counter(self.styles).most_common(1)  # of equals the first one met
        return Marks(
            entries=tuple(self.entries),
            column=self.column,
            list_style=style[0][0] if style else ListStyle(),
            aliases=frozenset(self.alias_names),
            alias_count=self.alias_count,
            depth=self.depth,
        )

    def _entry(self, event: Any) -> None:
        key, colon = "", -1
        if type(event) is _Scalar:
            key = event.value
            found = _COLON.match(self.text, event.end_mark.index)
            colon = found.end() if found else -1
        before = _Walk(self, event, -1)
        value = self.next()
        walk = _Walk(self, value, event.start_mark.column)
        self.entries.append(
            Entry(
                name=canonical(key),
                key=key,
                line=event.start_mark.line,
                key_start=event.start_mark.index,
                colon=colon,
                start=walk.start,
                end=self._end(walk),
                tail=walk.tail,
                kind=_kind(value),
                style=_style(value),
                marked=getattr(value, "anchor", None) is not None
                or getattr(value, "tag", None) is not None,
                list_style=walk.list_style,
                leaves=tuple(walk.leaves),
                anchors=frozenset(walk.anchors),
                aliases=frozenset(walk.aliases),
                meaning=(*before.meaning, *walk.meaning),
            )
        )

    def _end(self, walk: _Walk) -> int:
        end = trimmed(self.text, walk.start, walk.end)
        if walk.leaves and walk.leaves[-1].style in _BLOCK:
            return line_end(self.text, end)  # blanks at its last line's end are its text
        return end


class _Walk:
    """What stands in one value, or in a key: its event was taken, the rest is taken here."""

    def __init__(self, reader: _Reader, event: Any, key_column: int) -> None:
        self.reader = reader
        self.start = event.start_mark.index
        self.end = self.tail = self.start
        self.leaves: list[Leaf] = []
        self.anchors: set[str] = set()
        self.aliases: set[str] = set()
        self.meaning: list[Any] = []
        self.list_style: ListStyle | None = None
        self._run(event, key_column)

    def _run(self, event: Any, key_column: int) -> None:
        open_: list[Any] = []
        column = key_column  # of the scalar just before, if that can be a key
        while True:
            kind = type(event)
            if kind in _ENDS:
                self._end(open_.pop(), event)
                column = -1
            elif kind in (_MapStart, _SeqStart):
                open_.append(event)
                self.reader.depth = max(self.reader.depth, len(open_))
                self._begin(event)
                child = self.reader.next()
                if kind is _SeqStart and type(child) not in _ENDS:
                    self._list(event, child, column, top=len(open_) == 1)
                event, column = child, -1
                continue
            else:
                self._leaf(event)
                in_map = bool(open_) and type(open_[-1]) is _MapStart
                column = event.start_mark.column if in_map else -1
            if not open_:
                return
            event = self.reader.next()

    def _leaf(self, event: Any) -> None:
        self.end = max(self.end, event.end_mark.index)
        if type(event) is _Alias:
            self.aliases.add(event.anchor)
            self.reader.alias_names.add(event.anchor)
            self.reader.alias_count += 1
            self.meaning.append(("alias", event.anchor))
            return
        style = event.style or ""
        if event.anchor is not None:
            self.anchors.add(event.anchor)
        leaf = Leaf(event.start_mark.index, event.end_mark.index, style)
        self.leaves.append(leaf)
        if style in _BLOCK:
            self.tail = _tail(self.reader.text, leaf)
        self.meaning.append((style, event.value, event.tag, event.anchor, event.implicit))

    def _begin(self, event: Any) -> None:
        if event.anchor is not None:
            self.anchors.add(event.anchor)
        self.meaning.append((type(event).__name__, event.tag, event.anchor, event.implicit))

    def _end(self, start: Any, event: Any) -> None:
        self.meaning.append(type(event).__name__)
        if start.flow_style:  # a block's end mark is where the next token begins
            self.end = max(self.end, event.end_mark.index)

    def _list(self, event: Any, child: Any, key_column: int, *, top: bool) -> None:
        dash, item = event.start_mark, child.start_mark
        style = ListStyle()
        if not event.flow_style:
            gap = item.column - dash.column if item.line == dash.line else 2
            indent = dash.column - key_column if key_column >= 0 else -1
            if event.anchor is not None or event.tag is not None or indent < 0 or gap < 2:
                return  # the mark is the anchor's, or no key stands above
            style = ListStyle(True, indent, gap)
        if top:
            self.list_style = style
        self.reader.styles.append(style)


def _tail(text: str, leaf: Leaf) -> int:
    """Return where a block scalar's text ends: it keeps blank lines (`|+`), or blanks in them."""
    end = line_end(text, trimmed(text, leaf.start, leaf.end))
    blank = " " in text[end : leaf.end] or _KEEP.match(text, leaf.start)
    return leaf.end if blank else min(end, leaf.end)


def _kind(event: Any) -> str:
    kind = type(event)
    if kind is _Alias:
        return "alias"
    if kind is _Scalar:
        return "null" if not event.style and event.value in NULLS else "text"
    return "map" if kind is _MapStart else "list"


def _style(event: Any) -> str:
    kind = type(event)
    if kind is _Scalar:
        return event.style or ""
    if kind is _Alias:
        return ""
    return "flow" if event.flow_style else "block"
