"""Random conversations against a small model, which checks three promises.

(1) After every confirmed turn the conversation holds the current tree. (2) No window that is
resident is sent again. (3) No window that is gone, or of an older version, is withheld.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from conftest import write
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from recall.app import Recall, open_recall
from recall.core.sink import json_text
from recall.engine.delivery import Delivery

NAMES = ["a.md", "b.md", "deploy/c.md"]
WORDS = ["staging", "rollback", "database", "rowing"]
QUERIES = ["", "hello", "how do we deploy to staging", "rollback of the database", "rowing club"]


class Message:
    """One entry of the conversation: what it told, and the text in which it told it."""

    def __init__(self, text: str, revision: str = "", results: tuple[Any, ...] = ()) -> None:
        self.text = text
        self.revision = revision
        self.results = results


class Conversations(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        # In memory where there is such a place: hundreds of commits need not reach a disk.
        fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="recall-machine-", dir=fast))
        self.root = self.folder / "m"
        self.root.mkdir()
        self.messages: list[Message] = []
        self.pending: list[tuple[Delivery, str, int]] = []
        self.disturbed = 0
        self.overtaken = 0  # so many of the pending ones are older than one that was confirmed
        self.count = 0
        for name in NAMES:
            self._write(name, WORDS[len(name) % 4], 900)
        self._open()

    def teardown(self) -> None:
        if hasattr(self, "recall"):
            self.recall.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _open(self) -> None:
        self.recall: Recall = open_recall(
            roots=[self.root],
            cwd=self.folder,
            cache_dir=self.folder / "cache",
            state_dir=self.folder / "state",
            env={},
            mode="structured",
            home=self.folder,
        )
        self.session = self.recall.session("one")

    def _write(self, name: str, word: str, lines: int, title: str = "") -> None:
        self.count += 1
        body = "".join(f"{i:04} {word} line of version {self.count}\n" for i in range(lines))
        write(self.root, name, body, name=title or f"About {word}", description=f"{word} notes")

    # --- the host's conversation, as it is

    def _held(self) -> dict[tuple[str, str], set[int]]:
        held: dict[tuple[str, str], set[int]] = {}
        for message in self.messages:
            for result in message.results:
                if "content" in result:
                    run = result["range"]
                    key = (result["ref"], result["version"])
                    held.setdefault(key, set()).update(range(run["start"], run["end"]))
        return held

    def _tree(self) -> str:
        return next((m.revision for m in reversed(self.messages) if m.revision), "")

    # --- turns

    @rule(query=st.sampled_from(QUERIES))
    def begin(self, query: str) -> None:
        delivery = self.session.begin_turn(query)
        revision = self.recall.snapshot().revision
        if delivery.router is None:
            assert self._tree() == revision, "a tree that the conversation lacks was left out"
        self.pending.append((delivery, revision, self.disturbed))

    @precondition(lambda self: self.pending)
    @rule(which=st.integers(0, 99))
    def confirm(self, which: int) -> None:
        i = which % len(self.pending)
        delivery, revision, disturbed = self.pending.pop(i)
        counted = self.session.confirm(delivery)
        latest = i == len(self.pending) and i >= self.overtaken
        self.overtaken = max(self.overtaken - (i < self.overtaken), i)
        told = delivery.router.revision if delivery.router else ""
        if delivery.text:
            self.messages.append(Message(delivery.text, told))
        if counted and latest and disturbed == self.disturbed:
            assert self._tree() == revision, "promise 1"

    @rule(query=st.sampled_from(QUERIES))
    def turn(self, query: str) -> None:
        """The usual case: prepared, sent, confirmed."""
        self.begin(query)
        delivery, revision, _ = self.pending.pop()
        self.overtaken = len(self.pending)
        assert self.session.confirm(delivery)
        told = delivery.router.revision if delivery.router else ""
        if delivery.text:
            self.messages.append(Message(delivery.text, told))
        assert self._tree() == revision, "promise 1"

    @precondition(lambda self: self.pending)
    @rule()
    def rollback(self) -> None:
        self.session.rollback(self.pending.pop()[0])
        self.overtaken = min(self.overtaken, len(self.pending))

    # --- the tool

    def _check(self, answer: dict[str, Any]) -> None:
        held = self._held()
        for result in answer.get("results", ()):
            have = held.get((result["ref"], result["version"]), set())
            run = set(range(result["range"]["start"], result["range"]["end"]))
            if "content" in result:
                assert not run & have, "promise 2"
            elif result.get("alreadyAvailable"):
                assert run <= have, "promise 3"
            else:
                assert result.get("readLimitExhausted"), "promise 3"
        self.messages.append(Message(json_text(answer), "", tuple(answer.get("results", ()))))

    @rule(name=st.sampled_from(NAMES))
    def fetch(self, name: str) -> None:
        self._check(self.session.search_memory(mode="fetch", refs=[f"project:{name}"]))

    @rule(word=st.sampled_from(WORDS))
    def search(self, word: str) -> None:
        answer = self.session.search_memory(mode="search", keywords=[word])
        if not answer.get("duplicateRequest"):
            self._check(answer)

    # --- the world

    @rule(
        name=st.sampled_from(NAMES), word=st.sampled_from(WORDS), lines=st.sampled_from([0, 3, 900])
    )
    def edit(self, name: str, word: str, lines: int) -> None:
        self._write(name, word, lines)

    @rule(name=st.sampled_from(NAMES), title=st.sampled_from(["One", "Two", "Three"]))
    def retitle(self, name: str, title: str) -> None:
        path = self.root / name
        if path.exists():
            head, _, body = path.read_text().partition("\n---\n")
            lines = [f"name: {title}" if x.startswith("name:") else x for x in head.split("\n")]
            path.write_text("\n".join(lines) + "\n---\n" + body)

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    @rule()
    def compact(self) -> None:
        self.messages.clear()
        self.disturbed += 1
        self.session.compacted()

    @rule(which=st.integers(0, 99), cut=st.booleans())
    def trim(self, which: int, cut: bool) -> None:
        """The host clears one entry, or the second half of it.

        How many there are is not known to hypothesis: whether a search repeats an earlier one
        can depend on how soon an edit is seen.
        """
        if not self.messages:
            return
        i = which % len(self.messages)
        gone = self.messages[i]
        rest = gone.text[: len(gone.text) // 2] if cut else "[Old tool result content cleared]"
        self.messages[i] = Message(rest)
        self.disturbed += 1
        self.session.reconcile([m.text for m in self.messages])
        if cut:  # what stands wholly in the half that is left is still known
            state = self.session.reconcile([m.text for m in self.messages])
            kept = {(w.ref, w.version, w.start, w.end) for w in state.windows}
            self.messages[i].results = tuple(
                r
                for r in gone.results
                if "content" in r
                and json_text(r["content"]) in rest
                and (r["ref"], r["version"], r["range"]["start"], r["range"]["end"]) in kept
            )

    @rule()
    def restart(self) -> None:
        """Another process takes over."""
        self.recall.close()
        self._open()


Conversations.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestConversations = Conversations.TestCase
