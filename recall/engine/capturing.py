"""The summary of a host's compaction as a proposal: one for each compaction, never a write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from recall.core.redaction import redacted
from recall.core.summary import kept, plain
from recall.core.writing import ADD, Asker, Draft, Write
from recall.errors import WriteError

if TYPE_CHECKING:
    from recall.engine.ports import Detector
    from recall.engine.writing import WriteService

SOURCE: Final = "capture"


class Capturing:
    """Keeps summaries as proposals about one corpus."""

    def __init__(
        self,
        writes: Callable[[], WriteService],
        detector: Detector | None = None,
        *,
        agent: str = "",
        language: str = "en",
    ) -> None:
        """`language` is what a title and a cut are told in."""
        self._writes = writes
        self._detector = detector
        self._agent = agent
        self._language = language

    def capture(self, summary: str, session: str) -> int:
        """Keep what a host handed over after a compaction; returns the proposal's number.

        0 where it says nothing, a memory says it already, or it was proposed before, whatever
        became of that: hosts, and hooks that are run again, tell of one compaction twice. Secrets
        are taken out. Raises WriteError where it is not kept: as many wait as may, the settings
        want none.
        """
        text = plain(summary)
        if self._detector is not None:
            text = redacted(text, self._detector.find(text))
        if not text:
            return 0
        title, text = kept(text, self._language)
        draft = Draft(text, "project", "project", title, category="task_summary")
        asker = Asker(SOURCE, session, self._agent)
        try:
            return self._writes().propose(Write(ADD, (draft,)), asker, once=True).proposal
        except WriteError as error:
            if error.code != "DUPLICATE":
                raise
            return 0
