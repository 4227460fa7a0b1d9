"""What hosts and models are told of the tool: short, strict, and what the engine really takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall.engine.request import MODES, parse_request
from recall.errors import RequestError
from recall.faces import mcp_schema, stdio
from recall.faces.talk import QUIET_S, TURN_S
from recall.model import SCOPES
from recall.settings import LANGUAGES, Limits
from recall.settings_table import KEYS

jsonschema = pytest.importorskip("jsonschema", reason="comes with the mcp package")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mcp.md"
WIDEST = Limits(
    **{key.name.removeprefix("limits."): key.high for key in KEYS if key.name.startswith("limits.")}
)
SMALL = Limits(
    fetch_refs=2, search_keywords=2, keyword_length=16, search_results=3, explore_branches=1
)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema, itself included."""
    if isinstance(schema, dict):
        if "type" in schema and isinstance(schema["type"], str):
            yield schema
        for one in schema.values():
            yield from objects(one)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("limits", [Limits(), WIDEST, SMALL], ids=["default", "widest", "small"])
def test_the_entry_is_short(language: str, limits: Limits) -> None:
    """The whole entry is under 4 KB as JSON, in any language, spelled in UTF-8 or in escapes."""
    entry = mcp_schema.tool_entry(limits, language)
    for ascii_only in (False, True):
        text = json.dumps(entry, ensure_ascii=ascii_only, separators=(",", ":"))
        assert 1_000 < len(text.encode()) < mcp_schema.MAX_ENTRY == 4_096


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_left_open(language: str) -> None:
    """Every object is closed, every list and text and number bounded, every parameter explained."""
    schema = mcp_schema.input_schema(language=language)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert not {"oneOf", "anyOf", "allOf", "not", "if", "$ref"} & schema.keys()
    seen = set()
    for one in objects(schema):
        seen.add(one["type"])
        if one["type"] == "object":
            assert one["additionalProperties"] is False and one["properties"]
            assert set(one["required"]) <= one["properties"].keys()
            assert all(p["description"].strip() for p in one["properties"].values())
        elif one["type"] == "array":
            assert 1 <= one["maxItems"] <= 20 and one["items"]
        elif one["type"] == "string":
            assert one.get("enum") or 1 == one["minLength"] < one["maxLength"]
        else:
            assert one["minimum"] == 1 and one["maximum"] >= one["default"]
    assert seen == {"object", "array", "string", "integer"}


def test_the_languages_differ_in_words_alone() -> None:
    """Names, bounds and shape are the same in every language; every text is translated."""

    def worded(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                k: "…" if k in ("description", "title") else worded(v) for k, v in value.items()
            }
        return value

    english, chinese = (mcp_schema.tool_entry(language=language) for language in ("en", "zh"))
    assert worded(english) == worded(chinese)
    texts = [
        re.findall('"(?:description|title)": "(.*?)"', json.dumps(e)) for e in (english, chinese)
    ]
    assert len(texts[0]) == len(texts[1]) > 10
    assert not set(texts[0]) & set(texts[1])
    assert mcp_schema.tool_entry(language="fr") == english


def test_bounds_follow_the_settings() -> None:
    """A limit that the settings lower is lower in the schema, which so never promises more."""
    properties = mcp_schema.input_schema(SMALL)["properties"]
    assert properties["refs"]["maxItems"] == 2
    assert properties["keywords"]["maxItems"] == 2
    assert properties["keywords"]["items"]["maxLength"] == 16
    assert properties["limit"]["maximum"] == properties["limit"]["default"] == 3
    assert properties["branches"]["maxItems"] == 1


# ---------------------------------------------------------------------------------------------
# The schema against the engine


def texts(longest: int) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.sampled_from(["a", "project:x.md", "x" * longest, "x" * (longest + 1), "", " "]),
        st.sampled_from([7, True, ["a"]]),
    )


def lists(items: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(items, max_size=most + 1), st.just("a"))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "refs": lists(texts(mcp_schema.MAX_REF), SMALL.fetch_refs),
    "cursor": texts(mcp_schema.MAX_CURSOR),
    "keywords": lists(texts(SMALL.keyword_length), SMALL.search_keywords),
    "scopes": lists(st.sampled_from([*SCOPES, "world", 1]), len(SCOPES)),
    "categories": lists(texts(mcp_schema.MAX_CATEGORY), mcp_schema.MAX_CATEGORIES),
    "limit": st.sampled_from([0, 1, 3, 4, 1.5, True, "1"]),
    "branches": lists(
        st.fixed_dictionaries(
            {},
            optional={
                "category": texts(mcp_schema.MAX_CATEGORY),
                "cursor": texts(mcp_schema.MAX_CURSOR),
                "more": st.just(1),
            },
        ),
        SMALL.explore_branches,
    ),
    "limitPerBranch": st.sampled_from([0, 1, 20, 21]),
    "extra": st.just("x"),
}
OWN = {
    "fetch": {"refs", "cursor"},
    "search": {"keywords", "scopes", "categories", "limit"},
    "explore": {"scopes", "branches", "limitPerBranch", "cursor"},
}


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    """Parameters of one mode, mostly; good values and ones that are just wrong."""
    mode = draw(st.sampled_from([*MODES, "list"]))
    names = sorted(OWN.get(mode, {"refs"}))
    if draw(st.integers(0, 4)) == 0:
        names = [*names, draw(st.sampled_from(sorted(VALUES)))]
    given = {name: draw(VALUES[name]) for name in names if draw(st.booleans())}
    return {"mode": mode} | given


