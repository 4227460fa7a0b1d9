"""Which workspaces a memory protocol's server serves, and whose budgets count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recall.core.budget import utf16_units
from recall.core.protocol import UNBOUNDED
from recall.errors import SettingsError
from recall.settings import Arguments, Writes
from recall.workspaces import ConfiguredWorkspaces, Entries, StoredWorkspaces, budgets_of


@pytest.fixture
def entries(tmp_path: Path) -> Iterator[Callable[..., Entries]]:
    """Open the surface over the project in `cwd`, or over a store."""
    made: list[Entries] = []

    def opener(cwd: Path | None = None, **arguments: Any) -> Entries:
        given = (Arguments(**arguments), {}, tmp_path / "home", {})
        if cwd is None:
            one = Entries(StoredWorkspaces(tmp_path / "store", *given))
        else:
            one = Entries(ConfiguredWorkspaces(cwd, *given))
        made.append(one)
        return one

    (tmp_path / "home" / ".recall" / "memory").mkdir(parents=True)
    yield opener
    for one in made:
        one.close()


def project(folder: Path, *memories: str) -> Path:
    (folder / ".recall" / "memory").mkdir(parents=True)
    for text in memories:
        (folder / ".recall" / "memory" / f"{text}.md").write_text(text)
    return folder


def texts(entries: Entries) -> list[str]:
    return sorted(entry.text for entry in entries.reading.listed())


def add(entries: Entries, cwd: str, text: str, scope: str = "workspace") -> dict[str, Any]:
    write = {"agent": {"session": {"id": "s", "header": {"cwd": cwd}}}}
    given = {"track": "agent", "scope": scope, "text": text}
    return entries.writing.add(given, write, lambda _: "allowed-once")["entry"]


def test_a_sessions_folder_says_which_projects_memories_it_sees(
    tmp_path: Path, entries: Callable[..., Entries]
) -> None:
    """A write goes to the project around the session's folder, wherever the server runs."""
    code = tmp_path / "home" / "code"
    shop, other = project(code / "shop", "one"), project(code / "other")
    served = entries(cwd=shop)
    made = add(served, str(other / "deep" / "down"), "two")
    assert made["workspaceKey"] == str(other)
    assert [path.read_text().count("two") for path in other.rglob("*.md")] != []
    assert texts(served) == ["one", "two"]
    assert texts(entries(cwd=shop)) == ["one"]


def test_a_folder_that_is_no_place_is_refused(
    tmp_path: Path, entries: Callable[..., Entries]
) -> None:
    """A relative one would be another place for each server: SettingsError."""
    with pytest.raises(SettingsError):
        add(entries(cwd=project(tmp_path / "shop")), "C:/code/shop", "text")


def test_what_root_names_is_one_workspace_for_all(
    tmp_path: Path, entries: Callable[..., Entries]
) -> None:
    """Roots that are named stand alone, whichever folder a session is in."""
    roots = (f"user={tmp_path / 'home'}", f"project={project(tmp_path / 'shop')}")
    state = {"cache_dir": str(tmp_path / "c"), "state_dir": str(tmp_path / "s")}
    served = entries(cwd=tmp_path, roots=roots, **state)
    keys = {add(served, cwd, f"from {cwd}")["workspaceKey"] for cwd in ("/a", "/b")}
    assert keys == {str(tmp_path)}


def test_a_store_keeps_workspaces_apart_that_need_not_exist(
    entries: Callable[..., Entries],
) -> None:
    """Each session's folder is a workspace; what is the user's is in all of them, once."""
    served = entries()
    for cwd in ("/no/such/place", "C:/code/shop", ""):
        assert add(served, cwd, f"of {cwd}")["workspaceKey"] == cwd
    add(served, "/no/such/place", "everybody's", "user-global")
    again = entries()
    assert texts(again) == ["everybody's", "of", "of /no/such/place", "of C:/code/shop"]


def test_memories_of_every_agent_are_seen_and_counted(
    tmp_path: Path, entries: Callable[..., Entries]
) -> None:
    """Who manages entries sees them all; a budget is not one agent's."""
    shop = project(tmp_path / "shop", "shared")
    (shop / ".recall" / "memory" / "bot.md").write_text("---\nagent: bot\n---\nbot's")
    served = entries(cwd=shop)
    assert texts(served) == ["bot's", "shared"]
    rows = {(r["track"], r["scope"]): r["used"] for r in served.reading.budgets({})}
    assert rows["agent", "workspace"] == len("bot's" + "shared")


def test_budgets_are_those_that_are_named_then_the_settings() -> None:
    """Per track and scope, in UTF-16 units; without either nothing is bounded."""
    made = budgets_of(Writes(), {("user", "user-global"): 7})
    assert made.limits["user", "user"] == 7
    assert set(made.limits.values()) == {7, UNBOUNDED}
    assert made.count is utf16_units
    made = budgets_of(Writes(budgets=True), {("agent", "workspace"): 0})
    assert made.limits == {
        ("user", "user"): 2_000,
        ("user", "project"): 2_000,
        ("agent", "user"): 4_000,
        ("agent", "project"): 0,
    }


def test_reading_makes_no_passage_for_writes(
    tmp_path: Path, entries: Callable[..., Entries]
) -> None:
    """Listing, budgets and an export leave nothing but the catalog."""
    state = tmp_path / "state"
    served = entries(
        cwd=project(tmp_path / "shop", "one"),
        state_dir=str(state),
        cache_dir=str(tmp_path / "cache"),
    )
    served.reading.export()
    assert not state.exists()
