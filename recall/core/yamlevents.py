"""libyaml's events of one head, read as fields of text.

Events, never nodes or objects: nothing is constructed, no alias multiplies, nothing recurses, and
a head is left at a bounded depth and number of events.
"""

from __future__ import annotations

from typing import Any

import yaml

from recall.core.lazy import pattern
from recall.core.salvage import (
    FIELD_CHARS,
    HASH_IS_TEXT,
    LIST_ITEMS,
    LIST_KEYS,
    NULLS,
    SAYS_NOTHING,
    Field,
    canonical,
    unquoted,
    without_surrogates,
)
from recall.model import Fault

MAX_FAULTS = 64
"""So many faults of one head are told."""

MAX_DEPTH = 64
MAX_EVENTS = 60_000
"""A head of 10,000 keys gives about 20,000 events; more than this is no head, or an attack."""


class PureParser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):
    """PyYAML's parser in Python, for installations without libyaml."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)


def parser_class() -> Any:
    """Return libyaml's parser where PyYAML was built with it, else the one in Python."""
    try:
        from yaml._yaml import CParser
    except ImportError:
        return PureParser
    return CParser


class Refused(Exception):
    """A head that YAML could read and we don't: no mapping, or too much of one."""


_Scalar, _Alias = yaml.ScalarEvent, yaml.AliasEvent
_MapStart, _MapEnd = yaml.MappingStartEvent, yaml.MappingEndEvent
_SeqStart, _SeqEnd = yaml.SequenceStartEvent, yaml.SequenceEndEvent

_TO_LINE_END = pattern(rf"[^\r\n]{{0,{FIELD_CHARS}}}")
_ALIAS_NAME = pattern(r"\*([\w-]{1,64})")
_CORE_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp")
)


