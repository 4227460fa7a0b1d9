"""What the heuristic annotator learns of a scope, from real files."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import complete

import recall.engine.heuristic as module
from recall.app import open_recall
from recall.core.annotation import Annotation, Unannotated
from recall.core.metadata import parse_memory
from recall.core.vocabulary import Vocabulary
from recall.disk.store import Store
from recall.engine.heuristic import HeuristicAnnotator
from recall.model import Taxonomy

BARCODE = "# Barcode keys\n\nThe scanner reads barcode keys from the vault.\n"
LAMP = "# Lamps\n\nThe warehouse lamps flicker at night.\n"


def annotated(folder: Path, body: str, taxonomy: Taxonomy | None = None) -> Annotation:
    """Learn from the folder, then annotate a file of that body in it."""
    with open_recall(
        roots=[folder],
        cache_dir=folder.parent / "cache",
        state_dir=folder.parent / "state",
        env={},
        home=folder.parent,
    ) as recall:
        made = HeuristicAnnotator(taxonomy)
        made.learn(recall.store, "project", recall.snapshot().memories.values())
    parsed = parse_memory(body.encode(), "new.md")
    memory = Unannotated("project:new.md", "project", "new.md", parsed)
    return made.annotate(memory, Vocabulary())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two memories with a category and a type but no more: legacy ones, in the root itself."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, category, kind, body in (
        ("scan.md", "security", "feedback", BARCODE),
        ("night.md", "building", "reference", LAMP),
    ):
        head = f"---\ncategory: {category}\ntype: {kind}\n---\n"
        (folder / name).write_text(head + body)
    return folder


def test_a_half_filled_memory_is_learned_from_by_its_body(folder: Path) -> None:
    """Whoever named a category is asked, although the memory is not structured yet."""
    found = annotated(folder, "The scanner wants other barcode keys, said the vault.\n")
    assert (found.category, found.type) == ("security", "feedback")
    found = annotated(folder, "Night falls, lamps flicker in the warehouse.\n")
    assert (found.category, found.type) == ("building", "reference")


def test_a_strict_taxonomy_is_kept_to(folder: Path) -> None:
    """What others have counts only where the settings know it."""
    body = "The scanner wants other barcode keys, said the vault.\n"
    strict = Taxonomy(("building", "other"), strict=True)
    assert annotated(folder, body, strict).category == "uncategorized"


def test_of_many_memories_a_sample_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most SAMPLE bodies; structured ones beyond it are known by their metadata."""
    monkeypatch.setattr(module, "SAMPLE", 1)
    (folder / "zebra.md").write_text(
        "---\nname: Zebra stripes\ndescription: How zebra stripes are printed\ntype: user\n"
        "category: printing\nkeywords: [zebra, stripes]\nusage_scenarios: [when printing]\n---\nx\n"
    )
    assert annotated(folder, "Zebra stripes again.\n").category == "printing"


def test_nothing_is_read_again_while_nothing_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was learned of a scope is looked up by what its memories are; an edit learns anew, and
    a scope that nobody asks for is not learned of at all.
    """
    with open_recall(
        roots=[folder],
        cache_dir=folder.parent / "cache",
        state_dir=folder.parent / "state",
        env={},
        home=folder.parent,
    ) as recall:
        read: list[str] = []
        real = Store.read
        monkeypatch.setattr(Store, "read", lambda s, one: (read.append(one.path), real(s, one))[1])
        made = HeuristicAnnotator(None, recall.store)
        parsed = parse_memory(b"The scanner wants barcode keys.\n", "new.md")
        memory = Unannotated("project:new.md", "project", "new.md", parsed)
        assert read == []
        first = made.annotate(memory, Vocabulary())
        assert sorted(read) == ["night.md", "scan.md"]
        made.renew()
        assert made.annotate(memory, Vocabulary()) == first
        assert len(read) == 2
        (folder / "scan.md").write_text(BARCODE)  # its category is gone
        made.renew()
        assert made.annotate(memory, Vocabulary()).category != first.category == "security"
        assert len(read) == 4


def test_where_nothing_is_legacy_nothing_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One new memory is no reason to read all others."""
    complete(tmp_path / "notes", "a.md", BARCODE)
    with open_recall(
        roots=[tmp_path / "notes"],
        cache_dir=tmp_path / "cache",
        state_dir=tmp_path / "state",
        env={},
        home=tmp_path,
    ) as recall:
        monkeypatch.setattr(Store, "read", lambda *_: pytest.fail("a body was read"))
        parsed = parse_memory(b"The scanner wants barcode keys.\n", "new.md")
        memory = Unannotated("project:new.md", "project", "new.md", parsed)
        assert (
            "barcode"
            in HeuristicAnnotator(None, recall.store).annotate(memory, Vocabulary()).description
        )
