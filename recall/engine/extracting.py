"""Memories that a conversation holds, as proposals: portion by portion, never a write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from recall.core.extraction import PORTIONS, Proposed, portions
from recall.core.nearness import Known, near
from recall.core.redaction import redacted
from recall.core.said import Said
from recall.core.vocabulary import Vocabulary
from recall.core.writing import ADD, PROPOSED, Asker, Draft, Write
from recall.errors import AnnotationError, WriteError
from recall.structs import replace

if TYPE_CHECKING:
    from recall.core.snapshot import Snapshot
    from recall.engine.ports import Detector, Extractor, Store
    from recall.engine.writing import WriteService

SOURCE: Final = "extract"
MOST: Final = 20
"""Memories that one run proposes at most."""


class Outcome(NamedTuple):
    """What became of one memory that the model proposed."""

    title: str
    quote: str
    state: str
    """`proposed`; `known`: a memory says it already; `seen`: it was proposed before; `refused`."""
    proposal: int = 0
    ref: str = ""
    """The memory that says it already."""
    why: str = ""
    warnings: tuple[str, ...] = ()


class Failed(NamedTuple):
    """A portion that gave nothing: its number, from 1, and why."""

    portion: int
    why: str
    fix: str = ""


class Extraction(NamedTuple):
    """What came of a conversation."""

    messages: int
    portions: int
    left_out: int
    """Portions that were not sent: older than the newest PORTIONS, or past the end of a run."""
    outcomes: tuple[Outcome, ...]
    failed: tuple[Failed, ...]
    stopped: str = ""
    """Why the run ended before its end; empty where it did not."""


class Extracting:
    """Extracts from conversations about one corpus."""

    def __init__(
        self,
        store: Store,
        writes: Callable[[], WriteService],
        detector: Detector | None = None,
        *,
        agent: str = "",
        scope: str = "",
    ) -> None:
        """`scope` is where all of it belongs; empty: where each type does."""
        self._store = store
        self._writes = writes
        self._detector = detector
        self._agent = agent
        self._scope = scope

    def sent(self, said: Sequence[Said]) -> tuple[list[list[Said]], int]:
        """Return the portions that are sent of a conversation, without secrets, and how many
        older ones are not.
        """
        if self._detector is not None:
            find = self._detector.find
            said = [one._replace(text=redacted(one.text, find(one.text))) for one in said]
        every = portions(said)
        return every[-PORTIONS:], max(0, len(every) - PORTIONS)

    def vocabulary(self) -> Vocabulary:
        """Return the keywords in use."""
        return Vocabulary.of(self._store.refresh().memories.values())

    def run(
        self,
        said: Sequence[Said],
        extractor: Extractor,
        session: str = "",
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> Extraction:
        """Ask about a conversation, and keep what comes back as proposals.

        A portion that fails leaves the others; a failure that every other would share ends the
        run. `progress` is told how many portions of how many are done.
        """
        sent, left_out = self.sent(said)
        asker = Asker(SOURCE, session, self._agent)
        words = self.vocabulary()
        outcomes: list[Outcome] = []
        failed: list[Failed] = []
        drafts: list[Draft] = []
        stopped = ""
        done = 0
        for number, portion in enumerate(sent, 1):
            try:
                found = extractor.extract(portion, words)
            except AnnotationError as error:
                failed.append(Failed(number, error.message, error.fix or ""))
                if error.stop:
                    stopped = error.message
                    break
                continue
            finally:
                progress(number, len(sent))
            done = number
            if not found.proposed and found.faults:
                failed.append(Failed(number, " ".join(found.faults[:2])))
            for outcome in self._kept(found.proposed, asker, drafts):
                outcomes.append(outcome)
                stopped = outcome.why if outcome.state == "left" else stopped
            if stopped:
                break
        left_out += len(sent) - done if stopped else 0
        kept = tuple(one for one in outcomes if one.state != "left")
        return Extraction(len(said), len(sent), left_out, kept, tuple(failed), stopped)

    def _kept(
        self, proposed: Sequence[Proposed], asker: Asker, drafts: list[Draft]
    ) -> Iterator[Outcome]:
        for one in proposed:
            if len(drafts) >= MOST:
                yield Outcome("", "", "left", why=f"{MOST} memories are proposed: that is enough")
                return
            yield self._proposed(one, asker, drafts)

    def _proposed(self, one: Proposed, asker: Asker, drafts: list[Draft]) -> Outcome:
        """Make one memory a proposal; `drafts` are those of this run so far."""
        draft = replace(one.draft, scope=self._scope)
        outcome = Outcome(draft.title, one.quote, "proposed")
        known = (Known(str(n), other.title, other.text or "") for n, other in enumerate(drafts))
        if any(like.certain for like in near(draft.title, draft.text or "", known)):
            return outcome._replace(state="seen", why="It is in this conversation twice.")
        try:
            done = self._writes().propose(Write(ADD, (draft,)), asker, once=True)
        except WriteError as error:
            if error.code == "TOO_MANY_PROPOSALS":
                return outcome._replace(state="left", why=error.message)
            if error.code == "DUPLICATE":
                ref = str(error.details().get("ref", ""))
                return outcome._replace(state="known", ref=ref, why=error.message)
            return outcome._replace(state="refused", why=error.message)
        if done.outcome != PROPOSED:
            return outcome._replace(state="seen", why="It was proposed before.")
        drafts.append(draft)
        warnings = tuple(flag.message for flag in done.flags)
        return outcome._replace(proposal=done.proposal, warnings=warnings)


def categories_in(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the categories in use."""
    return tuple(dict.fromkeys(memory.category for memory in snapshot.memories.values()))
