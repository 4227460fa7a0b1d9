"""A dream over one scope: near-duplicates, references to what is gone, memories that are too long.

It reads and proposes. Nothing is written, and nothing of a person's is ever decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from recall.core.clusters import Member, clusters, member
from recall.core.dangling import (
    LINK,
    PATH,
    REF,
    WIKI,
    Reference,
    beside,
    line_of,
    link_to,
    mended,
    references,
)
from recall.core.drafts import text_of
from recall.core.dreaming import BROKEN, DUPLICATES, LONG, Finding, consolidation, correction
from recall.core.facts import lost
from recall.core.merging import merged
from recall.core.refs import RefIndex, make_ref, split_ref
from recall.core.snapshot import Snapshot
from recall.core.writing import MAX_TEXT, Asker, may_change
from recall.engine.writing import WriteService
from recall.errors import AnnotationError, WriteError
from recall.model import Memory
from recall.structs import replace

if TYPE_CHECKING:
    from recall.engine.ports import Merger, Places, Store

SOURCE: Final = "dream"
_EXTENSIONS: Final = (".md", ".markdown", ".mdx")


class Read(NamedTuple):
    """A memory with its text, as drafts have it."""

    memory: Memory
    text: str


class Dreamer:
    """Looks for what could be put right in the memories of one scope after the other."""

    def __init__(
        self,
        store: Store,
        places: Places,
        *,
        longest: int,
        agent: str = "",
        merger: Merger | None = None,
    ) -> None:
        """`longest` is how many characters of one memory a turn may read. `merger` words the text
        of consolidations; where it loses a fact, or fails, the mechanical one stands.
        """
        self._store = store
        self._places = places
        self._longest = longest
        self._asker = Asker(SOURCE, agent=agent)
        self._merger = merger
        self.trouble: list[str] = []
        """Why the merger was not used, where it was not."""

    def find(
        self, scope: str, wanted: Callable[[Finding], bool] = lambda _: True
    ) -> Iterator[Finding]:
        """Yield what is found in a scope: duplicates first, then references, then lengths.

        `wanted` is asked before a text is worked out for a finding, which may cost a model's call;
        a finding that is not wanted comes without a write.
        """
        snapshot = self._store.refresh()
        read = [
            Read(memory, text)
            for memory in sorted(snapshot.memories.values(), key=lambda memory: memory.ref)
            if memory.scope == scope
            and not may_change(memory, self._asker)
            and (text := self._text(memory)) is not None
        ]
        known = _Known(snapshot, self._places)
        pointed = {one.memory.ref: references(one.text) for one in read}
        yield from self._duplicates(scope, read, wanted, known.pointing(read, pointed))
        yield from self._broken(scope, read, known, pointed)
        yield from self._long(scope, read)

    def _text(self, memory: Memory) -> str | None:
        try:
            return text_of(self._store.read(memory).body)
        except OSError:
            return None

    # --- near-duplicates

    def _duplicates(
        self,
        scope: str,
        read: Sequence[Read],
        wanted: Callable[[Finding], bool],
        pointing: Mapping[str, Sequence[str]],
    ) -> Iterator[Finding]:
        by_ref = {one.memory.ref: one for one in read}
        kinds: dict[tuple[int, str, str], list[Member]] = {}
        for one in read:
            its = one.memory
            if one.text:
                kind = (its.root, its.type, its.agent)
                kinds.setdefault(kind, []).append(member(its.ref, its.title, one.text))
        home = min((one.memory.root for one in read), default=0)
        for (root, _, _), members in kinds.items():
            for group in clusters(members):
                found = _duplicate(scope, [by_ref[one.ref] for one in group], pointing)
                if root != home:
                    yield found  # new memories go to the scope's first folder: they would move
                elif wanted(found):
                    yield self._consolidated(found, [by_ref[one.ref] for one in group])
                else:
                    yield found

    def _consolidated(self, found: Finding, group: Sequence[Read]) -> Finding:
        texts = [one.text for one in group]
        text = self._worded(group[0].memory.title, texts) or merged(texts)
        if len(text) > MAX_TEXT:
            return found
        write = consolidation([one.memory for one in group], text)
        return replace(found, write=write)

    def _worded(self, title: str, texts: Sequence[str]) -> str:
        """Return the merger's text, if it holds every fact; else nothing."""
        if self._merger is None:
            return ""
        try:
            text = text_of(self._merger.merge(title, texts))
        except AnnotationError as error:
            self.trouble.append(error.message)
            if error.stop:
                self._merger = None
            return ""
        gone = lost(list(texts), text)
        if not text or gone:
            what = ", ".join(gone[:3]) or "everything"
            self.trouble.append(f"the model's text for {title!r} lost {what}")
            return ""
        return text

    # --- references

    def _broken(
        self,
        scope: str,
        read: Sequence[Read],
        known: _Known,
        pointed: Mapping[str, Sequence[Reference]],
    ) -> Iterator[Finding]:
        wiki = any(  # else double brackets mean something else here
            known.is_there(one.memory, its)
            for one in read
            for its in pointed[one.memory.ref]
            if its.kind == WIKI
        )
        for one in read:
            gone = [
                its
                for its in pointed[one.memory.ref]
                if (wiki or its.kind != WIKI) and known.is_there(one.memory, its) is False
            ]
            if gone:
                yield _broken(scope, one, gone, known)

    # --- lengths

    def _long(self, scope: str, read: Sequence[Read]) -> Iterator[Finding]:
        for one in read:
            if len(one.text) > self._longest:
                message = (
                    f"{one.memory.ref} has {len(one.text):,} characters; a turn reads "
                    f"{self._longest:,} of one memory. Split it by what it is about."
                )
                yield Finding(LONG, scope, (one.memory.ref,), message)


