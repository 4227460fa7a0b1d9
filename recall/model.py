"""The words: immutable values that every layer speaks in. No I/O, standard library only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recall.structs import Struct, field
from recall.tuples import NamedTuple

SCOPES = ("project", "user", "team")
"""Every listing keeps this order."""

TYPES = ("user", "feedback", "project", "reference")

TRACKS = ("user", "agent")
"""Whom a memory is about: the user, or what an agent works on (dsh-memory-protocol/v1, 2)."""


def track_of(type: str) -> str:
    """Return the track of a memory's type: `user` and `feedback` are about the user."""
    return "user" if type in ("user", "feedback") else "agent"


TAXONOMY = (
    "basic_information",
    "hobbies",
    "communication_preference",
    "behavior_habit",
    "project_introduction",
    "tech_stack",
    "build_configuration",
    "dependency_configuration",
    "ide_configuration",
    "scm_configuration",
    "environment_configuration",
    "code_standard",
    "practice_standard",
    "testing_standard",
    "comment_standard",
    "tool_experience",
    "mcp_experience",
    "common_pitfall",
    "important_decision",
    "task_summary",
)
"""The original's categories, in its order (Qwen Code, pull request 10183)."""

UNCATEGORIZED = "uncategorized"

SEPARATOR = "\x1f"
"""Joins lists of metadata texts in one column; the parser lets no control character through."""


class Fault(NamedTuple):
    """One thing that is wrong with a file, and what was done or can be done about it.

    `kind` is a stable identifier (`yaml-syntax`, `duplicate-key`, `invalid-utf8` …), `line` is
    1-based in the file, `field` the frontmatter key as written.
    """

    kind: str
    message: str
    fix: str
    line: int | None = None
    field: str | None = None

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"kind": self.kind, "message": self.message, "fix": self.fix}
        if self.line is not None:
            out["line"] = self.line
        if self.field is not None:
            out["field"] = self.field
        return out


class Metadata(Struct):
    """What a file says of itself, leniently read; the texts are whole, not cut for display.

    `category` is the value as written (`a/b/c` stays whole) or empty; `missing` names the owned
    fields that the file's own frontmatter lacks or has invalid, so that `structured` is
    `not missing`.
    """

    title: str = ""
    description: str = ""
    type: str = ""
    category: str = ""
    keywords: tuple[str, ...] = ()
    usage_scenarios: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    id: str = ""
    agent: str = ""
    pinned: bool = False
    source: str = ""
    created: str = ""
    updated: str = ""
    entry_version: int | None = None
    missing: tuple[str, ...] = ()

    @property
    def structured(self) -> bool:
        return not self.missing


class Parsed:
    """A memory file, read: its metadata, the whole body as text, the body's version, faults.

    Metadata and faults are worked out when they are first asked for: who only wants the body of a
    file that the catalog knows needs no YAML parser.
    """

    __slots__ = ("_about", "_read", "body", "head", "version")

    def __init__(
        self,
        body: str,
        version: str,
        head: str,
        read: Callable[[], tuple[Metadata, tuple[Fault, ...]]],
    ) -> None:
        """`head` is the text between the fences as it stands; `read` makes something of it."""
        self.body = body
        self.version = version
        self.head = head
        self._read = read
        self._about: tuple[Metadata, tuple[Fault, ...]] | None = None

    @property
    def metadata(self) -> Metadata:
        return self._known()[0]

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self._known()[1]

    def _known(self) -> tuple[Metadata, tuple[Fault, ...]]:
        if self._about is None:
            self._about = self._read()
        return self._about

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parsed):
            return NotImplemented
        return (self.body, self.version, self._known()) == (
            other.body,
            other.version,
            other._known(),
        )

    def __hash__(self) -> int:
        return hash((self.body, self.version))

    def __repr__(self) -> str:
        return f"Parsed({self.metadata!r}, {self.body!r}, {self.version!r}, {self.faults!r})"


SHOWN_TITLE, SHOWN_DESCRIPTION = 256, 512
"""Characters of a title and a description that a leaf holds; the file's own may be longer."""


