"""Random conversations inside each host, of memories that turn structured and legacy.

(1) What stands in a conversation is right for the mode that it is in: the current tree, or the
current index, last of all that was delivered, unless a delivery was lost and nothing yet tells so.
(2) No index, tree or body stands there twice, unless one was taken for lost. (3) Structured once,
a conversation stays so, but for a pin or a delivery that was lost.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

from conftest import complete, write
from hosts_like import TREE, Simulated, same_tree
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from recall.app import Recall, open_recall
from recall.core.hosts import HOSTS
from recall.core.legacy_index import derived_index, render_index

INDEX = "## Memory index"
NAMES = ["a.md", "b.md", "deploy/c.md"]
WORDS = ["staging", "rollback", "database", "rowing"]
PROMPTS = ["hello", "how do we deploy to staging", "rollback of the database"]
MODES = ["auto", "legacy", "structured"]


class Lives(RuleBasedStateMachine):
    @initialize(name=st.sampled_from(sorted(HOSTS)), start=st.booleans())
    def begin(self, name: str, start: bool) -> None:
        fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="recall-legacy-", dir=fast))
        self.root = self.folder / "m"
        self.count = 0
        self.mode = "auto"
        self.unsure = self.answered = self.released = False
        """A delivery was lost, and the transcript has not shown it; the model answered since. A
        loss or a pin may have led out of structured recall."""
        for path in NAMES:
            self._write(path, WORDS[len(path) % 4], False)
        self._open()
        self.host = Simulated(self.recall, name, self.folder)
        if start:
            self._said(self.host.start("startup"))

    def teardown(self) -> None:
        if hasattr(self, "recall"):
            self.recall.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _open(self) -> None:
        if hasattr(self, "recall"):
            self.recall.close()
        self.recall: Recall = open_recall(
            roots=[self.root],
            cwd=self.folder,
            cache_dir=self.folder / "cache",
            state_dir=self.folder / "state",
            mode=self.mode,
            env={},
            home=self.folder,
        )

    def _write(self, path: str, word: str, structured: bool) -> None:
        self.count += 1
        head = {"name": f"{word} {self.count}", "description": f"about {word}"}
        body = f"How we {word} here, number {self.count}.\n"
        (complete if structured else write)(self.root, path, body, **head)

    def _now(self) -> str:
        return self.recall.session(self.host.id).mode

    def _index(self) -> str:
        memories = list(self.recall.snapshot().memories.values())
        return render_index([derived_index("project", memories)], 30_000)

    def _said(self, text: str) -> None:
        assert text.count("<recall-memory ") == text.count("</recall-memory>") == bool(text)
        assert not (TREE in text and INDEX in text)

    def _check(self) -> None:
        told = self.host.told()
        if self.unsure:
            return
        trees = [same_tree(text) for text in told if TREE in text]
        indexes = [
            part for text in told for part in re.findall(rf"{INDEX}\n(?:.+\n|\n(?!## ))+", text)
        ]
        if self._now() == "structured":
            assert trees and trees[-1] == same_tree(self.recall.router().text), "promise 1"
        else:
            assert indexes and indexes[-1].split("\n</")[0].strip() == self._index(), "promise 1"
        assert all(a != b for a, b in pairwise(trees)), "promise 2"
        assert all(a != b for a, b in pairwise(indexes)), "promise 2"
        bodies = re.findall(r"(?m)^How we .*$", "\n".join(told))
        assert len(bodies) == len(set(bodies)), "promise 2"

    @rule(words=st.sampled_from(PROMPTS), lost=st.integers(0, 7), late=st.booleans())
    def prompt(self, words: str, lost: int, late: bool) -> None:
        gone = lost == 0
        shows = self.answered and not late
        before = self._now()
        ready = self.recall.readiness().ready
        text = self.host.prompt(words, lost=gone, late=late)
        self._said(text)
        after = self._now()
        if self.mode != "auto":
            assert after == self.mode, "a pin is honoured"
        elif before == "structured":
            assert after == "structured" or self.unsure, "promise 3"
        else:
            assert after == ("structured" if ready else "legacy")
        if gone and text:
            self.unsure = True
        elif shows:
            self.unsure = False
        if not late:
            self._check()
        self.answered = True

    @rule()
    def resume(self) -> None:
        self._said(self.host.start("resume"))

    @rule()
    def compact(self) -> None:
        self.host.compact()
        self.unsure = False

    @rule()
    def clear(self) -> None:
        self._said(self.host.clear())
        self.unsure = False

    @rule(path=st.sampled_from(NAMES), word=st.sampled_from(WORDS), structured=st.booleans())
    def edit(self, path: str, word: str, structured: bool) -> None:
        self._write(path, word, structured)

    @rule()
    def migrate(self) -> None:
        for path in NAMES:
            self._write(path, WORDS[len(path) % 4], True)

    @rule(mode=st.sampled_from(MODES))
    def pin(self, mode: str) -> None:
        """Also another process: nothing but the state is shared."""
        self.mode = mode
        self._open()
        self.host.recall = self.recall


TestLives = Lives.TestCase
TestLives.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
