"""search_memory, mode search: find memories by words, phrases or a short question."""

from __future__ import annotations

from itertools import chain
from typing import Any

from recall.core import sink
from recall.core.conversation import Conversation
from recall.core.cursor import CursorSigner
from recall.core.messages import say
from recall.core.question import ask
from recall.core.sink import json_text
from recall.core.snapshot import Snapshot
from recall.core.window import place
from recall.engine.categories import find_category, unknown_category
from recall.engine.finding import Found, find
from recall.engine.others import Others, of_others
from recall.engine.ports import Meaning, Reranker, Store
from recall.engine.reading import Piece, WindowReader
from recall.engine.relevance import Read, Relevance, metadata_of, readable
from recall.engine.request import SearchRequest
from recall.errors import RequestError
from recall.model import Match, Metadata, Parsed, SourceStatus
from recall.settings import Settings
from recall.structs import replace

_ENVELOPE = 1_200
_SHOWN_KEYWORD = 32
"""Characters of a keyword beside each of its matches. A keyword may be a whole question; the caller
knows which, and each result would repeat it."""
_WINDOW_COST = 2
"""JSON characters that a window may take per character of its limit."""


def search(
    request: SearchRequest,
    store: Store,
    snapshot: Snapshot,
    settings: Settings,
    signer: CursorSigner,
    talk: Conversation,
    reranker: Reranker | None = None,
    meaning: Meaning | None = None,
) -> dict[str, Any]:
    """Return the answer to one search of `snapshot`.

    Raises RequestError if no keyword holds anything that can be searched for.
    """
    questions = {keyword: ask(keyword) for keyword in request.keywords}
    usable = {keyword: one for keyword, one in questions.items() if not one.empty}
    if not usable:
        raise RequestError(
            "No keyword has a letter or a digit to search for.",
            field="keywords",
            fix="Send a word, a phrase or a short question.",
        )
    request, unknown = _with_categories(request, snapshot, settings.language)
    found = find(store, snapshot, usable, request, reranker)
    call = _Search(request, store, settings, signer, talk, found, meaning)
    answer = call.answer()
    ignored = [keyword for keyword in questions if keyword not in usable]
    if ignored:
        shown = ", ".join(sink.metadata(keyword, 40) for keyword in ignored)
        unknown.append(say("search.ignored", settings.language, keywords=shown))
    if unknown:
        answer["warnings"] = [*unknown, *answer.get("warnings", ())]
    return answer


def _with_categories(
    request: SearchRequest, snapshot: Snapshot, language: str
) -> tuple[SearchRequest, list[str]]:
    """Return the request with categories by their own names, and what to say of unknown ones.

    An unknown one stays in the request: where all are unknown, nothing is found in them.
    """
    names: list[str] = []
    warnings: list[str] = []
    for name in request.categories:
        node = find_category(snapshot.tree, name)
        names.append(node.category if node else name)
        if node is None:
            warnings.append(unknown_category(snapshot.tree, name, language))
    return replace(request, categories=tuple(names)), warnings


