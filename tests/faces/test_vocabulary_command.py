"""`recall vocabulary`: the canonical keywords, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recall.faces.cli import run


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but the command's own."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def memory(folder: Path, name: str, keywords: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"---\nname: {name}\nkeywords: [{keywords}]\n---\nBody.\n")


def test_it_lists_each_keyword_once_the_most_used_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spellings are joined as most memories write them; paths and issue numbers are left out."""
    memory(tmp_path / "a", "1.md", "Barcode keys, staging, src/a/b")
    memory(tmp_path / "a", "2.md", 'barcode-key, staging, "#12"')
    memory(tmp_path / "a", "3.md", "barcode-key, lamps")
    assert run(["vocabulary", "--root", "a"]) == 0
    assert capsys.readouterr().out == "project: 3 keywords\nbarcode-key, staging, lamps\n"


def test_as_json_it_counts_memories_and_says_when(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each scope has its own; --scope leaves the others out."""
    memory(tmp_path / "a", "1.md", "lamps")
    memory(tmp_path / "b", "2.md", "tea, lamps")
    roots = ["--root", "a", "--root", "user=b", "--json"]
    assert run(["vocabulary", *roots]) == 0
    both = json.loads(capsys.readouterr().out)
    assert [one["scope"] for one in both["scopes"]] == ["project", "user"]
    assert run(["vocabulary", "--scope", "user", *roots]) == 0
    (user,) = json.loads(capsys.readouterr().out)["scopes"]
    assert (user["total"], user["text"], user["characters"]) == (2, "lamps, tea", 10)
    assert user["keywords"][0]["memories"] == 1
    assert user["keywords"][0]["lastChanged"].endswith("+00:00")


def test_a_folder_that_is_not_there_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was looked at: that is not an empty vocabulary."""
    memory(tmp_path / "a", "1.md", "")
    assert run(["vocabulary", "--root", "a"]) == 0
    assert capsys.readouterr().out == "project: 0 keywords\n"
    assert run(["vocabulary", "--root", "gone"]) != 0
