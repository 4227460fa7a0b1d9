"""One conversation out of a file that a person names: a host's transcript, or plain chat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

from recall.core.chatlog import chat
from recall.core.said import Said
from recall.disk.talks import Growing, told
from recall.errors import RequestError

MOST_LINES: Final = 64 << 20
"""Bytes of a host's transcript that are read, its end."""
MOST_TEXT: Final = 4 << 20
"""Bytes of a plain text; a longer one is refused."""
_LOOK = 4_096


class TalkFile(NamedTuple):
    """What a file holds."""

    kind: str
    """`transcript` (a host's JSON lines) or `chat`."""
    said: list[Said]
    session: str = ""
    """The conversation's id, where the file names one."""
    skipped: int = 0
    """Lines that told nothing, as they are torn or too long."""


def read(path: Path) -> TalkFile:
    """Return the conversation in a file; raises RequestError, naming it, where it holds none."""
    try:
        with path.open("rb") as file:
            begins = file.read(_LOOK)
        if _is_lines(begins):
            growing = Growing(str(path), MOST_LINES)
            _, said = growing.added()
            found = TalkFile("transcript", said, told(str(path)).session, growing.skipped)
        else:
            found = TalkFile("chat", chat(_text(path)))
    except OSError as error:
        raise RequestError(
            f"{path} can't be read: {error.strerror or error}.",
            field="TRANSCRIPT",
            fix="Name a host's transcript (.jsonl), or a chat as text or markdown.",
        ) from None
    if not found.said:
        raise RequestError(
            f"Nothing is said in {path}.",
            field="TRANSCRIPT",
            fix="Name a transcript of Claude Code, Qwen Code or Codex, or a chat as text or "
            "markdown, with `User:` and `Assistant:` before what each says.",
        )
    return found


def _is_lines(begins: bytes) -> bool:
    """Tell whether a file begins like JSON lines: with an object."""
    head = begins.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        return False
    line = head.split(b"\n", 1)
    if len(line) == 1 and len(begins) == _LOOK:
        return True  # its first line is long
    try:
        return isinstance(json.loads(line[0]), dict)
    except (ValueError, RecursionError):
        return False


def _text(path: Path) -> str:
    data = path.read_bytes() if path.stat().st_size <= MOST_TEXT else b""
    if not data and path.stat().st_size:
        raise RequestError(
            f"{path} is larger than {MOST_TEXT >> 20} MB of text.",
            field="TRANSCRIPT",
            fix="Cut it into parts.",
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise RequestError(
            f"{path} is neither JSON lines nor UTF-8 text.",
            field="TRANSCRIPT",
            fix="Save it as UTF-8.",
        ) from None
