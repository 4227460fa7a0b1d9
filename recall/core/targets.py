"""Which memory a write means: by its ref, or by a text that stands in exactly one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from recall.core.refs import RefIndex
from recall.errors import WriteError
from recall.model import SCOPES, Memory

MAX_SAMPLES = 5
SAMPLE = 120
"""Characters of a sample around what was found."""


def find_target(
    target: str,
    memories: Collection[Memory],
    text: Callable[[Memory], str | None],
    shown: Callable[[str], str] = str,
) -> Memory:
    """Return the memory that `target` means among those that are visible.

    A ref means its memory; anything else must stand, case aside, in the title or the text of
    exactly one. `text` gives a memory's text, None where it can't be read; `shown` what samples
    may show of one. Raises WriteError ENTRY_NOT_FOUND, AMBIGUOUS_MATCH, INVALID_INPUT.
    """
    if not isinstance(target, str) or not target.strip():
        raise WriteError(
            "INVALID_INPUT",
            "The target is empty.",
            fix="Name a ref, or words that stand in exactly one memory.",
            field="target",
        )
    by_ref = {memory.ref: memory for memory in memories}
    index = RefIndex(by_ref)
    ref = index.resolve(target)
    if ref is not None:
        return by_ref[ref]
    found = list(_holding(target.strip().casefold(), memories, text))
    if len(found) == 1:
        return found[0][0]
    if not found:
        raise _not_found(target, index)
    samples = [(memory, _sample(shown(where), target)) for memory, where in found[:MAX_SAMPLES]]
    raise _ambiguous(target, len(found), samples)


def _holding(
    wanted: str, memories: Collection[Memory], text: Callable[[Memory], str | None]
) -> Iterator[tuple[Memory, str]]:
    for memory in memories:
        body = text(memory) or ""
        for where in (body, memory.title):
            if wanted in where.casefold():
                yield memory, where
                break


def _sample(text: str, target: str) -> str:
    """Return a text around the target; its beginning where that is not shown."""
    start = max(0, text.casefold().find(target.strip().casefold()) - SAMPLE // 3)
    return " ".join(text[start : start + SAMPLE].split())


def _not_found(target: str, index: RefIndex) -> WriteError:
    known = index.suggest(target) if target.partition(":")[0] in SCOPES else None
    fix = f"Did you mean {known}?" if known else "Search for it first, and use its ref."
    evidence = {"suggestion": known} if known else {}
    message = f"No memory that you can see holds {target[:200]!r}."
    return WriteError("ENTRY_NOT_FOUND", message, fix=fix, match=target[:200], **evidence)


def _ambiguous(target: str, count: int, samples: list[tuple[Memory, str]]) -> WriteError:
    return WriteError(
        "AMBIGUOUS_MATCH",
        f"{count} memories hold {target[:200]!r}.",
        fix="Use the ref of the one that is meant, or more of its words.",
        match=target[:200],
        candidates=count,
        sample=[{"ref": memory.ref, "text": text} for memory, text in samples],
    )
