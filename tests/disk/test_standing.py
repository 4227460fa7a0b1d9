"""A fetch of known memories looks at their files and walks no folder, and is never older for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recall.app import Recall
from recall.disk import walks
from recall.model import Root
from recall.settings import Settings

TEXT = "---\nname: {0}\ndescription: about {0}\n---\n\nThe body of {0}.\n"
REF = "project:area/deep/one.md"


class Corpus:
    """Memories in folders, older than any clock's tick, and how often they were walked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = folder / "memory"
        for path in ("area/deep/one.md", "area/two.md", "other/three.md"):
            self.write(path)
        self.settle()
        self.walks = 0
        walk = walks.walk

        def counted(*args: Any, **named: Any) -> object:
            self.walks += 1
            return walk(*args, **named)

        monkeypatch.setattr(walks, "walk", counted)
        monkeypatch.setattr(walks, "LAZY_MAX_S", 0.0)  # no walk is recent
        settings = Settings(mode="structured", roots=(Root("project", str(self.root)),))
        self.recall = Recall(settings, cache_dir=folder / "cache", state_dir=folder / "state")

    def write(self, path: str, text: str = "") -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text or TEXT.format(target.stem), encoding="utf-8")

    def settle(self, at: float = 1e9) -> None:
        """Give all folders a modification time long ago; files' ctimes are what they are."""
        for folder in (self.root, *self.root.rglob("*")):
            if folder.is_dir():
                os.utime(folder, (at, at + 0.5))

    def fetch(self, ref: str = REF) -> dict[str, Any]:
        return self.recall.search_memory(mode="fetch", refs=[ref])


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Corpus]:
    made = Corpus(tmp_path, monkeypatch)
    with made.recall:
        # Files that are young are read again, until they are older than a tick.
        while made.fetch()["results"] and made.recall.store._ledger.racy[0]:
            made.recall.store.refresh()
        made.walks = 0
        yield made


def test_what_is_known_and_unchanged_is_read_without_a_walk(corpus: Corpus) -> None:
    first = corpus.fetch()
    assert "The body of one." in first["results"][0]["content"]
    assert first["sourceStatus"]["freshness"]["state"] == "fresh"
    assert corpus.fetch("project:other/three.md")["results"]
    assert corpus.walks == 0


def test_a_ref_that_is_not_known_is_looked_for(corpus: Corpus) -> None:
    corpus.write("other/four.md")
    assert corpus.fetch("project:other/four.md")["results"]
    assert corpus.walks == 1


CHANGES: dict[str, Callable[[Corpus], object]] = {
    "rewritten in place": lambda c: c.write("area/deep/one.md", TEXT.format("uno")),
    "replaced": lambda c: (c.write("new", TEXT.format("uno")), (c.root / "new").replace(at(c))),
    "a link in its place": lambda c: (at(c).unlink(), at(c).symlink_to(c.root / "area/two.md")),
    "gone": lambda c: at(c).unlink(),
    "its folder gone": lambda c: shutil.rmtree(c.root / "area" / "deep"),
    "a folder above renamed": lambda c: (c.root / "area").rename(c.root / "else"),
    "ignored": lambda c: c.write(".recallignore", "deep/\n"),
    "ignored from amid": lambda c: c.write("area/.recallignore", "one.md\n"),
}


def at(corpus: Corpus) -> Path:
    return corpus.root / "area" / "deep" / "one.md"


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_what_a_walk_would_find_is_answered_as_after_a_walk(
    corpus: Corpus, tmp_path: Path, change: str
) -> None:
    """Compared with a process that has just begun, over a cache of its own."""
    CHANGES[change](corpus)
    fresh = Recall(
        corpus.recall.settings, cache_dir=tmp_path / "other", state_dir=tmp_path / "state"
    )
    with fresh:
        expected = fresh.search_memory(mode="fetch", refs=[REF])
    found = corpus.fetch()
    for answer in (found, expected):
        answer["sourceStatus"].pop("freshness")
    assert found == expected


def test_an_ignore_file_that_is_edited_counts(corpus: Corpus) -> None:
    corpus.write(".recallignore", "nothing\n")
    os.utime(corpus.root / ".recallignore", (1e9, 1e9))
    corpus.settle(1.1e9)
    assert corpus.fetch()["results"]
    assert corpus.fetch()["results"]
    assert corpus.walks == 1
    (corpus.root / ".recallignore").write_text("deep/\n", encoding="utf-8")
    assert corpus.fetch()["missingRefs"] == [REF]


def test_a_root_that_is_gone_is_said(corpus: Corpus) -> None:
    corpus.root.rename(corpus.root.parent / "elsewhere")
    status = corpus.fetch()["sourceStatus"]
    assert [one["reason"] for one in status["incompleteScopes"]] == ["root_read_failed"]


def test_a_root_that_leads_elsewhere_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus(tmp_path, monkeypatch)
    shutil.copytree(corpus.root, tmp_path / "b")
    (tmp_path / "b" / "area" / "deep" / "one.md").write_text(TEXT.format("uno"), encoding="utf-8")
    corpus.root.rename(tmp_path / "a")
    corpus.root.symlink_to(tmp_path / "a")
    with corpus.recall:
        assert "body of one" in corpus.fetch()["results"][0]["content"]
        corpus.root.unlink()
        corpus.root.symlink_to(tmp_path / "b")
        assert "body of uno" in corpus.fetch()["results"][0]["content"]


def test_an_old_state_is_refreshed_all_the_same(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall.disk.store._STANDS_S", 0.0)
    corpus.fetch()
    assert corpus.walks == 1