class Memory(NamedTuple):
    """One leaf of the tree: metadata as shown (title ≤ 256, description ≤ 512 characters).

    A NamedTuple, because a hundred thousand of them are built straight from catalog rows
    (measured: 0.2 µs each, against 1.3 µs for a frozen dataclass).
    """

    key: int
    """Names this content in the text index; another content has another key."""
    ref: str
    scope: str
    root: int
    """Index into the snapshot's roots."""
    path: str
    """Relative to the root, `/` between segments, undecodable bytes as surrogate escapes."""
    title: str
    description: str
    type: str
    category: str
    """The category that it stands under in the tree: level 1, never empty."""
    keyword_text: str
    scenario_text: str
    agent: str
    pinned: int
    structured: int
    mtime_ns: int
    version: str
    total: int
    """Length of the body in characters."""
    digest: bytes
    """SHA-256 over the visible metadata, what the revision is made of."""

    @property
    def keywords(self) -> tuple[str, ...]:
        return tuple(self.keyword_text.split(SEPARATOR)) if self.keyword_text else ()

    @property
    def usage_scenarios(self) -> tuple[str, ...]:
        return tuple(self.scenario_text.split(SEPARATOR)) if self.scenario_text else ()


class Root(NamedTuple):
    """A folder of memories. `origin` says where it was named: argument, a settings file, …"""

    scope: str
    path: str
    origin: str = "argument"


class Unavailable(NamedTuple):
    """A scope that was asked for and can't be looked at: disabled, untrusted, not_configured."""

    scope: str
    reason: str


class Incomplete(NamedTuple):
    """A scope that was looked at only in part.

    `reason`: root_read_failed, dir_read_failed, file_read_failed, ref_collision. `discovered`
    counts the memories known to be there, `returned` those that are in the snapshot.
    """

    scope: str
    reason: str
    returned: int
    discovered: int | None = None


class Skipped(NamedTuple):
    """A file or folder that is not in the tree although it looks like it should be."""

    path: str
    why: str
    scope: str = "project"


class SourceStatus(Struct):
    """What was searched and what could not be: it travels with every result (DESIGN.md, 5)."""

    requested: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    incomplete: tuple[Incomplete, ...] = ()
    scanned: int = 0
    skipped: tuple[Skipped, ...] = ()
    skipped_total: int = 0
    fresh: bool = True
    age_ms: int = 0
    """How long ago the last walk that this rests on was made, in ms."""

    @property
    def complete(self) -> bool:
        return not self.incomplete

    def stable(self) -> tuple[Any, ...]:
        """Return the part that a revision covers: neither freshness nor what was skipped."""
        return (
            tuple(sorted(self.requested)),
            tuple(sorted(self.searched)),
            tuple(sorted(self.unavailable)),
            tuple(sorted((i.scope, i.reason) for i in self.incomplete)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the `sourceStatus` of a result, bounded: at most 5 skipped files are named."""
        out: dict[str, Any] = {
            "requestedScopes": list(self.requested),
            "searchedScopes": list(self.searched),
            "unavailableScopes": [u._asdict() for u in self.unavailable],
            "complete": self.complete,
            "incompleteScopes": [
                {k: v for k, v in i._asdict().items() if v is not None} for i in self.incomplete
            ],
            "freshness": {"state": "fresh" if self.fresh else "stale", "ageMs": self.age_ms},
            "scanned": self.scanned,
        }
        if self.skipped_total:
            shown = self.skipped[:5]
            out["skipped"] = [{"path": s.path[:200], "why": s.why[:200]} for s in shown]
            out["skippedTotal"] = self.skipped_total
        return out


class Taxonomy(Struct):
    """The categories that come first, and whether others are allowed to exist."""

    names: tuple[str, ...] = TAXONOMY
    strict: bool = False
    _order: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._order.update((name, i) for i, name in enumerate(self.names))

    def place(self, category: str, folder: str) -> str:
        """Return the level-1 category: the named one's first segment, else the first folder.

        `folder` is the first folder below the root, empty for a file at the top.
        """
        named = category.split("/", 1)[0].strip()
        if self.strict:
            return named if named in self._order else UNCATEGORIZED
        return named or folder or UNCATEGORIZED

    def sort_key(self, category: str) -> tuple[int, str]:
        """Order: the taxonomy's own, then the others by code point, uncategorized last."""
        if category == UNCATEGORIZED:
            return (len(self.names) + 1, "")
        return (self._order.get(category, len(self.names)), category)


class Range(NamedTuple):
    """A run of a body in characters (code points): [start, end) of total."""

    start: int
    end: int
    total: int


class Match(NamedTuple):
    """Why a memory was found: source is title, keyword, description, usage_scenario or body."""

    keyword: str
    source: str
    kind: str
    partial: bool = False
    """Only some of the keyword's words are there."""

    def to_dict(self) -> dict[str, Any]:
        """Return the match as a result shows it; `partial` only where it is so."""
        out: dict[str, Any] = {"keyword": self.keyword, "source": self.source, "kind": self.kind}
        return out | {"partial": True} if self.partial else out