class _Known:
    """Whether what a memory points at is there, and where it went if not."""

    def __init__(self, snapshot: Snapshot, places: Places) -> None:
        self._memories = snapshot.memories
        self._places = places
        self._index = RefIndex(snapshot.memories)
        self._named: dict[str, set[str]] = {}
        for memory in snapshot.memories.values():
            for name in (_stem(memory.path), memory.title):
                self._named.setdefault(name.casefold(), set()).add(memory.ref)

    def is_there(self, memory: Memory, its: Reference) -> bool | None:
        """Return whether a reference leads somewhere; None where that can't be told."""
        if its.kind == REF:
            scopes = {one.scope for one in self._memories.values()}
            if its.target.partition(":")[0] not in scopes:
                return None
            return self._index.resolve(its.target) is not None
        if its.kind == WIKI:
            return bool(self._named.get(_stem(its.target).casefold()))
        if its.kind == LINK:
            below = beside(memory.path, its.target)
            if below is not None and make_ref(memory.scope, below) in self._memories:
                return True
            return self._places.beside(memory, its.target)
        return self._places.in_project(memory, its.target)

    def pointing(
        self, read: Sequence[Read], pointed: Mapping[str, Sequence[Reference]]
    ) -> dict[str, list[str]]:
        """Return by ref the refs of the memories that point at it."""
        found: dict[str, dict[str, None]] = {}
        for one in read:
            for its in pointed[one.memory.ref]:
                there = self._meant(one.memory, its)
                if there != one.memory.ref:
                    found.setdefault(there, {})[one.memory.ref] = None
        return {ref: list(others) for ref, others in found.items()}

    def _meant(self, memory: Memory, its: Reference) -> str:
        """Return the ref of the memory that a reference leads to; empty for none or several."""
        if its.kind == REF:
            return self._index.resolve(its.target) or ""
        if its.kind == WIKI:
            named = self._named.get(_stem(its.target).casefold(), set())
            return next(iter(named)) if len(named) == 1 else ""
        below = beside(memory.path, its.target) if its.kind == LINK else None
        ref = make_ref(memory.scope, below) if below else ""
        return ref if ref in self._memories else ""

    def better(self, memory: Memory, its: Reference) -> str:
        """Return what the reference should say; empty where no memory or several may be meant."""
        if its.kind == REF:
            return self._index.suggest(its.target) or ""
        if its.kind == PATH or not (its.kind == WIKI or its.target.endswith(_EXTENSIONS)):
            return ""
        if its.kind == WIKI:
            meant = self._index.suggest(f"{memory.scope}:{its.target}")
            parts = split_ref(meant) if meant else None
            return _stem(parts[1]) if parts else ""
        moved = self._named.get(_stem(its.target).casefold(), set()) - {memory.ref}
        if len(moved) != 1:
            return ""
        there = self._memories[moved.pop()]
        if (there.scope, there.root) != (memory.scope, memory.root):
            return ""
        return link_to(memory.path, there.path)


