"""Patterns of paths as shells and tools write them, and how far one can reach towards a folder.

A backslash makes the next character literal; braces are expanded, `*`, `?`, `[…]` and extglob
groups match within one name. Matching is linear: no pattern can make it slow. Values in, values
out; the file system is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from recall.core.guard import DYNAMIC, SUFFIXES

MOST = 256
"""Words that one word may expand to; more are taken for unknown text."""
_ACTIVE = frozenset("*?[]{}(),|!@+^~\\")
_GROUPS = "@!+*?"
_EXTENSION = 8


def literal(text: str) -> str:
    """Return a pattern that matches the text alone."""
    return "".join(f"\\{char}" if char in _ACTIVE else char for char in text)


def plain(pattern: str) -> str:
    """Return the pattern's text without its backslashes."""
    if "\\" not in pattern:
        return pattern
    return "".join(char for char, _ in _characters(pattern))


def has_wildcard(pattern: str) -> bool:
    """Tell whether the pattern may match other texts than its own."""
    marks = [char for char, active in _characters(pattern) if active]
    return any(
        char in "*?" or (char == "[" and "]" in marks[at:]) or (char in "@+!" and "(" in marks[at:])
        for at, char in enumerate(marks)
    )


def _characters(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield each character, and whether it stands without a backslash."""
    quoted = False
    for char in pattern:
        if not quoted and char == "\\":
            quoted = True
            continue
        yield char, not quoted
        quoted = False


# ---------------------------------------------------------------------------------------------
# Braces


def braces(word: str) -> list[str]:
    """Return what brace expansion makes of a word; [DYNAMIC] where that are more than MOST."""
    done: list[str] = []
    open_words = [word]
    while open_words:
        if len(done) + len(open_words) > MOST:
            return [DYNAMIC]
        one = open_words.pop()
        parts = _first_brace(one)
        if parts is None:
            done.append(one)
            continue
        before, choices, after = parts
        open_words += [f"{before}{choice}{after}" for choice in reversed(choices)]
    return done


def _first_brace(word: str) -> tuple[str, list[str], str] | None:
    """Return what stands before, in and behind the first brace that expands."""
    at = 2 if word.startswith("{}") else 0  # to bash a leading {} is text
    while at < len(word):
        if word[at] == "\\":
            at += 2
            continue
        if word[at] == "{":
            found = _choices(word, at)
            if found is not None:
                end, choices = found
                return word[:at], choices, word[end:]
        at += 1
    return None


def _choices(word: str, start: int) -> tuple[int, list[str]] | None:
    """Return where a brace ends and what it stands for; a } before a comma is text, as in bash."""
    depth, at, begin = 0, start, start + 1
    parts: list[str] = []
    while at < len(word):
        char = word[at]
        if char == "\\":
            at += 2
            continue
        if char == "{":
            depth += 1
        elif char == "," and depth == 1:
            parts.append(word[begin:at])
            begin = at + 1
        elif char == "}" and depth > 1:
            depth -= 1
        elif char == "}":
            if parts:
                return at + 1, [*parts, word[begin:at]]
            if ".." in word[start + 1 : at]:
                counted = _counted(word[start + 1 : at])
                return (at + 1, counted) if counted else None
        at += 1
    return None


def _counted(text: str) -> list[str]:
    """Return what `{1..3}` or `{a..c}` stands for; nothing where it is neither."""
    ends = text.split("..")
    if len(ends) not in (2, 3):
        return []
    try:
        step = abs(int(ends[2])) or 1 if len(ends) == 3 else 1
        first, last = int(ends[0]), int(ends[1])
        render: Callable[[int], str] = str
        if any(end.lstrip("-")[:1] == "0" and len(end.lstrip("-")) > 1 for end in ends[:2]):
            width = max(len(ends[0]), len(ends[1]))
            render = lambda number: str(number).zfill(width)  # noqa: E731
    except ValueError:
        if len(ends[0]) != 1 or len(ends[1]) != 1 or not ends[0].isascii():
            return []
        first, last, step, render = ord(ends[0]), ord(ends[1]), 1, chr
    way = step if first <= last else -step
    numbers = range(first, last + (1 if way > 0 else -1), way)
    return [render(number) for number in numbers] if len(numbers) <= MOST else [DYNAMIC]


# ---------------------------------------------------------------------------------------------
# One name


class _Any(NamedTuple):
    """Any one character, of `members` (or not of them), or of all where there are none."""

    members: tuple[tuple[str, str], ...] = ()
    negated: bool = False

    def takes(self, char: str) -> bool:
        inside = any(low <= char <= high for low, high in self.members)
        return inside != self.negated if self.members else True


class _Star(NamedTuple):
    """Any run of characters. `unless`: but not one of these texts, where it stands alone."""

    unless: tuple[str, ...] = ()


_Element = str | _Any | _Star
STAR = _Star()
_CLASSES = {
    "alpha": (("a", "z"), ("A", "Z")),
    "alnum": (("a", "z"), ("A", "Z"), ("0", "9")),
    "digit": (("0", "9"),),
    "lower": (("a", "z"),),
    "upper": (("A", "Z"),),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": ((" ", " "), ("\t", "\r")),
    "xdigit": (("0", "9"), ("a", "f"), ("A", "F")),
}


@lru_cache(maxsize=2_048)
def compiled(segment: str) -> tuple[tuple[_Element, ...], ...]:
    """Return the alternatives of one name's pattern, each a run of elements."""
    group = _first_group(segment)
    if group is not None:
        before, kind, choices, after = group
        if kind in "@?" and len(choices) < 16:
            texts = [*choices, ""] if kind == "?" else choices
            return tuple(one for text in texts for one in compiled(f"{before}{text}{after}"))[:MOST]
        unless = tuple(map(plain, choices)) if kind == "!" and not before + after else ()
        return tuple(
            (*left, _Star(unless), *right) for left in compiled(before) for right in compiled(after)
        )[:MOST]
    return (tuple(_elements(segment)),)


