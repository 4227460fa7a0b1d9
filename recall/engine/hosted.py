"""A conversation inside somebody else's agent, seen through its hooks.

A host tells when a session starts, a prompt comes, a compaction is done. What a hook answers
counts as delivered at once, since no later event says that it was; where the host keeps a
transcript, the next hook looks there, and what did not arrive is sent again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from recall.core.conversation import Conversation, Prepared
from recall.core.evidence import Glimpse
from recall.core.hosts import Host
from recall.core.modes import STRUCTURED
from recall.core.snapshot import Snapshot
from recall.engine.delivery import Delivery, as_prepared, compose, nothing
from recall.engine.focusing import asked
from recall.engine.switching import Excused, begin, nobody
from recall.settings import Settings

if TYPE_CHECKING:
    from recall.core.events import Emit
    from recall.engine.ports import Ledger, Sessions, Store
    from recall.engine.recording import Ledgers

CLEARED, COMPACTED = "clear", "compact"
"""Sources of a session's start; anything else begins a conversation."""
_BY_START, _BY_EVENT = "start", "event"
"""What told of a compaction: a session's start, or an event of its own. Hosts send both, some the
one first and some the other; the second tells nothing new."""


class Transcript(Protocol):
    """What a host wrote down of the conversation. It may lag behind."""

    def size(self) -> int:
        """Return its length in bytes; 0 where there is none yet."""

    def since(self, position: int, texts: Mapping[str, str]) -> Glimpse:
        """Return what stands there from a position on; `texts` are deliveries by id."""


