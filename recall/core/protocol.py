"""dsh-memory-protocol/v1: its words, its entry, and how memories map onto it.

The protocol is public (PerryLink/dsh-memento, docs/protocol-v1.md and its JSON schema); numbers in
brackets name its sections. docs/protocol.md tells what of it maps how, and what is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from recall.core.digest import sha256
from recall.core.drafts import text_of
from recall.core.lazy import pattern
from recall.core.metadata import clean
from recall.core.writing import Draft
from recall.errors import WriteError
from recall.model import TRACKS, Parsed, track_of
from recall.structs import Struct

PROTOCOL: Final = "dsh-memory-protocol/v1"
USER_GLOBAL: Final = "user-global"
WORKSPACE: Final = "workspace"
ENTRY_SCOPES: Final = (USER_GLOBAL, WORKSPACE)

MAX_TAGS, MAX_TAG = 16, 32
"""Tags of an entry, and UTF-16 units of each [2]."""
MAX_NAME = 4_096
"""Characters of a session's id, a workspace's folder, an agent's name."""
MAX_MATCHES = 20
"""Targets of one consolidation [3]."""
UNBOUNDED = 2**53 - 1
"""The limit of a budget that bounds nothing: the largest integer that JSON keeps everywhere."""

_SCOPE_OF = {USER_GLOBAL: "user", WORKSPACE: "project"}
_ENTRY_SCOPE_OF = {scope: name for name, scope in _SCOPE_OF.items()}
_TYPE_OF = {
    ("user", USER_GLOBAL): "user",
    ("user", WORKSPACE): "user",
    ("agent", USER_GLOBAL): "reference",
    ("agent", WORKSPACE): "project",
}
_UUID4 = pattern(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_CONTROL = pattern(r"[\x00-\x1f\x7f]")
_FRACTION = pattern(r"[0-9][.,][0-9]")
_NO_NAME = pattern(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")

ERROR_CODES: Final = (
    "INVALID_INPUT",
    "WRITE_REQUIRES_AGENT",
    "BUDGET_EXCEEDED",
    "ENTRY_NOT_FOUND",
    "AMBIGUOUS_MATCH",
    "WRITE_DENIED",
    "PROPOSAL_NOT_FOUND",
    "STORE_CORRUPT",
    "STORE_UNSUPPORTED_VERSION",
    "ADAPTER_NOT_FOUND",
    "ADAPTER_PAYLOAD",
)
"""Every code that the protocol knows [7]."""


class Entry(Struct):
    """One memory as the protocol sees it [2]; times are milliseconds since the epoch."""

    id: str
    track: str
    scope: str
    """USER_GLOBAL or WORKSPACE."""
    workspace_key: str
    """The workspace's folder; empty for USER_GLOBAL."""
    agent_key: str
    """Empty: every agent sees it."""
    text: str
    source: str
    tags: tuple[str, ...]
    version: int
    created: int
    updated: int
    last_recalled: int | None = None
    recall_count: int = 0
    session: str | None = None
    """The session that wrote it last, where that is known."""
    ref: str = ""
    title: str = ""
    """Ours: the protocol has no such fields, adapters may use them."""

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as the protocol's JSON, the schema's fields and no other."""
        return {
            "id": self.id,
            "track": self.track,
            "scope": self.scope,
            "workspaceKey": self.workspace_key,
            "agentKey": self.agent_key,
            "text": self.text,
            "source": self.source,
            "tags": list(self.tags),
            "version": self.version,
            "createdAt": self.created,
            "updatedAt": self.updated,
            "lastRecalled": self.last_recalled,
            "recallCount": self.recall_count,
            "sessionId": self.session,
        }


class Known(NamedTuple):
    """What is known of an entry beside its file: how it was recalled, who wrote it."""

    recalls: int = 0
    last: int | None = None
    """When it was recalled last, in milliseconds since the epoch."""
    session: str | None = None
    """Who wrote `version`, the last one that was written through the protocol."""
    version: int = 0


def invalid(message: str, **evidence: Any) -> WriteError:
    """Return the protocol's INVALID_INPUT."""
    return WriteError("INVALID_INPUT", message, **evidence)


# --- from memories


def entry_scope(scope: str) -> str | None:
    """Return what the protocol calls one of our scopes; None: the team's are no entries."""
    return _ENTRY_SCOPE_OF.get(scope)


def entry_of(
    scope: str,
    ref: str,
    parsed: Parsed,
    changed: int,
    *,
    workspace: str,
    known: Mapping[str, Known],
) -> Entry:
    """Return a memory of scope `user` or `project` as an entry.

    `changed` is its file's time in milliseconds since the epoch, `workspace` the key of the
    workspace that the memory was found in.
    """
    about = parsed.metadata
    named = _ENTRY_SCOPE_OF[scope]
    key = workspace if named == WORKSPACE else ""
    id = about.id if is_id(about.id) else derived_id(key, ref)
    version = max(about.entry_version or 1, 1)
    created, updated = _times(about.created, about.updated, changed)
    told = known.get(id, Known())
    return Entry(
        id=id,
        track=track_of(about.type),
        scope=named,
        workspace_key=key,
        agent_key=about.agent,
        text=text_of(parsed.body),
        source=about.source or "recall",
        tags=about.tags,
        version=version,
        created=created,
        updated=updated,
        last_recalled=told.last,
        recall_count=told.recalls,
        session=told.session if told.version == version else None,
        ref=ref,
        title=about.title,
    )


def is_id(value: object) -> bool:
    """Tell whether this is an entry's id: a UUID of version 4 as text."""
    return isinstance(value, str) and _UUID4.fullmatch(value) is not None


def derived_id(workspace: str, ref: str) -> str:
    """Return an id in the form of a UUID v4 for a memory that has none: always the same one."""
    digest = bytearray(sha256(f"{workspace}\0{ref}".encode("utf-8", "surrogatepass")).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x40
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _times(created: str, updated: str, changed: int) -> tuple[int, int]:
    """Return when an entry was made and last changed; `changed` is the file's own time."""
    last = milliseconds(updated)
    if last is None or (_FRACTION.search(updated) is None and last // 1_000 == changed // 1_000):
        last = changed  # where the head tells whole seconds, the file's time is finer
    first = milliseconds(created)
    return (last, last) if first is None else (min(first, last), last)


def milliseconds(text: str) -> int | None:
    """Return a date of a head as milliseconds since the epoch; None where it is none.

    Without a zone it is UTC.
    """
    try:
        when = datetime.fromisoformat(text)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0, int(when.timestamp() * 1_000))
    except (ValueError, OverflowError):
        return None


# --- from what a client gives


def checked_track(value: object) -> str:
    """Return a track; raises WriteError INVALID_INPUT for anything else."""
    if not isinstance(value, str) or value not in TRACKS:
        raise invalid(f"track is {value!r:.60}: expected user or agent.", field="track")
    return value


def checked_scope(value: object) -> str:
    """Return a scope of the protocol; raises WriteError INVALID_INPUT for anything else."""
    if not isinstance(value, str) or value not in ENTRY_SCOPES:
        raise invalid(f"scope is {value!r:.60}: expected user-global or workspace.", field="scope")
    return value


def checked_text(value: object, field: str = "text") -> str:
    """Return a text that is not empty; raises WriteError INVALID_INPUT for anything else."""
    if not isinstance(value, str) or not value:
        raise invalid(f"{field} is empty or no text.", field=field)
    return value


def checked_tags(value: object) -> tuple[str, ...]:
    """Return tags trimmed, each once, in their order; raises WriteError INVALID_INPUT.

    None is none. Nothing is ever cut or left out.
    """
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(tag, str) for tag in value):
        raise invalid("tags is no list of texts.", field="tags")
    tags = tuple(dict.fromkeys(tag.strip() for tag in value))
    for tag in tags:
        if not tag or _CONTROL.search(tag):
            raise invalid("A tag is empty, or holds a control character.", field="tags")
        if utf16_length(tag) > MAX_TAG:
            raise invalid(f"The tag {tag[:40]!r} has more than {MAX_TAG} characters.", field="tags")
    if len(tags) > MAX_TAGS:
        raise invalid(f"There are {len(tags)} tags: expected at most {MAX_TAGS}.", field="tags")
    return tags


def utf16_length(text: str) -> int:
    """Return a text's length as JavaScript counts it."""
    return len(text) + sum(char > "\uffff" for char in text)


def checked_matches(value: object) -> tuple[str, ...]:
    """Return the texts by which a consolidation finds its targets."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_MATCHES:
        raise invalid(f"matches is no list of 1 to {MAX_MATCHES} texts.", field="matches")
    return tuple(checked_text(match, "matches") for match in value)


def optional_text(given: Mapping[str, Any], field: str) -> str:
    """Return a field that may be left out, empty then; raises WriteError INVALID_INPUT."""
    value = given.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise invalid(f"{field} is no text.", field=field)
    return value


def optional_name(given: Mapping[str, Any], field: str) -> str:
    """Return what names a session, a folder or an agent; empty where it is left out.

    Raises WriteError INVALID_INPUT for a control character, half a character, more than MAX_NAME.
    """
    name = optional_text(given, field)
    if len(name) > MAX_NAME:
        raise invalid(f"{field} has more than {MAX_NAME:,} characters.", field=field)
    if _NO_NAME.search(name):
        raise invalid(f"{field} holds a control character, or half a character.", field=field)
    return name


def agent_named(given: Mapping[str, Any], field: str) -> str:
    """Return an agent's name as a memory's head keeps it; raises as `optional_name`."""
    return clean(optional_name(given, field), MAX_NAME)


def draft_of(given: Mapping[str, Any]) -> Draft:
    """Return an entry's input as a draft [3]; raises WriteError INVALID_INPUT naming the field."""
    track, scope = checked_track(given.get("track")), checked_scope(given.get("scope"))
    return Draft(
        text=checked_text(given.get("text")),
        scope=_SCOPE_OF[scope],
        type=_TYPE_OF[track, scope],
        tags=checked_tags(given.get("tags")),
        agent=agent_named(given, "agentKey"),
        source=optional_text(given, "source"),
    )


def our_scope(scope: str) -> str:
    """Return which of our scopes holds the entries of one of the protocol's."""
    return _SCOPE_OF[scope]


def input_of(draft: Draft) -> dict[str, Any]:
    """Return a draft as an entry's input: what an adapter gives, in the protocol's words."""
    told = {
        "track": draft.track,
        "scope": _ENTRY_SCOPE_OF.get(draft.scope or "user", USER_GLOBAL),
        "text": draft.text or "",
        "source": draft.source,
        "tags": list(draft.tags or ()),
        "agentKey": draft.agent,
    }
    return {name: value for name, value in told.items() if value or name in ("text", "tags")}


class Session(NamedTuple):
    """Whose write it is: the session's id, its folder, its agent; empty where it says nothing."""

    id: str = ""
    cwd: str = ""
    agent: str = ""


def session_of(write: object) -> Session:
    """Return whose write it is, from `{"agent": {"session": {"id", "header"}}}`.

    What is no text says nothing. Raises WriteError WRITE_REQUIRES_AGENT where no agent owns it, and
    as `optional_name`.
    """
    agent = write.get("agent") if isinstance(write, dict) else None
    if not isinstance(agent, dict):
        raise WriteError(
            "WRITE_REQUIRES_AGENT",
            "A write needs the session of the agent that it is for; nothing was written.",
            fix='Give {"agent": {"session": {"id": …}}}.',
        )
    session = agent.get("session")
    session = session if isinstance(session, dict) else {}
    header = session.get("header")
    header = header if isinstance(header, dict) else {}
    told = {"id": session.get("id"), **header}
    texts = {name: one for name, one in told.items() if isinstance(one, str)}
    return Session(
        optional_name(texts, "id"), optional_name(texts, "cwd"), agent_named(texts, "agentPreset")
    )