def _first_group(segment: str) -> tuple[str, str, list[str], str] | None:
    at = 0
    while at < len(segment) - 1:
        if segment[at] == "\\":
            at += 2
            continue
        if segment[at] in _GROUPS and segment[at + 1] == "(":
            depth, begin, choices = 0, at + 2, []
            for end in range(at + 1, len(segment)):
                char = segment[end]
                depth += (char == "(") - (char == ")")
                if (char == "|" and depth == 1) or depth == 0:
                    choices.append(segment[begin:end])
                    begin = end + 1
                if depth == 0:
                    return segment[:at], segment[at], choices, segment[end + 1 :]
        at += 1
    return None


def _elements(segment: str) -> Iterator[_Element]:
    at = 0
    while at < len(segment):
        char = segment[at]
        at += 1
        if char == "\\" and at < len(segment):
            yield segment[at]
            at += 1
        elif char in ("*", DYNAMIC):
            yield STAR
            if segment[at : at + 2] in ("*(", "?("):
                return  # after a star, bash takes a group that is not closed for anything
        elif char == "?":
            yield _Any()
        elif char == "[" and (found := _bracket(segment, at)):
            at, members, negated = found
            yield _Any(members, negated)
        else:
            yield char


def _bracket(text: str, at: int) -> tuple[int, tuple[tuple[str, str], ...], bool] | None:
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    members: list[tuple[str, str]] = []
    first = True
    while at < len(text) and (first or text[at] != "]"):
        first = False
        if text.startswith("[:", at) and (end := text.find(":]", at)) > 0:
            members += _CLASSES.get(text[at + 2 : end], (("\0", "\U0010ffff"),))
            at = end + 2
            continue
        at += text[at] == "\\" and at + 1 < len(text)
        low = high = text[at]
        if text[at + 1 : at + 2] == "-" and text[at + 2 : at + 3] not in ("", "]"):
            high = text[at + 2]
            at += 2
        members.append((low, high))
        at += 1
    return (at + 1, tuple(members), negated) if at < len(text) and members else None


def matches(segment: str, name: str, *, dots: bool = False, fold: bool = False) -> bool:
    """Tell whether a pattern of one name matches the name.

    `dots`: its wildcards match a leading dot; `fold`: letters match in any case.
    """
    if name[:1] == "." and not dots and not _begins_with_dot(segment):
        return False
    if fold:
        segment, name = segment.casefold(), name.casefold()
    return any(_run(elements, name) for elements in compiled(segment))


def _begins_with_dot(segment: str) -> bool:
    return any(elements[:1] == (".",) for elements in compiled(segment))


