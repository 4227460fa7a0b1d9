"""recall.settings: the one table of keys, and what each accepts."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.model import SCOPES, Root, Taxonomy, Unavailable
from recall.settings import LANGUAGES, MODES, Limits, Settings
from recall.settings_table import (
    BY_NAME,
    KEYS,
    PROJECT_REFUSES,
    PROJECT_ROUTER,
    TABLES,
    Key,
    merge_limit,
)


def written(key: Key, value: object) -> object:
    """Return a value as it stands in a file."""
    if key.kind == "ids":
        return dict(value)  # type: ignore[call-overload]
    return list(value) if isinstance(value, tuple) else value


def test_defaults_of_the_table_are_those_of_settings() -> None:
    """A key's default is what Settings, Limits and Taxonomy have when nothing is said."""
    settings = Settings()
    for key in KEYS:
        table, _, name = key.name.removeprefix("external.").rpartition(".")
        if table in ("roots", "scopes", "trust"):
            continue  # they become roots, see disk/roots.py
        owner = getattr(settings, table) if table else settings
        assert getattr(owner, name) == key.default, key.name


def test_every_default_is_allowed() -> None:
    """Writing a default into a file is always accepted."""
    for key in KEYS:
        assert key.check(written(key, key.default)) == key.default


def test_every_limit_is_a_key() -> None:
    """Each field of Limits can be set, and nothing else is a limit."""
    limits = {f"limits.{name}" for name in Limits.__fields__}
    assert limits == {key.name for key in KEYS if key.name.startswith("limits.")}


def test_every_scope_has_roots_and_a_switch() -> None:
    """Roots can be listed for each scope, and each can be switched off."""
    for scope in SCOPES:
        assert f"roots.{scope}" in BY_NAME
        assert f"scopes.{scope}" in BY_NAME


def test_a_project_may_set_exactly_what_is_listed() -> None:
    """A key is either tunable by a project's file or refused with a reason, never neither."""
    for key in KEYS:
        table = key.name.split(".")[0]
        refused = table in PROJECT_REFUSES
        assert refused == (key.project == "no"), key.name
    assert not {key.name for key in KEYS if key.project != "no"} & {"agent", "cache_dir"}
    assert set(TABLES) >= {key.name.split(".")[0] for key in KEYS if "." in key.name}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "Auto"),
        ("mode", ["auto"]),
        ("language", "zh-CN"),
        ("agent", "a" * 65),
        ("agent", "line\nbreak"),
        ("agent", 3),
        ("llm.model", "two words"),
        ("llm.model", "line\nbreak"),
        ("llm.base_url", "h" * 257),
        ("llm.timeout_ms", 999),
        ("external.mem0.protocol", "mem0-v1"),
        ("external.mem0.env_key", "mem0_api_key"),
        ("external.mem0.env_key", "M0-KEY"),
        ("external.mem0.env_key", ""),
        ("external.mem0.scope", "me"),
        ("external.mem0.scope", {"userId": "me"}),
        ("external.mem0.scope", {"user_id": ""}),
        ("external.mem0.scope", {"user_id": " me"}),
        ("external.mem0.scope", {"user_id": 7}),
        ("external.mem0.timeout_ms", 0),
        ("external.mem0.timeout_ms", 30_001),
        ("cache_dir", "a\0b"),
        ("cache_dir", "   "),
        ("lock_wait_ms", True),
        ("lock_wait_ms", 1.0),
        ("lock_wait_ms", -1),
        ("lock_wait_ms", 60_001),
        ("roots.user", "~/memory"),
        ("roots.user", [""]),
        ("roots.user", [1]),
        ("scopes.team", "true"),
        ("scopes.team", 1),
        ("taxonomy.names", []),
        ("taxonomy.names", ["a", "a"]),
        ("taxonomy.names", ["a/b"]),
        ("taxonomy.names", [" a"]),
        ("taxonomy.names", ["uncategorized"]),
        ("taxonomy.names", ["\x1b[31m"]),
        ("taxonomy.names", [f"n{i}" for i in range(201)]),
        ("limits.router", 199),
        ("limits.fetch_refs", 6),
        ("limits.router", math.nan),
    ],
)
def test_wrong_values_are_refused_with_what_is_allowed(name: str, value: object) -> None:
    """A wrong value raises ValueError, which says what would be right."""
    with pytest.raises(ValueError, match=r"^expected "):
        BY_NAME[name].check(value)


