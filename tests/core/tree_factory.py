"""Memory values for the tests of the tree and of what is rendered from it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from recall.core.tree import leaf_digest
from recall.model import SEPARATOR, TAXONOMY, Memory

WORDS = (
    "deploy staging release cursor window token index query cache budget router review branch "
    "schema migration backup alert queue worker retry timeout locale encoding digest"
).split()


def make_memory(
    ref: str = "project:notes.md",
    title: str = "A note",
    category: str = "tech_stack",
    *,
    description: str = "What the note is about",
    type: str = "project",
    keywords: Sequence[str] = (),
    usage_scenarios: Sequence[str] = (),
    pinned: bool = False,
    mtime_ns: int = 0,
    version: str = "v0000000000000000",
    total: int = 100,
) -> Memory:
    """Return a memory whose scope and path follow from its ref, and its digest from all."""
    scope, _, path = ref.partition(":")
    return Memory(
        key=0,
        ref=ref,
        scope=scope,
        root=0,
        path=path,
        title=title,
        description=description,
        type=type,
        category=category,
        keyword_text=SEPARATOR.join(keywords),
        scenario_text=SEPARATOR.join(usage_scenarios),
        agent="",
        pinned=int(pinned),
        structured=1,
        mtime_ns=mtime_ns,
        version=version,
        total=total,
        digest=leaf_digest(
            ref, scope, type, category, title, description, keywords, usage_scenarios
        ),
    )


def make_corpus(count: int, categories: int = 1, *, seed: int = 7) -> list[Memory]:
    """Return `count` lifelike memories, dealt out to `categories` categories in turn."""
    rng = random.Random(seed)
    memories = []
    for i in range(count):
        a, b, c, d = rng.sample(WORDS, 4)
        number = i % categories
        category = TAXONOMY[number] if categories <= len(TAXONOMY) else f"topic-{number:04d}"
        scope = ("project", "project", "user", "team")[rng.randrange(4)]
        memories.append(
            make_memory(
                f"{scope}:{a}/{b}-{i:05d}.md",
                f"{c.capitalize()} the {d} before the {b}",
                category,
                keywords=(a, b, c),
                usage_scenarios=(f"before a {c}",),
                mtime_ns=rng.randrange(10**9),
            )
        )
    return memories
