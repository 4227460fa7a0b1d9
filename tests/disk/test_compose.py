"""From rows to snapshots: what is shown, what is said of the rest, and small differences."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from store_factory import facts
from store_factory import settings as made_settings
from tree_like import memory

from recall.disk.compose import Composer, View, aged
from recall.disk.scan import Failure, Listing
from recall.model import Incomplete, Memory, Unavailable
from recall.settings import Settings


def two(scopes: tuple[str, str] = ("project", "project"), **more: Any) -> Settings:
    return made_settings(*((scope, f"/r{i}") for i, scope in enumerate(scopes)), **more)  # type: ignore[arg-type]


def view(
    *memories: list[Memory],
    odd: tuple[dict[str, str], ...] = (),
    failed: tuple[list[Failure], ...] = (),
    generation: int = 1,
) -> View:
    rows = [{one.path: one for one in group} for group in memories]
    odds = [dict(one) for one in odd] or [{} for _ in rows]
    listings = [Listing(f"/r{i}", count=len(group)) for i, group in enumerate(memories)]
    for listing, failures in zip(listings, failed, strict=False):
        listing.failed = failures
    return View(generation, rows, odds, listings)


def test_whats_in_one_scope_twice_is_a_collision() -> None:
    """The first root keeps the ref; the other's memory is named and counted as not returned."""
    first, second = memory("a.md", title="first"), memory("a.md", title="second", root=1, key=7)
    snapshot = Composer(two()).snapshot(view([first], [second, memory("b.md", root=1)]), None)
    assert snapshot.memories["project:a.md"] == first
    assert set(snapshot.memories) == {"project:a.md", "project:b.md"}
    assert snapshot.status.incomplete == (Incomplete("project", "ref_collision", 2, 3),)
    [skipped] = snapshot.status.skipped
    assert skipped.path == "project:a.md"
    assert "/r1" in skipped.why


def test_the_same_path_in_two_scopes_is_two_memories() -> None:
    """Scopes are part of the ref."""
    mine, ours = memory("a.md"), memory("a.md", scope="team", root=1, key=7)
    snapshot = Composer(two(("project", "team"))).snapshot(view([mine], [ours]), None)
    assert set(snapshot.memories) == {"project:a.md", "team:a.md"}
    assert snapshot.status.complete


def test_another_agents_memories_are_not_there() -> None:
    """A memory with an agent is shown to that agent; it neither hides nor collides otherwise."""
    private, public = memory("a.md", agent="ops"), memory("a.md", root=1, key=7)
    everyone = Composer(two()).snapshot(view([private], [public]), None)
    assert everyone.memories == {"project:a.md": public}
    assert everyone.status.complete
    ops = Composer(two(agent="ops")).snapshot(view([private], [public]), None)
    assert ops.memories == {"project:a.md": private}
    assert not ops.status.complete


def test_what_could_not_be_looked_at_is_hidden_and_counted() -> None:
    """A folder, a file, a whole root that failed: their memories are known and not returned."""
    rows = [memory("open.md"), memory("shut/a.md"), memory("shut/b.md"), memory("file.md")]
    shut = {"shut/a.md", "shut/b.md"}
    cases: list[tuple[list[Failure], set[str], str]] = [
        ([Failure("shut", "denied")], {"open.md", "file.md"}, "dir_read_failed"),
        ([Failure("file.md", "denied", False)], {"open.md"} | shut, "file_read_failed"),
        ([Failure("", "missing")], set(), "root_read_failed"),
    ]
    for failed, shown, reason in cases:
        snapshot = Composer(made_settings("/r0")).snapshot(view(rows, failed=(failed,)), None)  # type: ignore[arg-type]
        assert {one.path for one in snapshot.memories.values()} == shown
        assert snapshot.status.incomplete == (Incomplete("project", reason, len(shown), 4),)
        assert snapshot.status.searched == (() if reason == "root_read_failed" else ("project",))


def test_files_that_are_no_memories_are_named() -> None:
    """Unreadable ones count as known, binary ones do not; both are named with their reason."""
    odd = {"u.md": "unreadable: Permission denied", "b.md": "binary"}
    made = Composer(made_settings("/r0"))  # type: ignore[arg-type]
    snapshot = made.snapshot(view([memory("a.md")], odd=(odd,)), None)
    assert snapshot.status.incomplete == (Incomplete("project", "file_read_failed", 1, 2),)
    assert [(one.path, one.why) for one in snapshot.status.skipped] == [
        ("project:b.md", "binary"),
        ("project:u.md", "unreadable: Permission denied"),
    ]


