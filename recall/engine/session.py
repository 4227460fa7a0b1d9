"""One conversation: search_memory with its budgets, duplicates and what is already resident."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Mapping
from typing import Any

from recall.core.cursor import CursorSigner
from recall.core.messages import say
from recall.engine.explore import explore
from recall.engine.fetch import fetch
from recall.engine.ports import Reranker, Store
from recall.engine.request import (
    ExploreRequest,
    FetchRequest,
    Request,
    SearchRequest,
    parse_request,
)
from recall.engine.search import search
from recall.engine.turn import Conversation
from recall.settings import Settings


class Session:
    """The state of one conversation over one store. Safe to call from several threads.

    Calls work on a copy of the state, so that a call that fails has handed nothing over.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        signer: CursorSigner,
        reranker: Reranker | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._signer = signer
        self._reranker = reranker
        self._talk = Conversation()
        self._lock = threading.Lock()

    def next_turn(self) -> None:
        """Begin a turn: its reading budgets and duplicate marks start anew."""
        with self._lock:
            self._talk.next_turn()

    def compacted(self) -> None:
        """Note that the conversation was compacted: nothing is resident any more."""
        with self._lock:
            self._talk.compacted()

    def search_memory(self, /, **parameters: Any) -> dict[str, Any]:
        """Answer one call of the tool; see docs/search-memory.md.

        Returns the result as JSON-ready values, at most about 25,000 characters of JSON. Raises
        RequestError for parameters that can't be served, InvalidCursor and StaleCursor.
        """
        request = parse_request(parameters, self._settings.limits)
        with self._lock:
            talk = copy.copy(self._talk)
            talk.turn = copy.deepcopy(self._talk.turn)
            answer = self._answer(request, parameters, talk)
            self._talk = talk
        return answer

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
        return search(
            request, self._store, snapshot, self._settings, self._signer, talk, self._reranker
        )
