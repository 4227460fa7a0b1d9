"""Past conversations beside the memories that a search found: a few snippets, marked as what they
are, below them and within what is left of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from recall.core import sink
from recall.core.messages import say
from recall.core.question import ask
from recall.core.reconcile import window_digest
from recall.core.redaction import redacted
from recall.core.said import Said
from recall.core.talks import Searchable, Talk
from recall.core.tokens import estimate_tokens
from recall.core.window import place
from recall.engine.relevance import Relevance

if TYPE_CHECKING:
    from recall.core.conversation import Conversation
    from recall.engine.ports import Detector, Past, Store
    from recall.engine.request import SearchRequest

SNIPPETS: Final = 5
CHARACTERS: Final = 300
"""Snippets of an answer, and characters of one (DESIGN.md, 11)."""
OF_ONE: Final = 3
"""Snippets of one conversation: others have a say too."""
TELLING: Final = 0.5
TELLING_GRAMS: Final = 0.3
"""The least share of a question's weight that a message must hold; memories, which somebody wrote
to be found, need less (engine/relevance.py)."""
LOOKED_AT: Final = 40
"""Messages that are looked at closely for one keyword: those that hold most of it."""
_ENVELOPE = 400
_READY = 16
"""Conversations that are kept folded."""
_SCOPE = "project"
"""What was said in a project belongs to it."""


class _Hit(NamedTuple):
    """One message that answers."""

    score: float
    talk: Talk
    number: int
    """Which message of the conversation, the newest first."""
    said: Said
    spans: list[tuple[int, int, int]]


class History:
    """Past conversations of one project, for the searches of its sessions."""

    def __init__(self, past: Past, language: str = "en", detector: Detector | None = None) -> None:
        """`detector` finds secrets, which are taken out of snippets."""
        self._past = past
        self._detector = detector
        self._language = language
        self._ready: dict[tuple[str, str], tuple[tuple[Said, ...], Searchable]] = {}

    def add(
        self,
        answer: dict[str, Any],
        request: SearchRequest,
        store: Store,
        talk: Conversation,
        session: str,
        room: int,
    ) -> None:
        """Put what was said about the keywords below the memories, in `room` characters of JSON.

        `session` is who asks, which is never looked through. A search of some categories, or of
        other scopes than the project's, is about memories alone.
        """
        if request.categories or (request.scopes and _SCOPE not in request.scopes):
            return
        talks = self._past.talks(session)
        out: dict[str, Any] = {
            "note": say("history.note", self._language),
            "conversations": len(talks.found),
        }
        if talks.unread:
            out["unread"] = talks.unread
        out["results"] = results = []
        room -= len(sink.json_text(out)) + _ENVELOPE
        here = {one.text for one in talks.here}
        chosen = self._chosen(talks.found, request, store, here)
        for number, hit in enumerate(chosen):
            result = self._result(hit, talk)
            room -= len(sink.json_text(result)) + 1
            if room < 0:
                out["omitted"] = len(chosen) - number
                break
            if "text" in result:
                _handed(hit, result["text"], talk)
            results.append(result)
        answer["history"] = out

    # --- finding

    def _chosen(
        self, talks: tuple[Talk, ...], request: SearchRequest, store: Store, here: set[str]
    ) -> list[_Hit]:
        """Return the best messages, no text twice and none that stands in the asking one."""
        asked = {keyword: ask(keyword) for keyword in request.keywords}
        questions = {keyword: one for keyword, one in asked.items() if not one.empty}
        relevance = Relevance(store, questions)
        found = list(self._hits(talks, relevance))
        found.sort(key=lambda hit: (-hit.score, -hit.talk.at, hit.number))
        seen, chosen, of_one = set(here), list[_Hit](), dict[str, int]()
        for hit in found:
            times = of_one.get(hit.talk.id, 0)
            if hit.said.text in seen or times == OF_ONE:
                continue
            seen.add(hit.said.text)
            of_one[hit.talk.id] = times + 1
            chosen.append(hit)
            if len(chosen) == SNIPPETS:
                break
        return chosen

    def _hits(self, talks: Iterable[Talk], relevance: Relevance) -> Iterator[_Hit]:
        """Yield the messages that hold enough of a keyword, each as often as it does so."""
        texts = [(talk, self._searchable(talk)) for talk in talks]
        for keyword, matcher in relevance.matchers.items():
            least = TELLING_GRAMS if matcher.has_grams else TELLING
            likely: list[tuple[float, float, int, int]] = []
            for place_in, (talk, text) in enumerate(texts):
                held: dict[int, list[int]] = {}
                for term, number in matcher.parts(text.folded, text.starts):
                    held.setdefault(number, []).append(term)
                shares = ((n, relevance.share_of(keyword, terms)) for n, terms in held.items())
                likely += [(-s, -talk.at, n, place_in) for n, s in shares if s >= least]
            for share, _, number, place_in in nsmallest(LOOKED_AT, likely):
                talk, text = texts[place_in]
                spans = matcher.spans(text.message(number))
                whole = any(term < 0 for _, _, term in spans)  # it stands there as a phrase
                yield _Hit(whole - share, talk, number, text.said[number], spans)

    def _searchable(self, talk: Talk) -> Searchable:
        """Return the conversation folded; kept as long as nothing is added to it."""
        key = (talk.host, talk.id)
        known = self._ready.get(key)
        if known is None or known[0] is not talk.said:
            while len(self._ready) >= _READY:
                self._ready.pop(next(iter(self._ready)))
            self._ready[key] = known = talk.said, Searchable.of(talk)
        return known[1]

    # --- telling

    def _result(self, hit: _Hit, talk: Conversation) -> dict[str, Any]:
        out: dict[str, Any] = {
            "source": "history",
            "host": hit.talk.host,
            "conversation": sink.metadata(hit.talk.id, 64),
            "at": sink.metadata(hit.said.at, 32),
            "who": hit.said.who,
        }
        start, end = _window(hit)
        if talk.residency.covered(*_name(hit)).covers(start, end):
            return out | {"alreadyAvailable": True}
        return out | {"text": sink.passage(self._clean(hit.said.text, start, end))}

    def _clean(self, text: str, start: int, end: int) -> str:
        """Return [start, end) of the text, secrets taken out, also one that begins before it."""
        if self._detector is None:
            return text[start:end]
        inside = [
            (kind, max(low, start) - start, min(high, end) - start)
            for kind, low, high in self._detector.find(text)
            if low < end and high > start
        ]
        return redacted(text[start:end], inside)


def _handed(hit: _Hit, text: str, talk: Conversation) -> None:
    """Note a snippet that is handed over: it stands in the conversation from now on."""
    start, end = _window(hit)
    total, tokens = len(hit.said.text), estimate_tokens(text)
    talk.handed(*_name(hit), start, end, total, window_digest(text), tokens)


def _window(hit: _Hit) -> tuple[int, int]:
    """Return where the snippet lies in its message, no blanks around it."""
    text = hit.said.text
    start, end = place(text, hit.spans, CHARACTERS, CHARACTERS // 4)
    whole = text[start:end]
    return start + len(whole) - len(whole.lstrip()), start + len(whole.rstrip())


def _name(hit: _Hit) -> tuple[str, str]:
    """Return what stands for ref and version of a message in what a conversation holds."""
    ref = f"history:{hit.talk.host}:{sink.metadata(hit.talk.id, 64)}"
    return ref, f"m{window_digest(hit.said.text)[:16]}"
