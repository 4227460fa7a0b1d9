"""What the engine needs of a memory store. The local disk is one; a team's server may be another.

Narrow on purpose: list (as a snapshot), read, search. Nothing here knows of files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:  # a hook's process has no use for most of them
    from recall.core.allowance import Usage
    from recall.core.annotation import Annotation, Unannotated
    from recall.core.audit import Entry
    from recall.core.conversation import Conversation
    from recall.core.embedding import Near
    from recall.core.external import Destination, Item, Outcome
    from recall.core.extraction import Extracted
    from recall.core.migration import Attempt, Change, Cleared, Failed
    from recall.core.question import Question
    from recall.core.ranking import Candidate
    from recall.core.said import Said
    from recall.core.snapshot import Snapshot
    from recall.core.splice import Refused
    from recall.core.talks import Talks
    from recall.core.vocabulary import Vocabulary
    from recall.core.writing import Approval, Asker, Plan, Write
    from recall.model import Memory, Parsed


class Hit(Protocol):
    """One document of the text index: its key, and a score that only compares within a call."""

    @property
    def key(self) -> int: ...
    @property
    def score(self) -> float: ...


class Store(Protocol):
    """A corpus that can be listed, read and searched."""

    def refresh(self, *, index: bool = False, lazy: bool = False) -> Snapshot:
        """Return the corpus as it is now; with `index`, ready to be searched.

        `lazy` allows a recent state, as old as its status says.
        """

    def standing(self, refs: Collection[str]) -> Snapshot | None:
        """Return the last state if it has all of `refs` as they are now, None if not or not known.

        The rest of it is as old as its status says.
        """

    def unchanged_since(self, snapshot: Snapshot) -> bool:
        """Tell whether the snapshot is still the last state."""

    def read(self, memory: Memory) -> Parsed:
        """Return the memory's current content. Raises OSError if it can't be read."""

    def own_index(self, root: int) -> str:
        """Return a root's own flat index (`MEMORY.md`), or its beginning; empty for none."""

    def find(
        self,
        questions: Sequence[Question],
        *,
        scopes: Collection[str] = (),
        categories: Collection[str] = (),
        limit: int = 50,
        fuzzy: bool = False,
    ) -> Sequence[Hit]:
        """Return documents that match any question, best first."""

    def probe(self, question: Question, keys: Collection[int], how: str) -> dict[int, float]:
        """Return which of `keys` match one question: `any`, `all` words, or as a `phrase`."""

    def rarity(self, question: Question) -> dict[str, float]:
        """Return how much each term of a question tells: the rarer, the more."""

    def stem(self, word: str) -> str:
        """Return the form in which the store compares a word; empty if it ignores it."""


class Sessions(Protocol):
    """Where conversations are kept: in memory, or in a state that processes share."""

    def hold(self, id: str) -> AbstractContextManager[Conversation]:
        """Lend one conversation to one caller at a time.

        What the block changed is kept if it ends without an exception.
        """

    def look(self, id: str) -> Conversation | None:
        """Return a conversation as it was last kept, None if it is not known; changes nothing."""

    def end(self, id: str) -> None:
        """Forget a conversation."""


class Ledger(Protocol):
    """Where what was done is written down for good; docs/audit.md."""

    def ready(self, characters: int = 0) -> None:
        """Raise StoreError unless rows with so much text can be appended, also if the disk fills up
        until then.

        For whoever is about to write: what can't be recorded is not done.
        """

    def append(self, entry: Entry, *, synced: bool = True) -> int:
        """Append one row; returns its number. With `synced` it is on disk afterwards.

        Raises StoreError where it can't be appended.
        """

    def extend(self, entries: Sequence[Entry], *, synced: bool = True) -> list[int]:
        """Append several rows at once, all or none; as `append`."""

    def note(self, entries: Sequence[Entry]) -> None:
        """Append what was handed over, not forced to disk. Never raises: a warning, told once,
        says that rows are missing."""