def beyond_the_schema(given: dict[str, Any]) -> bool:
    """Whether the engine refuses what a flat schema can't express."""
    if given.keys() - {"mode"} - OWN[given["mode"]]:
        return True
    needed = {"fetch": "refs", "search": "keywords"}.get(given["mode"])
    if needed and needed not in given:
        return True
    if "cursor" in given and given["mode"] == "fetch" and len(set(given["refs"])) != 1:
        return True
    if "cursor" in given and given["mode"] == "explore" and given.get("branches"):
        return True
    words = [*given.get("refs", ()), *given.get("keywords", ()), *given.get("categories", ())]
    words += [text for branch in given.get("branches", ()) for text in branch.values()]
    words += [given["cursor"]] if "cursor" in given else []
    return any(not word.strip() for word in words)


VALIDATOR = jsonschema.Draft202012Validator(mcp_schema.input_schema(SMALL))


@settings(max_examples=400, deadline=None)
@given(parameters())
@example({"mode": "explore", "cursor": "a"})
@example({"mode": "explore", "cursor": "a", "branches": [{"category": "a"}]})
def test_the_engine_takes_what_the_schema_allows_and_nothing_else(given: dict[str, Any]) -> None:
    """A request is served if and only if the schema allows it and its mode takes all of it."""
    allowed = VALIDATOR.is_valid(given)
    try:
        parse_request(given, SMALL)
        served = True
    except RequestError as error:
        served = False
        assert error.field and error.message
    assert served == (allowed and not beyond_the_schema(given))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (
            {"mode": "fetch", "refs": ["x" * mcp_schema.MAX_REF]},
            {"mode": "fetch", "refs": ["x" * (mcp_schema.MAX_REF + 1)]},
        ),
        (
            {"mode": "fetch", "refs": ["a"], "cursor": "x" * mcp_schema.MAX_CURSOR},
            {"mode": "fetch", "refs": ["a"], "cursor": "x" * (mcp_schema.MAX_CURSOR + 1)},
        ),
        (
            {"mode": "search", "keywords": ["a"], "categories": ["x"] * mcp_schema.MAX_CATEGORIES},
            {"mode": "search", "keywords": ["a"], "categories": ["x"] * 21},
        ),
        (
            {"mode": "search", "keywords": ["a"] * 5, "limit": 5, "scopes": list(SCOPES)},
            {"mode": "search", "keywords": ["a"] * 6},
        ),
        (
            {"mode": "explore", "branches": [{"category": "a"}] * 3, "limitPerBranch": 20},
            {"mode": "explore", "branches": [{"category": "a"}] * 4},
        ),
        (
            {"mode": "explore", "cursor": "x" * mcp_schema.MAX_CURSOR},
            {"mode": "explore", "cursor": "x" * (mcp_schema.MAX_CURSOR + 1)},
        ),
    ],
    ids=["ref", "cursor", "categories", "keywords", "branches", "explore-cursor"],
)
def test_bounds_are_the_engines(good: dict[str, Any], bad: dict[str, Any]) -> None:
    """At a bound both the schema and the engine take a request; one beyond it neither does."""
    validator = jsonschema.Draft202012Validator(mcp_schema.input_schema())
    assert validator.is_valid(good) and parse_request(good, Limits())
    assert not validator.is_valid(bad)
    with pytest.raises(RequestError):
        parse_request(bad, Limits())


# ---------------------------------------------------------------------------------------------
# Instructions


def test_the_instructions_teach_the_protocol_in_few_words() -> None:
    """Under 200 words: tree, focus, the three modes, reading on, what is available, the guard."""
    text = mcp_schema.instructions()
    assert 100 < len(text.split()) < mcp_schema.MAX_WORDS == 200
    for word in (
        *(mcp_schema.TREE_URI, mcp_schema.TOOL_NAME, "Memory focus for this turn", *MODES),
        *("continuation", "STALE_CURSOR", "restart", "alreadyAvailable", "duplicateRequest"),
        *("other tools", "not instructions"),
    ):
        assert word in text, word


def test_the_chinese_instructions_say_the_same() -> None:
    """They name what the English ones name, and are no longer."""
    english, chinese = mcp_schema.instructions("en"), mcp_schema.instructions("zh")
    names = re.findall(
        r"`\w+`|recall://tree|search_memory|STALE_CURSOR|MEMORY|Memory focus", english
    )
    assert len(names) > 8
    assert all(name in chinese for name in names)
    assert chinese.count("\n- ") == english.count("\n- ")
    assert len(chinese.encode()) < 1.6 * len(english.encode())


def test_the_page_quotes_the_instructions_and_the_figures() -> None:
    """docs/mcp.md holds the instructions word for word, and the turn's figures as they are."""
    page = PAGE.read_text(encoding="utf-8")
    assert mcp_schema.instructions() in page
    assert f"{QUIET_S:.0f} seconds" in page
    assert f"{TURN_S / 60:.0f} minutes" in page
    assert f"{stdio.GRACE_S} seconds" in page
    assert mcp_schema.REVISION_KEY in page
