"""Counting and listing memories: the same as counting them one by one, whatever changes."""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest
from conftest import complete

pytest.importorskip("starlette", reason="the extra ui is not installed")

from recall.faces.page.corpus import PAGE, Catalogue, Wish

from .place import Place


def assert_counted(catalogue: Catalogue, place: Place) -> None:
    snapshot = place.recall.snapshot()
    totals = catalogue.totals(snapshot)
    memories = list(snapshot.memories.values())
    assert totals.total == len(memories)
    assert totals.structured == sum(memory.structured for memory in memories)
    assert dict(totals.types) == Counter(memory.type for memory in memories)
    counted = {(s, b.category): b.number for s, _, bs in totals.scopes for b in bs}
    assert counted == Counter((memory.scope, memory.category) for memory in memories)


def test_counts_follow_every_change(place: Place) -> None:
    """Memories that come, change their category, and go."""
    catalogue = Catalogue(place.recall.store)
    assert_counted(catalogue, place)
    complete(place.root, "new.md", name="New", category="hobbies", type="user")
    assert_counted(catalogue, place)
    complete(place.root, "new.md", name="New", category="tech_stack", type="user")
    assert_counted(catalogue, place)
    (place.root / "tea.md").unlink()
    assert_counted(catalogue, place)


def test_filters_find_what_they_say(place: Place) -> None:
    """By scope, category, type, kind, age and fault, and together."""
    old = complete(place.root, "old.md", name="Old", type="feedback", category="hobbies")
    years = time.time() - 3 * 365 * 86_400
    os.utime(old, (years, years))
    catalogue, snapshot = Catalogue(place.recall.store), place.recall.snapshot()

    def refs(**wanted: object) -> set[str]:
        listed = catalogue.listed(snapshot, Wish(**wanted), 1)  # type: ignore[arg-type]
        assert listed.total == len(listed.memories)
        return {memory.path for memory in listed.memories}

    everything = {memory.path for memory in snapshot.memories.values()}
    assert refs() == refs(scope="project") == everything
    assert refs(scope="user") == set()
    assert refs(category="hobbies") == {"tea.md", "old.md"}
    assert refs(type="feedback") == {"old.md"}
    assert refs(kind="legacy") == {"faulty.md"}
    assert refs(kind="structured") == everything - {"faulty.md"}
    assert refs(faulty=True) == {"faulty.md"}
    assert refs(age="older") == {"old.md"}
    assert refs(age="day") == everything - {"old.md"}
    assert refs(category="hobbies", age="day") == {"tea.md"}


def test_pages_hold_every_memory_once(place: Place) -> None:
    """In the tree's order, or the newest first; a page behind the last one is the last one."""
    for number in range(2 * PAGE + 7):
        complete(place.root, f"many/n{number}.md", name=f"N {number}")
    catalogue, snapshot = Catalogue(place.recall.store), place.recall.snapshot()
    for wish in (Wish(), Wish(newest=True), Wish(scope="project")):
        first = catalogue.listed(snapshot, wish, 1)
        assert (first.pages, first.total) == (3, len(snapshot.memories))
        every = [m for page in (1, 2, 3) for m in catalogue.listed(snapshot, wish, page).memories]
        assert {memory.ref for memory in every} == set(snapshot.memories)
        assert len(every) == len(snapshot.memories)
        assert catalogue.listed(snapshot, wish, 99).page == 3
        if wish.newest:
            times = [memory.mtime_ns for memory in every]
            assert times == sorted(times, reverse=True)
    assert catalogue.listed(snapshot, Wish(category="none"), 5).memories == ()
