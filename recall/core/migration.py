"""Which files a migration takes, in which portions, what it writes, and what came of each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from recall.core.annotation import Annotation
from recall.core.metadata import MIN_KEYWORDS, parse_memory
from recall.core.snapshot import Snapshot
from recall.core.splice import Refused, Spliced, splice
from recall.core.splice_values import joinable
from recall.core.vocabulary import Vocabulary
from recall.model import (
    SCOPES,
    SEPARATOR,
    SHOWN_DESCRIPTION,
    SHOWN_TITLE,
    Memory,
    Metadata,
    Parsed,
    SourceStatus,
)

MAX_FILES: Final = 10
MAX_CHARS: Final = 40_000
"""Of a batch, the bodies' characters (DESIGN.md, 10); a longer file is a batch of its own."""
WRITTEN_KEYWORDS: Final = 6
STALLED: Final = 3
"""So many failures in a row that may pass, of the annotator or of writing, end a run."""
RETRY_S: Final = (60, 300, 1_800, 10_800, 86_400)
"""Seconds until the next try after the first failure, the second, …; after the last, no more."""

WRITTEN, PROPOSED = "written", "proposed"
CONFLICT, REFUSED, FAILED, SKIPPED = "conflict", "refused", "failed", "skipped"
RESULTS = (WRITTEN, PROPOSED, CONFLICT, REFUSED, FAILED, SKIPPED)

UNDONE: Final = "undone"
"""The kind of an attempt that a person took back: only a person's own command tries again."""
ANNOTATORS_OWN: Final = ("incomplete", "bad-value", "unknown-key")
"""Kinds of a refused splice that tell of what the annotator gave, not of the file."""
NOT_ITS_BYTES: Final = ("read-only", "hard-linked", "link", "unreadable", "vanished", "write")
"""Kinds of what the file system said: that may change although the file does not."""


class Change(NamedTuple):
    """A file's bytes before and after."""

    before: bytes
    after: bytes


class Outcome(NamedTuple):
    """What came of one file, and why.

    `kind` is stable: for `refused` the splice's or what the file system says (`read-only`,
    `hard-linked`, `link`, `unreadable`, `vanished`), `empty`, for `failed` `annotator`,
    `annotator-retry` or `write`, for `skipped` `backoff`, `hopeless`, `undone` or `structured`.
    """

    ref: str
    result: str
    kind: str = ""
    reason: str = ""
    line: int | None = None
    fields: tuple[str, ...] = ()
    """The head's keys that were written."""
    change: Change | None = None
    """What would be written, of a dry run."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, without the bytes."""
        out: dict[str, Any] = {"ref": self.ref, "result": self.result}
        for name in ("kind", "reason", "line"):
            if getattr(self, name):
                out[name] = getattr(self, name)
        if self.fields:
            out["fields"] = list(self.fields)
        return out


class Cleared(NamedTuple):
    """Files that were removed or put back, and files that hold what nobody knows: they stay."""

    removed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class Undone(NamedTuple):
    """What came of taking one file back: `restored`, `already` (nothing to do) or `refused`."""

    file: str
    result: str
    reason: str = ""
    expected: str = ""
    """The digest that was written, where the file was edited since; `content` is what it has."""
    content: str = ""
    before: bytes | None = None
    """The earlier bytes and the present ones, where the file was edited since."""
    now: bytes | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, without the bytes."""
        names = ("file", "result", "reason", "expected", "content")
        return {name: getattr(self, name) for name in names if getattr(self, name)}


class Attempt(NamedTuple):
    """What is known of an annotator's failures with one content; `at`, `retry_at` in Unix time."""

    tries: int
    at: float
    retry_at: float
    hopeless: bool
    kind: str
    reason: str

    def failed_again(self, now: float, reason: str, *, retry: bool) -> Attempt:
        """Return what is known after one more failure."""
        tries = self.tries + 1
        hopeless = not retry or tries > len(RETRY_S)
        again = 0.0 if hopeless else now + RETRY_S[tries - 1]
        return Attempt(tries, now, again, hopeless, "annotator", reason)

    def waits(self, now: float, *, background: bool) -> tuple[str, str] | None:
        """Return why no annotator is asked at this time, kind and reason; None where one is."""
        if self.kind == UNDONE:
            return (UNDONE, self.reason) if background else None
        if self.hopeless:
            tried = "once" if self.tries == 1 else f"{self.tries} times"
            return "hopeless", f"{self.reason} (tried {tried}; edit the file, or use --retry)"
        if self.retry_at > now:
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.retry_at))
            return "backoff", f"{self.reason} (next try from {at})"
        return None


NEVER_TRIED: Final = Attempt(0, 0.0, 0.0, False, "", "")


class Failed(NamedTuple):
    """A file that was not migrated: `mark` tells the memory as it was then."""

    file: str
    mark: str
    annotator: str
    """Empty where the file itself is the reason."""
    attempt: Attempt


def mark_of(memory: Memory) -> str:
    """Return what tells a memory from a later state of its file."""
    return f"{memory.version}:{memory.digest.hex()}:{memory.mtime_ns}"


def standing(
    memories: Iterable[Memory], file: Callable[[Memory], str], failures: Iterable[Failed]
) -> Iterator[tuple[Memory, Failed]]:
    """Yield the legacy memories with what failed when they were last tried, as they are now.

    No file is read for it: what failed with an earlier state of a memory does not count.
    """
    known: dict[str, list[Failed]] = {}
    for one in failures:
        known.setdefault(one.file, []).append(one)
    for memory in memories if known else ():
        for one in known.get(file(memory), ()):
            if not memory.structured and one.mark == mark_of(memory):
                yield memory, one


