"""One conversation over one store: deliveries, search_memory, compaction.

delivery = session.begin_turn("how do we deploy to staging?")
…                                # the host sends delivery.text with the user's message
session.confirm(delivery)        # or session.rollback(delivery)
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from recall.core.conversation import Conversation, Prepared
from recall.core.cursor import CursorSigner
from recall.core.messages import say
from recall.core.modes import STRUCTURED
from recall.core.reconcile import Held, Injected, Sent, held
from recall.core.sink import json_text
from recall.core.writing import Asker
from recall.engine.delivery import Delivery, compose, nothing, prepare, prepare_late
from recall.engine.explore import explore
from recall.engine.fetch import fetch
from recall.engine.memory_sessions import MemorySessions
from recall.engine.ports import Answerer, Meaning, Provider, Reranker, Selector, Sessions, Store
from recall.engine.reading import spared
from recall.engine.request import (
    ExploreRequest,
    FetchRequest,
    Request,
    SearchRequest,
    parse_request,
)
from recall.engine.search import search
from recall.engine.switching import Excused, begin, mode_of, nobody
from recall.errors import RequestError
from recall.settings import Settings

if TYPE_CHECKING:  # what most processes have no use for is not imported
    from recall.core.events import Emit
    from recall.engine.beside import Beside
    from recall.engine.history import History
    from recall.engine.managing import Managing
    from recall.engine.recording import Ledgers
    from recall.engine.selecting import Selecting
    from recall.engine.telling import Telling
    from recall.engine.writing import WriteService


class Session:
    """The state of one conversation over one store. Safe to call from several threads.

    Calls work on a copy of the state: one that fails has handed nothing over.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        signer: CursorSigner,
        reranker: Reranker | None = None,
        *,
        sessions: Sessions | None = None,
        id: str = "",
        emit: Emit | None = None,
        selector: Selector | None = None,
        selector_ms: int = 5_000,
        excused: Excused = nobody,
        after_turn: Callable[[], object] | None = None,
        writes: Callable[[], WriteService] | None = None,
        pending: Callable[[], int] = nothing,
        ledger: Ledgers | None = None,
        history: History | None = None,
        provider: Callable[[], Provider] | None = None,
        meaning: Meaning | None = None,
    ) -> None:
        """`emit` takes telemetry's events. `selector_ms` is how long a selector may take.

        `excused` names the legacy memories that can't be migrated: they don't keep the
        conversation from structured recall. `after_turn` is called when a delivery was confirmed;
        it must not wait. `writes` gives the one passage of writes, for manage_memory; `pending`
        counts the proposals that wait for the user. `ledger` gives the audit, where deliveries and
        recalls are recorded. `history` puts past conversations below what a search found.
        recalls are recorded. `provider` gives the external service that searches ask too, for as
        long as the settings let them wait. `meaning` finds by meaning beside the words.
        """
        self.id = id
        self._store = store
        self._settings = settings
        self._signer = signer
        self._reranker = reranker
        self._sessions = sessions or MemorySessions()
        self._after_turn = after_turn
        self._ledger = ledger
        self._history = history
        self._provider = provider
        self._meaning = meaning
        self._excused = excused
        self._pending = pending
        self._writes = writes
        self._managing: Managing | None = None
        self._tell: Telling | None = None
        self.selecting: Selecting | None = None
        """The selector's questions; None without a selector."""
        if emit is not None:
            from recall.engine.telling import Telling

            self._tell = Telling(emit, id)
        if selector is not None:
            from recall.engine.selecting import Selecting

            self.selecting = Selecting(selector, store, selector_ms, id, emit)

    # --- turns

    def begin_turn(self, query: str = "", *, recent_tools: Collection[str] = ()) -> Delivery:
        """Begin a turn and return what it should inject; `delivery.text` may be empty.

        In structured mode it holds the tree if the conversation has not confirmed the current
        one, and a focus if memories are relevant to `query`; in legacy mode the flat index and
        bodies. Which mode it is in is decided here, at the turn's start (docs/modes.md). A delivery
        counts as sent once it is confirmed; until then the same is offered again. Turns may
        overlap: each delivery is confirmed on its own.
        """
        start = time.perf_counter()
        snapshot = self._store.refresh(index=True)
        selected = self.selecting.finished() if self.selecting else None
        late = selected.refs if selected else ()
        with self._sessions.hold(self.id) as talk:
            talk.next_turn()
            mode = begin(snapshot, self._settings.mode, talk, self._excused)
            delivery = prepare(
                self._store,
                snapshot,
                self._settings,
                talk,
                query,
                recent_tools,
                late,
                mode,
                self._pending,
            )
            steps = talk.steps
        if self.selecting and mode == STRUCTURED:
            self.selecting.ask(query, snapshot, delivery.refs)
        if self._tell:
            self._tell.switched(steps, start, snapshot)
            self._tell.prepared(delivery, start, focus=bool(query.strip()))
        return delivery

    def pending_focus(self) -> Delivery | None:
        """Return what a selector chose meanwhile for this turn's question; None if nothing new.

        For a place within the turn at which the host can send something, as beside a tool's
        result. A delivery like that of `begin_turn`: it counts once it is confirmed, and is
        offered again until then, or until the next question.
        """
        selected = self.selecting.finished() if self.selecting else None
        if selected is None or not selected.refs:
            return None
        start = time.perf_counter()
        snapshot = self._store.refresh(lazy=True)
        with self._sessions.hold(self.id) as talk:
            delivery = prepare_late(selected.refs, snapshot, self._settings, talk, selected.shown)
        if self._tell and delivery:
            self._tell.prepared(delivery, start, focus=False)
        return delivery

    def preview(
        self, query: str = "", *, recent_tools: Collection[str] = (), mode: str = ""
    ) -> Delivery:
        """Return what `begin_turn` would, and note nothing: no turn has begun.

        `mode` is the one to be shown; left out, that of the next turn.
        """
        snapshot = self._store.refresh(index=True)
        talk = self._sessions.look(self.id) or Conversation()
        mode = mode or mode_of(snapshot, self._settings.mode, talk, self._excused)
        return compose(
            self._store,
            snapshot,
            self._settings,
            talk,
            query,
            recent_tools,
            mode=mode,
            pending=self._pending,
        )

    def confirm(self, delivery: Delivery | str) -> bool:
        """Note that the host really sent a delivery (or the id of one).

        Returns False where it no longer counts: unknown, rolled back, or prepared before a
        compaction. What it held is then offered again.
        """
        now = time.time()
        counted = self._settle("confirmed", _id(delivery), lambda talk, id: talk.confirm(id, now))
        if counted and self._after_turn is not None:
            self._after_turn()
        return counted

    def rollback(self, delivery: Delivery | str) -> bool:
        """Note that a delivery was not sent. Returns False where it is not known."""
        return self._settle("rolled_back", _id(delivery), Conversation.rollback)

    def _settle(self, step: str, id: str, settle: Callable[[Conversation, str], bool]) -> bool:
        start = time.perf_counter()
        with self._sessions.hold(self.id) as talk:
            waiting: Prepared | None = talk.pending.get(id)
            counted = settle(talk, id)
            steps = talk.steps
        if self._ledger and waiting and waiting.text and step == "confirmed":
            from recall.engine.recording import delivered

            outcome = "confirmed" if counted else "confirmed after a compaction"
            self._ledger().note([delivered(waiting, self.id, outcome, "session")])
        if self._tell:
            self._tell.switched(steps, start)
            self._tell.settled(step, waiting.cost if waiting else None, start, counted=counted)
        return counted

    def next_turn(self) -> None:
        """Begin a turn that injects nothing: reading budgets and duplicate marks start anew."""
        with self._sessions.hold(self.id) as talk:
            talk.next_turn()

    def compacted(self) -> None:
        """Note that the conversation was compacted: nothing is resident any more."""
        start = time.perf_counter()
        with self._sessions.hold(self.id) as talk:
            talk.compacted()
            steps = talk.steps
        if self._tell:
            self._tell.switched(steps, start)

    def evict(self) -> None:
        """Note that the bodies which were handed over are gone; tree and focuses still stand."""
        with self._sessions.hold(self.id) as talk:
            talk.evict()

    @property
    def mode(self) -> str:
        """The mode that the conversation is in: `legacy` or `structured`."""
        return (self._sessions.look(self.id) or Conversation()).mode.now

    @property
    def number(self) -> int:
        """How many turns have begun, as far as was kept; asking writes nothing."""
        talk = self._sessions.look(self.id)
        return talk.number if talk else 0

    def reconcile(self, messages: object) -> Held:
        """Evict exactly what the conversation no longer holds; returns what it does hold.

        `messages` is what the host would send now: Anthropic or OpenAI messages, or texts.
        """
        with self._sessions.hold(self.id) as talk:
            totals = {(row[0], row[1]): row[4] for row in talk.residency.to_rows()}
            sent = [
                Sent(*key, totals[key[0], key[1]], digest)
                for key, digest in talk.digests.items()
                if (key[0], key[1]) in totals
            ]
            injected = [Injected(one.id, one.text) for one in talk.delivered.values()]
            found = held(messages, sent, injected)
            # A delivery without a text can't be missed.
            empty = {one.id for one in talk.delivered.values() if not one.text}
            talk.keep_only([window[:5] for window in found.windows], {*found.deliveries, *empty})
            return found

    def report(self) -> dict[str, Any]:
        """Return what the conversation holds, received and cost, as JSON-ready values."""
        from recall.core.report import report  # a hook's process has no use for it

        return {"session": self.id, **report(self._sessions.look(self.id) or Conversation())}

    def end(self) -> None:
        """Forget the conversation."""
        if self.selecting:
            self.selecting.drop()
        self._sessions.end(self.id)

    def close(self, wait_ms: int = 0) -> None:
        """Want nothing more of the selector; see `Selecting.close`. The conversation is kept."""
        if self.selecting:
            self.selecting.close(wait_ms)

    # --- the tool

    def search_memory(self, /, **parameters: Any) -> dict[str, Any]:
        """Answer one call of the tool; see docs/search-memory.md.

        Returns the result as JSON-ready values, at most about 25,000 characters of JSON. Raises
        RequestError for parameters that can't be served, InvalidCursor and StaleCursor.
        """
        if not self._tell:
            return self._called(parameters)
        with self._tell.searched(parameters, self._settings.limits) as tell:
            return tell(self._called(parameters))

    def manage_memory(
        self, answerer: Answerer | None = None, /, **parameters: Any
    ) -> dict[str, Any]:
        """Answer one call of manage_memory; see docs/manage-memory.md.

        `answerer` can be asked for the user's approval; the model never sees it. Returns the
        result as JSON-ready values. Raises RequestError for parameters that can't be served, and
        WriteError where nothing was written.
        """
        if self._managing is None:
            if self._writes is None:
                raise RequestError("Nothing can be written here: the session only reads.")
            from recall.engine.managing import Managing

            self._managing = Managing(self._writes, self._pending, self._settings.language)
        asker = Asker("model", self.id, self._settings.agent)
        return self._managing.answer(parameters, asker, answerer, self.number)

    def _called(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        request = parse_request(parameters, self._settings.limits)
        beside = self._beside(request)
        with self._sessions.hold(self.id) as talk:
            answer = self._answer(request, parameters, talk)
            talk.spared(spared(answer, self._settings.limits))
        if beside and "duplicateRequest" not in answer:
            beside.add(answer, self._settings)
        told = ("results", "branches", "history", "external")
        if self._ledger and any(map(answer.get, told)):
            from recall.engine.recording import recalled

            self._ledger().note(list(recalled(parameters, answer, self.id)))
        return answer

    def _beside(self, request: Request) -> Beside | None:
        """Ask the external service a search's question too; not one that is about our own tree."""
        if self._provider is None or not isinstance(request, SearchRequest):
            return None
        if request.scopes or request.categories:
            return None
        from recall.engine.beside import Beside

        query = " ".join(request.keywords)
        return Beside(self._provider, query, self._settings.mem0.search_ms)

    def _answer(
        self, request: Request, parameters: Mapping[str, Any], talk: Conversation
    ) -> dict[str, Any]:
        if isinstance(request, FetchRequest):
            return fetch(request, self._store, self._settings, self._signer, talk)
        snapshot = self._store.refresh(index=isinstance(request, SearchRequest), lazy=True)
        mark = json.dumps([snapshot.generation, parameters], sort_keys=True, default=str)
        if mark in talk.turn.requests:
            return {
                "mode": parameters["mode"],
                "sourceStatus": snapshot.status_for(request.scopes).to_dict(),
                "duplicateRequest": True,
                "warnings": [say("duplicate_request", self._settings.language)],
            }
        talk.turn.requests.add(mark)
        if isinstance(request, ExploreRequest):
            return explore(request, snapshot, self._settings, self._signer)
        answer = search(
            request,
            self._store,
            snapshot,
            self._settings,
            self._signer,
            talk,
            self._reranker,
            self._meaning,
        )
        if self._history is not None:
            room = self._settings.limits.answer - len(json_text(answer))
            self._history.add(answer, request, self._store, talk, self.id, room)
        return answer


def _id(delivery: Delivery | str) -> str:
    return delivery if isinstance(delivery, str) else delivery.id
