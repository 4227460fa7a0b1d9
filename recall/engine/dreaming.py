"""A dream over one scope: near-duplicates, references to what is gone, memories that are too long.

It reads and proposes. Nothing is written, and nothing of a person's is ever decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from recall.core.audit import text_digest
from recall.core.clusters import Member, Sketch, clusters, member, sketch
from recall.core.dangling import WIKI, Reference, line_of, mended, moved, references
from recall.core.drafts import text_of
from recall.core.dreaming import (
    BROKEN,
    DUPLICATES,
    LONG,
    Finding,
    became,
    consolidation,
    correction,
    division,
)
from recall.core.facts import lost
from recall.core.merging import merged
from recall.core.splitting import split
from recall.core.writing import MAX_TEXT, Asker, Lost, may_change
from recall.engine.pointing import Known, Pointing
from recall.errors import AnnotationError
from recall.model import Memory
from recall.structs import replace

if TYPE_CHECKING:
    from recall.engine.ports import Merger, Places, Store

SOURCE: Final = "dream"


class Looked(NamedTuple):
    """What is kept of a memory that was looked at; its text is not."""

    memory: Memory
    size: int
    pointed: Sequence[Reference]
    sketch: Sketch | None
    """None for an empty one."""


class Dreamer:
    """Looks for what could be put right in the memories of one scope after the other."""

    def __init__(
        self,
        store: Store,
        places: Places,
        *,
        longest: int,
        secret: Callable[[str], Sequence[object]],
        lost: Callable[[], Iterable[Lost]],
        agent: str = "",
        merger: Merger | None = None,
    ) -> None:
        """`longest` is how many characters of one memory a turn may read. `merger` words the text
        of consolidations; where it loses a fact, or fails, the mechanical one stands. It is not
        shown texts of which `secret` says that they hold one. `lost` tells of the files that
        writes made and removed, the newest first.
        """
        self._store = store
        self._places = places
        self._longest = longest
        self._asker = Asker(SOURCE, agent=agent)
        self._merger = merger
        self._secret = secret
        self._lost = lost
        self.trouble: list[str] = []
        """What was not done, and why."""

    def find(
        self, scope: str, wanted: Callable[[Finding], bool] = lambda _: True
    ) -> Iterator[Finding]:
        """Yield what is found in a scope: duplicates first, then references, then lengths.

        `wanted` is asked before a text is worked out for a finding, which may cost a model's call;
        a finding that is not wanted comes without a write.
        """
        snapshot = self._store.refresh()
        looked = {
            memory.ref: one
            for memory in sorted(snapshot.memories.values(), key=lambda memory: memory.ref)
            if memory.scope == scope
            and not may_change(memory, self._asker)
            and (one := self._looked(memory)) is not None
        }
        known = Known(snapshot, self._places, became(self._lost()))
        pointing = known.pointing((one.memory, one.pointed) for one in looked.values())
        yield from self._duplicates(scope, looked, wanted, pointing)
        if snapshot.status_for([scope]).complete:
            yield from self._broken(scope, looked, known)
        else:
            self.trouble.append(f"not all of {scope} could be read: references were not looked at")
        yield from self._long(scope, looked)

    def _looked(self, memory: Memory) -> Looked | None:
        text = self._text(memory)
        if text is None:
            return None
        sketched = sketch(memory.ref, memory.title, text) if text else None
        return Looked(memory, len(text), references(text), sketched)

    def _text(self, memory: Memory) -> str | None:
        try:
            return text_of(self._store.read(memory).body)
        except OSError:
            return None

    # --- near-duplicates

    def _duplicates(
        self,
        scope: str,
        looked: Mapping[str, Looked],
        wanted: Callable[[Finding], bool],
        pointing: Pointing,
    ) -> Iterator[Finding]:
        kinds: dict[tuple[int, str, str], list[Sketch]] = {}
        for one in looked.values():
            if one.sketch:
                its = one.memory
                kinds.setdefault((its.root, its.type, its.agent), []).append(one.sketch)
        home = min((one.memory.root for one in looked.values()), default=0)

        def read(ref: str) -> Member | None:
            memory = looked[ref].memory
            text = self._text(memory)
            return member(memory.title, text) if text else None

        for (root, _, _), sketches in kinds.items():
            for refs in clusters(sketches, read):
                group = [looked[ref].memory for ref in refs]
                texts = [self._text(memory) for memory in group]
                if None in texts:
                    continue  # gone by now
                said = [text or "" for text in texts]
                found = _duplicate(scope, group, said, pointing)
                if root != home:
                    why = "new memories go to the scope's first folder, and these stand in another"
                    yield replace(found, why=why)
                else:
                    yield self._consolidated(found, group, said) if wanted(found) else found

    def _consolidated(self, found: Finding, group: Sequence[Memory], said: list[str]) -> Finding:
        texts = [moved(text, one.path) for text, one in zip(said, group, strict=True)]
        text = self._worded(group[0].title, texts) or merged(texts)
        if len(text) > MAX_TEXT:
            return replace(found, why=f"together they have more than {MAX_TEXT:,} characters")
        return replace(found, write=replace(consolidation(group, text), read=found.read))

    def _worded(self, title: str, texts: Sequence[str]) -> str:
        """Return the merger's text, if it holds every fact; else nothing."""
        if self._merger is None:
            return ""
        if any(map(self._secret, texts)):
            self.trouble.append(f"{title!r} was not sent: it holds what looks like a secret")
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

    def _broken(self, scope: str, looked: Mapping[str, Looked], known: Known) -> Iterator[Finding]:
        wiki = any(  # else double brackets mean something else here
            known.is_there(one.memory, its)
            for one in looked.values()
            for its in one.pointed
            if its.kind == WIKI
        )
        for one in looked.values():
            gone = [
                its
                for its in one.pointed
                if (wiki or its.kind != WIKI) and known.is_there(one.memory, its) is False
            ]
            text = self._text(one.memory) if gone else None
            if text is not None and references(text) == one.pointed:
                yield _broken(scope, one.memory, text, gone, known)

    # --- lengths

    def _long(self, scope: str, looked: Mapping[str, Looked]) -> Iterator[Finding]:
        home = min((one.memory.root for one in looked.values()), default=0)
        for one in looked.values():
            if one.size > self._longest and (text := self._text(one.memory)):
                yield _long(scope, one.memory, text, self._longest, home)


