"""Writes as values: what is asked for, by whom, what it changes, and what came of it.

A `Write` names targets and holds drafts. Resolved against the corpus it becomes a `Plan`: whole
files before and after, which is what a person approves and what is written, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from recall.model import Memory, track_of
from recall.structs import Struct

ADD: Final = "add"
REPLACE: Final = "replace"
REMOVE: Final = "remove"
CONSOLIDATE: Final = "consolidate"
SEED: Final = "seed"
RESTORE: Final = "restore"
ACTIONS: Final = (ADD, REPLACE, REMOVE, CONSOLIDATE, SEED, RESTORE)

MACHINES: Final = ("model", "capture", "dream", "extract", "protocol")
"""Sources that are no person. `import` is a person's own command, `person` any other of his."""

OWN_PENDING: Final = {"capture": 8}
"""How many proposals of a source may wait, where that is fewer than all may (DESIGN.md, 11)."""

MAX_TEXT: Final = 100_000
"""Characters of one memory's text that is written through here."""
MAX_TARGETS: Final = 20
"""Memories that one consolidation takes together (dsh-memory-protocol/v1, 3)."""
MAX_SEEDS: Final = 1_000
"""Memories of one seed (dsh-memory-protocol/v1, 8)."""


class Draft(Struct):
    """A memory as it shall be written; what is empty is left to the annotator, or as it stands.

    `text` is the body without blank lines around it. For a replacement, None leaves the body, and
    a field that is empty stays what it was; `tags` None leaves the tags.
    """

    text: str | None = None
    scope: str = ""
    type: str = ""
    title: str = ""
    description: str = ""
    category: str = ""
    keywords: tuple[str, ...] = ()
    usage_scenarios: tuple[str, ...] = ()
    tags: tuple[str, ...] | None = None
    agent: str = ""
    source: str = ""
    pinned: bool | None = None
    id: str = ""
    """Of a new memory, once it is settled."""

    @property
    def track(self) -> str:
        return track_of(self.type)


class Write(Struct):
    """One write that is asked for.

    `targets` are refs, or texts that stand in exactly one visible memory (case aside); with
    `scope` and `track` only memories there are looked at.
    """

    action: str
    drafts: tuple[Draft, ...] = ()
    targets: tuple[str, ...] = ()
    scope: str = ""
    track: str = ""
    at: str = ""
    """When it was asked for, as ISO 8601 in UTC, once it is settled."""
    read: tuple[str, ...] = ()
    """Digests of the targets' texts as they were read for it; empty: it does not go by them."""


class Asker(NamedTuple):
    """Who asks for a write: the kind of source, the session, the agent's name, its own label."""

    source: str
    """`person`, `import`, or one of MACHINES."""
    session: str = ""
    agent: str = ""
    label: str = ""
    """What a new memory's `source` says; empty: the kind of source."""

    @property
    def machine(self) -> bool:
        return self.source in MACHINES


class FileChange(NamedTuple):
    """One file that a plan changes: created where `before` is None, removed where `after` is."""

    ref: str
    scope: str
    root: int
    """Index into the settings' roots."""
    path: str
    """Relative to the root."""
    before: bytes | None
    after: bytes | None
    title: str = ""
    type: str = ""
    entry: str = ""
    """The memory's `id`."""
    old_text: str = ""
    new_text: str = ""
    """The bodies without blank lines around them; empty where there is none."""

    @property
    def kind(self) -> str:
        if self.before is None:
            return "create"
        return "remove" if self.after is None else "change"

    @property
    def track(self) -> str:
        return track_of(self.type)


class Flag(NamedTuple):
    """Something that a person should know before he says yes.

    `secret`, `near_duplicate`, `other_scope`: it goes to another scope than its type belongs to.
    """

    kind: str
    message: str
    ref: str = ""


class Plan(NamedTuple):
    """A write, resolved: every file that it changes, in the order in which they are written."""

    action: str
    changes: tuple[FileChange, ...]
    flags: tuple[Flag, ...] = ()

    @property
    def same(self) -> tuple[tuple[str, bytes | None, bytes | None], ...]:
        """Return what two plans have in common that were approved for each other."""
        return tuple((one.ref, one.before, one.after) for one in self.changes)


ALLOWED: Final = "allowed-once"
REJECTED: Final = "rejected"
CANCELLED: Final = "cancelled"
UNAVAILABLE: Final = "unavailable"
"""What an answerer says (dsh-memory-protocol/v1: ApprovalOutcome)."""


class Approval(NamedTuple):
    """What a person is asked: the whole change as text, and how it came about."""

    action: str
    title: str
    """One line: what happens to what."""
    text: str
    """The whole change: new text; from and to; what is removed; each target."""
    source: str
    scopes: tuple[str, ...]
    refs: tuple[str, ...]
    flags: tuple[Flag, ...] = ()
    payload: Mapping[str, Any] = MappingProxyType({})
    """The same as JSON-ready values, for answerers that are programs."""


class Decision(NamedTuple):
    """Who let a write through, or did not: `outcome` and, for the audit, `by`."""

    outcome: str
    by: str
    """`policy auto`, `elicitation`, `callback`, `terminal`, `proposal 7, terminal`, …"""
    proposal: int = 0
    """The number of the proposal that it is about, 0 for none."""

    @property
    def allowed(self) -> bool:
        return self.outcome == ALLOWED

    @property
    def words(self) -> str:
        """Return what the audit says: `allowed-once (via terminal)`."""
        return f"{self.outcome} (via {self.by})"


WRITTEN: Final = "written"
PROPOSED: Final = "proposed"
UNCHANGED: Final = "unchanged"


class Written(Struct):
    """What came of a write that was not refused."""

    action: str
    outcome: str
    """WRITTEN, PROPOSED (`proposal` is its number) or UNCHANGED: it is so already."""
    changes: tuple[FileChange, ...] = ()
    flags: tuple[Flag, ...] = ()
    proposal: int = 0
    decision: str = ""
    targets: tuple[str, ...] = ()
    """What was meant, where nothing had to change."""
    operation: str = ""
    """Names the write in the journal; `recall trash` restores what it took away."""

    @property
    def refs(self) -> tuple[str, ...]:
        return tuple(one.ref for one in self.changes if one.after is not None)

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(one.ref for one in self.changes if one.after is None)


class Lost(NamedTuple):
    """One file of a write that was made. `at` is in seconds since the epoch."""

    operation: str
    at: float
    action: str
    ref: str
    title: str
    root: int
    """Index into the settings' roots."""
    path: str
    before: str
    """Digest of what it held before, empty where it was not there."""
    after: str
    """Digest of what the write left, empty where it removed the file."""


class Usage(NamedTuple):
    """One budget: the characters in use of a track in a scope; a limit of None bounds nothing."""

    track: str
    scope: str
    used: int
    limit: int | None


def may_change(memory: Memory, asker: Asker) -> str:
    """Return why this asker can't change the memory; empty where he can: `pinned`, `other_agent`.

    A person may change everything that he sees.
    """
    if not asker.machine:
        return ""
    if memory.pinned:
        return "pinned"
    return "other_agent" if memory.agent and memory.agent != asker.agent else ""
