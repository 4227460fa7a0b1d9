"""Every file of the real corpora: annotated and spliced, it is structured when it is read again.

Takes the folder from RECALL_CORPORA.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall.core.annotation import Unannotated
from recall.core.heuristic import KEYWORDS, Learned, annotate
from recall.core.metadata import (
    MAX_KEYWORD,
    MAX_KEYWORDS_TOTAL,
    MAX_SCENARIO,
    MAX_SCENARIOS,
    MIN_KEYWORDS,
    parse_memory,
)
from recall.core.sink import metadata
from recall.core.splice import Refused, splice
from recall.core.vocabulary import Vocabulary
from recall.model import TYPES

FOLDER = os.environ.get("RECALL_CORPORA", "")
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not FOLDER, reason="RECALL_CORPORA names no folder of corpora"),
]


def corpora() -> list[str]:
    return sorted(p.name for p in Path(FOLDER).iterdir() if p.is_dir()) if FOLDER else []


def files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in (".md", ".markdown", ".mdx") and path.is_file():
            yield path


@pytest.mark.parametrize("corpus", corpora())
def test_every_annotated_file_is_structured(corpus: str) -> None:
    """Within the writing bounds, harmless in a prompt, and nothing missing unless refused."""
    folder = Path(FOLDER) / corpus
    wrong: list[str] = []
    kinds: Counter[str] = Counter()
    for path in files(folder):
        raw = path.read_bytes()
        name = os.fsencode(path.relative_to(folder).as_posix()).decode("utf-8", "replace")
        parsed = parse_memory(raw, name)
        found = annotate(Unannotated("project:x", "project", name, parsed), Vocabulary(), Learned())
        bounds = (
            found.type in TYPES,
            MIN_KEYWORDS <= len(found.keywords) <= KEYWORDS,
            all(len(word) <= MAX_KEYWORD for word in found.keywords),
            sum(map(len, found.keywords)) <= MAX_KEYWORDS_TOTAL,
            1 <= len(found.usage_scenarios) <= MAX_SCENARIOS,
            all(len(one) <= MAX_SCENARIO for one in found.usage_scenarios),
            all(metadata(one) == one for one in (found.name, *found.keywords)),
        )
        if not all(bounds):
            wrong.append(f"{name}: {bounds}")
        result = splice(raw, found.values(parsed.metadata.missing))
        if isinstance(result, Refused):
            kinds[result.kind] += 1
        elif parse_memory(result.data, name).metadata.missing:
            wrong.append(f"{name}: still missing")
    assert not wrong, wrong[:20]
    assert not kinds.keys() & {"bad-value", "unproven", "unknown-key"}, kinds
