"""Transcripts of past conversations, in the hosts' own shapes and places."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DAY_S = 86_400.0
Lines = Sequence[tuple[str, str]]
"""Who said what."""


def slug(folder: Path) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", str(folder))


def claude_record(id: str, cwd: Path, who: str, text: Any, **more: Any) -> dict[str, Any]:
    """A line of Claude Code's, with the keys that it has there."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": who,
        "message": {"role": who, "content": text},
        "uuid": f"{id}-1",
        "timestamp": "2026-11-30T10:00:00.000Z",
        "cwd": str(cwd),
        "sessionId": id,
        **more,
    }


def qwen_record(id: str, cwd: Path, who: str, text: str) -> dict[str, Any]:
    return {
        "sessionId": id,
        "timestamp": "2026-11-30T10:00:00.000Z",
        "type": who,
        "provenance": {"user": "real_user", "assistant": "assistant_output"}[who],
        "cwd": str(cwd),
        "message": {"role": who, "parts": [{"text": text}]},
    }


def codex_records(id: str, cwd: Path, lines: Lines) -> list[dict[str, Any]]:
    """The lines of a rollout: the first one says whose it is."""
    at = "2026-11-30T10:00:00.000Z"
    meta = {"timestamp": at, "type": "session_meta", "payload": {"id": id, "cwd": str(cwd)}}
    return [
        meta,
        *(
            {
                "timestamp": at,
                "type": "response_item",
                "payload": {
                    "type": "message",
                    "role": who,
                    "content": [
                        {"type": "input_text" if who == "user" else "output_text", "text": text}
                    ],
                },
            }
            for who, text in lines
        ),
    ]


class Past:
    """A home with hosts' folders in it, and a project."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = base / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.memory = self.project / ".recall" / "memory"
        self.memory.mkdir(parents=True)

    def claude(
        self, id: str, lines: Lines, *, days: float = 1, cwd: Path | None = None, folder: str = ""
    ) -> Path:
        cwd = cwd or self.project
        path = self.home / ".claude" / "projects" / (folder or slug(cwd)) / f"{id}.jsonl"
        return written(path, [claude_record(id, cwd, who, text) for who, text in lines], days)

    def qwen(self, id: str, lines: Lines, *, days: float = 1, cwd: Path | None = None) -> Path:
        cwd = cwd or self.project
        path = self.home / ".qwen" / "projects" / slug(cwd) / "chats" / f"{id}.jsonl"
        return written(path, [qwen_record(id, cwd, who, text) for who, text in lines], days)

    def codex(self, id: str, lines: Lines, *, days: float = 1, cwd: Path | None = None) -> Path:
        day = time.strftime("%Y/%m/%d", time.localtime(time.time() - days * DAY_S))
        path = self.home / ".codex" / "sessions" / day / f"rollout-{id}.jsonl"
        return written(path, codex_records(id, cwd or self.project, lines), days)


def written(path: Path, records: Sequence[Any], days: float = 0) -> Path:
    """Write records as lines; `days` ago was the last one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in records))
    aged(path, days)
    return path


def appended(path: Path, record: Any) -> None:
    """Add a record; when the file was last written to stays, as if it had been then."""
    at = path.stat().st_mtime
    with path.open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")
    os.utime(path, (at, at))


def aged(path: Path, days: float) -> None:
    at = time.time() - days * DAY_S
    os.utime(path, (at, at))
