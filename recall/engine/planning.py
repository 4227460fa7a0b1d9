"""From what is asked for to what it changes: drafts completed, targets found, files made up.

A plan is made twice: before it is approved, and again, with nobody else writing, before it is
made true. Whatever may differ between the two (times, ids, what an annotator says) is settled the
first time and stands in the `Write`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache

from recall.core.audit import text_digest
from recall.core.drafts import changed_file, checked, new_file, text_of
from recall.core.metadata import MAX_TAGS, parse_memory
from recall.core.naming import file_name
from recall.core.refs import make_ref
from recall.core.snapshot import Snapshot
from recall.core.splice import Refused
from recall.core.targets import find_target
from recall.core.vocabulary import Vocabulary
from recall.core.writing import (
    ACTIONS,
    ADD,
    CONSOLIDATE,
    MAX_SEEDS,
    MAX_TARGETS,
    REMOVE,
    REPLACE,
    RESTORE,
    SEED,
    Asker,
    Draft,
    FileChange,
    Flag,
    Plan,
    Write,
    may_change,
)
from recall.engine.completing import annotated
from recall.engine.ports import Annotator, Store, WriteFiles
from recall.engine.restoring import Restorer
from recall.errors import WriteError
from recall.model import Memory, Root, track_of
from recall.settings import Settings
from recall.structs import replace

_COUNTS = {
    # action: drafts and targets that it takes, at least and at most
    ADD: ((1, 1), (0, 0)),
    SEED: ((1, MAX_SEEDS), (0, 0)),
    REPLACE: ((1, 1), (1, 1)),
    REMOVE: ((0, 0), (1, MAX_TARGETS)),
    CONSOLIDATE: ((1, MAX_TARGETS), (1, MAX_TARGETS)),
    RESTORE: ((0, 0), (1, 1)),
}


class Planner:
    """Makes plans over one corpus. Writes nothing."""

    def __init__(
        self,
        store: Store,
        files: WriteFiles,
        settings: Settings,
        annotator: Callable[[], Annotator],
        restorer: Restorer,
        *,
        redacted: Callable[[str], str],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        """`redacted` takes the secrets out of a text: file names and what is made up hold none."""
        self._store = store
        self._files = files
        self._roots: Sequence[Root] = settings.roots
        self._annotator = annotator
        self._restorer = restorer
        self._redacted = redacted
        self._now = now
        self._new_id = new_id

    # --- the first time

    def settle(self, write: Write, asker: Asker, snapshot: Snapshot) -> Write:
        """Return the write with nothing left open: its time, new memories' ids and metadata.

        Raises WriteError INVALID_INPUT, SCOPE_UNAVAILABLE and what finding a target raises.
        """
        _count(write)
        _may_look(snapshot)
        at = write.at or self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        drafts = write.drafts
        if write.action == REPLACE:
            drafts = tuple(checked(draft, new=False) for draft in drafts)
        else:
            if write.action == CONSOLIDATE:
                memories = self.targets(write, asker, snapshot)
                drafts = tuple(self._inherited(draft, memories) for draft in drafts)
            drafts = self._completed(drafts, asker, snapshot, at)
        return replace(write, drafts=drafts, at=at)

    def _completed(
        self, drafts: Sequence[Draft], asker: Asker, snapshot: Snapshot, at: str
    ) -> tuple[Draft, ...]:
        words: dict[str, Vocabulary] = {}
        annotator = cache(self._annotator)  # which may have to learn the corpus first
        # Who lists by time and id lists what came together in the order in which it came.
        ids = sorted(self._new_id() for _ in drafts)
        done = []
        for draft, own in zip(_numbered(drafts), ids, strict=True):
            scope = self._scope(draft)
            label = draft.source or asker.label or asker.source
            agent = draft.agent or asker.agent
            draft = replace(draft, scope=scope, source=label, agent=agent, id=draft.id or own)
            if scope not in words:
                words[scope] = Vocabulary.of(
                    one for one in snapshot.memories.values() if one.scope == scope
                )
            done.append(annotated(draft, words[scope], at, annotator, self._redacted))
        return tuple(done)

    def _scope(self, draft: Draft) -> str:
        """Return the scope that a new memory goes to: its own, or that of its type."""
        if draft.scope:
            return draft.scope
        there = [root.scope for root in self._roots]
        others = [scope for scope in ("project", "user") if scope in there]
        wish = _scope_of(draft.type)
        return wish if wish in there or not others else others[0]

    def elsewhere(self, write: Write) -> list[Flag]:
        """Return what to say of new memories whose type's scope has no folder."""
        there = {root.scope for root in self._roots}
        missing = {one.type: _scope_of(one.type) for one in write.drafts if one.type}
        return [
            Flag(
                "other_scope",
                f"type {type} belongs to scope {scope}, which has no folder. {_HOW.get(scope, '')}",
            )
            for type, scope in missing.items()
            if scope not in there
        ]

    def _inherited(self, draft: Draft, memories: Sequence[Memory]) -> Draft:
        """Return a consolidation's draft with what all of its targets have in common."""

        def common(name: str) -> str:
            values = {getattr(memory, name) for memory in memories}
            return str(values.pop()) if len(values) == 1 else ""

        tags = draft.tags
        if tags is None:
            read = (self._store.read(memory).metadata.tags for memory in memories)
            tags = tuple(dict.fromkeys(tag for own in read for tag in own))[:MAX_TAGS]
        return replace(
            draft,
            scope=draft.scope or common("scope") or memories[0].scope,
            type=draft.type or common("type") or memories[0].type,
            agent=draft.agent or common("agent"),
            pinned=True if any(memory.pinned for memory in memories) else draft.pinned,
            tags=tags,
        )

    # --- each time

    def plan(self, write: Write, asker: Asker, snapshot: Snapshot) -> Plan:
        """Return what a settled write changes in the corpus as the snapshot has it.

        Raises WriteError where it can't be made: no such target, one that is not this asker's to
        change, a file or folder that can't be written.
        """
        if write.action == RESTORE:
            return Plan(write.action, self._restorer.changes(write.targets[0]))
        names: set[tuple[str, str]] = set()
        targets = self.targets(write, asker, snapshot) if write.targets else []
        self._unchanged(targets, write.read)
        changes: list[FileChange] = []
        if write.action == REPLACE:
            changes += self._changed(targets[0], write.drafts[0], write.at)
        else:
            changes += [self._created(draft, write.at, names) for draft in write.drafts]
            changes += [self._removed(memory) for memory in targets]
        return Plan(write.action, tuple(changes))

    def targets(self, write: Write, asker: Asker, snapshot: Snapshot) -> list[Memory]:
        """Return the memories that a write means, each once. Raises WriteError."""
        _may_look(snapshot)
        seen = [
            memory
            for memory in snapshot.memories.values()
            if write.scope in ("", memory.scope) and write.track in ("", track_of(memory.type))
        ]
        found = {}
        for target in write.targets:
            memory = find_target(target, seen, self._text, self._redacted)
            _may(memory, asker)
            found[memory.ref] = memory
        return list(found.values())

    def _unchanged(self, targets: Sequence[Memory], read: Sequence[str]) -> None:
        """Raise where a target does not say any more what the write goes by."""
        for memory, digest in zip(targets, read, strict=bool(read)):
            if text_digest(self._text(memory) or "") != digest:
                raise WriteError(
                    "WRITE_SUPERSEDED",
                    f"{memory.ref} was changed since this was proposed.",
                    fix="Dismiss it; the next dream looks at what is there by then.",
                    refs=[memory.ref],
                )

    def _text(self, memory: Memory) -> str | None:
        try:
            return text_of(self._store.read(memory).body)
        except OSError:
            return None

    def _created(self, draft: Draft, at: str, names: set[tuple[str, str]]) -> FileChange:
        root = self.root_of(draft.scope)
        title = self._redacted(draft.title or draft.text or "")
        path = self.free_name(draft.scope, title, names)
        data = new_file(draft, draft.id, at)
        return FileChange(
            make_ref(draft.scope, path),
            draft.scope,
            root,
            path,
            None,
            data,
            title=draft.title,
            type=draft.type,
            entry=draft.id,
            new_text=draft.text or "",
        )

    def root_of(self, scope: str) -> int:
        """Return the root that new memories of a scope go to. Raises SCOPE_UNAVAILABLE."""
        for number, root in enumerate(self._roots):
            if root.scope == scope:
                why = self._files.refused(number)
                if why:
                    raise _unavailable(scope, f"{root.path}: {why}")
                return number
        raise _unavailable(scope, "There is no folder for it.")

    def free_name(self, scope: str, title: str, names: set[tuple[str, str]]) -> str:
        """Return a file name that no root of the scope has, nor `names`, and add it there."""
        roots = [number for number, root in enumerate(self._roots) if root.scope == scope]

        def taken(name: str) -> bool:
            return (scope, name.casefold()) in names or any(
                self._files.taken(number, name) for number in roots
            )

        name = file_name(title, taken)
        names.add((scope, name.casefold()))
        return name

    def _changed(self, memory: Memory, draft: Draft, at: str) -> list[FileChange]:
        before = self._look(memory)
        after = changed_file(before, draft, at)
        if after == before:
            return []
        old, new = parse_memory(before, memory.path), parse_memory(after, memory.path)
        return [
            _of(memory, before, after)._replace(
                title=new.metadata.title,
                type=new.metadata.type,
                entry=new.metadata.id,
                old_text=text_of(old.body),
                new_text=text_of(new.body),
            )
        ]

    def _removed(self, memory: Memory) -> FileChange:
        before = self._look(memory)
        old = parse_memory(before, memory.path)
        return _of(memory, before, None)._replace(entry=old.metadata.id, old_text=text_of(old.body))

    def _look(self, memory: Memory) -> bytes:
        raw = self._files.look(memory)
        if isinstance(raw, Refused):
            raise WriteError(
                "NOT_WRITABLE",
                f"{memory.ref} can't be written to. {raw.reason}",
                fix="Make it an ordinary file that you may write to, or leave it as it is.",
                ref=memory.ref,
            )
        return raw


