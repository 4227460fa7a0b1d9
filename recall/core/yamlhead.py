"""A YAML head as fields, whatever it holds: by YAML where it is YAML, by lines where not.

Where libyaml refuses a line, only the field that it stands in is read by lines (`salvage`); the
reading goes on with YAML at the next key, so that one field's fault never voids the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import yaml

from recall.core.headlines import lines_of
from recall.core.lazy import pattern
from recall.core.salvage import CONFLICT, LINE_END, Field, key_of, margin, salvage_one
from recall.core.yamlevents import MAX_FAULTS, Events, PureParser, Refused, parser_class
from recall.model import Fault

MAX_RESUMES = 16
"""So many fields that YAML refuses are stepped over; from there on the lines are salvaged."""

MAX_SALVAGED = 25_000
"""So many keys are read by lines."""

PARSER = parser_class()
_PURE_LIMIT = 1 << 16  # characters; the parser in Python is some fifty times slower

# What libyaml refuses or takes as a line break (YAML 1.1's NEL, LS, PS), one character for one.
_REFUSED = pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_REPLACED = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029), " ")
_REPLACED |= {0xFEFF: "\u2060", 0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
for _kept in (9, 10, 13):
    del _REPLACED[_kept]

# No directive belongs in a head, and libyaml takes quadratic time for many of them.
_DIRECTIVE = pattern(r"(?:^|(?<=[\r\n]))%")
_DOTS = pattern(r"(?:^|(?<=[\r\n]))\.\.\.(?=[ \t]*(?:[\r\n]|$))")


def read(head: str, first_line: int, parser: Any = PARSER) -> tuple[dict[str, Field], list[Fault]]:
    """Return the head's wanted fields by canonical key, and what is wrong with it.

    `first_line` is the head's first line in the file. Never raises; linear in the head's length.
    """
    faults: list[Fault] = []
    head = _readable(head, first_line, faults)
    events = Events(head, first_line, faults)
    problem = _try(events, parser)
    if problem is not None:
        _Salvager(events, head, first_line, parser).run(problem)
    return events.fields, faults


def _readable(head: str, first_line: int, faults: list[Fault]) -> str:
    """Replace what YAML can't hold, without moving a character."""
    refused = _REFUSED.search(head)
    if refused is not None:
        if refused[0] not in "\x85\u2028\u2029\ufeff":
            faults.append(
                Fault(
                    "control-character",
                    f"The control character U+{ord(refused[0]):04X} stands in the frontmatter; "
                    "it is read as a blank.",
                    "Remove it.",
                    first_line + len(LINE_END.findall(head, 0, refused.start())),
                )
            )
        head = head.translate(_REPLACED)
    if "%" in head:
        head = _DIRECTIVE.sub("#", head)
    if "..." in head:
        head = _DOTS.sub("   ", head)
    return head


class _Problem(NamedTuple):
    """Why YAML went no further, and on which line of the head (0-based)."""

    reason: str
    line: int


def _try(events: Events, parser: Any) -> _Problem | None:
    left = len(events.text) - events.base
    if parser is None or (parser is PureParser and left > _PURE_LIMIT):
        return _Problem("too much is wrong here, or too long", events.key_line)
    try:
        events.read(parser)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = events.region_line + (mark.line if mark else 0)
        return _Problem(str(error.problem or error.context or "not YAML"), line)
    except Refused as refused:
        return _Problem(str(refused), events.key_line)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return _Problem(str(getattr(error, "reason", error)), events.key_line)
    return None


class _Salvager:
    """Reads by lines what YAML refused, field by field, and lets YAML go on behind each."""

    def __init__(self, events: Events, head: str, first_line: int, parser: Any) -> None:
        self.parser = parser
        self.events = events
        self.first_line = first_line
        self.lines = lines_of(head)
        self.offsets = [0, *(match.end() for match in LINE_END.finditer(head))]

    def run(self, problem: _Problem | None) -> None:
        first, resumes = problem, 0
        while problem is not None:
            resumes += 1
            end = self._field(problem)
            if end >= len(self.lines) or resumes >= MAX_SALVAGED:
                break
            self.events.start_at(self.offsets[end], end)
            problem = _try(self.events, self.parser if resumes <= MAX_RESUMES else None)
        faults = self.events.faults
        if first is not None and not any(fault.kind == "yaml-syntax" for fault in faults):
            faults.append(_syntax_fault(first.reason, self.first_line + first.line, None))

    def _field(self, problem: _Problem) -> int:
        """Read the field that YAML stood in; return the line of the next key."""
        events = self.events
        at = events.key_line
        while not events.key and at < len(self.lines) - 1 and _says_nothing(self.lines[at]):
            at += 1
        name, field, end = salvage_one(self.lines, at, self.first_line)
        whole = events.done and events.end_line < end <= problem.line
        if whole and all(map(_says_nothing, self.lines[events.end_line + 1 : end])):
            return end  # the refused line is a later key's: this field was read to its end
        line = problem.line if at <= problem.line < end else at
        found = key_of(self.lines[at][margin(self.lines[at]) :])
        key = found.key if found else None
        if len(events.faults) < MAX_FAULTS:
            events.faults.append(_syntax_fault(problem.reason, self.first_line + line, key))
        if field is not None and (field.kind != "null" or name not in events.fields):
            events.fields[name] = field
        return end


def _says_nothing(line: str) -> bool:
    return not line or line.isspace() or line[0] == "#" or line.startswith(CONFLICT)


_FIXES = (
    ("mapping values are not allowed", "Put the value in double quotes; it holds a colon."),
    ("cannot start any token", "Put the value in double quotes; it begins with a reserved sign."),
    ("escape", "Write the character itself, or put the value in single quotes."),
    ("hexdecimal", "Write the character itself, or put the value in single quotes."),
    ("alphabetic or numeric", "Put the value in double quotes; `*` and `&` are signs of YAML."),
    ("could not find expected ':'", "Begin the line with `key: `, or indent it below its key."),
    ("unexpected end of stream", "Close the quote or the bracket that this value opens."),
    ("expected ',' or", "Close the bracket on this line, or put the value in double quotes."),
    ("tab", "Indent with blanks, not with tabs."),
)


def _syntax_fault(reason: str, line: int, key: str | None) -> Fault:
    fix = "Put the value in double quotes, or write it below `key: >-`, indented."
    for part, advice in _FIXES:
        if part in reason:
            fix = advice
            break
    message = f"YAML refuses this line ({reason[:160]}); it is read as text."
    return Fault("yaml-syntax", message, fix, line, key)
