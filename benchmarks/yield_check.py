"""How many heads a strict YAML parser loses, and how many of those we read all the same.

    python benchmarks/yield_check.py FOLDER [--sample 100] [--seed 1] [--json]

Over a folder's markdown files: heads that `yaml.safe_load` refuses; files that plainly show a
title or a description in their head, and whether `parse_memory` has it from there. What "plainly"
means is an oracle that shares no code with the parser: in a file that begins with a fence, a line
among the first forty, above the closing fence, that begins with name, title, description or
summary and a colon, with a value. `--sample` prints a random sample of the refused heads beside
what was read, for a person's eyes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recall.core.frontmatter import is_binary
from recall.core.metadata import parse_memory
from recall.model import Parsed

HELP = "yield of the lenient parser over a folder of markdown files"
SUFFIXES = (".md", ".markdown", ".mdx")
SHOWN = {"name": "title", "title": "title", "description": "about", "summary": "about"}
_LINE = re.compile(r"(name|title|description|summary)[ \t]*[:：](.*)", re.IGNORECASE)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Case:
    """One file: its head as text, what it plainly shows, what was read, YAML's refusal."""

    path: str
    head: str
    shows: dict[str, list[str]]
    parsed: Parsed
    refusal: str = ""
    lost: list[str] = field(default_factory=list)


def files(folder: Path) -> Iterator[Path]:
    """Yield the folder's markdown files in a fixed order."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            yield path


def head_lines(text: str) -> tuple[list[str], bool] | None:
    """Return the lines behind an opening fence, up to a closing one if there is one."""
    lines = re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))
    start = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[start].rstrip() != "---":
        return None
    for i in range(start + 1, len(lines)):
        if lines[i].rstrip() == "---":
            return lines[start + 1 : i], True
    return lines[start + 1 : start + 40], False


def shown(lines: list[str]) -> dict[str, list[str]]:
    """Return what a person sees at a glance: the values of each kind in forty lines."""
    found: dict[str, list[str]] = {}
    for i, line in enumerate(lines[:40]):
        match = _LINE.match(line)
        if match is None:
            continue
        value = match[2].strip()
        if re.fullmatch(r"[|>][-+\d]*", value) or not value:
            below = next((text for text in lines[i + 1 :] if text.strip()), "")
            value = below.strip() if below[:1] in (" ", "\t") else ""
        if re.sub(r"[\W_]", "", value) and value not in ("~", "null"):
            found.setdefault(SHOWN[match[1].lower()], []).append(value)
    return found


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", re.sub(r"\\(?:u[0-9a-f]{4}|[nt\"])", "", text, flags=re.I)).lower()


def examine(path: Path, folder: Path) -> Case | None:
    """Read one file in all three ways; None for a binary one."""
    raw = path.read_bytes()
    if is_binary(raw):
        return None
    relative = path.relative_to(folder).as_posix()
    parsed = parse_memory(raw, relative)
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    found = head_lines(text)
    if found is None:
        return Case(relative, "", {}, parsed)
    lines, closed = found
    case = Case(relative, "\n".join(lines), shown(lines), parsed)
    if closed:
        case.refusal = refusal(case.head)
    own = {
        "title": "" if "name" in parsed.metadata.missing else parsed.metadata.title,
        "about": "" if "description" in parsed.metadata.missing else parsed.metadata.description,
    }
    for kind, values in case.shows.items():
        read = letters(own[kind])[:200]
        if not any(letters(value)[:24] in read for value in values):
            case.lost.append(kind)
    return case


def refusal(head: str) -> str:
    """Return why a strict parser refuses this head, empty where it does not."""
    try:
        yaml.load(head, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        return str(getattr(error, "problem", None) or type(error).__name__)
    return ""


def report(cases: list[Case], binary: int, seconds: float) -> dict[str, Any]:
    """Return the figures: counts, and shares in per cent."""
    refused = [case for case in cases if case.refusal]
    out: dict[str, Any] = {"files": len(cases), "binary": binary, "seconds": round(seconds, 2)}
    out["heads"] = sum(1 for case in cases if case.head)
    out["refused"] = len(refused)
    out["with_faults"] = sum(1 for case in cases if case.parsed.faults)
    for name, group in (("all", cases), ("refused", refused)):
        for kind in ("title", "about"):
            plain = [case for case in group if kind in case.shows]
            read = sum(1 for case in plain if kind not in case.lost)
            out[f"{name}_{kind}_shown"] = len(plain)
            out[f"{name}_{kind}_read"] = read
            out[f"{name}_{kind}_share"] = round(100 * read / len(plain), 2) if plain else None
    out["lost"] = [f"{case.path}: {', '.join(case.lost)}" for case in cases if case.lost]
    return out


def show(case: Case) -> None:
    print("=" * 100)
    print(case.path, "·", case.refusal)
    print("\n".join("  | " + line[:300] for line in case.head.split("\n")[:14]))
    meta = case.parsed.metadata
    print(f"  title       {meta.title[:200]!r}")
    print(f"  description {meta.description[:400]!r}")
    print(f"  type/category/keywords  {meta.type!r} {meta.category!r} {list(meta.keywords)}")
    print(f"  missing     {', '.join(meta.missing)}")
    for fault in case.parsed.faults[:6]:
        print(f"  fault       {fault.line} {fault.kind} {fault.field}: {fault.message[:120]}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> int:
    """Print the report; 2 where the folder does not exist."""
    if not args.folder.is_dir():
        print(f"{args.folder}: no such folder", file=sys.stderr)
        return 2
    started = time.perf_counter()
    examined = [examine(path, args.folder) for path in files(args.folder)]
    cases = [case for case in examined if case is not None]
    result = report(cases, len(examined) - len(cases), time.perf_counter() - started)
    if args.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
        return 0
    for name, value in result.items():
        if name != "lost":
            print(f"{name:24} {value}")
    for line in result["lost"]:
        print("lost:", line)
    refused = [case for case in cases if case.refusal]
    for case in random.Random(args.seed).sample(refused, min(args.sample, len(refused))):
        show(case)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=HELP)
    add_arguments(parser)
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
