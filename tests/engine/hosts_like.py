"""Simulated hosts for tests: what each does with what its hooks answer, as docs/hosts.md tells.

One conversation with a system prompt, a history and a transcript file that is written late.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from recall.app import Recall
from recall.core.hosts import HOSTS, session_of
from recall.engine.hosted import HostedSession

BOUNDARIES: dict[str, dict[str, object]] = {
    "claude-code": {"type": "system", "subtype": "compact_boundary"},
    "qwen-code": {"type": "system", "subtype": "chat_compression"},
    "codex": {"type": "compacted"},
}
TREE = "## Complete memory tree"


class Simulated:
    """One host process with one conversation."""

    def __init__(self, recall: Recall, name: str, folder: Path) -> None:
        self.recall = recall
        self.host = HOSTS[name]
        self.folder = folder
        self.sessions = 0
        self.fresh()

    def fresh(self) -> None:
        """A new session, with nothing in it."""
        self.sessions += 1
        self.id = session_of(self.host.name, f"s{self.sessions}")
        self.path = self.folder / f"{self.host.name}-{self.sessions}.jsonl"
        self.system: list[str] = []
        self.history: list[str] = []
        self.unwritten: list[dict[str, object]] = []
        self.owed = False
        """Codex tells of a compaction by a start as well, right before the next prompt."""

    @property
    def hooks(self) -> HostedSession:
        return self.recall.hosted(self.id, self.host, str(self.path))

    def told(self) -> list[str]:
        """What of ours the model's next request would hold, in its order."""
        return [*self.system, *self.history]

    def trees(self) -> list[str]:
        """Every tree that stands there, in order."""
        return [text for text in self.told() if TREE in text]

    # --- what happens

    def start(self, source: str, *, lost: bool = False) -> str:
        if source == "resume":
            self.write_down()
        text = self.hooks.started(source)
        if self.host.start_anchored:
            kept = self.system if source == "compact" else []
            self.system = [text] if text and not lost else kept
        else:
            self._record(
                {"type": "attachment", "attachment": {"type": "hook_success", "stdout": text}}
            )
            self._into_history(text, lost)
        return text

    def prompt(self, words: str, *, lost: bool = False, late: bool = False) -> str:
        """A prompt and the model's answer. `late`: the transcript lacks all of the last turn."""
        if not late:
            self.write_down()
        if self.owed:
            self.owed = False
            self.start("compact")
        text = self.hooks.prompted(words)
        self._record({"type": "user", "message": {"content": words}})
        self._into_history(text, lost)
        self._record({"type": "assistant", "message": {"content": "Done."}})
        return text

    def compact(self, *, works: bool = True, hooked: bool = True) -> None:
        """A compaction, in each host's own order of events; one that fails ends with the first.

        Where it is not `hooked` the hooks fail, and only the transcript tells of it.
        """
        self.write_down()
        if not hooked:
            self.history = []
            if self.host.start_anchored:
                self.system = self.system[-1:]
            self._record(BOUNDARIES[self.host.name])
            self.write_down()
            return
        self.hooks.compacting()
        if not works:
            return
        self.history = []
        if self.host.name == "claude-code":
            self.start("compact")
            self.hooks.compacted()
            self.unwritten.insert(0, BOUNDARIES[self.host.name])
        elif self.host.name == "qwen-code":
            self.hooks.compacted()
            self.unwritten.append(BOUNDARIES[self.host.name])
            self.start("compact")
        else:
            self._record(BOUNDARIES[self.host.name])
            self.write_down()
            self.hooks.compacted()
            self.owed = True

    def clear(self) -> str:
        self.fresh()
        return self.start("clear")

    def write_down(self) -> None:
        """The transcript catches up."""
        with self.path.open("a", encoding="utf-8") as file:
            for record in self.unwritten:
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
        self.unwritten = []

    def _into_history(self, text: str, lost: bool) -> None:
        if text and not lost:
            self.history.append(text)
            content = {"type": "hook_additional_context", "content": [text]}
            self._record({"type": "attachment", "attachment": content})

    def _record(self, record: dict[str, object]) -> None:
        self.unwritten.append(record)


def same_tree(text: str) -> str:
    """Return a delivery's tree without what differs between two deliveries of the same one."""
    tree = text[text.index(TREE) :]
    return re.split(r"\n## |\n</recall-memory>", tree)[0].strip()