@dataclass(slots=True)
class Report:
    """What a run came to."""

    run: str = ""
    """Names it for `--undo`; empty where nothing was written."""
    annotator: str = ""
    legacy: int = 0
    """Legacy memories at the start, and at the end."""
    left: int = 0
    memories: int = 0
    calls: int = 0
    """How often the annotator was asked; of one that counts its own calls, those."""
    tokens: int = 0
    estimate: tuple[int, int] | None = None
    """Calls and tokens that the run would take, of a dry run with a model."""
    stopped: str = ""
    """Why it ended early: `cancelled`, `calls`, `stalled`, `annotator`, `state`."""
    reason: str = ""
    """What was the matter, where it ended early."""
    status: SourceStatus = field(default_factory=SourceStatus)
    outcomes: list[Outcome] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Files that a killed run left and that hold somebody else's bytes: a person decides."""
    indexes: list[str] = field(default_factory=list)
    """Index files that were rebuilt; that would be, of a dry run."""
    index_changes: dict[str, Change] = field(default_factory=dict)
    """What they would become, of a dry run."""

    @property
    def failed(self) -> bool:
        """Whether something that was asked for was not done, and could have been."""
        ended = self.stopped in ("stalled", "annotator", "state")
        return ended or bool(self.count(FAILED) or self.count(CONFLICT))

    def count(self, result: str) -> int:
        return sum(one.result == result for one in self.outcomes)

    def reasons(self) -> Counter[tuple[str, str]]:
        """Return how often each (result, kind) came, without what succeeded."""
        return Counter((o.result, o.kind) for o in self.outcomes if o.kind)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "run": self.run,
            "annotator": self.annotator,
            "memories": self.memories,
            "legacy": self.legacy,
            "left": self.left,
            "calls": self.calls,
            "tokens": self.tokens,
            "estimate": self.estimate
            and dict(zip(("calls", "tokens"), self.estimate, strict=True)),
            "stopped": self.stopped,
            "reason": self.reason,
            "kept": self.kept,
            "indexes": self.indexes,
            "counts": {result: self.count(result) for result in RESULTS},
            "files": [one.to_dict() for one in self.outcomes],
            "sourceStatus": self.status.to_dict(),
        }


def candidates(snapshot: Snapshot, scopes: Collection[str] = ()) -> list[Memory]:
    """Return the legacy memories of the scopes (none: all), scope by scope in path order."""
    found = [
        memory
        for memory in snapshot.memories.values()
        if not memory.structured and (not scopes or memory.scope in scopes)
    ]
    return sorted(found, key=lambda one: (SCOPES.index(one.scope), one.root, one.path))


def batches(memories: Iterable[Memory]) -> Iterator[list[Memory]]:
    """Yield them in portions of at most MAX_FILES files and MAX_CHARS characters of body."""
    batch: list[Memory] = []
    total = 0
    for memory in memories:
        if batch and (len(batch) == MAX_FILES or total + memory.total > MAX_CHARS):
            yield batch
            batch, total = [], 0
        batch.append(memory)
        total += memory.total
    if batch:
        yield batch


_ANY = Annotation("x", "x", "project", "x", ("one", "two", "three"), ("x",))


def spliceable(raw: bytes, parsed: Parsed) -> Refused | None:
    """Return why metadata can't be written into the file, whatever it is; None where it can.

    Asked before an annotator is, so that a hopeless file costs no call.
    """
    metadata = parsed.metadata
    if not parsed.body.strip() and "description" in metadata.missing:
        return Refused("empty", "It says nothing that could be described.")
    tried = splice(raw, values_of(metadata, _ANY), keep=True)
    return tried if isinstance(tried, Refused) else None


def canonical(annotation: Annotation, vocabulary: Vocabulary) -> Annotation:
    """Return the annotation with its keywords as the vocabulary has them, each once.

    Where too few would be left, they stay as they are.
    """
    words = tuple(dict.fromkeys(map(vocabulary.canonical, annotation.keywords)))
    return annotation._replace(keywords=words) if len(words) >= MIN_KEYWORDS else annotation


def values_of(metadata: Metadata, annotation: Annotation) -> dict[str, str | Sequence[str]]:
    """Return what is to be written: the annotation's values for the missing fields, no others.

    A keyword that the file has, one being too few, stays and stands first. Fields that the
    annotation leaves empty are left out.
    """
    wanted: dict[str, str | Sequence[str]] = {}
    for name, value in annotation.values(metadata.missing).items():
        if name == "keywords" and metadata.keywords and value:
            own = metadata.keywords
            known = {word.casefold() for word in own}
            more = (word for word in value if word.casefold() not in known and joinable(word))
            value = (*own, *more)[:WRITTEN_KEYWORDS]
        if value:
            wanted[name] = value
    return wanted


def change_of(raw: bytes, parsed: Parsed, annotation: Annotation) -> Spliced | Refused:
    """Return the file with its metadata complete, or why there is none.

    What somebody wrote into it stays: a value of the file's is replaced where it says nothing. A
    result that would still be legacy is refused (`incomplete`).
    """
    done = splice(raw, values_of(parsed.metadata, annotation), keep=True)
    if isinstance(done, Refused):
        return done
    lacks = parse_memory(done.data, "").metadata.missing
    if lacks:
        return Refused("incomplete", f"The annotator gave no usable {', '.join(lacks)}.")
    return done


def structured(memory: Memory, data: bytes) -> Memory:
    """Return the memory as it is with its new metadata, for the vocabulary and an index."""
    now = parse_memory(data, memory.path).metadata
    return memory._replace(
        title=now.title[:SHOWN_TITLE],
        description=now.description[:SHOWN_DESCRIPTION],
        type=now.type,
        category=now.category,
        keyword_text=SEPARATOR.join(now.keywords),
        scenario_text=SEPARATOR.join(now.usage_scenarios),
        structured=1,
    )
