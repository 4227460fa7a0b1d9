"""One frozen Settings, and every key that sets it: unit, range, default, who may set it.

No I/O here: `recall.disk.config` reads the files and the environment, `recall.disk.initfile`
writes the commented file from the same table, docs/settings.md is checked against it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from recall.model import SCOPES, UNCATEGORIZED, Root, Taxonomy, Unavailable
from recall.structs import Struct, field

LANGUAGES = ("en", "zh")
MODES = ("auto", "legacy", "structured")
SINKS = ("none", "jsonl", "otel")

PROJECT_ROUTER = 10_000
"""The largest tree, in characters, that a project's own file may ask for: what Claude Code lets
one hook add to a prompt."""

MAX_NAMES = 200
"""Names in a taxonomy."""

MAX_NAME = 64
"""Characters of a category's or an agent's name, as of a keyword (DESIGN.md, 2)."""

MAX_WORD = 256
"""Characters of an address, a model's or a variable's name."""


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


class Settings(Struct):
    """What one installation runs with; disk/config.py reads it from files and environment."""

    roots: tuple[Root, ...] = ()
    taxonomy: Taxonomy = field(default_factory=Taxonomy)
    limits: Limits = field(default_factory=Limits)
    language: str = "en"
    mode: str = "auto"
    agent: str = ""
    cache_dir: str = ""
    """Empty: the platform's own (platformdirs)."""
    state_dir: str = ""
    lock_wait_ms: int = 1_000
    """How long a reader waits for another process's refresh before it answers stale."""
    telemetry: Telemetry = field(default_factory=Telemetry)
    migration: MigrationWishes = field(default_factory=MigrationWishes)
    llm: Llm = field(default_factory=Llm)
    unavailable: tuple[Unavailable, ...] = ()
    """Scopes that can't be looked at, in the order of SCOPES; they have no root in `roots`."""
    project_dir: str = ""
    """The folder of the project that these settings were loaded for."""
    trusted: bool = False
    """Whether the user's own file trusts that project."""

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


class Key(NamedTuple):
    """One setting: what it accepts, and who may set it.

    `kind`: choice, name, word, folder, folders, file, flag, number, names. `project` says how
    far a project's own file may set it: "no", "yes" or "lower" (never above what is in effect
    without it).
    """

    name: str
    kind: str
    default: Any
    help: str
    env: str = ""
    project: str = "no"
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 0

    @property
    def allowed(self) -> str:
        """Return what the key accepts, as the end of "expected …"."""
        return {
            "choice": "one of " + ", ".join(self.choices),
            "name": f"a text of at most {MAX_NAME} visible characters, or an empty one",
            "word": f"a text of at most {MAX_WORD} visible characters and no blanks, or an empty"
            " one",
            "folder": "a folder as text, or an empty text for the platform's own",
            "folders": "a list of folders, each a text",
            "file": "the path of a file as text, or an empty text for the usual one",
            "flag": "true or false",
            "number": f"a whole number from {self.low} to {self.high}",
            "names": f"a list of 1 to {MAX_NAMES} different category names, each at most {MAX_NAME}"
            f" visible characters without `/`, none of them {UNCATEGORIZED}",
        }[self.kind]

    def check(self, value: object) -> Any:
        """Return the value as Settings holds it; raises ValueError where it is not allowed."""
        good = {
            "choice": lambda: value in self.choices if isinstance(value, str) else False,
            "name": lambda: value == "" or _is_name(value),
            "word": lambda: value == "" or _is_word(value),
            "folder": lambda: value == "" or _is_folder(value),
            "file": lambda: value == "" or _is_folder(value),
            "folders": lambda: isinstance(value, list) and all(map(_is_folder, value)),
            "flag": lambda: isinstance(value, bool),
            "number": lambda: type(value) is int and self.low <= value <= self.high,
            "names": lambda: isinstance(value, list) and _are_categories(value),
        }[self.kind]()
        if not good:
            raise ValueError(f"expected {self.allowed}")
        return tuple(value) if isinstance(value, list) else value

    def read(self, text: str) -> Any:
        """Return the value that an environment variable or an argument spells; as `check`."""
        if self.kind == "number" and text.isascii() and text.isdigit():
            return self.check(int(text))
        return self.check(text)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def _is_word(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_WORD
        and value.isprintable()
        and not any(char.isspace() for char in value)
    )


