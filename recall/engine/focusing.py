"""Choosing the leaves of a turn's focus: fast, deterministic, and often nothing.

The question is searched as a search would, bodies included; only metadata is shown. A question of
one word, a greeting, or one that no memory is about gives no focus at all.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from recall.core.conversation import Conversation
from recall.core.focus import Chosen
from recall.core.matching import fold
from recall.core.question import Question, ask
from recall.core.smalltalk import substance
from recall.core.snapshot import Snapshot
from recall.engine.finding import find
from recall.engine.others import of_others
from recall.engine.relevance import Read, Relevance, readable
from recall.engine.request import SearchRequest
from recall.model import Memory

if TYPE_CHECKING:
    from recall.engine.ports import Store

MOST = 5
"""Leaves of one focus (DESIGN.md, section 7)."""
_LONGEST = 2_000
"""Characters of a prompt that are searched: its first and last thousand."""
_LEAST_WORDS, _LEAST_GRAMS = 2, 3
_NEAR_BEST = 0.5
"""A leaf is shown if it holds at least so much of what the best one holds of the question."""

# A memory that merely describes a tool in use says what the agent already knows; one that warns
# does not (the original's "active tool" filter, ORIGINAL.md, section 7).
_USAGE = (
    *("api docs", "api reference", "parameter", "schema", "field mapping", "mcp tool", "usage"),
    *("how to use", "failed call", "用法", "参数"),
)
_WARNING = (
    *("credential", "owner", "escalat", "gotcha", "known issue", "warning", "workaround"),
    *("pitfall", "never", "do not", "don't", "broken", "注意", "警告", "不要", "陷阱"),
)


class Choice(NamedTuple):
    """The leaves of a focus, best first, and how many memories were considered."""

    leaves: list[Chosen]
    candidates: int = 0


NO_CHOICE = Choice([])


def asked(query: str) -> Question | None:
    """Return the question that a prompt asks; None for one word, a greeting, filler."""
    question = ask(substance(_ends(query)))
    if len(question.words) < _LEAST_WORDS and len(question.grams) < _LEAST_GRAMS:
        return None
    return None if question.weak else question


def choose(
    store: Store,
    snapshot: Snapshot,
    talk: Conversation,
    query: str,
    recent_tools: Collection[str] = (),
) -> Choice:
    """Return the leaves for this question, at most five, best first; often none."""
    question = asked(query)
    if question is None:
        return NO_CHOICE
    request = SearchRequest(keywords=(question.text,), limit=2 * MOST)
    found = find(store, snapshot, {question.text: question}, request)
    if found.fuzzy:
        return Choice([], len(found.memories))
    leaves = _telling(store, question, found.memories)
    tools = [fold(tool.rpartition("__")[2]) for tool in recent_tools if tool]
    kept = [read.memory for read in leaves if not _only_describes(read, tools)]
    chosen = [as_chosen(memory, talk) for memory in kept[:MOST]]
    # What has changed under the conversation comes first: it knows something that is wrong.
    first_stale = sorted(chosen, key=lambda one: one.body != "stale")
    return Choice(first_stale, len(found.memories))


def _ends(query: str) -> str:
    if len(query) <= _LONGEST:
        return query
    return f"{query[: _LONGEST // 2]} {query[-_LONGEST // 2 :]}"


def _telling(store: Store, question: Question, memories: list[Memory]) -> list[Read]:
    """Return the memories that hold enough of the question, beside the best of them."""
    relevance = Relevance(store, {question.text: question})
    found = list(readable(store, memories))
    if not relevance.any_telling(found) or of_others(relevance, found):
        return []
    shares = [relevance.share(read) for read in found]
    least = _NEAR_BEST * max(shares)
    return [read for read, share in zip(found, shares, strict=True) if share >= least]


def as_chosen(memory: Memory, talk: Conversation) -> Chosen:
    """Return the leaf with what the conversation knows of it."""
    state = talk.residency.state(memory.ref, memory.version)
    return Chosen(memory, state, talk.is_described(memory))


def _only_describes(read: Read, tools: Collection[str]) -> bool:
    if not tools:
        return False
    memory = read.memory
    text = fold(f"{memory.title}\n{memory.description}\n{read.parsed.body[:4_000]}")
    return (
        any(tool in text for tool in tools)
        and any(mark in text for mark in _USAGE)
        and not any(mark in text for mark in _WARNING)
    )
