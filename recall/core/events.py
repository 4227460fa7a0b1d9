"""What telemetry tells: one immutable value for each thing that was done.

An event holds how long it took, how large it was and how it ended. It holds no text of a memory,
no question and no ref: what was asked and what is remembered stays where it is. Standard library
only, so that any layer may make one.

Nobody makes an event that nobody wants: who could emit one has an `Emit` or None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events have. `corpus` and `at` are filled in by whoever hands them to sinks."""

    kind: ClassVar[str] = ""

    ms: float = 0.0
    """Wall time, in milliseconds."""
    outcome: str = OK
    """`ok`, or the code of the error that ended it."""
    session: str = ""
    """The conversation's id; empty where there is none, or where it is this process's alone."""
    corpus: str = ""
    """The name of the corpus's cache folder: a digest of its roots."""
    at: float = 0.0
    """When it ended, as a Unix time."""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON-ready values, its kind first; times in ms, 3 decimals."""
        out: dict[str, Any] = {"event": self.kind}
        for one in fields(self):
            value = getattr(self, one.name)
            out[one.name] = round(value, 3) if isinstance(value, float) else value
        return out


Emit = Callable[[Event], None]
"""Takes one event. Called from whichever thread did the work, when it is done: no lock is held,
but for the store's own while it builds a damaged index anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Event):
    """The roots were walked, and what differs was recorded."""

    kind: ClassVar[str] = "scan"

    files: int = 0
    """Files that the walk found to be memories."""
    read: int = 0
    """Files that were opened."""
    parsed: int = 0
    """Files of which there was something to record."""
    memories: int = 0
    """Memories in the snapshot."""
    fresh: bool = True
    """False where another process was in the way, and the last commit was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusChosen(Event):
    """Leaves were chosen for a turn: by the fast path, or by a selector (a model)."""

    kind: ClassVar[str] = "focus"

    path: str = "fast"
    """`fast` or `model`."""
    candidates: int = 0
    """Memories that were considered."""
    chosen: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryMade(Event):
    """A delivery was prepared, confirmed or rolled back. Sizes in characters and in tokens.

    Tokens are estimates. A confirmation that no longer counts has the outcome `NOT_COUNTED`.
    """

    kind: ClassVar[str] = "delivery"

    step: str = "prepared"
    """`prepared`, `confirmed` or `rolled_back`."""
    router: int = 0
    router_tokens: int = 0
    focus: int = 0
    focus_tokens: int = 0
    saved: int = 0
    """Characters of metadata that stood in the conversation already, and were not sent."""
    bodies: int = 0
    bodies_tokens: int = 0
    """Bodies of legacy recall; its flat index counts as `router`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswered(Event):
    """One call of search_memory."""

    kind: ClassVar[str] = "search"

    mode: str = ""
    """`fetch`, `search`, `explore`; empty where the call named none of them."""
    results: int = 0
    """Results of a fetch or a search, branches of an explore."""
    characters: int = 0
    """Characters of bodies that were handed over."""
    spared: int = 0
    """Characters of bodies that were not, because the conversation holds them."""
    duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration(Event):
    """A batch of memories was given metadata of their own, or a migration was taken back."""

    kind: ClassVar[str] = "migration"

    step: str = "batch"
    """`batch`, `undo`."""
    annotator: str = ""
    files: int = 0
    changed: int = 0
    conflicts: int = 0
    failed: int = 0
    tokens: int = 0
    """Tokens that a model used, as it reports them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeTransition(Event):
    """A step of the way from one mode to another."""

    kind: ClassVar[str] = "mode"

    step: str = "prepare"
    """`prepare`, `confirm`, `commit` or `rollback`."""
    before: str = ""
    after: str = ""
    ready: int = 0
    """Structured memories, of all `memories`; both 0 where the step looked at none."""
    memories: int = 0


KINDS = (Scan, FocusChosen, DeliveryMade, SearchAnswered, Migration, ModeTransition)


def outcome_of(error: BaseException) -> str:
    """Return how something ended that raised: the error's code, or its class if it has none."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) else type(error).__name__
