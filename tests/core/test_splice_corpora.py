"""Every file of the real corpora, spliced with what it lacks, and taken back.

Takes the folder from RECALL_CORPORA; one report line a corpus goes to the terminal.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recall.core.frontmatter import split
from recall.core.metadata import parse_memory
from recall.core.salvage import canonical
from recall.core.splice import Refused, splice, unsplice

FOLDER = os.environ.get("RECALL_CORPORA", "")
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not FOLDER, reason="RECALL_CORPORA names no folder of corpora"),
]

SLOWEST_S = 5
"""No file may take so long: a guard against time that is not linear, not a measurement."""

FOR_CAUSE = {
    *("binary", "encoding", "foreign-head", "unclosed-head", "text-in-head", "one-line-head"),
    *("escaped-newlines", "conflict-markers", "yaml-syntax", "control-character", "duplicate-key"),
    *("alias-in-value", "anchored-value", "comment-in-value", "explicit-key", "flow-head"),
    "template",
}
"""Refusals that the file is to blame for; `unproven` and `bad-value` would be our own faults."""


def corpora() -> list[str]:
    return sorted(p.name for p in Path(FOLDER).iterdir() if p.is_dir()) if FOLDER else []


def files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in (".md", ".markdown", ".mdx") and path.is_file():
            yield path


def said(text: str) -> str:
    """Return the text, or nothing where it is a template's placeholder."""
    return "" if re.fullmatch(r"\{\{[^{}]*\}\}", text) else text


def plausible(raw: bytes, path: str) -> dict[str, Any]:
    """Return what an annotator might write for the owned fields that the file lacks."""
    metadata = parse_memory(raw, path).metadata
    title = said(metadata.title) or "Untitled"
    words = re.findall(r"[^\W_][\w.+#:-]{2,40}", title)[:6]
    offered = {
        "name": title,
        "description": said(metadata.description) or title,
        "type": "reference",
        "category": path.split("/")[0] if "/" in path else "task_summary",
        "keywords": [*words, "recall: a test", "yes"][:6],
        "usage_scenarios": [f"when reading {title}"[:60], "before a release, on Fridays"],
    }
    return {key: offered[key] for key in metadata.missing}


def other_lines(raw: bytes, replaced: tuple[str, ...]) -> list[bytes]:
    """Return the head's lines, fences and all, but for the replaced keys' own and those below."""
    parts = split(raw)
    lines = raw[: parts.body_offset].splitlines(keepends=True) if parts.head is not None else []
    kept: list[bytes] = []
    ours = False
    for line in lines:
        key = re.match(rb"[\w.-]+(?=[ \t]*:)", line)
        if key or not line.startswith((b" ", b"- ")):
            ours = key is not None and canonical(key[0].decode()) in replaced
        if not ours:
            kept.append(line)
    return kept


def check(raw: bytes, values: dict[str, Any], result: Any) -> str:
    """Return what is wrong with a spliced file, by means of its own: bytes and lines."""
    data = result.data
    if unsplice(data, result.undo) != raw:
        return "not undone"
    if raw[split(raw).body_offset :] != data[split(data).body_offset :]:
        return "another body"
    if split(raw).version != split(data).version:
        return "another version"
    kept = iter(other_lines(data, result.replaced))
    if not all(line in kept for line in other_lines(raw, result.replaced)):
        return "a line of the head is gone"
    if result.data.startswith(b"\xef\xbb\xbf") != raw.startswith(b"\xef\xbb\xbf"):
        return "another BOM"
    again = splice(data, values)
    if isinstance(again, Refused) or again.changed:
        return "twice is not once"
    if set(parse_memory(data, "x.md").metadata.missing) & values.keys():
        return "still missing"
    return ""


@pytest.mark.parametrize("corpus", corpora())
def test_every_file_is_spliced_and_taken_back(
    corpus: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Body and other lines stay, undo restores every byte, twice equals once, nothing unproven."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    times: list[float] = []
    folder = Path(FOLDER) / corpus
    for path in files(folder):
        raw = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        values = plausible(raw, os.fsencode(name).decode("utf-8", "replace"))
        started = time.perf_counter()
        result = splice(raw, values)
        times.append(time.perf_counter() - started)
        if isinstance(result, Refused):
            counts[f"refused: {result.kind}"] += 1
            if result.kind not in FOR_CAUSE:
                wrong.append(f"{name}: {result}")
            continue
        counts["spliced" if result.changed else "nothing to do"] += 1
        counts["with replaced values"] += bool(result.replaced)
        problem = check(raw, values, result)
        if problem:
            wrong.append(f"{name}: {problem}")
    times.sort()
    with capfd.disabled():
        median, worst = times[len(times) // 2] * 1e3, times[-1] * 1e3
        sys.stdout.write(
            f"\n{corpus}: {len(times)} files, {dict(counts)}, "
            f"{median:.2f} ms in the median, {worst:.0f} ms at most\n"
        )
    assert not wrong, wrong[:20]
    assert times[-1] < SLOWEST_S
