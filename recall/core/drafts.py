"""Drafts: checked, and made into whole files.

A new memory is a head and its text. A changed one keeps every byte but those of the fields and
the text that are new: its head is spliced, blank lines around the body and line endings stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from recall.core.frontmatter import split
from recall.core.lazy import pattern
from recall.core.metadata import MAX_TAG, MAX_TAGS, parse_memory
from recall.core.sink import shorten
from recall.core.splice import Refused, splice
from recall.core.writing import MAX_TEXT, Draft
from recall.errors import WriteError
from recall.model import SCOPES, TYPES, Metadata
from recall.structs import replace

_LEADING = pattern(r"\A(?:[ \t]*\r?\n)*")
_TRAILING = pattern(r"\s*\Z")
_MARKS = pattern(r"^[#>\-*+\s]+|[*_`]+|^\d+[.)]\s+")
_SENTENCE = pattern(r".+?[.!?](?=\s)|.+?[。！？]")
TITLE = 72
"""Characters of a title that is made from a text."""
_FIELDS = (
    ("name", "title"),
    ("description", "description"),
    ("type", "type"),
    ("category", "category"),
    ("keywords", "keywords"),
    ("usage_scenarios", "usage_scenarios"),
    ("tags", "tags"),
    ("agent", "agent"),
    ("source", "source"),
)

Values = dict[str, str | Sequence[str]]


def text_of(body: str) -> str:
    """Return a body as the text of a draft: line feeds, no blank lines around it."""
    return _LEADING.sub("", body.replace("\r\n", "\n").replace("\r", "\n")).rstrip()


def checked(draft: Draft, *, new: bool) -> Draft:
    """Return the draft with its text and tags in order; `new`: it shall become a memory.

    Raises WriteError INVALID_INPUT that names the field and says what is allowed.
    """
    if draft.scope and draft.scope not in SCOPES:
        raise _invalid("scope", f"is {draft.scope[:40]!r}", f"Use one of {', '.join(SCOPES)}.")
    if draft.type and draft.type not in TYPES:
        raise _invalid("type", f"is {draft.type[:40]!r}", f"Use one of {', '.join(TYPES)}.")
    tags = None if draft.tags is None else _tags(draft.tags)
    text = draft.text if draft.text is None else _text(draft.text)
    if text is None and new:
        raise _invalid("text", "is missing", "Say what is to be remembered.")
    return replace(draft, text=text, tags=tags)


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise _invalid("text", "is no text", "Give the memory's text as a string.")
    text = text_of(given)
    if not text:
        raise _invalid("text", "is empty", "Say what is to be remembered.")
    if len(text) > MAX_TEXT:
        fix = f"Split it: a memory written here has at most {MAX_TEXT:,} characters."
        raise _invalid("text", f"has {len(text):,} characters", fix)
    if "\0" in text or (not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)):
        raise _invalid("text", "holds NUL or half a character", "Give plain Unicode text.")
    return text


def _tags(given: Sequence[str]) -> tuple[str, ...]:
    fix = f"At most {MAX_TAGS} tags, each 1 to {MAX_TAG} visible characters."
    if isinstance(given, str) or not all(isinstance(tag, str) for tag in given):
        raise _invalid("tags", "is no list of texts", fix)
    tags = tuple(dict.fromkeys(tag.strip() for tag in given))
    if len(tags) > MAX_TAGS or not all(0 < len(t) <= MAX_TAG and t.isprintable() for t in tags):
        raise _invalid("tags", "has too many, or one that is too long or not visible", fix)
    return tags


def _invalid(field: str, what: str, fix: str) -> WriteError:
    return WriteError("INVALID_INPUT", f"`{field}` {what}.", fix=fix, field=field)


def title_of(text: str) -> str:
    """Return a title for a text that names none: its first sentence, or the beginning of it."""
    line = next((bare for one in text.split("\n") if (bare := _MARKS.sub("", one).strip())), "")
    sentence = _SENTENCE.match(line)
    title = (sentence[0] if sentence else line).rstrip(" .。:：;；,，")
    if len(title) <= TITLE:
        return title
    return shorten(title, TITLE)


def values_of(draft: Draft) -> Values:
    """Return what the draft says, by the head's keys; what it leaves open is not in it."""
    values: Values = {}
    for key, name in _FIELDS:
        value = getattr(draft, name)
        if value:
            values[key] = value
    if draft.pinned is not None:
        values["pinned"] = "true" if draft.pinned else "false"
    return values


def new_file(draft: Draft, entry: str, at: str) -> bytes:
    """Return a new memory's file: its head with `entry` as id, a blank line, its text.

    `at` is the time as ISO 8601. Raises WriteError INVALID_INPUT where a field can't be written.
    """
    dates = {"id": entry, "version": "1", "created": at, "updated": at}
    body = f"\n{draft.text}\n".encode()
    # A text that begins with a fence would be read as a head: the head is made first.
    return _spliced(b"---\n---\n", {**values_of(draft), **dates}) + body


def changed_file(raw: bytes, draft: Draft, at: str) -> bytes:
    """Return a memory's file with what the draft says instead of what it said.

    An entry that counts its versions has one more. Raises WriteError INVALID_INPUT where it can't
    be written safely.
    """
    now = parse_memory(raw, "")
    made = raw
    if draft.text is not None and text_of(now.body) != draft.text:
        made = _with_body(raw, draft.text)
    made = _spliced(made, values_of(draft))
    return raw if made == raw else _spliced(made, _counted(now.metadata, at))


def _counted(now: Metadata, at: str) -> Values:
    counted: Values = {}
    if now.entry_version is not None or now.id:
        counted["version"] = str((now.entry_version or 1) + 1)
    if now.updated or now.created or now.id:
        counted["updated"] = at
    return counted


def _with_body(raw: bytes, text: str) -> bytes:
    parts = split(raw)
    if parts.encoding != "utf-8" or any(f.kind == "invalid-utf8" for f in parts.faults):
        raise WriteError(
            "INVALID_INPUT",
            "The file is not UTF-8, so that its text can't be replaced safely.",
            fix="Convert it to UTF-8 first, or forget it and remember it anew.",
        )
    before = _LEADING.match(parts.body)
    after = _TRAILING.search(parts.body)
    lead = before[0] if before else ""
    trail = after[0] if after and after[0] else parts.newline
    lines = text.replace("\n", parts.newline)
    made = raw[: parts.body_offset] + (lead + lines + trail).encode()
    if text_of(split(made).body) != text:
        raise WriteError(
            "INVALID_INPUT",
            "The text begins with lines that would be read as the file's metadata.",
            fix="Begin it with another line, such as a heading.",
        )
    return made


def _spliced(raw: bytes, values: Values) -> bytes:
    done = splice(raw, values)
    if isinstance(done, Refused):
        where = f" (line {done.line})" if done.line else ""
        raise WriteError("INVALID_INPUT", done.reason + where, fix="Mend it, then write again.")
    return done.data