def test_two_hundred_skipped_files_are_named_and_all_are_counted() -> None:
    """A status stays bounded whatever was skipped."""
    odd = {f"{i}.md": "binary" for i in range(1_000)}
    snapshot = Composer(made_settings("/r0")).snapshot(view([], odd=(odd,)), None)  # type: ignore[arg-type]
    assert (len(snapshot.status.skipped), snapshot.status.skipped_total) == (200, 1_000)


def test_a_request_sees_the_status_of_its_scopes() -> None:
    """Scopes that failed were configured all the same; the others are unavailable, with why."""
    given = two(("project", "user"), unavailable=(Unavailable("team", "untrusted"),))
    composed = Composer(given).snapshot(
        view([memory("a.md")], [], failed=([], [Failure("", "gone")])), None
    )
    assert composed.status.requested == ("project", "user", "team")
    assert composed.status.searched == ("project",)
    user = composed.status_for(["user"])
    assert (user.requested, user.searched, user.unavailable) == (("user",), (), ())
    assert user.incomplete == (Incomplete("user", "root_read_failed", 0, 0),)
    team = composed.status_for(["team", "project"])
    assert team.unavailable == (Unavailable("team", "untrusted"),)
    assert team.complete


def test_nothing_moved_gives_the_same_snapshot() -> None:
    """Without changes the very same object; a new generation alone shares everything in it."""
    made = Composer(two())
    first = made.snapshot(view([memory("a.md")], []), None)
    assert made.snapshot(view([memory("a.md")], []), set()) is first
    later = made.snapshot(view([memory("a.md")], [], generation=2), set())
    assert (later.generation, later.tree) == (2, first.tree)


def test_age_and_staleness_are_the_snapshots_own() -> None:
    """Marking a snapshot as old leaves the one it was made from as it was."""
    first = Composer(two()).snapshot(view([memory("a.md")], []), None)
    old = aged(first, 1_234, fresh=False)
    assert old.status.to_dict()["freshness"] == {"state": "stale", "ageMs": 1_234}
    assert first.status.fresh
    assert old.revision == first.revision
    assert old.by_key(memory("a.md").key) is not None


_PATHS = [f"{folder}{name}.md" for folder in ("", "x/", "y/") for name in "ab"]
_FAILURES = [[], [Failure("x", "denied")], [Failure("", "gone")], [Failure("ya.md", "io", False)]]
_STEP = st.tuples(
    st.integers(0, 2),
    st.sampled_from(_PATHS),
    st.sampled_from(["put", "put", "put", "private", "odd", "drop"]),
    st.sampled_from(["c", "d", "uncategorized"]),
    st.sampled_from(range(4)),
)


@settings(max_examples=120, deadline=None)
@given(rounds=st.lists(st.lists(_STEP, max_size=4), max_size=8), agent=st.sampled_from(["", "ops"]))
def test_a_difference_equals_a_new_beginning(rounds: list[list[Any]], agent: str) -> None:
    """After any changes, below failed folders, with collisions and private memories, the snapshot
    that was adjusted equals one that is built anew, down to its revision and what keys lead to.
    """
    given_settings = made_settings(
        ("project", "/r0"), ("project", "/r1"), ("team", "/r2"), agent=agent
    )  # type: ignore[arg-type]
    made = Composer(given_settings)
    rows: list[dict[str, Memory]] = [{}, {}, {}]
    odd: list[dict[str, str]] = [{}, {}, {}]
    key = 0
    made.snapshot(_seen(rows, odd, 0, 0), None)
    for number, steps in enumerate(rounds, 1):
        changes = set()
        failing = 0
        for root, path, kind, category, failing in steps:  # noqa: B007  # the last one's
            key += 1
            changes.add((root, path))
            rows[root].pop(path, None)
            odd[root].pop(path, None)
            scope = "team" if root == 2 else "project"
            if kind in ("put", "private"):
                private = "ops" if kind == "private" else ""
                rows[root][path] = memory(
                    path, root=root, scope=scope, key=key, category=category, agent=private
                )
            elif kind == "odd":
                odd[root][path] = "unreadable: x" if key % 2 else "binary"
        now = _seen(rows, odd, number, failing)
        adjusted = made.snapshot(now, changes)
        anew = Composer(given_settings).snapshot(now, None)
        assert facts(adjusted) == facts(anew)
        assert adjusted.generation == number
        for one in anew.memories.values():
            assert adjusted.by_key(one.key) == one
        assert all(adjusted.by_key(k) is None for k in range(key + 1) if anew.by_key(k) is None)


def _seen(
    rows: list[dict[str, Memory]], odd: list[dict[str, str]], generation: int, failing: int
) -> View:
    listings = [Listing(f"/r{i}", count=len(rows[i]) + len(odd[i])) for i in range(3)]
    listings[0].failed = _FAILURES[failing]
    return View(generation, rows, odd, listings)
