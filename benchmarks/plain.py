"""A small deterministic annotator for campaigns that are about files, not about metadata."""

from __future__ import annotations

import re
from collections import Counter

from recall import migrating
from recall.core.annotation import Annotation, Unannotated
from recall.core.vocabulary import Vocabulary

_WORD = re.compile(r"[^\W\d_]{4,24}")


class PlainAnnotator:
    """Title and first sentence as they are derived, the most frequent words as keywords."""

    name = "plain"

    def annotate(self, memory: Unannotated, vocabulary: Vocabulary) -> Annotation:
        """Return metadata for the memory; the same for the same memory."""
        metadata, body = memory.parsed.metadata, memory.parsed.body[:20_000]
        title = metadata.title[:200] or "Untitled"
        words = Counter(word.lower() for word in _WORD.findall(body))
        common = [word for word, _ in sorted(words.items(), key=lambda one: (-one[1], one[0]))]
        folder = memory.path.split("/")[0] if "/" in memory.path else "task_summary"
        return Annotation(
            name=title,
            description=metadata.description[:400] or title,
            type="project",
            category=folder[:60].strip("/ ") or "task_summary",
            keywords=tuple(dict.fromkeys([*common[:4], "memory", "note"]))[:4],
            usage_scenarios=(f"when {title.lower()[:50]} matters",),
        )


def use() -> None:
    """Let `--annotator heuristic` mean this one, in this process; for campaigns and tests."""
    migrating.ANNOTATORS["heuristic"] = lambda _: PlainAnnotator()
