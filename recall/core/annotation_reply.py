"""A model's reply, read and checked: nothing but values that may be written comes out.

Whatever the reply holds, it is either an Annotation that the writing rules allow, or a list of
faults in words that a model can act on. Never raises; linear in the reply, which is bounded.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from recall.core import sink
from recall.core.annotation import Annotation
from recall.core.annotation_prompt import (
    MAX_DESCRIPTION,
    MAX_NAME,
    WRITE_KEYWORDS,
)
from recall.core.metadata import (
    MAX_KEYWORD,
    MAX_KEYWORDS_TOTAL,
    MAX_SCENARIO,
    MAX_SCENARIOS,
    MIN_KEYWORDS,
    OWNED,
    clean,
)
from recall.model import TYPES

MAX_REPLY = 32_000
"""Characters of a reply that are looked at; a longer one is a fault."""
MAX_FAULTS = 8
_OPENINGS = 16  # places where an object may begin that are tried


class Wanted(NamedTuple):
    """What a reply must give."""

    missing: tuple[str, ...]
    categories: tuple[str, ...]
    canonical: Callable[[str], str]
    """A keyword in the form that is in use (Vocabulary.canonical)."""
    language: str = ""
    """What the memory is written in, as `language_of` says it."""


class Reply(NamedTuple):
    """An annotation, or why there is none."""

    annotation: Annotation | None
    faults: tuple[str, ...] = ()


class Wrong(Exception):
    """A fault of the reply, in words that a model can act on."""


def read_reply(text: str, wanted: Wanted) -> Reply:
    """Return what a reply proposes for the missing fields, or its faults."""
    try:
        found = object_in(text)
    except Wrong as wrong:
        return Reply(None, (str(wrong),))
    faults = []
    extra = [key for key in found if key not in OWNED]
    if extra:
        named = ", ".join(f'"{sink.metadata(key, 40)}"' for key in extra[:3])
        faults.append(f"It has keys that were not asked for: {named}.")
    values, missed = fields_in(found, wanted)
    faults = [*faults, *missed] or unwritable(values)
    if faults:
        return Reply(None, tuple(faults[:MAX_FAULTS]))
    return Reply(Annotation(**values))


def fields_in(found: Mapping[str, Any], wanted: Wanted) -> tuple[dict[str, Any], list[str]]:
    """Return the wanted fields of an object, checked, and what is wrong with the others."""
    values: dict[str, Any] = {}
    faults = []
    for field in wanted.missing:
        try:
            if field not in found:
                raise Wrong(f'"{field}" is missing.')
            values[field] = _READERS[field](field, found[field], wanted)
        except Wrong as wrong:
            faults.append(str(wrong))
    return values, faults


# --- from text to an object ----------------------------------------------------------------------

_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


def object_in(text: str) -> dict[str, Any]:
    """Return the reply's JSON object: all of the text, or the first one that stands in it.

    Raises Wrong where there is none.
    """
    if len(text) > MAX_REPLY:
        raise Wrong(f"It is longer than {MAX_REPLY:,} characters.")
    text = _THOUGHT.sub("", text, count=1).strip()
    if not text:
        raise Wrong("It is empty.")
    at, tried = text.find("{"), 0
    while at >= 0 and tried < _OPENINGS:
        try:
            value, _ = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at, tried = text.find("{", at + 1), tried + 1
            continue
        if isinstance(value, dict):
            return value
        break
    raise Wrong("It is not a JSON object.")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Wrong("It names a key twice.")
    return found


def _no_constant(name: str) -> Any:
    raise Wrong(f"{name} is not JSON.")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant)

# --- one value -----------------------------------------------------------------------------------

_RULE = re.compile(r"(?:-{3,}|\+{3,}|\.{3}$)")
_BROKEN = ("Cc", "Cs", "Co", "Zl", "Zp")


def _line(field: str, value: object, limit: int) -> str:
    if not isinstance(value, str):
        raise Wrong(f'"{field}" holds something that is not a text.')
    if len(value) > 16 * limit:
        raise Wrong(f'"{field}" holds {len(value):,} characters; at most {limit} are allowed.')
    if any(unicodedata.category(char) in _BROKEN for char in value):
        raise Wrong(f'"{field}" holds a line break or another character that can\'t be shown.')
    text = clean(value, len(value))
    if not text:
        raise Wrong(f'"{field}" is empty.')
    if len(text) > limit:
        raise Wrong(f'"{field}" holds {len(text)} characters; at most {limit} are allowed.')
    plain = unicodedata.normalize("NFKC", text)
    if _RULE.match(plain) or " ".join(plain.split()) != sink.metadata(plain):
        raise Wrong(
            f'"{field}" holds what looks like a fence, a tag, a heading, a reference or a hidden '
            "character; use plain words."
        )
    return text


def _name(field: str, value: object, _: Wanted) -> str:
    return _line(field, value, MAX_NAME)


def _description(field: str, value: object, wanted: Wanted) -> str:
    text = _line(field, value, MAX_DESCRIPTION)
    if wanted.language and text.isascii():
        raise Wrong(f'"{field}" must be in {wanted.language}, as the note is.')
    return text


def _type(field: str, value: object, _: Wanted) -> str:
    text = _line(field, value, MAX_NAME).lower()
    if text not in TYPES:
        raise Wrong(f'"{field}" must be one of {", ".join(TYPES)}.')
    return text


def _category(field: str, value: object, wanted: Wanted) -> str:
    text = _folded(_line(field, value, MAX_NAME))
    for category in wanted.categories:
        if _folded(category) == text:
            return category
    raise Wrong(f'"{field}" must be one of those that are listed.')


def _folded(category: str) -> str:
    return re.sub(r"[\s_-]+", "_", category.casefold())


def _keywords(field: str, value: object, wanted: Wanted) -> tuple[str, ...]:
    words: dict[str, str] = {}
    for item in _listed(field, value):
        word = _canonical(field, _line(field, item, MAX_KEYWORD), wanted)
        words.setdefault(word.casefold(), word)
    if not MIN_KEYWORDS <= len(words) <= WRITE_KEYWORDS:
        raise Wrong(
            f'"{field}" holds {len(words)} different entries; {MIN_KEYWORDS} to {WRITE_KEYWORDS} '
            "are allowed."
        )
    if sum(map(len, words.values())) > MAX_KEYWORDS_TOTAL:
        raise Wrong(f'"{field}" may hold {MAX_KEYWORDS_TOTAL} characters in all.')
    return tuple(words.values())


def _canonical(field: str, word: str, wanted: Wanted) -> str:
    """Return the keyword as it is in use, unless that form could not be written."""
    try:
        return _line(field, wanted.canonical(word), MAX_KEYWORD)
    except Wrong:
        return word


def _scenarios(field: str, value: object, _: Wanted) -> tuple[str, ...]:
    texts: dict[str, str] = {}
    for item in _listed(field, value):
        text = _line(field, item, MAX_SCENARIO)
        texts.setdefault(text.casefold(), text)
    if not 1 <= len(texts) <= MAX_SCENARIOS:
        raise Wrong(f'"{field}" holds {len(texts)} entries; 1 to {MAX_SCENARIOS} are allowed.')
    return tuple(texts.values())


def _listed(field: str, value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise Wrong(f'"{field}" must be a list of texts.')
    if len(value) > 4 * WRITE_KEYWORDS:
        raise Wrong(f'"{field}" holds {len(value)} entries; that is too many.')
    return value


_READERS: dict[str, Callable[[str, object, Wanted], Any]] = {
    "name": _name,
    "description": _description,
    "type": _type,
    "category": _category,
    "keywords": _keywords,
    "usage_scenarios": _scenarios,
}


def unwritable(values: dict[str, Any]) -> list[str]:
    """Return what the writer of heads would refuse, or change on the way."""
    from recall.core.splice_record import Cannot
    from recall.core.splice_values import settle  # brings yaml along

    try:
        settled = settle(values)
    except Cannot as cannot:
        return [str(cannot).replace("`", '"')]
    return [
        f'"{field}" would not be read back as it is; use plain words.'
        for field, value in values.items()
        if settled[field] != value
    ]