class Reranker(Protocol):
    """A second ranker (vectors, a model) that may reorder candidates. None is built in yet."""

    def rerank(self, questions: Sequence[Question], found: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates in a better order; it may drop some, never add any."""


class Meaning(Protocol):
    """What finds memories by what they mean, whether they hold a question's words or not."""

    def nearest(
        self,
        texts: Sequence[str],
        snapshot: Snapshot,
        *,
        scopes: Collection[str] = (),
        categories: Collection[str] = (),
        limit: int = 50,
    ) -> Sequence[Near]:
        """Return the snapshot's memories that are nearest to any of the texts, best first.

        Waits for no memory to be embedded, and for no model to be loaded: what is not ready yet is
        left out, at worst everything. Raises nothing.
        """


class Leaf(NamedTuple):
    """What a selector learns of a memory: its metadata, nothing of its body."""

    ref: str
    title: str
    description: str
    category: str
    keywords: tuple[str, ...]


class Selector(Protocol):
    """A model, or anything else, that chooses the leaves of a focus; see docs/sessions.md."""

    def select(self, question: str, leaves: Sequence[Leaf], deadline_ms: int) -> Sequence[str]:
        """Return the refs of at most five of `leaves`, best first; none if none is relevant.

        Runs in a thread of its own. What comes after `deadline_ms`, raises, repeats a ref or
        names one that is not among `leaves` counts as no answer.
        """


class Annotator(Protocol):
    """Who writes metadata for legacy memories: heuristics, or a model."""

    @property
    def name(self) -> str:
        """What reports call it: `heuristic`, `model`."""

    def annotate(self, memory: Unannotated, vocabulary: Vocabulary) -> Annotation:
        """Return metadata for the memory's missing fields, valid by the writing rules.

        `vocabulary` is that of the memory's scope, as it is now. Raises AnnotationError, with a
        reason that `recall doctor` shows, where it can't; `retry` there says whether another try
        may help.
        """


@runtime_checkable
class Estimating(Protocol):
    """An annotator that costs something, and can say before how much."""

    def estimate(self, memory: Unannotated, vocabulary: Vocabulary) -> tuple[int, int]:
        """Return how many calls and tokens it would take to annotate the memory."""


@runtime_checkable
class Particular(Protocol):
    """An annotator that is one of several of its name."""

    @property
    def identity(self) -> str:
        """What tells it from the others: another one may succeed where this one failed."""


@runtime_checkable
class Costing(Protocol):
    """An annotator that makes calls which cost something, perhaps several for one memory."""

    @property
    def usage(self) -> Usage:
        """What its calls have used so far."""

    def at_most(self, calls: int | None) -> None:
        """Make so many more calls at most; the next one is refused (AnnotationError, `stop`)."""


@runtime_checkable
class Closing(Protocol):
    """An annotator that may hang in a call."""

    def close(self) -> None:
        """End what is under way; it and all later calls raise AnnotationError. From any thread."""


class Extractor(Protocol):
    """Who finds memories in a conversation: a model."""

    def extract(self, portion: Sequence[Said], vocabulary: Vocabulary) -> Extracted:
        """Return what a portion of a conversation holds, valid by the writing rules.

        Raises AnnotationError where it can't; `stop` there says that no other portion would fare
        better.
        """


class MemoryWriter(Protocol):
    """How a migration looks at memory files and writes to them."""

    def file(self, memory: Memory) -> str:
        """Return what the file is called for people."""

    def look(self, memory: Memory) -> bytes | Refused:
        """Return the file's bytes as they are now, or why nothing is to be written to it."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes from migrating; raises MigrationError where one is at it."""

    def recover(self) -> Cleared:
        """Bring in order what a killed run left; within `alone`."""

    def begin(self, annotator: str) -> str:
        """Begin a run of writes that can be taken back together; returns its name."""

    def write(self, run: str, memory: Memory, before: bytes, after: bytes) -> Refused | None:
        """Replace the file's bytes, if they are still `before`, keeping those; or say why not.

        Raises ConflictError where the file changed, OSError where it can't be written; either
        way it is as others left it.
        """

    def wrote(self, run: str) -> bool:
        """Tell whether a run wrote anything that can be taken back."""

    def indexes(self, memories: Collection[Memory]) -> Sequence[tuple[Memory, Change]]:
        """Return the indexes that list memories and nothing else, and what they would become.

        Only those that would change; each as if it were a memory.
        """


class AttemptLog(Protocol):
    """What is known of annotators' failures, by the digest of a file's bytes; for all processes."""

    def attempt(self, content: str, annotator: str) -> Attempt:
        """Return what is known; NEVER_TRIED where nothing is."""

    def note(
        self, content: str, annotator: str, attempt: Attempt, file: str, memory: Memory
    ) -> None:
        """Keep what is known now; `annotator` is empty where the file itself is the reason."""

    def settle(self, content: str, file: str) -> None:
        """Forget the failures with a content, and the file's own: it has its metadata."""

    def failures(self) -> Sequence[Failed]:
        """Return every failure that is known, by file."""


@runtime_checkable
class Answerer(Protocol):
    """Who can be asked whether a write may be made: a person behind a terminal, a host, a page."""

    @property
    def name(self) -> str:
        """What the audit calls it: `terminal`, `elicitation`, `callback`."""

    def ask(self, approval: Approval) -> str:
        """Return ALLOWED, REJECTED, CANCELLED or UNAVAILABLE (recall.core.writing).

        Blocks until there is an answer. What it raises counts as UNAVAILABLE.
        """


class Detector(Protocol):
    """What finds secrets (keys, tokens, private keys) in a text."""

    def find(self, text: str) -> Sequence[tuple[str, int, int]]:
        """Return kind, start and end, in characters, of each secret in the text."""


class Places(Protocol):
    """Whether files that memories speak of are there."""

    def beside(self, memory: Memory, target: str) -> bool | None:
        """Tell whether a path, relative to the memory's file, leads to something.

        None where it leads to what is none of recall's business.
        """

    def in_project(self, memory: Memory, target: str) -> bool | None:
        """Tell whether a path, relative to the memory's project, leads to something.

        None where the memory has no project, or the path is hardly one of it.
        """


class Merger(Protocol):
    """What words several texts that say the same as one."""

    def merge(self, title: str, texts: Sequence[str]) -> str:
        """Return one text that says all that these say. Raises AnnotationError."""


class Past(Protocol):
    """Past conversations of one project."""

    def talks(self, current: str) -> Talks:
        """Return the newest ones, without the one that asks: `current`, `HOST:ID`, or empty where
        nobody knows which that is. Never raises for what can't be read; it is counted.
        """


class Provider(Protocol):
    """A service elsewhere that keeps memories."""

    @property
    def destination(self) -> Destination:
        """Where its memories are."""

    def holds_key(self, text: str) -> bool:
        """Tell whether the text holds the key to the service: it is sent nowhere then."""

    def search(self, query: str, limit: int = 5) -> Sequence[Item]:
        """Return what it finds, its best first. Blocks; raises ProviderError."""

    def remember(self, content: str) -> Outcome:
        """Store a text, word for word; returns what came of it. Blocks; raises nothing."""


class WriteFiles(Protocol):
    """The files of a corpus, as writes see them."""

    def taken(self, root: int, path: str) -> bool:
        """Tell whether a file of that name, or of one that differs in case or form, is there."""

    def refused(self, root: int) -> str:
        """Return why nothing can be written below this root; empty where it can."""

    def look(self, memory: Memory) -> bytes | Refused:
        """Return the file's bytes as they are now, or why nothing is to be written to it."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep other writes out, after bringing in order what a killed one left.

        Raises WriteError where another one holds it too long.
        """

    def commit(self, plan: Plan, entries: Sequence[Entry], proposal: int = 0) -> str:
        """Make all of the plan's changes or none; returns the operation's name. Within `alone`.

        Each file must still hold what the plan says it held. `entries` are the audit's rows: they
        are kept in the journal, and written by whoever completes the operation; then `proposal`,
        the number of the one that it makes true, is approved. Raises WriteError
        (WRITE_CONFLICT, WRITE_FAILED) and StoreError with all files as they were.
        """


class Proposals(Protocol):
    """Writes that wait for a person."""

    def put(
        self,
        write: Write,
        asker: Asker,
        approval: Approval,
        mark: str,
        *,
        limit: int,
        days: int,
        own: int | None = None,
    ) -> int:
        """Keep one for so many days; returns its number, of an equal one if that waits already.

        Raises WriteError TOO_MANY_PROPOSALS where `limit` wait, or `own` of the same source.
        """

    def seen(self, mark: str) -> str:
        """Return the state of the last proposal with this mark, empty where there is none."""

    def pending(self) -> int:
        """Return how many wait."""

    def let_go(self) -> None:
        """Expire, and audit, those whose time is over; cheap where there are none."""
