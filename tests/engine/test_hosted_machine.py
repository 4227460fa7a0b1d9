"""Random lives of a session inside each host, against the conversation that its model would see.

(1) After every prompt whose delivery arrived, the last tree in the conversation is the current
one, unless an earlier one was lost and nothing yet tells so. (2) No tree stands there twice,
unless one was taken for lost. (3) Nothing but one text a hook is ever said.
"""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

from conftest import write
from hosts_like import TREE, Simulated, same_tree
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from recall.app import Recall, open_recall
from recall.core.hosts import HOSTS

NAMES = ["a.md", "b.md", "deploy/c.md"]
WORDS = ["staging", "rollback", "database", "rowing"]
PROMPTS = ["hello", "how do we deploy to staging", "rollback of the database", "/compact"]


class Lives(RuleBasedStateMachine):
    @initialize(name=st.sampled_from(sorted(HOSTS)), start=st.booleans())
    def begin(self, name: str, start: bool) -> None:
        fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="recall-hosted-", dir=fast))
        self.root = self.folder / "m"
        self.count = 0
        for path in NAMES:
            self._write(path, WORDS[len(path) % 4])
        self.recall: Recall = open_recall(
            roots=[self.root],
            cwd=self.folder,
            cache_dir=self.folder / "cache",
            state_dir=self.folder / "state",
            env={},
            mode="structured",
            home=self.folder,
        )
        self.host = Simulated(self.recall, name, self.folder)
        self.unsure = self.answered = False
        """A delivery was lost, and the transcript has not shown it; the model answered since."""
        if start:
            self._started("startup", False)

    def teardown(self) -> None:
        if hasattr(self, "recall"):
            self.recall.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, path: str, word: str) -> None:
        self.count += 1
        write(
            self.root, path, f"{word} {self.count}\n", name=f"{word} {self.count}", description=word
        )

    def _check(self) -> None:
        trees = [same_tree(text) for text in self.host.trees()]
        if not self.unsure:
            assert trees, "promise 1"
            assert trees[-1] == same_tree(self.recall.router().text), "promise 1"
            assert all(a != b for a, b in pairwise(trees)), "promise 2"

    def _said(self, text: str) -> None:
        assert text.count("<recall-memory ") == text.count("</recall-memory>") == bool(text)
        assert text.count(TREE) <= 1

    @rule(words=st.sampled_from(PROMPTS), lost=st.integers(0, 5), late=st.booleans())
    def prompt(self, words: str, lost: int, late: bool) -> None:
        gone = lost == 0
        shows = self.answered and not late
        text = self.host.prompt(words, lost=gone, late=late)
        self._said(text)
        if gone and text:
            self.unsure = True
        elif shows:
            self.unsure = False
        if not late:
            self._check()
        self.answered = True

    @rule(lost=st.integers(0, 5))
    def resume(self, lost: int) -> None:
        self._started("resume", lost == 0 and not self.host.host.start_anchored)

    def _started(self, source: str, lost: bool) -> None:
        text = self.host.start(source, lost=lost)
        self._said(text)
        if lost and text:
            self.unsure, self.answered = True, False

    @rule(works=st.booleans(), hooked=st.integers(0, 3))
    def compact(self, works: bool, hooked: int) -> None:
        self.host.compact(works=works, hooked=hooked > 0)
        if works or not hooked:
            self.unsure = not hooked
            self.answered = True  # the transcript shows it with the next prompt that is not late

    @rule()
    def clear(self) -> None:
        self._said(self.host.clear())
        self.unsure = False

    @rule(path=st.sampled_from(NAMES), word=st.sampled_from(WORDS))
    def edit(self, path: str, word: str) -> None:
        self._write(path, word)

    @rule(path=st.sampled_from(NAMES))
    def delete(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)
        self._write("kept.md", "kept")  # a corpus that became empty is another matter


TestLives = Lives.TestCase
TestLives.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
