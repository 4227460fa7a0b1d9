"""The life of the memory protocol's entries, against a list in memory that does the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from recall.core.protocol import utf16_length
from recall.core.protocol_query import folded
from recall.errors import WriteError
from recall.settings import Arguments
from recall.workspaces import Entries, StoredWorkspaces

LIMIT = 60
TEXT = st.text(st.sampled_from("aAbB é日😀"), min_size=1, max_size=12).map(str.strip).filter(bool)
TRACK = st.sampled_from(["user", "agent"])
SCOPE = st.sampled_from(["user-global", "workspace"])
CWD = st.sampled_from(["/a", "/b"])
AGENT = st.sampled_from(["", "bot"])
PLACE = st.tuples(TRACK, SCOPE, CWD, AGENT)


class Kept(NamedTuple):
    """One entry as the model keeps it."""

    track: str
    scope: str
    cwd: str
    """Empty for user-global."""
    agent: str
    text: str
    version: int = 1


class EntriesMachine(RuleBasedStateMachine):
    """Writes of every kind, by sessions of two workspaces and two agents, some denied."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        limits = {(t, s): LIMIT for t in ("user", "agent") for s in ("user-global", "workspace")}
        store = StoredWorkspaces(self.folder, Arguments(), {}, self.folder / "home", limits)
        self.entries = Entries(store)
        self.kept: list[Kept] = []
        self.asked: list[dict[str, Any]] = []
        self.answer = "allowed-once"
        self.denied = 0

    def teardown(self) -> None:
        if hasattr(self, "entries"):
            self.entries.close()
            shutil.rmtree(self.folder)

    # --- what is done

    @rule(place=PLACE, text=TEXT)
    def add(self, place: tuple[str, str, str, str], text: str) -> None:
        new = kept(place, text)
        done = self.write("add", place, {"text": text}, self.refusal([], [new]))
        if done:
            assert done["entry"]["version"] == 1
            self.kept.append(new)

    @rule(place=PLACE, match=TEXT, text=TEXT)
    def replace(self, place: tuple[str, str, str, str], match: str, text: str) -> None:
        found = self.holding(place, match)
        new = [found[0]._replace(text=text)] if len(found) == 1 else []
        why = self.counted(found) or self.refusal(found, new)
        same = len(found) == 1 and found[0].text == text
        if same and why == "WRITE_DENIED":
            why = ""  # nothing would change: nobody is asked
        done = self.write("replace", place, {"match": match, "text": text}, why)
        if done:
            (old,) = found
            grown = new[0]._replace(version=old.version + (not same))
            assert done["entry"]["id"] == done["previous"]["id"]
            assert done["entry"]["version"] == grown.version
            self.kept[self.kept.index(old)] = grown

    @rule(place=PLACE, match=TEXT)
    def remove(self, place: tuple[str, str, str, str], match: str) -> None:
        found = self.holding(place, match)
        why = self.counted(found) or self.refusal(found, [])
        done = self.write("remove", place, {"match": match}, why)
        if done:
            assert done["entry"]["text"] == found[0].text
            self.kept.remove(found[0])

    @rule(place=PLACE, matches=st.lists(TEXT, min_size=1, max_size=2), text=TEXT)
    def consolidate(self, place: tuple[str, str, str, str], matches: list[str], text: str) -> None:
        gone: list[Kept] = []
        why = ""
        for match in matches:
            left = list(self.holding(place, match))
            for one in gone:
                if one in left:
                    left.remove(one)
            why = why or self.counted(left)
            gone += left[:1]
        new = kept(place, text)
        why = why or self.refusal(gone, [new])
        done = self.write("consolidate", place, {"matches": matches, "text": text}, why)
        if done:
            assert sorted(one["text"] for one in done["removed"]) == sorted(o.text for o in gone)
            for one in gone:
                self.kept.remove(one)
            self.kept.append(new)

    @rule(cwd=CWD, agent=AGENT, told=st.lists(st.tuples(TRACK, SCOPE, TEXT), max_size=3))
    def seed(self, cwd: str, agent: str, told: list[tuple[str, str, str]]) -> None:
        new = [kept((track, scope, cwd, agent), text) for track, scope, text in told]
        inputs = [{"track": track, "scope": scope, "text": text} for track, scope, text in told]
        why = self.refusal([], new) if new else "INVALID_INPUT"
        call = lambda: self.entries.writing.seed(inputs, session(cwd, agent), self.gate)  # noqa: E731
        done = self.tried("seed", call, why, len(new))
        if done:
            assert done["added"] == len(new)
            self.kept += new

    @rule(text=TEXT, agent=st.none() | AGENT)
    def query(self, text: str, agent: str | None) -> None:
        opts = {} if agent is None else {"agentKey": agent}
        found = self.entries.reading.query({"text": text, "limit": 1_000}, opts)
        wanted = [
            one.text
            for one in self.kept
            if folded(text) in folded(one.text) and (agent is None or one.agent in ("", agent))
        ]
        assert sorted(one["text"] for one in found["entries"]) == sorted(wanted)
        counts = [one["recallCount"] for one in found["entries"]]
        assert counts == sorted(counts, reverse=True)

    @rule(answer=st.sampled_from(["allowed-once", "allowed-once", "rejected", "cancelled"]))
    def decide(self, answer: str) -> None:
        self.answer = answer

    @rule()
    def open_again(self) -> None:
        """Another process goes on where this one stopped."""
        workspaces = self.entries.workspaces
        self.entries.close()
        self.entries = Entries(workspaces)

    @precondition(lambda self: self.kept)
    @rule()
    def export_and_read(self) -> None:
        document = self.entries.reading.export()
        assert len(document["entries"]) == len(self.kept)

    # --- what holds

    @invariant()
    def lists_what_was_written(self) -> None:
        if not hasattr(self, "entries"):
            return
        found = [
            Kept(
                *(one["track"], one["scope"], one["workspaceKey"], one["agentKey"]),
                *(one["text"], one["version"]),
            )
            for one in self.entries.reading.list_entries()
        ]
        assert sorted(found) == sorted(self.kept)

    @invariant()
    def counts_what_is_there(self) -> None:
        if not hasattr(self, "entries"):
            return
        for row in self.entries.reading.budgets({}):
            used = {cwd: self.used(row["track"], row["scope"], cwd) for cwd in ("/a", "/b")}
            assert row["used"] == max(used.values())
            assert row["limit"] == LIMIT

    @invariant()
    def every_denial_left_a_row(self) -> None:
        if not hasattr(self, "entries"):
            return
        rows = self.entries.reading.audit_list(10_000)
        denied = [row for row in rows if row["action"].endswith("-denied")]
        assert len(denied) == self.denied

    # --- the model

    def gate(self, payload: dict[str, Any]) -> str:
        self.asked.append(payload)
        return self.answer

    def write(
        self, name: str, place: tuple[str, str, str, str], given: dict[str, Any], why: str
    ) -> dict[str, Any] | None:
        track, scope, cwd, agent = place
        told = {"track": track, "scope": scope, **given}
        method: Callable[..., dict[str, Any]] = getattr(self.entries.writing, name)
        rows = len(given.get("matches", ())) + 1 if name == "consolidate" else 1
        return self.tried(name, lambda: method(told, session(cwd, agent), self.gate), why, rows)

    def tried(
        self, name: str, call: Callable[[], dict[str, Any]], why: str, rows: int
    ) -> dict[str, Any] | None:
        """Make a call that shall be refused as `why` says, or not at all."""
        before = len(self.asked)
        try:
            done = call()
        except WriteError as error:
            assert error.code == why, f"{name}: {error.message}"
            self.denied += rows if why == "WRITE_DENIED" else 0
            assert len(self.asked) - before == (why == "WRITE_DENIED")
            return None
        assert not why, f"{name} was made"
        return done

    def holding(self, place: tuple[str, str, str, str], match: str) -> list[Kept]:
        track, scope, cwd, agent = place
        return [
            one
            for one in self.kept
            if (one.track, one.scope) == (track, scope)
            and one.cwd in ("", cwd)
            and one.agent in ("", agent)
            and folded(match) in folded(one.text)
        ]

    def counted(self, found: list[Kept]) -> str:
        if not found:
            return "ENTRY_NOT_FOUND"
        return "AMBIGUOUS_MATCH" if len(found) > 1 else ""

    def used(self, track: str, scope: str, cwd: str) -> int:
        return sum(
            utf16_length(one.text)
            for one in self.kept
            if (one.track, one.scope) == (track, scope) and one.cwd in ("", cwd)
        )

    def refusal(self, gone: list[Kept], new: list[Kept]) -> str:
        """Return why the change is refused: a budget, before anybody is asked, or the answer."""
        for one in new:
            same = [n for n in new if (n.track, n.scope) == (one.track, one.scope)]
            lost = [g for g in gone if (g.track, g.scope) == (one.track, one.scope)]
            more = sum(utf16_length(n.text) for n in same) - sum(utf16_length(g.text) for g in lost)
            cwd = one.cwd or "/a"
            if more > 0 and self.used(one.track, one.scope, cwd) + more > LIMIT:
                return "BUDGET_EXCEEDED"
        return "" if self.answer == "allowed-once" else "WRITE_DENIED"


def session(cwd: str, agent: str) -> dict[str, Any]:
    return {"agent": {"session": {"id": "s", "header": {"cwd": cwd, "agentPreset": agent}}}}


def kept(place: tuple[str, str, str, str], text: str) -> Kept:
    track, scope, cwd, agent = place
    return Kept(track, scope, cwd if scope == "workspace" else "", agent, text)


TestEntries = EntriesMachine.TestCase
TestEntries.settings = settings(max_examples=12, stateful_step_count=20, deadline=None)
TestEntries = pytest.mark.timeout(600)(TestEntries)