def _run(elements: Sequence[_Element], name: str) -> bool:
    if len(elements) == 1 and isinstance(elements[0], _Star):
        return name not in elements[0].unless
    states = _closed(elements, {0})
    for char in name:
        following = set()
        for state in states:
            if state == len(elements):
                continue
            element = elements[state]
            if isinstance(element, _Star):
                following.add(state)
            elif element == char or (isinstance(element, _Any) and element.takes(char)):
                following.add(state + 1)
        states = _closed(elements, following)
        if not states:
            return False
    return len(elements) in states


def _closed(elements: Sequence[_Element], states: set[int]) -> set[int]:
    for state in sorted(states):
        while state < len(elements) and isinstance(elements[state], _Star):
            state += 1
            states.add(state)
    return states


def names_memory(segment: str) -> bool:
    """Tell whether a pattern of one name can match the name of a memory."""
    return any(_may_end(elements, suffix) for elements in compiled(segment) for suffix in SUFFIXES)


def _may_end(elements: Sequence[_Element], suffix: str) -> bool:
    """Tell whether some text that the elements match ends with the suffix, in any case."""
    rest = len(suffix)
    for element in reversed(elements):
        if isinstance(element, _Star):
            return True
        if rest == 0:
            return True
        char = suffix[rest - 1]
        if isinstance(element, _Any):
            if not (element.takes(char) or element.takes(char.upper())):
                return False
        elif element.casefold() != char:
            return False
        rest -= 1
    return False


def lets_memory_through(only: Sequence[str], below: Sequence[str]) -> bool:
    """Tell whether a filter on names lets a memory through, or a folder on the way to it."""
    return (
        not only
        or any(names_memory(one) for one in only)
        or any(matches(one, name, dots=True) for one in only for name in below)
    )


# ---------------------------------------------------------------------------------------------
# A path


class Reach(NamedTuple):
    """How far a pattern gets: `level` components of a folder's path; all of them is the folder.

    `inside`: it goes on into it. `telling`: it says a name on the way, not wildcards alone.
    """

    level: int
    inside: bool
    telling: bool


def segments(pattern: str) -> list[str]:
    """Return the names of a path's pattern, without empty ones and single dots."""
    parts, begin, at = [], 0, 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 2
            continue
        if pattern[at] == "/":
            parts.append(pattern[begin:at])
            begin = at + 1
        at += 1
    parts.append(pattern[begin:])
    return [part for part in parts if part not in ("", ".")]


def reaches(
    names: Sequence[str], below: Sequence[str], *, dots: bool, stars: bool, fold: bool
) -> list[Reach]:
    """Return where a pattern can end on the way into a folder.

    `names` are the pattern's segments, `below` the folder's components, both from the same place.
    """
    found: list[Reach] = []
    seen: set[tuple[int, int, bool]] = set()

    def follow(at: int, level: int, telling: bool) -> None:
        if (at, level, telling) in seen or level < 0:
            return
        seen.add((at, level, telling))
        if at == len(names):
            found.append(Reach(level, False, telling))
            return
        name = names[at]
        if name == "..":
            follow(at + 1, level - 1, telling)
            return
        if at + 1 < len(names) and names[at + 1] == "..":
            follow(at + 2, level, telling)  # through some other folder, and back
        if name == "**" and stars:
            follow(at + 1, level, telling)
            if level < len(below):
                if dots or below[level][:1] != ".":
                    follow(at, level + 1, telling)
            elif _may_be_memory(names[at + 1 :]):
                found.append(Reach(level, True, telling))
        elif level == len(below):
            if _may_be_memory(names[at:]):
                found.append(Reach(level, True, telling))
        elif matches(name, below[level], dots=dots, fold=fold):
            tells = telling or any(
                isinstance(element, str) for one in compiled(name) for element in one
            )
            follow(at + 1, level + 1, tells)

    follow(0, 0, False)
    return found


def _may_be_memory(names: Sequence[str]) -> bool:
    """Tell whether what is left of a pattern may name a memory, or a folder of them."""
    return not names or not all(map(_other_kind, compiled(names[-1]))) or names_memory(names[-1])


def _other_kind(elements: Sequence[_Element]) -> bool:
    """Tell whether every text that matches ends like another kind of file: `.py`, `.json`."""
    for count, element in enumerate(reversed(elements)):
        if element == ".":
            return 0 < count <= _EXTENSION and count < len(elements) - 1
        if not (isinstance(element, str) and element.isalnum()):
            return False
    return False
