"""The bare loops that recall's times are compared with: what no implementation can do without."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import tantivy
import yaml

_WORD = re.compile(r"[^\W_]+")
_BEST = 5


def walk(root: Path) -> int:
    """Return how many files a bare walk with `os.scandir` and stat sees."""
    count = 0
    pending = [str(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def index(root: Path, folder: Path) -> int:
    """Read every file, load its head with libyaml, add title and body to one text field, commit."""
    folder.mkdir(parents=True)
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text")
    writer = tantivy.Index(builder.build(), path=str(folder)).writer()
    count = 0
    for path, _, names in os.walk(root):
        for name in names:
            with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                text = file.read()
            head, fence, body = text[4:].partition("\n---\n") if text[:4] == "---\n" else ("",) * 3
            fields = None
            if fence:
                with contextlib.suppress(yaml.YAMLError):
                    fields = yaml.load(head, Loader=yaml.CSafeLoader)
            title = fields.get("name", name) if isinstance(fields, dict) else name
            document = tantivy.Document()
            document.add_text("text", f"{title}\n{body if fence else text}")
            writer.add_document(document)
            count += 1
    writer.commit()
    writer.wait_merging_threads()
    return count


def seconds(work: Callable[[], object]) -> float:
    """Return how long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def parse_and_score(root: Path, question: str) -> list[tuple[int, str]]:
    """Do what a turn without any cache must: the original's way, whose code is not here.

    Read every file, parse its head with libyaml, count the question's terms in it; returns the best
    five with their scores.
    """
    wanted = set(_WORD.findall(question.lower()))
    scored = []
    for path, _, names in os.walk(root):
        for name in names:
            with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                text = file.read()
            head, _, body = text.removeprefix("---\n").partition("\n---\n")
            fields: object = None
            with contextlib.suppress(yaml.YAMLError):
                fields = yaml.load(head, Loader=yaml.CSafeLoader)
            values = fields.values() if isinstance(fields, dict) else ()
            known = (" ".join(map(str, values)) + " " + body).lower()
            score = sum(word in known for word in wanted)
            if score:
                scored.append((score, os.path.join(path, name)))
    return sorted(scored, reverse=True)[:_BEST]