def _duplicate(
    scope: str,
    group: Sequence[Memory],
    texts: Sequence[str],
    pointing: Pointing,
) -> Finding:
    refs = tuple(memory.ref for memory in group)
    message = f"{len(refs)} memories say the same: {', '.join(refs)}."
    details = [
        f"{other} points at {ref}"
        for ref in refs
        for other in pointing.get(ref, ())
        if other not in refs
    ]
    return Finding(DUPLICATES, scope, refs, message, details=tuple(details), read=_digests(texts))


def _broken(
    scope: str, memory: Memory, text: str, gone: Sequence[Reference], known: Known
) -> Finding:
    better = {its: found for its in gone if (found := known.better(memory, its))}
    details = []
    for its in gone:
        line = f"line {line_of(text, its.start)}: the {its.kind} {its.target}"
        details.append(f"{line} → {better[its]}" if its in better else f"{line} is not there")
    read = _digests([text])
    write = replace(correction(memory, mended(text, better)), read=read) if better else None
    message = f"{memory.ref} points at what is not there."
    return Finding(BROKEN, scope, (memory.ref,), message, write, tuple(details), read)


def _long(scope: str, memory: Memory, text: str, longest: int, home: int) -> Finding:
    message = f"{memory.ref} has {len(text):,} characters; a turn reads {longest:,} of one memory."
    read = _digests([text])
    found = Finding(LONG, scope, (memory.ref,), message, read=read)
    parts = split(moved(text, memory.path), longest) if memory.root == home else []
    if not parts:
        return replace(found, why="no headings divide it into parts that are short enough")
    headings = [", ".join(part.headings[:3]) or memory.title for part in parts]
    details = tuple(
        f"part {number}: {len(part.text):,} characters: {heading}"
        for number, (part, heading) in enumerate(zip(parts, headings, strict=True), 1)
    )
    return replace(found, write=replace(division(memory, parts), read=read), details=details)


def _digests(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(text_digest, texts))