class Events:
    """Reads a head's wanted fields, from its start or from the line of a later key on.

    After an exception `key` and `key_line` (0-based in the head) name the key that was being
    read, and `done` whether its value was complete, ending on `end_line`.
    """

    __slots__ = (
        "aliases",
        "anchors",
        "base",
        "count",
        "done",
        "end_line",
        "faults",
        "fields",
        "first_line",
        "has_hash",
        "key",
        "key_line",
        "parser",
        "region_line",
        "seen",
        "text",
    )

    def __init__(self, text: str, first_line: int, faults: list[Fault]) -> None:
        self.text = text
        self.first_line = first_line
        self.faults = faults
        self.fields: dict[str, Field] = {}
        self.seen: set[str] = set()
        self.anchors: dict[str, str] = {}
        self.aliases: frozenset[str] | None = None
        self.has_hash = "#" in text
        self.count = 0
        self.start_at(0, 0)

    def start_at(self, base: int, line: int) -> None:
        """Let the next reading begin at a character and the (0-based) line that it begins."""
        self.base, self.region_line = base, line
        self.key, self.key_line = "", line
        self.done, self.end_line = False, line

    def read(self, parser: Any) -> None:
        """Read `parser(text)`'s mapping to its end; raises yaml.YAMLError or Refused."""
        self.parser = parser(self.text[self.base :] if self.base else self.text)
        get = self.parser.get_event
        get()  # the stream's start
        if type(get()) is yaml.StreamEndEvent:
            return
        event = get()
        if type(event) is not _MapStart:
            if type(event) is _Scalar and not event.value:
                return
            raise Refused("this is not `key: value`")
        while type(event := self._next()) is not _MapEnd:
            if type(event) is _Scalar:
                self._field(event)
            else:
                self._skip(event)
                self._skip(self._next())
        get()  # raises where something follows the mapping that is not part of it
        get()

    def _next(self) -> Any:
        self.count += 1
        if self.count > MAX_EVENTS:
            raise Refused(f"more than {MAX_EVENTS:,} entries")
        return self.parser.get_event()

    def _field(self, event: Any) -> None:
        key = event.value
        self.key, self.done = key, False
        self.key_line = self.end_line = self.region_line + event.start_mark.line
        name = canonical(key)
        identity = name or key
        if identity in self.seen:
            self._duplicate(key)
            if len(self.faults) >= MAX_FAULTS:
                name = ""  # nobody writes a key so often; the rest is stepped over
        self.seen.add(identity)
        value = self._next()
        if type(value) is _Scalar:
            if name:
                self.fields[name] = self._scalar_field(key, name, value)
        elif name:
            self.fields[name] = self._other_field(key, name, value)
        else:
            self._skip(value)
        self.done = True

    def _duplicate(self, key: str) -> None:
        if len(self.faults) >= MAX_FAULTS:
            return
        self.faults.append(
            Fault(
                "duplicate-key",
                f"The key {key[:64]!r} stands more than once; the last one counts.",
                "Keep one of them.",
                self.first_line + self.key_line,
                key[:64],
            )
        )

    # --- scalars -------------------------------------------------------------------------

    def _scalar_field(self, key: str, name: str, event: Any) -> Field:
        line = self.first_line + self.key_line
        self.end_line = self.region_line + event.end_mark.line
        text = self._scalar(event, name in HASH_IS_TEXT)
        if text is None:
            return Field(key, line, "null")
        return Field(key, line, "text", text[:FIELD_CHARS])

    def _scalar(self, event: Any, hash_is_text: bool, flow: bool = False) -> str | None:
        """Return a scalar's text, None for null; a plain one as it stands in the source."""
        text: str = event.value
        if event.style:  # quoted or block; '' (libyaml) or None (pure) is plain
            if event.anchor:
                self._anchor(event.anchor, text)
            return text if text.isascii() else without_surrogates(text)
        tag, anchor = event.tag, event.anchor
        if tag is not None and tag not in _CORE_TAGS:
            return self._source(event) if flow else self._source_line(event)
        if anchor is not None:
            if anchor not in self._alias_names():  # `&` begins a text that nothing refers to
                return self._source(event) if flow else self._source_line(event)
            self._anchor(anchor, text)
        if hash_is_text and self.has_hash and event.start_mark.line == event.end_mark.line:
            text = self._with_hash(event, text)
        return None if text in NULLS else text

    def _with_hash(self, event: Any, text: str) -> str:
        """Give a plain text back the ` # …` that YAML takes for a comment (original, 3)."""
        behind = _TO_LINE_END.match(self.text, self.base + event.end_mark.index)
        rest = behind[0].strip() if behind else ""
        return f"{text} {rest}".strip() if rest.startswith("#") else text

    def _alias_names(self) -> frozenset[str]:
        if self.aliases is None:
            self.aliases = frozenset(_ALIAS_NAME.findall(self.text))
        return self.aliases

    def _anchor(self, name: str, text: str) -> None:
        if len(self.anchors) < LIST_ITEMS:
            self.anchors[name] = text[:FIELD_CHARS]

    def _source_line(self, event: Any) -> str:
        found = _TO_LINE_END.match(self.text, self.base + event.start_mark.index)
        return found[0].strip() if found else ""

    def _source(self, event: Any) -> str:
        start = self.base + event.start_mark.index
        return self.text[start : min(start + FIELD_CHARS, self.base + event.end_mark.index)].strip()

    # --- lists, mappings, aliases --------------------------------------------------------

    def _other_field(self, key: str, name: str, event: Any) -> Field:
        line = self.first_line + self.key_line
        kind = type(event)
        source = self._source_line(event)
        if kind is _Alias:
            return Field(key, line, "text", self.anchors.get(event.anchor, source))
        if source.startswith(("{{", "{%")):
            self._skip(event)
            return Field(key, line, "text", source, template=True)
        if name == "metadata" and kind is _MapStart:
            return Field(key, line, "map", text=self._type_within())
        items = self._items(event, name in LIST_KEYS)
        if source.startswith("[[") and name not in LIST_KEYS and len(items) == 1:
            return Field(key, line, "text", items[0])  # `title: [[wikilink]]`
        return Field(key, line, "list" if kind is _SeqStart else "map", items=tuple(items))

    def _type_within(self) -> str:
        """Read the mapping below `metadata`; return its `type`, Claude Code's place for it."""
        found = ""
        while type(event := self._next()) is not _MapEnd:
            self._skip(event)
            value = self._next()
            key = event.value if type(event) is _Scalar else ""
            if type(value) is _Scalar and not found and key.lower() == "type":
                found = self._scalar(value, False) or ""
            else:
                self._skip(value)
        return found

    def _items(self, event: Any, hash_is_text: bool) -> list[str]:
        """Flatten a sequence or mapping to its texts, at most LIST_ITEMS of them.

        Of a mapping's pairs it is the value where that is a text, else the key; a one-line pair
        in a block list (`- before deploys: staging`) is the line as it stands.
        """
        out: list[str] = []
        stack = [event]
        keys: list[str | None] = [None]  # the key that waits for its value, per level
        while stack:
            event = self._next()
            kind, top = type(event), stack[-1]
            if kind in (_MapEnd, _SeqEnd):
                stack.pop()
                keys.pop()
                continue
            in_list = type(top) is _SeqStart
            if kind in (_MapStart, _SeqStart):
                keys[-1] = None
                if len(out) >= LIST_ITEMS or len(stack) >= MAX_DEPTH:
                    self._skip(event)
                elif in_list and kind is _MapStart and not event.flow_style:
                    out.append(unquoted(self._source_line(event)))
                    self._skip(event)
                else:
                    stack.append(event)
                    keys.append(None)
                continue
            if len(out) >= LIST_ITEMS:
                continue
            if kind is _Alias:
                text = self.anchors.get(event.anchor) or f"*{event.anchor}"
            else:
                flow = bool(top.flow_style)
                text = self._scalar(event, hash_is_text and not flow, flow) or ""
            if not in_list and keys[-1] is None:
                keys[-1] = text
                continue
            key, keys[-1] = keys[-1], None
            if key is not None and SAYS_NOTHING.fullmatch(text):
                text = key
            if text:
                out.append(text[:FIELD_CHARS])
        return out

    def _skip(self, event: Any) -> None:
        depth = 1 if type(event) in (_MapStart, _SeqStart) else 0
        while depth:
            kind = type(self._next())
            if kind in (_MapStart, _SeqStart):
                depth += 1
            elif kind in (_MapEnd, _SeqEnd):
                depth -= 1