def _numbered(drafts: Sequence[Draft]) -> Iterator[Draft]:
    """Yield each draft with its text and tags in order; an error says which of several it is."""
    for number, draft in enumerate(drafts, 1):
        try:
            yield checked(draft, new=True)
        except WriteError as error:
            if len(drafts) == 1:
                raise
            message = f"Memory {number:,} of {len(drafts):,}: {error.message}"
            raise WriteError(error.code, message, fix=error.fix, **error.evidence) from None


def _of(memory: Memory, before: bytes, after: bytes | None) -> FileChange:
    return FileChange(
        memory.ref,
        memory.scope,
        memory.root,
        memory.path,
        before,
        after,
        title=memory.title,
        type=memory.type,
    )


def _count(write: Write) -> None:
    if write.action not in _COUNTS:
        known = ", ".join(ACTIONS)
        raise WriteError("INVALID_INPUT", f"No action {write.action!r}.", fix=f"Use {known}.")
    for what, given, (low, high) in (
        ("texts", write.drafts, _COUNTS[write.action][0]),
        ("targets", write.targets, _COUNTS[write.action][1]),
    ):
        if not low <= len(given) <= high:
            count = str(low) if low == high else f"{low} to {high}"
            message = f"{write.action} takes {count} {what}, and has {len(given)}."
            raise WriteError("INVALID_INPUT", message, fix=f"Give {count} of them.", field=what)


