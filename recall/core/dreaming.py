"""What a dream finds in a scope, as values: findings, and the writes that would put them right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from recall.core.derive import plain
from recall.core.digest import sha256
from recall.core.metadata import MAX_KEYWORDS, MAX_KEYWORDS_TOTAL, MAX_SCENARIOS
from recall.core.sink import shorten
from recall.core.splitting import Part
from recall.core.writing import CONSOLIDATE, REPLACE, Draft, Lost, Write
from recall.model import Memory
from recall.structs import Struct

DUPLICATES: Final = "duplicates"
"""Memories that say the same."""
BROKEN: Final = "broken"
"""References to what is not there."""
LONG: Final = "long"
"""Memories that no turn can read whole."""
KINDS: Final = (DUPLICATES, BROKEN, LONG)

_TITLE, _DESCRIPTION = 120, 300  # characters, of a part of a memory


class Finding(Struct):
    """One thing that a dream found; without a `write` it is only told."""

    kind: str
    scope: str
    refs: tuple[str, ...]
    message: str
    write: Write | None = None
    details: tuple[str, ...] = ()
    """A line for each thing that it is about."""
    read: tuple[str, ...] = ()
    """Digests of the texts of its memories."""
    why: str = ""
    """Why it can't be proposed, where it can't."""

    @property
    def mark(self) -> str:
        """Return what names the finding in every dream, as long as its memories say the same.

        The text that would be written is no part of it: a model words it differently each time.
        """
        parts = (self.kind, *sorted(map(" ".join, zip(self.refs, self.read, strict=True))))
        return "dream-" + sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def consolidation(memories: Sequence[Memory], text: str) -> Write:
    """Return the write that replaces memories by one with this text; the first one is its model.

    Title and description are the first one's. Of a structured one so is the category, and keywords
    and scenarios are those of all, as many as a memory may have; else they are left to the
    annotator.
    """
    first = memories[0]
    structured = bool(first.structured)
    keywords = _first_of(word for one in memories for word in one.keywords)
    scenarios = _first_of(word for one in memories for word in one.usage_scenarios)
    draft = Draft(
        text=text,
        scope=first.scope,
        title=first.title,
        description=first.description,
        category=first.category if structured else "",
        keywords=_bounded(keywords) if structured else (),
        usage_scenarios=scenarios[:MAX_SCENARIOS] if structured else (),
    )
    return Write(CONSOLIDATE, (draft,), tuple(one.ref for one in memories))


def correction(memory: Memory, text: str) -> Write:
    """Return the write that gives a memory another text."""
    return Write(REPLACE, (Draft(text=text),), (memory.ref,))


def division(memory: Memory, parts: Sequence[Part]) -> Write:
    """Return the write that replaces a memory by several, named after it and their headings.

    A structured memory's category is theirs too; what else they need is made up from their texts.
    """
    drafts = []
    for number, part in enumerate(parts, 1):
        about = [one for heading in part.headings if (one := plain(heading))]
        title = f"{memory.title} ({number} of {len(parts)})"
        said = ", ".join(about)
        drafts.append(
            Draft(
                text=part.text.strip("\n"),
                scope=memory.scope,
                title=shorten(f"{title}: {about[0]}" if about else title, _TITLE),
                description=shorten(said, _DESCRIPTION) if len(about) > 1 else "",
                category=memory.category if memory.structured else "",
            )
        )
    return Write(CONSOLIDATE, tuple(drafts), (memory.ref,))


def became(lost: Iterable[Lost]) -> dict[str, str]:
    """Return by ref what each memory that was consolidated became: the ref of the one new file.

    Takes the newest write first.
    """
    writes: dict[str, list[Lost]] = {}
    for one in lost:
        if one.action == CONSOLIDATE:
            writes.setdefault(one.operation, []).append(one)
    found: dict[str, str] = {}
    for files in writes.values():
        made = [one.ref for one in files if not one.before]
        for one in files if len(made) == 1 else ():
            if not one.after:
                found.setdefault(one.ref, made[0])
    return found


def _first_of(words: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for word in words:
        found.setdefault(word.casefold(), word)
    return tuple(found.values())


def _bounded(keywords: Sequence[str]) -> tuple[str, ...]:
    kept, total = [], 0
    for word in keywords[:MAX_KEYWORDS]:
        total += len(word)
        if total > MAX_KEYWORDS_TOTAL:
            break
        kept.append(word)
    return tuple(kept)
