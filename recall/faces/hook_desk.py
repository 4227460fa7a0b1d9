"""What each hook of a host means, and the text that it injects. Serves a hook's own process and
the server that answers for many.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from recall import app
from recall.core.hosts import (
    COMPACTED,
    COMPACTS,
    ENDS,
    EVENTS,
    HOSTS,
    PROMPT,
    STARTS,
    TOOL,
    Host,
    session_of,
)
from recall.disk import config, places
from recall.disk.hostlog import HostLog
from recall.disk.processes import host_process
from recall.engine import hosted
from recall.errors import RequestError
from recall.settings import Arguments, Settings
from recall.tuples import NamedTuple

_OPEN_KEPT = 4


class Ask(NamedTuple):
    """One hook: the event, the host that fired it, and what the host wrote."""

    event: str
    host: str
    given: Mapping[str, Any]
    cwd: str
    """The session's folder."""
    parent: int
    """The process that started the hook."""

    @classmethod
    def read(cls, event: str, host: str, cwd: str, parent: int, data: bytes) -> Ask:
        """Return the hook that `data` spells; raises ValueError where it is no JSON object.

        The session's folder is the one that the host names, else `cwd`.
        """
        given = json.loads(data or b"{}")
        if not isinstance(given, dict):
            raise ValueError("standard input holds no JSON object")
        named = given.get("cwd")
        at = named if isinstance(named, str) and os.path.isabs(named) else cwd
        return cls(event, host, given, at, parent)

    def text(self, name: str) -> str:
        """Return what the host says under `name`, empty where that is no text."""
        value = self.given.get(name)
        return value if isinstance(value, str) else ""

    @property
    def asks_nothing(self) -> bool:
        """Whether it is no part of the conversation.

        Qwen Code fires a prompt's hook once more within a turn, without a prompt; Codex fires it
        for a sub-agent's prompt, under the session's id.
        """
        silent = self.event == PROMPT and not self.text("prompt").strip()
        return silent or bool(self.given.get("agent_id"))


def printed(event: str, text: str) -> bytes:
    """Return the JSON that puts the text before the model; nothing where there is none.

    Before a tool's call the text is why that is denied.
    """
    if event == TOOL:
        from recall.faces.hook_guard import denied  # a prompt's hook has no use for the guard

        return denied(text)
    if not text:
        return b""
    told = {"hookEventName": event, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": told}, ensure_ascii=False).encode("utf-8", "replace")


class Desk:
    """Answers hooks; keeps the corpora that it opened. Safe to call from several threads."""

    def __init__(self, arguments: Arguments | None = None) -> None:
        """`arguments` are what a command line adds to every hook's settings."""
        self._arguments = arguments
        self._lock = threading.Lock()
        self._open: dict[Settings, app.Recall] = {}
        self._shared: app.Recall | None = None

    def answer(self, ask: Ask, env: Mapping[str, str]) -> str:
        """Return the text to inject, often empty.

        Raises RecallError for settings, memories, an event or a host that can't be used.
        """
        host = HOSTS.get(ask.host)
        if host is None:
            raise RequestError(f"no host is named {ask.host}.", field="host", fix=_known(HOSTS))
        if ask.event not in EVENTS:
            raise RequestError(f"no hook is named {ask.event}.", field="event", fix=_known(EVENTS))
        if ask.event == TOOL:
            from recall.faces import hook_guard

            return hook_guard.reason(host.name, ask.given, ask.cwd, env, self._arguments)
        if ask.asks_nothing:
            return ""
        recall = self._recall(ask.cwd, env)
        name = ask.text("session_id")
        session = session_of(host.name, name) if name else ""
        text = _injected(recall, host, ask, session) if session else ""
        _note(recall, host, ask, session)
        if ask.event == COMPACTED and recall.settings.writes.capture:
            _capture(recall, ask.text("compact_summary"), session, env)
        return text

    def unsaid(self, ask: Ask, env: Mapping[str, str], printed: str) -> None:
        """Note that an answer did not reach the host: what it held is offered again."""
        host, name = HOSTS.get(ask.host), ask.text("session_id")
        if host is not None and name and ask.event != TOOL:
            recall = self._recall(ask.cwd, env)
            recall.hosted(session_of(host.name, name), host).unsaid(printed)

    def share(self, recall: app.Recall) -> None:
        """Answer with a corpus that somebody else has open, and closes, where settings agree."""
        self._shared = recall

    def close(self) -> None:
        """Let go of the corpora."""
        with self._lock:
            for recall in self._open.values():
                recall.close()
            self._open.clear()

    def _recall(self, cwd: str, env: Mapping[str, str]) -> app.Recall:
        home = places.home_folder(env)
        loaded = config.load(Path(cwd), env=env, arguments=self._arguments, home=home)
        if self._shared is not None and self._shared.settings == loaded.settings:
            return self._shared
        with self._lock:
            recall = self._open.pop(loaded.settings, None)
            if recall is None:
                recall = app.from_settings(loaded.settings, env, home)
            self._open[loaded.settings] = recall  # the one used last comes last
            while len(self._open) > _OPEN_KEPT:
                self._open.pop(next(iter(self._open))).close()
        return recall


def _injected(recall: app.Recall, host: Host, ask: Ask, session: str) -> str:
    talk = recall.hosted(session, host, ask.text("transcript_path"))
    if ask.event == STARTS:
        return talk.started(ask.text("source"))
    if ask.event == PROMPT:
        return talk.prompted(ask.text("prompt"))
    if ask.event == COMPACTS:
        talk.compacting()
    elif ask.event == COMPACTED:
        talk.compacted()
    return ""


def _capture(recall: app.Recall, summary: str, session: str, env: Mapping[str, str]) -> None:
    """Keep the summary as a proposal. What goes wrong is logged: the hook has done its work."""
    if not summary.strip():
        return  # Codex hands none over
    from recall.faces.hook_log import write

    try:
        recall.capture(summary, session)
    except Exception as error:  # noqa: BLE001 - a compaction must not fail for it
        why = getattr(error, "message", "") or f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):
            write(f"{COMPACTED}: the summary is not kept as a proposal. {why}", env)


def _note(recall: app.Recall, host: Host, ask: Ask, session: str) -> None:
    process = host_process(ask.parent)
    HostLog(recall.state_dir).note(
        host.name,
        ask.event,
        recall.settings.project_dir,
        session=session,
        process=str(process) if process else "",
        ended=ask.event == ENDS,
        compacted=ask.event in (COMPACTS, COMPACTED)
        or (ask.event == STARTS and ask.text("source") == hosted.COMPACTED),
    )


def _known(names: Iterable[str]) -> str:
    return f"Known: {', '.join(names)}."