class HostedSession:
    """One host's session. Each call is one hook; it returns the text to inject, often none."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        sessions: Sessions,
        id: str,
        host: Host,
        transcript: Transcript | None = None,
        emit: Emit | None = None,
        *,
        excused: Excused = nobody,
        loaded: Callable[[], Collection[int]] = tuple,
        pending: Callable[[], int] = nothing,
        ledger: Ledgers | None = None,
    ) -> None:
        """`excused` names the legacy memories that can't be migrated.

        `loaded` gives the roots whose flat index the host loads by itself; asked only in legacy
        mode. `pending` counts the proposals that wait for the user. `ledger` gives the audit, where
        deliveries are recorded.
        """
        self._pending = pending
        self._excused = excused
        self._loaded = loaded
        self._store = store
        self._settings = settings
        self._sessions = sessions
        self._id = id
        self._host = host
        self._transcript = transcript
        self._emit = emit
        self._ledger = ledger
        self._handed: list[Prepared] = []
        self._made: list[Delivery] = []
        self._missed: list[Prepared] = []
        self._seen: Snapshot | None = None
        self._recorded = 0  # compactions that the transcript shows

    def started(self, source: str) -> str:
        """Return what a session's start injects, unless the conversation holds it.

        That is the tree, in legacy mode the flat index.
        """
        snapshot = self._store.refresh()
        with self._held() as talk:
            if source == COMPACTED:
                if self._look(talk):
                    talk.compacted_by = _BY_START
                elif not (self._host.recorded_at_start and self._recorded):
                    _compacted(talk, _BY_START)
            elif source == CLEARED:
                talk.compacted()
                self._look(talk)
            else:
                self._look(talk)
            anchored = self._host.start_anchored
            if anchored and source != COMPACTED:
                talk.weigh_anchor()  # a process that begins, or a clear, has none
            text = self._deliver(snapshot, talk, "", anchored=anchored)
            if not text:
                self._made.clear()  # nothing was due
            return text

    def prompted(self, prompt: str, recent_tools: Collection[str] = ()) -> str:
        """Return what a prompt injects: the tree if it is due, and what bears on the question."""
        query = "" if _is_command(prompt) else prompt
        snapshot = self._store.refresh(index=asked(query) is not None)
        with self._held(asked=bool(query.strip())) as talk:
            talk.next_turn()
            self._look(talk)
            return self._deliver(snapshot, talk, query, recent_tools)

    def compacting(self) -> None:
        """Note that a compaction begins. It may fail; the host, or its transcript, will tell."""
        with self._held() as talk:
            self._look(talk)
            talk.compacted_by = ""

    def compacted(self) -> None:
        """Note that the conversation was compacted."""
        with self._held() as talk:
            _compacted(talk, _BY_EVENT)

    def unsaid(self, printed: str) -> None:
        """Note that what a hook answered was not handed over; `printed` holds the text."""
        with self._held() as talk:
            gone = [one for one in talk.delivered.values() if one.id in printed]
            self._missed = gone
            talk.looked((), {one.id for one in gone})

    # --- steps

    @contextmanager
    def _held(self, *, asked: bool = False) -> Iterator[Conversation]:
        """Hold the conversation, and tell afterwards what was delivered and what never arrived."""
        start = time.perf_counter()
        self._made, self._missed, self._seen, self._handed = [], [], None, []
        with self._sessions.hold(self._id) as talk:
            yield talk
            steps = talk.steps
        if self._ledger and (self._handed or self._missed):
            self._record(self._ledger())
        if self._emit:
            from recall.engine.telling import Telling  # a hook's process mostly has no use for it

            tell = Telling(self._emit, self._id)
            tell.switched(steps, start, self._seen)
            for missed in self._missed:
                tell.settled("rolled_back", missed.cost, start, counted=True)
            for made in self._made:
                tell.prepared(made, start, focus=asked)
                if made.text:
                    tell.settled("confirmed", made.cost, start, counted=True)

    def _record(self, ledger: Ledger) -> None:
        """Write into the audit what is about to be printed, and what did not arrive before."""
        from recall.engine.recording import delivered, undelivered

        host, outcome = self._host.name, f"handed to {self._host.name}"
        lost = [undelivered(one, self._id, host) for one in self._missed]
        ledger.note([*lost, *(delivered(one, self._id, outcome, host) for one in self._handed)])

    def _deliver(
        self,
        snapshot: Snapshot,
        talk: Conversation,
        query: str,
        recent_tools: Collection[str] = (),
        *,
        anchored: bool = False,
    ) -> str:
        self._seen = snapshot
        known = talk.revision or talk.indexed
        if not snapshot.memories and not known and snapshot.status.complete:
            return ""
        mode = begin(snapshot, self._settings.mode, talk, self._excused)
        loaded = () if mode == STRUCTURED else self._loaded()
        most = self._host.most
        while True:
            delivery = compose(
                self._store,
                snapshot,
                self._settings,
                talk,
                query,
                recent_tools,
                most=most,
                mode=mode,
                pending=self._pending,
                loaded=loaded,
            )
            size = self._host.size(delivery.text)
            if size <= self._host.most:
                break
            most = min(most - 1, most * self._host.most // size)
        self._made.append(delivery)
        if not delivery.text:
            talk.arrive_at(mode)  # nothing has to be sent for it
        else:
            looks = self._transcript is not None and not anchored
            position = self._transcript.size() if self._transcript else -1
            prepared = as_prepared(delivery, talk)
            prepared = prepared._replace(anchored=anchored, position=position, seen=not looks)
            talk.hand(prepared, mode)
            self._handed.append(prepared)
        return delivery.text

    def _look(self, talk: Conversation) -> bool:
        """Take from the transcript what it shows of compactions and of what was handed over.

        Returns whether it shows a compaction that was not known of.
        """
        if self._transcript is None:
            return False
        unseen = {one.id: one for one in talk.delivered.values() if not one.seen}
        starts = [one.position for one in unseen.values()]
        texts = {one.id: one.text for one in unseen.values()}
        glimpse = self._transcript.since(min(starts, default=self._transcript.size()), texts)
        self._recorded = glimpse.boundaries
        if talk.boundaries < 0:
            talk.boundaries = glimpse.boundaries
        elif glimpse.boundaries > talk.boundaries:
            talk.boundaries = glimpse.boundaries
            talk.compacted()  # no hook told of it
            return True
        missing = {
            one.id
            for one in unseen.values()
            if one.id not in glimpse.told and glimpse.replied >= one.position
        }
        self._missed = [one for id, one in unseen.items() if id in missing]
        talk.looked(glimpse.told, missing)
        return False


def _compacted(talk: Conversation, by: str) -> None:
    if talk.compacted_by in ("", by):
        talk.compacted()
        talk.boundaries += talk.boundaries >= 0  # the transcript records it now or soon
        talk.compacted_by = by
    else:
        talk.compacted_by = ""


def _is_command(prompt: str) -> bool:
    """Tell whether the prompt is a command to the host (`/model`), not a question.

    A path (`/etc/hosts is wrong`) is none.
    """
    word = prompt.split(maxsplit=1)[0] if prompt.strip() else ""
    return word.startswith("/") and "/" not in word[1:] and "." not in word