def _is_folder(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _are_categories(values: list[Any]) -> bool:
    return (
        0 < len(values) <= MAX_NAMES
        and all(_is_name(v) and v == v.strip() and "/" not in v for v in values)
        and len(set(values)) == len(values)
        and UNCATEGORIZED not in values
    )


_LIMITS = Limits()


def _limit(name: str, low: int, high: int, text: str) -> Key:
    default = getattr(_LIMITS, name)
    return Key(f"limits.{name}", "number", default, text, "", "lower", (), low, high)


KEYS: tuple[Key, ...] = (
    Key(
        "mode",
        "choice",
        "auto",
        "auto: structured recall once every memory is ready.",
        env="RECALL_MODE",
        project="yes",
        choices=MODES,
    ),
    Key(
        "language",
        "choice",
        "en",
        "Language of what the model sees; errors stay English.",
        env="RECALL_LANGUAGE",
        project="yes",
        choices=LANGUAGES,
    ),
    Key(
        "agent",
        "name",
        "",
        "Name of the agent that asks: it also sees the memories that name it as their agent.",
        env="RECALL_AGENT",
    ),
    Key(
        "cache_dir",
        "folder",
        "",
        "Where the catalog and the text index live; safe to delete at any time.",
        env="RECALL_CACHE_DIR",
    ),
    Key(
        "state_dir",
        "folder",
        "",
        "Where sessions, keys, audit and proposals live; not safe to delete.",
        env="RECALL_STATE_DIR",
    ),
    Key(
        "lock_wait_ms",
        "number",
        1_000,
        "How long an answer waits for another process's refresh, in ms.",
        env="RECALL_LOCK_WAIT_MS",
        high=60_000,
    ),
    Key("roots.project", "folders", (".recall/memory",), "Folders of this project's memories."),
    Key("roots.user", "folders", ("~/.recall/memory",), "Folders of your own memories."),
    Key("roots.team", "folders", (".recall/team",), "Folders of the team's memories."),
    Key("scopes.project", "flag", True, "Whether project memories are used."),
    Key("scopes.user", "flag", True, "Whether user memories are used."),
    Key(
        "scopes.team",
        "flag",
        False,
        "Whether team memories are used; those in the project need its trust too.",
    ),
    Key("trust.projects", "folders", (), "Projects that you trust: these folders and all below."),
    Key("trust.all", "flag", False, "Trusts every project."),
    Key(
        "taxonomy.names",
        "names",
        Taxonomy().names,
        "The categories that come first, in this order.",
        project="yes",
    ),
    Key(
        "taxonomy.strict",
        "flag",
        False,
        "Whether a category that is not in the list counts as uncategorized.",
        project="yes",
    ),
    Key(
        "telemetry.sink",
        "choice",
        "none",
        "Where events go: nowhere, to a file of JSON lines, to OpenTelemetry.",
        env="RECALL_TELEMETRY",
        choices=SINKS,
    ),
    Key(
        "telemetry.file",
        "file",
        "",
        "The file of JSON lines.",
        env="RECALL_TELEMETRY_FILE",
    ),
    Key(
        "migration.background",
        "flag",
        False,
        "Whether a turn may be followed by a migration: it writes metadata into legacy memories.",
    ),
    Key(
        "migration.rebuild_index",
        "flag",
        False,
        "Whether a migration rebuilds a MEMORY.md that lists nothing but memories.",
    ),
    Key(
        "llm.base_url",
        "word",
        "https://api.openai.com/v1",
        "Where the model that annotates memories is: any OpenAI-compatible endpoint.",
        env="RECALL_LLM_BASE_URL",
    ),
    Key(
        "llm.model",
        "word",
        "",
        "The model's name there; empty where none is to be used.",
        env="RECALL_LLM_MODEL",
    ),
    Key(
        "llm.env_key",
        "word",
        "OPENAI_API_KEY",
        "The environment variable that holds the key; empty where none is needed.",
    ),
    Key(
        "llm.timeout_ms",
        "number",
        60_000,
        "How long one call may take in all, in ms.",
        low=1_000,
        high=600_000,
    ),
    Key(
        "llm.max_calls",
        "number",
        200,
        "Calls that one run may make.",
        high=1_000_000,
    ),
    Key(
        "llm.max_tokens",
        "number",
        1_000_000,
        "Tokens that one run may use, prompts and replies together.",
        high=1_000_000_000,
    ),
    Key(
        "llm.max_seconds",
        "number",
        3_600,
        "Seconds that the calls of one run may take together.",
        high=86_400,
    ),
    Key(
        "llm.allow_insecure_http",
        "flag",
        False,
        "Whether http:// is allowed to other machines than this one.",
    ),
    _limit("router", 200, 100_000, "The tree that is pushed once, in characters."),
    _limit("focus", 200, 100_000, "The focus of a turn, in characters."),
    _limit("fetch_window", 200, 20_000, "One window of a fetch, in characters."),
    _limit("fetch_call", 200, 20_000, "All windows of one fetch, in characters."),
    _limit("fetch_refs", 1, 5, "Refs in one fetch."),
    _limit("ref_turn", 200, 1_000_000, "Characters of one memory in one turn."),
    _limit("search_window", 100, 6_000, "One window of a search, in characters."),
    _limit("search_before", 0, 3_000, "Characters shown before the best hit of a search."),
    _limit("search_call", 100, 20_000, "All windows of one search, in characters."),
    _limit("search_results", 1, 5, "Results of one search."),
    _limit("search_keywords", 1, 5, "Keywords in one search."),
    _limit("keyword_length", 16, 200, "Characters of one keyword."),
    _limit("explore_branches", 1, 3, "Branches of one explore."),
    _limit("explore_leaves", 1, 20, "Leaves of a branch in one explore."),
    _limit("answer", 2_000, 100_000, "One answer as JSON text, in characters."),
)
"""In the order of the commented file. Upper bounds of counts are the published tool schema's."""

BY_NAME = {key.name: key for key in KEYS}

TABLES = ("roots", "scopes", "trust", "taxonomy", "telemetry", "migration", "llm", "limits")
"""The tables of a settings file, beside the user's `[projects."FOLDER"]`."""

# A repository may tune how its own memories are shown; it is data that anyone can have written,
# so whatever decides what is read, from where, for whom, or what leaves the machine is not its to
# say. Each entry is a key or a table, with the reason that the refusal gives.
PROJECT_REFUSES = {
    "agent": "it would decide which agent's private memories are shown",
    "cache_dir": "it would choose where files are written",
    "state_dir": "it would choose where files are written",
    "lock_wait_ms": "it could hold up every answer",
    "roots": "it would choose which of your folders are read",
    "scopes": "it would switch your own memories off, or its team's memories on",
    "trust": "it would trust itself",
    "projects": "it would speak for other projects",
    "external": "it would name a provider that your memories are sent to",
    "llm": "it would choose the model that your memories are sent to",
    "telemetry": "it would choose where records of your sessions go",
    "migration": "it would let files be written that you have not allowed to be",
    "writes": "it would allow writes that you have not allowed",
}


def merge_limit(key: Key, current: int, wanted: int, *, chosen: bool) -> int:
    """Return the limit after a project's file asked for `wanted`.

    It only goes down from `current`, except that the tree may grow to PROJECT_ROUTER characters
    where nobody chose its size (`chosen`): a large repository has a large tree.
    """
    if key.name == "limits.router" and not chosen:
        return min(wanted, PROJECT_ROUTER)
    return min(wanted, current)
