"""One conversation behind the MCP server, which is told of calls and of nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from recall.engine.ports import Answerer
from recall.engine.request import Request, parse_request
from recall.engine.session import Session
from recall.settings import Limits

QUIET_S = 60.0
"""A turn ends when no call came for so long: between two calls of one turn a model thinks."""
TURN_S = 600.0
"""A turn is never longer, however busy: what its limits withhold can be read after that."""

Clock = Callable[[], float]


class Talk:
    """One conversation as a server sees it: calls alone, neither turns nor compactions.

    Nothing may be withheld for ever:

    - Unless hooks tell of turns (`hooked`), a new turn begins with the first call after QUIET_S
      without one, and with the first that comes TURN_S after the turn began: its reading limits
      start anew.
    - An answer that only points at what was handed over before (`alreadyAvailable`,
      `duplicateRequest`) is given once. The same request again within the turn means that the
      text is gone from the conversation, as when a host clears old tool results: every body
      counts as gone and is handed over anew. Once a turn, so that a model that asks in a loop
      meets its limits.
    - So it does when a call was cancelled: its answer may never have arrived.

    Safe to call from several threads. `clock` gives seconds that never go back.
    """

    def __init__(
        self,
        session: Session,
        limits: Limits,
        clock: Clock = time.monotonic,
        *,
        hooked: bool = False,
    ) -> None:
        self._session = session
        self._hooked = hooked
        self._number = -1
        self._limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._began = self._ended = float("-inf")
        self._pointed: set[Request] = set()
        self._renewed = False
        self._unheard = False

    def answer(self, parameters: dict[str, Any], left: threading.Event) -> dict[str, Any]:
        """Return the answer to one call; raises what `Session.search_memory` raises.

        Where who asked has `left` before it is the call's turn, nothing is done.
        """
        request = parse_request(parameters, self._limits)
        with self._lock:
            if left.is_set():
                return {}
            self._turn()
            if request in self._pointed and not self._renewed:
                self._forget()
                self._renewed = True
            try:
                answer = self._session.search_memory(**parameters)
            finally:
                self._ended = self._clock()
            if _only_points(answer):
                self._pointed.add(request)
        return answer

    def manage(self, parameters: dict[str, Any], answerer: Answerer | None) -> dict[str, Any]:
        """Return the answer to one call of manage_memory; raises what `Session` raises.

        Other calls go on meanwhile: a person who is asked may take minutes.
        """
        with self._lock:
            self._turn()
        try:
            return self._session.manage_memory(answerer, **parameters)
        finally:
            with self._lock:
                self._ended = self._clock()

    def unheard(self) -> None:
        """Note that an answer did not or will not reach the conversation. Never blocks."""
        self._unheard = True

    def forget(self) -> None:
        """Note that no body that was handed over is in the conversation any more."""
        with self._lock:
            self._forget()

    def _turn(self) -> None:
        if self._unheard:
            self._unheard = False
            self._forget()
        if self._turned():
            self._pointed.clear()
            self._renewed = False

    def _turned(self) -> bool:
        """Tell whether a turn has begun since the last call, and begin it if nobody else does.

        Whoever shares the session may have begun it: hooks, or a loop that holds it.
        """
        number, now = self._session.number, self._clock()
        begun = number != self._number
        quiet = now - self._ended >= QUIET_S or now - self._began >= TURN_S
        if not begun and (self._hooked or not quiet):
            return False
        if not begun:
            self._session.next_turn()
            number += 1
        self._number, self._began = number, now
        return True

    def _forget(self) -> None:
        self._session.evict()
        self._pointed.clear()


def _only_points(answer: dict[str, Any]) -> bool:
    results = [*answer.get("results", ()), *answer.get("history", {}).get("results", ())]
    return bool(
        answer.get("duplicateRequest")
        or (results and all(result.get("alreadyAvailable") for result in results))
    )