def _duplicate(scope: str, group: Sequence[Read], pointing: Mapping[str, Sequence[str]]) -> Finding:
    refs = tuple(one.memory.ref for one in group)
    message = f"{len(refs)} memories say the same: {', '.join(refs)}."
    details = [
        f"{other} points at {ref}"
        for ref in refs
        for other in pointing.get(ref, ())
        if other not in refs
    ]
    return Finding(DUPLICATES, scope, refs, message, details=tuple(details))


def _broken(scope: str, one: Read, gone: Sequence[Reference], known: _Known) -> Finding:
    better = {its: found for its in gone if (found := known.better(one.memory, its))}
    details = []
    for its in gone:
        line = f"line {line_of(one.text, its.start)}: the {its.kind} {its.target}"
        details.append(f"{line} → {better[its]}" if its in better else f"{line} is not there")
    message = f"{one.memory.ref} points at what is not there."
    write = correction(one.memory, mended(one.text, better)) if better else None
    key = tuple(its.target for its in gone)
    return Finding(BROKEN, scope, (one.memory.ref,), message, write, tuple(details), key)


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    for extension in _EXTENSIONS:
        name = name.removesuffix(extension)
    return name


class Told(Protocol):
    """A proposal, as far as a dream looks at it."""

    @property
    def number(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def session(self) -> str: ...


class Kept(Protocol):
    """Where proposals are kept."""

    def listed(self, states: tuple[str, ...]) -> Sequence[Told]:
        """Return the proposals in these states, the oldest first."""


class Outcome(NamedTuple):
    """What became of a finding.

    `proposed`; `pending`, `approved`, `dismissed` or `expired`: what the earlier proposal of that
    number is; `found`: it is only told; `left` for another run; `refused`, with why.
    """

    finding: Finding
    state: str
    proposal: int = 0
    why: str = ""


class Proposing:
    """Makes findings proposals: each one once, whatever a person decided on it."""

    def __init__(self, writes: Callable[[], WriteService], kept: Kept, *, agent: str = "") -> None:
        self._writes = writes
        self._agent = agent
        states = ("pending", "approved", "dismissed", "expired")
        self._seen = {one.session: one for one in kept.listed(states) if one.source == SOURCE}
        self._full = ""

    def seen(self, finding: Finding) -> bool:
        """Tell whether the finding was proposed before: it waits, or was decided on."""
        return finding.mark in self._seen

    def told(self, finding: Finding) -> Outcome:
        """Return what is known of a finding that is not proposed now."""
        before = self._seen.get(finding.mark)
        if before is None:
            return Outcome(finding, "found")
        return Outcome(finding, before.state, before.number)

    def propose(self, finding: Finding) -> Outcome:
        """Make a finding that has a write a proposal, if it was none before."""
        if finding.write is None or self.seen(finding):
            return self.told(finding)
        if self._full:
            return Outcome(finding, "left", why=self._full)
        asker = Asker(SOURCE, session=finding.mark, agent=self._agent)
        try:
            done = self._writes().propose(finding.write, asker)
        except WriteError as error:
            if error.code == "TOO_MANY_PROPOSALS":
                self._full = error.message
                return Outcome(finding, "left", why=error.message)
            return Outcome(finding, "refused", why=error.message)
        return Outcome(finding, "proposed", done.proposal)
