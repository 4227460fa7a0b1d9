"""Notes of basic-memory: markdown with a head, observations and relations in the text.

The format is basicmachines-co/basic-memory's (docs.basicmemory.com, knowledge format): in the head
`title`, `type`, `tags`, `permalink`, `created`, `modified` and fields of one's own; in the body
`- [category] text #tag (context)` and `- relation_type [[Target]]`. A note is one memory; its body
stays as it is, observations and relations in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import yaml

from recall.core.adapters.registry import Adapter, mapped, text_in, unmapped
from recall.core.drafts import text_of
from recall.core.frontmatter import split
from recall.core.lazy import pattern
from recall.core.protocol import Entry, checked_tags
from recall.core.splice_values import scalar
from recall.core.writing import Draft
from recall.errors import WriteError

ID = "basic-memory"
_NOT_KEPT = ("permalink", "created", "modified", "updated")
"""An import gives ids and times anew."""
_NAMELESS = pattern(r'[/\\:*?"<>|\x00-\x1f\x7f]+')
_NOTES = pattern(r'\ufeff?\s*\{\s*"')
"""How a file of notes begins, and no note."""
_CATEGORY = pattern(r"[^\[\]()\x00-\x1f]{2,64}")
_LONGEST_NAME = 80


def adapt(payload: object) -> list[Draft]:
    """Return each note as a draft: of the text of one, or of `{"notes": [{"path", "text"}]}`.

    A note without a title has its file's name.
    """
    text = text_in(payload)
    if text is not None and not _NOTES.match(text):
        path = payload.get("path") if isinstance(payload, dict) else ""
        return [_draft(text, path if isinstance(path, str) else "", "")]
    if text is not None:
        payload = _loaded(text)
    notes = payload.get("notes") if isinstance(payload, dict) else None
    if not isinstance(notes, list):
        raise unmapped(ID, 'the payload is neither a note\'s text nor {"notes": […]}.')
    drafts = []
    for number, note in enumerate(notes, 1):
        text = note.get("text") if isinstance(note, dict) else None
        path = note.get("path", "") if isinstance(note, dict) else None
        if not isinstance(text, str) or not isinstance(path, str):
            raise unmapped(ID, f"note {number} has no `text`, or a `path` that is no text.")
        drafts.append(_draft(text, path, f"{path or f'note {number}'}: "))
    return drafts


def _loaded(text: str) -> object:
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise unmapped(ID, "the text is neither a note nor JSON.", line=line) from None


def _draft(text: str, path: str, where: str) -> Draft:
    try:
        return _Note(text, path).draft()
    except WriteError as error:
        message = error.message.replace(f"{ID}: ", f"{ID}: {where}", 1)
        raise WriteError(error.code, message, fix=error.fix, **error.evidence) from None


class _Note:
    """One note, taken apart."""

    def __init__(self, text: str, path: str) -> None:
        try:
            parts = split(text.encode())
        except UnicodeEncodeError:
            raise unmapped(ID, "the note holds half a character.") from None
        if parts.head is not None and parts.head_kind != "yaml":
            raise unmapped(ID, "the head is no YAML.", line=parts.head_line)
        self._line = parts.head_line
        self._body = parts.body
        self._stem = path.rpartition("/")[2].removesuffix(".md")
        self._tags: list[str] = []
        self._title = ""
        self._more: list[str] = []
        for name, line, values in self._fields(parts.head or ""):
            self._take(name, line, values)

    def draft(self) -> Draft:
        text = text_of(self._body)
        if self._more:
            text = "\n".join([text, "", *self._more] if text else self._more)
        if not text:
            raise unmapped(ID, "the note has no text.", line=self._line)
        draft = Draft(
            text=text,
            scope="user",
            type="reference",
            title=self._title or self._stem,
            tags=tuple(self._tags),
            source=ID,
        )
        return mapped(ID, draft, line=self._line)

    def _fields(self, head: str) -> Iterator[tuple[str, int, list[str]]]:
        """Yield each field's name, line, and its text or texts; tags may stand in one text."""
        try:
            root = yaml.compose(head, Loader=yaml.BaseLoader)
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark.line if error.problem_mark else 0
            raise unmapped(ID, "the head can't be read as YAML.", line=self._line + at) from None
        except (yaml.YAMLError, RecursionError):
            raise unmapped(ID, "the head can't be read as YAML.", line=self._line) from None
        if root is None:
            return
        if not isinstance(root, yaml.MappingNode):
            raise unmapped(ID, "the head holds no fields.", line=self._line)
        for key, value in root.value:
            line = self._line + key.start_mark.line
            nodes = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if not all(isinstance(node, yaml.ScalarNode) for node in (key, *nodes)):
                fix = "Write it as a text or a list of texts, or take it out."
                raise unmapped(ID, "a field holds more than texts.", line=line, fix=fix)
            values = [node.value for node in nodes]
            if key.value == "tags" and nodes == [value]:
                values = value.value.split(",")
            yield key.value, line, values

    def _take(self, name: str, line: int, values: list[str]) -> None:
        if name == "title":
            self._title = ", ".join(values).strip()
        elif name == "type":
            self._tag([value for value in values if value != "note"], line, first=True)
        elif name == "tags":
            self._tag([tag.strip().lstrip("#") for tag in values if tag.strip()], line)
        elif name not in _NOT_KEPT:
            self._more += self._observations(name, line, values)

    def _tag(self, tags: list[str], line: int, *, first: bool = False) -> None:
        try:
            joined = [*tags, *self._tags] if first else [*self._tags, *tags]
            self._tags = list(checked_tags(joined))
        except WriteError as error:
            raise unmapped(ID, error.message, line=line, fix="Use fewer or shorter ones.") from None

    def _observations(self, name: str, line: int, values: list[str]) -> list[str]:
        """Return a field of one's own as observations: the field is their category."""
        if not _CATEGORY.fullmatch(name):
            raise unmapped(ID, f"the field {name[:40]!r} can't be an observation.", line=line)
        return [f"- [{name}] {' '.join(value.split())}" for value in values if value.strip()]


def export(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return each entry as a note with the path that it may have."""
    taken: set[str] = set()
    return {
        "plugin": ID,
        "notes": [{"path": _path(entry, taken), "text": _text(entry)} for entry in entries],
    }


def _path(entry: Entry, taken: set[str]) -> str:
    name = _NAMELESS.sub("-", entry.title or entry.id)[:_LONGEST_NAME].strip(" .-") or entry.id
    if name.casefold() in taken:
        name = f"{name} {entry.id}"
    taken.add(name.casefold())
    return f"{name}.md"


def _text(entry: Entry) -> str:
    head = [f"title: {scalar(entry.title or entry.id)}", "type: note"]
    if entry.tags:
        head += ["tags:", *(f"- {scalar(tag)}" for tag in entry.tags)]
    head += [f"created: {_time(entry.created)}", f"modified: {_time(entry.updated)}"]
    return "\n".join(["---", *head, "---", "", entry.text, ""])


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1_000, UTC).isoformat(timespec="seconds")


ADAPTER = Adapter(
    id=ID,
    name="basic-memory notes",
    description="Notes of basic-memory: each is one memory of type reference, its text as it "
    "stands, observations and relations in it; title and tags are kept, a type other than note "
    "becomes a tag, a field of one's own an observation. Permalinks and times are not kept. "
    "Written, track, scope and agents are left out.",
    version="1.0.0",
    import_formats=("basic-memory-note", "basic-memory-notes"),
    export_format="basic-memory-notes",
    adapt=adapt,
    export=export,
)
