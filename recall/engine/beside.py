"""An external service asked beside recall's own search: below its results, within its bounds.

It is asked in a thread when the search begins. When the search is done it is waited for until the
deadline, counted from the beginning, and no longer; what comes later is not heard.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from recall.core.external import Item, shown
from recall.core.messages import say
from recall.core.sink import json_text
from recall.errors import ProviderError, RecallError
from recall.settings import Settings

if TYPE_CHECKING:
    from recall.engine.ports import Provider

_FRAME = 600  # characters of JSON around the results


class Beside:
    """One question under way. `provider` is asked for in the thread: making one may take long."""

    def __init__(self, provider: Callable[[], Provider], query: str, wait_ms: int) -> None:
        self._until = time.monotonic() + wait_ms / 1_000
        self._provider = provider
        self._heard: queue.SimpleQueue[tuple[str, Sequence[Item] | RecallError]] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._ask, args=(query,), daemon=True).start()

    def _ask(self, query: str) -> None:
        source = ""
        try:
            provider = self._provider()
            if provider.holds_key(query):
                raise ProviderError("The question holds the key; it was not sent.", kind="refused")
            source = provider.destination.source
            self._heard.put((source, provider.search(query)))
        except RecallError as error:
            self._heard.put((source, error))
        except Exception as error:  # noqa: BLE001  # no fault of a service is one of our search
            told = f"It failed in recall itself ({type(error).__name__})."
            self._heard.put((source, ProviderError(told)))

    def add(self, answer: dict[str, Any], settings: Settings) -> None:
        """Put what it found into a search's answer, as `external`; the answer keeps its bounds."""
        try:
            source, found = self._heard.get(timeout=max(0.0, self._until - time.monotonic()))
        except queue.Empty:
            answer["external"] = {
                "results": [],
                "late": True,
                "message": say("external.late", settings.language),
            }
            return
        told: dict[str, Any] = {"source": source} if source else {}
        if isinstance(found, RecallError):
            told |= {"results": [], "error": found.details()}
        else:
            told |= self._results(found, source, answer, settings)
        if len(json_text(answer | {"external": told})) <= settings.limits.answer:
            answer["external"] = told

    def _results(
        self, found: Sequence[Item], source: str, answer: dict[str, Any], settings: Settings
    ) -> dict[str, Any]:
        limits = settings.limits
        used = sum(len(one.get("content", "")) for one in answer.get("results", ()))
        results, omitted = shown(
            found,
            source,
            window=limits.search_window,
            total=max(0, limits.search_call - used),
            most=max(1, limits.answer - len(json_text(answer)) - _FRAME),
        )
        out: dict[str, Any] = {"results": results}
        if results:
            out["notice"] = say("external.notice", settings.language)
        return out | ({"omitted": omitted} if omitted else {})
