"""The parameters of search_memory, checked: one immutable request per mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recall.core import sink
from recall.errors import RequestError
from recall.model import SCOPES
from recall.settings import Limits
from recall.structs import Struct

MODES = ("fetch", "search", "explore")
_PARAMETERS = {
    "fetch": ("refs", "cursor"),
    "search": ("keywords", "scopes", "categories", "limit"),
    "explore": ("scopes", "branches", "limitPerBranch", "cursor"),
}
_EXAMPLES = {
    "fetch": '{"mode": "fetch", "refs": ["project:deploy.md"]}',
    "search": '{"mode": "search", "keywords": ["deploy to staging"]}',
    "explore": '{"mode": "explore", "branches": [{"category": "tech_stack"}]}',
}
_MAX_REF = 16_384
"""A path of 4,096 bytes, each percent-encoded, and a scope."""
_MAX_CURSOR = 32_768
_MAX_CATEGORIES = 20


class FetchRequest(Struct):
    refs: tuple[str, ...]
    cursor: str | None = None


class SearchRequest(Struct):
    keywords: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    limit: int = 5


class Branch(Struct):
    category: str
    cursor: str | None = None


class ExploreRequest(Struct):
    scopes: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    limit: int = 20
    cursor: str | None = None
    """Continues the list of categories; a branch has a cursor of its own."""


Request = FetchRequest | SearchRequest | ExploreRequest


def parse_request(parameters: Mapping[str, Any], limits: Limits) -> Request:
    """Return the request, or raise RequestError with the parameter at fault and what to send."""
    mode = parameters.get("mode")
    if mode not in MODES:
        raise RequestError(
            f"mode must be one of {', '.join(MODES)}, not {_show(mode)}.",
            field="mode",
            fix=f"Send for example {_EXAMPLES['search']}",
        )
    allowed = _PARAMETERS[mode]
    for name, value in parameters.items():
        if name != "mode" and name not in allowed and value is not None:
            raise RequestError(_misplaced(name, mode), field=name, fix=f"Send {_EXAMPLES[mode]}")
    given = {name: value for name, value in parameters.items() if value is not None}
    if mode == "fetch":
        return _fetch(given, limits)
    return _search(given, limits) if mode == "search" else _explore(given, limits)


def _misplaced(name: str, mode: str) -> str:
    homes = [m for m, names in _PARAMETERS.items() if name in names]
    allowed = ", ".join(_PARAMETERS[mode])
    if homes:
        return f"{name} belongs to mode {homes[0]}; mode {mode} takes {allowed}."
    return f"{_show(name)} is not a parameter; mode {mode} takes {allowed}."


def _fetch(given: Mapping[str, Any], limits: Limits) -> FetchRequest:
    refs = tuple(dict.fromkeys(_texts(given, "refs", 1, limits.fetch_refs, _MAX_REF)))
    cursor = given.get("cursor")
    if cursor is not None:
        cursor = _text(cursor, "cursor", _MAX_CURSOR)
        if len(refs) != 1:
            raise RequestError(
                "A cursor continues one memory: send exactly one ref with it.",
                field="refs",
                fix='Send {"mode": "fetch", "refs": [REF], "cursor": CURSOR}',
            )
    return FetchRequest(refs, cursor)


def _search(given: Mapping[str, Any], limits: Limits) -> SearchRequest:
    keywords = _texts(given, "keywords", 1, limits.search_keywords, limits.keyword_length)
    return SearchRequest(
        keywords=tuple(dict.fromkeys(k.strip() for k in keywords)),
        scopes=_scopes(given),
        categories=tuple(_texts(given, "categories", 0, _MAX_CATEGORIES, 512)),
        limit=_number(given, "limit", limits.search_results),
    )


def _explore(given: Mapping[str, Any], limits: Limits) -> ExploreRequest:
    raw = given.get("branches", [])
    most = limits.explore_branches
    if not isinstance(raw, list | tuple) or len(raw) > most:
        raise RequestError(
            f"branches must be a list of at most {most} objects.",
            field="branches",
            fix=f"Send {_EXAMPLES['explore']}",
        )
    cursor = given.get("cursor")
    if cursor is not None and raw:
        raise RequestError(
            "A branch has its own cursor; one beside branches continues the list of categories.",
            field="cursor",
            fix='Send {"mode": "explore", "branches": [{"category": NAME, "cursor": CURSOR}]}',
        )
    return ExploreRequest(
        cursor=None if cursor is None else _text(cursor, "cursor", _MAX_CURSOR),
        scopes=_scopes(given),
        branches=tuple(_branch(one) for one in raw),
        limit=_number(given, "limitPerBranch", limits.explore_leaves),
    )


def _branch(raw: Any) -> Branch:
    if not isinstance(raw, Mapping) or "category" not in raw or set(raw) - {"category", "cursor"}:
        raise RequestError(
            'A branch is an object {"category": NAME, "cursor"?: CURSOR}.',
            field="branches",
            fix=f"Send {_EXAMPLES['explore']}",
        )
    cursor = raw.get("cursor")
    return Branch(
        _text(raw["category"], "branches", 512),
        None if cursor is None else _text(cursor, "branches", _MAX_CURSOR),
    )


def _scopes(given: Mapping[str, Any]) -> tuple[str, ...]:
    named = _texts(given, "scopes", 0, len(SCOPES), 64)
    for scope in named:
        if scope not in SCOPES:
            raise RequestError(
                f"{_show(scope)} is not a scope; scopes are {', '.join(SCOPES)}.", field="scopes"
            )
    return tuple(scope for scope in SCOPES if scope in named)


def _texts(given: Mapping[str, Any], name: str, least: int, most: int, length: int) -> list[str]:
    raw = given.get(name, [])
    if not isinstance(raw, list | tuple) or not least <= len(raw) <= most:
        count = f"{least} to {most}" if least else f"at most {most}"
        raise RequestError(f"{name} must be a list of {count} texts.", field=name)
    return [_text(one, name, length) for one in raw]


def _text(value: Any, name: str, length: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise RequestError(f"{name}: {_show(value)} is not a text.", field=name)
    if len(value) > length:
        raise RequestError(
            f"{name}: a text of {len(value)} characters; at most {length} are taken.",
            field=name,
            fix="Send a word, a phrase or a short question." if name == "keywords" else None,
        )
    return value


def _number(given: Mapping[str, Any], name: str, most: int) -> int:
    value = given.get(name, most)
    if type(value) is not int or not 1 <= value <= most:
        raise RequestError(f"{name} must be a whole number from 1 to {most}.", field=name)
    return value


def _show(value: Any) -> str:
    return repr(sink.metadata(str(value), 80)) if value is not None else "missing"