class _Search:
    """One call: turns what was found into bounded windows."""

    def __init__(
        self,
        request: SearchRequest,
        store: Store,
        settings: Settings,
        signer: CursorSigner,
        talk: Conversation,
        found: Found,
        meaning: Meaning | None,
    ) -> None:
        self._request = request
        self._meaning = meaning
        self._store = store
        self._settings = settings
        self._found = found
        self._reader = WindowReader(settings, signer, talk)
        self._relevance = Relevance(store, found.questions)
        self._matchers = self._relevance.matchers
        self._status = found.snapshot.status_for(request.scopes)
        self._warnings: list[str] = []
        self._left = settings.limits.search_call
        self._exhausted: list[str] = []
        self._of_others: Others | None = None

    def answer(self) -> dict[str, Any]:
        language = self._settings.language
        answer: dict[str, Any] = {"mode": "search", "sourceStatus": self._status.to_dict()}
        room = self._settings.limits.answer - len(json_text(answer)) - _ENVELOPE
        results: list[dict[str, Any]] = []
        dropped = 0
        for read in self._answering():
            result = self._result(read, room, first=not results)
            if result is None:
                dropped += 1
                continue
            results.append(result)
            room -= len(json_text(result)) + 1
        answer["results"] = results
        if dropped:
            self._warnings.append(say("results_dropped", language, count=dropped))
        if self._found.fuzzy and results:
            self._warnings.append(say("search.fuzzy", language))
        if self._exhausted:
            refs = ", ".join(self._exhausted)
            self._warnings.append(say("search.exhausted", language, refs=refs))
        if not results and not self._of_others:
            self._warnings += _nothing(self._status, language)
        if self._warnings:
            answer["warnings"] = self._warnings
        return answer

    def _answering(self) -> list[Read]:
        """Return what was found, nothing where it does not answer: then that is said."""
        found = list(readable(self._store, self._found.memories))
        if self._found.fuzzy:
            return found
        if not self._relevance.any_telling(found):
            return self._meant()
        more = readable(self._store, self._found.more)
        self._of_others = of_others(self._relevance, chain(found, more))
        if self._of_others is None:
            return found
        others = self._of_others
        asked, told = (sink.metadata(", ".join(one), 200) for one in (others.asked, others.told))
        refs = sink.metadata(others.ref, 200)
        language = self._settings.language
        self._warnings.append(say("search.of_others", language, asked=asked, told=told, refs=refs))
        return []

    def _meant(self) -> list[Read]:
        """Return what answers by meaning where the words don't; most often nothing."""
        if self._meaning is None:
            return []
        from recall.engine.meaning import meant

        memories = meant(self._meaning, self._store, self._found, self._request)
        found = list(readable(self._store, memories))
        if found:
            self._warnings.append(say("search.meant", self._settings.language))
        return found

    def _result(self, read: Read, room: int, *, first: bool) -> dict[str, Any] | None:
        """Return one result within `room` characters of JSON, None where it has no room."""
        memory, parsed, folded = read
        about = metadata_of(read)
        result: dict[str, Any] = {
            "ref": memory.ref,
            "version": parsed.version,
            "title": sink.metadata(about.title, 256),
            "matches": [m.to_dict() for m in self._matches(about, folded)],
        }
        room -= len(json_text(result)) + 3 * len(memory.ref) + _ENVELOPE
        if room <= 0 and not first:
            return None
        piece = self._piece(memory.ref, parsed, folded, max(1, room))
        self._reader.commit(memory.ref, parsed, piece)
        self._left -= piece.size
        if piece.fields.get("readLimitExhausted"):
            self._exhausted.append(memory.ref[:200])
        return result | piece.fields

    def _piece(self, ref: str, parsed: Parsed, folded: str, room: int) -> Piece:
        limits = self._settings.limits
        limit = min(limits.search_window, self._left)
        if limit <= 0:
            return Piece({})
        spans = sorted(
            span for matcher in self._matchers.values() for span in matcher.spans(folded)
        )
        start, end = place(parsed.body, spans, limit, limits.search_before)
        hits = [(a, b) for a, b, _ in spans if start <= a and b <= end]
        if self._reader.holds(ref, parsed, hits or [(start, end)]):
            return self._reader.onward(ref, parsed, start, end)
        cost = min(room, _WINDOW_COST * limits.search_window)
        return self._reader.window(ref, parsed, start, limit, until=end, cost=cost)

    def _matches(self, about: Metadata, folded: str) -> list[Match]:
        found = []
        for keyword, matcher in self._matchers.items():
            shown = sink.metadata(keyword, _SHOWN_KEYWORD)
            match = matcher.match(shown, about, folded)
            if match is not None:
                found.append(match._replace(kind="fuzzy") if self._found.fuzzy else match)
        return found


def _nothing(status: SourceStatus, language: str) -> list[str]:
    scopes = ", ".join(status.searched) or "–"
    out = [say("search.nothing", language, scopes=scopes)]
    trouble = [f"{part.scope} {part.reason}" for part in status.incomplete]
    trouble += [
        f"{gone.scope} {gone.reason}" for gone in status.unavailable if gone.reason != "disabled"
    ]
    if trouble:
        out.append(say("search.could_not_look", language, items=", ".join(trouble)))
    return out