@given(
    st.sampled_from(KEYS),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=8,
    ),
)
def test_check_never_raises_anything_but_value_error(key: object, value: object) -> None:
    """Whatever TOML can hold is either accepted, and then again, or a ValueError."""
    assert key in KEYS
    try:
        accepted = key.check(value)  # type: ignore[attr-defined]
    except ValueError:
        return
    assert key.check(written(key, accepted)) == accepted  # type: ignore[attr-defined,arg-type]


def test_texts_of_the_environment_are_read_by_kind() -> None:
    """A variable's text becomes a number where the key is one; other texts stay."""
    assert BY_NAME["lock_wait_ms"].read("250") == 250
    assert BY_NAME["mode"].read("legacy") == "legacy"
    for wrong in ("", "1e3", "-1", "２５０", " 250"):
        with pytest.raises(ValueError, match="expected a whole number"):
            BY_NAME["lock_wait_ms"].read(wrong)


def test_choices_are_the_published_ones() -> None:
    """`mode` and `language` accept what the module names."""
    assert BY_NAME["mode"].choices == MODES
    assert BY_NAME["language"].choices == LANGUAGES


@given(st.integers(200, 100_000), st.integers(200, 100_000), st.booleans())
def test_a_project_never_raises_a_limit(current: int, wanted: int, chosen: bool) -> None:
    """What a project asks for is at most what is in effect; only an unchosen tree may grow."""
    for key in KEYS:
        if key.project == "lower":
            got = merge_limit(key, current, wanted, chosen=chosen)
            assert got <= wanted
            grown = key.name == "limits.router" and not chosen
            assert got <= (PROJECT_ROUTER if grown else current)


def test_requested_scopes_are_those_with_a_root_or_a_reason() -> None:
    """A scope that nobody asked for is neither searched nor reported."""
    settings = Settings(
        roots=(Root("user", "/u"),), unavailable=(Unavailable("project", "not_configured"),)
    )
    assert settings.requested == ("project", "user")
    assert Settings().requested == ()


def test_settings_are_frozen_and_comparable() -> None:
    """Settings are values: equal ones are equal, and none can be changed."""
    assert Settings() == Settings(taxonomy=Taxonomy())
    with pytest.raises(AttributeError):
        Settings().mode = "legacy"  # type: ignore[misc]


# -- docs/settings.md -----------------------------------------------------------------------------

DOCS = Path(__file__).parents[1] / "docs" / "settings.md"


def _row(key: Key) -> str:
    kind = {
        "choice": "one of " + ", ".join(f"`{choice}`" for choice in key.choices),
        "name": "text",
        "word": "text without blanks",
        "folder": "folder",
        "folders": "list of folders",
        "file": "file",
        "flag": "`true` or `false`",
        "number": f"number, {key.low} to {key.high}",
        "names": "list of names",
        "rules": "list of rules",
        "variable": "a variable's name",
        "ids": "table of ids",
    }[key.kind]
    default = f"`{json.dumps(dict(key.default) if key.kind == 'ids' else key.default)}`"
    if key.name == "taxonomy.names":
        default = "the twenty of the file format"
    variable = f"`{key.env}`" if key.env else ""
    return f"| `{key.name}` | {kind} | {default} | {key.project} | {variable} | {key.help} |"


def test_the_reference_lists_every_key_and_no_other() -> None:
    """docs/settings.md has one row for each key, with its range, default, variable and rights."""
    rows = [line for line in DOCS.read_text().splitlines() if line.count(" | ") == 5]
    assert [row for row in rows if row.startswith("| `")] == [_row(key) for key in KEYS]


def test_the_reference_gives_every_reason_for_a_refusal() -> None:
    """Whatever a project's file is refused for is explained in docs/settings.md."""
    text = DOCS.read_text().split("## The project's file")[1].split("## Roots")[0]
    for name in PROJECT_REFUSES:
        assert f"`{name}`" in text, name
