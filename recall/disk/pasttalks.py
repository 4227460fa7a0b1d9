"""Past conversations of one project, in the transcripts that hosts keep of them. Only ever read.

Which belong to the project is what their records say of the folder, never a folder's name: names
of folders collide. Nothing is kept on disk: a process remembers what it has read.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from recall.core.hosts import HOSTS, session_of
from recall.core.said import Said
from recall.core.talks import Talk, Talks
from recall.disk import places
from recall.disk.adopt import claude_slug, qwen_slug
from recall.disk.hostfiles import own_folder
from recall.disk.talks import Growing, Told, told

DAYS: Final = 30
MOST: Final = 8
"""How far back, and how many conversations, the newest (DESIGN.md, 11)."""
CHARACTERS: Final = 1_000_000
"""Of one conversation that are kept, the newest."""
LOOKED_AT: Final = 500
"""Transcripts that are opened at most to see whose they are, the newest."""
SECONDS: Final = 2.0
"""That reading may take before an answer goes without the rest; the next one has it."""
RECENT_S: Final = 600.0
"""A conversation that was written to so lately is not past: it may be the one that asks, whatever
is known of that (a host's id can be an old one, docs/hosts.md)."""

_DAY_S = 86_400.0
_SESSIONS = ("CLAUDE_CODE_SESSION_ID", "QWEN_CODE_SESSION_ID", "CODEX_THREAD_ID")


class _Found(NamedTuple):
    """A transcript, by its file's status alone."""

    at: float
    host: str
    path: str


class PastTalks:
    """The `Past` port over the transcripts of Claude Code, Qwen Code and Codex on this machine.

    Safe to use from threads; one at a time reads.
    """

    def __init__(
        self,
        project: Path,
        home: Path,
        env: Mapping[str, str],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`env` moves hosts' folders as it moves them for the hosts."""
        self._home = home
        self._env = env
        self._now = now
        self._began = now()
        self._project = places.find_project(project, home)
        self._place = _place(self._project)
        self._own: dict[str, bool] = {}
        self._heads: dict[str, tuple[float, Told]] = {}
        self._read: OrderedDict[str, tuple[Growing | None, tuple[Said, ...]]] = OrderedDict()
        self._lock = threading.Lock()

    def talks(self, current: str) -> Talks:
        """Return the newest conversations but `current`.

        That is `HOST:ID`; anything else says nothing of which it is.
        """
        with self._lock:
            return self._talks(current)

    def _talks(self, current: str) -> Talks:
        found: list[Talk] = []
        here: list[Said] = []
        unread = 0
        until = time.monotonic() + SECONDS
        for one, head in self._newest():
            asks = self._asks(session_of(one.host, head.session), one.at, current)
            live = one.at >= self._now() - RECENT_S
            if not asks and (live or len(found) + unread >= MOST):
                continue
            said = self._messages(one.path) if time.monotonic() < until else None
            if asks:
                here += said or ()
            elif said is None:
                unread += 1
            elif said:
                found.append(Talk(one.host, head.session, one.at, said))
        return Talks(tuple(found), tuple(here), unread)

    def _asks(self, id: str, at: float, current: str) -> bool:
        """Tell whether the conversation is the one that asks, or may be where nobody says which."""
        if current.partition(":")[0] in HOSTS:
            return id == current
        if any(self._env.get(name) == id.partition(":")[2] for name in _SESSIONS):
            return True
        return at >= min(self._began, self._now() - RECENT_S)

    def _messages(self, path: str) -> tuple[Said, ...] | None:
        """Return what was said in this project, the newest CHARACTERS; None if it can't be read."""
        growing, kept = self._read.pop(path, (None, ()))
        growing = growing or Growing(path)
        try:
            anew, added = growing.added()
        except OSError:
            return None
        if anew or added:
            before = () if anew else kept
            kept = _newest((*before, *(one for one in added if self._belongs(one.cwd))))
        self._read[path] = growing, kept
        while len(self._read) > 2 * MOST:
            self._read.popitem(last=False)
        return kept

    # --- which transcripts

    def _newest(self) -> Iterator[tuple[_Found, Told]]:
        """Yield the project's transcripts of the last days with what they say, the newest first."""
        since = self._now() - DAYS * _DAY_S
        every = sorted((one for one in self._every(since) if one.at >= since), reverse=True)
        for one in every[:LOOKED_AT]:
            at, head = self._heads.get(one.path, (0.0, Told()))
            if not (head.session and head.folder) and at != one.at:
                try:
                    head = told(one.path)
                except OSError:
                    continue
                self._heads[one.path] = one.at, head
            if head.session and head.folder and self._belongs(head.folder):
                yield one, head

    def _belongs(self, folder: str) -> bool:
        """Tell whether a folder lies in this project, or in another checkout of it."""
        if folder not in self._own:
            if len(self._own) > 10_000:
                self._own.clear()
            own = False
            if os.path.isabs(folder) and "\0" not in folder:
                with contextlib.suppress(OSError, ValueError):  # a name that can be none
                    around = places.find_project(Path(folder), self._home)
                    own = around.folder == self._project.folder or _place(around) == self._place
            self._own[folder] = own
        return self._own[folder]

    def _every(self, since: float) -> Iterator[_Found]:
        names = {str(folder) for folder in (self._project.folder, self._project.main)}
        claude = {claude_slug(unicodedata.normalize("NFC", name)) for name in names}
        for folder in self._named("claude-code", "projects", claude):
            yield from _transcripts("claude-code", folder)
        for folder in self._named("qwen-code", "projects", {qwen_slug(name) for name in names}):
            yield from _transcripts("qwen-code", f"{folder}/chats")
        sessions = own_folder("codex", self._env, self._home, self._home) / "sessions"
        for day in range(int((self._now() - since) // _DAY_S) + 2):
            local = time.localtime(self._now() - day * _DAY_S)
            yield from _transcripts("codex", f"{sessions}/{time.strftime('%Y/%m/%d', local)}")

    def _named(self, host: str, below: str, slugs: set[str]) -> Iterator[str]:
        """Yield the host's folders for the project and those below it, and perhaps others."""
        base = own_folder(host, self._env, self._home, self._home)
        if host == "qwen-code" and (moved := self._env.get("QWEN_RUNTIME_DIR")):
            base = places.expand(moved, self._home, self._home)
        begins = tuple(slug[:200] for slug in slugs)
        try:
            names = sorted(os.listdir(base / below))
        except OSError:
            return
        yield from (f"{base}/{below}/{name}" for name in names if name.startswith(begins))


def _transcripts(host: str, folder: str) -> Iterator[_Found]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-"):
                    yield _Found(entry.stat().st_mtime, host, entry.path)
    except OSError:
        return


def _place(project: places.Project) -> tuple[Path, str]:
    """Return what all checkouts of a project have in common: the main one, the folder in it."""
    root = places.git_root(project.folder) or project.folder
    return project.main, os.path.relpath(project.folder, root)


def _newest(said: tuple[Said, ...]) -> tuple[Said, ...]:
    """Return the last messages that together have at most CHARACTERS."""
    size = 0
    for number in range(len(said) - 1, -1, -1):
        size += len(said[number].text)
        if size > CHARACTERS:
            return said[number + 1 :]
    return said