def _may_look(snapshot: Snapshot) -> None:
    """Raise where nothing could be looked at: that is not the same as nothing being there."""
    status = snapshot.status
    if status.incomplete and not status.searched:
        reasons = ", ".join(f"{one.scope} {one.reason}" for one in status.incomplete)
        raise WriteError(
            "SCOPE_UNAVAILABLE",
            f"No memory could be looked at: {reasons}.",
            fix="See `recall status` and `recall doctor`.",
        )


def _may(memory: Memory, asker: Asker) -> None:
    why = may_change(memory, asker)
    if why == "pinned":
        raise WriteError(
            "PINNED",
            f"{memory.ref} is pinned: no machine changes or removes it.",
            fix="Leave it, or ask the user to change it himself.",
            ref=memory.ref,
        )
    if why:
        raise WriteError(
            "OTHER_AGENT",
            f"{memory.ref} belongs to the agent {memory.agent}.",
            fix="Leave it, or remember what you have to say on its own.",
            ref=memory.ref,
        )


_HOW = {
    "project": "To have one: mkdir -p .recall/memory in the project's folder, or name another in "
    "roots.project.",
    "user": "To have one: mkdir -p ~/.recall/memory, or name another in roots.user.",
    "team": "To have one: scopes.team = true in your settings, and recall init --trust.",
}


def _scope_of(type: str) -> str:
    """Return the scope that memories of a type belong to."""
    return "user" if type in ("user", "feedback") else "project"


def _unavailable(scope: str, why: str) -> WriteError:
    return WriteError(
        "SCOPE_UNAVAILABLE",
        f"Nothing can be written to scope {scope}. {why}",
        fix=f"Use another scope. {_HOW.get(scope, '')}".strip(),
        scope=scope,
    )
