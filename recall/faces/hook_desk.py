"""What each hook of a host means, and the text that it injects. Serves a hook's own process and
the server that answers for many.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
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
    Host,
    session_of,
)
from recall.disk import config, places
from recall.disk.hostlog import HostLog
from recall.disk.processes import host_process
from recall.errors import RequestError
from recall.settings import Arguments, Settings

_OPEN_KEPT = 4


class Desk:
    """Answers hooks; keeps the corpora that it opened. Safe to call from several threads."""

    def __init__(self, arguments: Arguments | None = None) -> None:
        """`arguments` are what a command line adds to every hook's settings."""
        self._arguments = arguments
        self._lock = threading.Lock()
        self._open: dict[Settings, app.Recall] = {}
        self._shared: app.Recall | None = None

    def answer(self, ask: Mapping[str, Any], env: Mapping[str, str]) -> str:
        """Return the text to inject, often empty.

        `ask` holds `event`, `host`, `input` (what the host wrote), `cwd` and `pid`, the hook's
        parent. Raises RecallError for settings, memories or an event that can't be used.
        """
        event, given = str(ask["event"]), ask["input"]
        host = HOSTS.get(str(ask["host"]))
        if host is None:
            raise RequestError(f"no host is named {ask['host']}", field="host", fix=_known(HOSTS))
        if event not in EVENTS:
            raise RequestError(f"no hook is named {event}", field="event", fix=_known(EVENTS))
        if given.get("agent_id"):
            return ""  # a sub-agent's: Codex fires its prompts under the session's id
        recall = self._recall(str(ask["cwd"]), env)
        name = _text(given, "session_id")
        session = session_of(host.name, name) if name else ""
        text = self._injected(recall, host, event, given, session) if session else ""
        self._note(recall, host, event, given, session, int(ask["pid"]))
        return text

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

    def _injected(
        self, recall: app.Recall, host: Host, event: str, given: Mapping[str, Any], session: str
    ) -> str:
        talk = recall.hosted(session, host, _text(given, "transcript_path"))
        if event == STARTS:
            return talk.started(_text(given, "source"))
        if event == PROMPT:
            return talk.prompted(_text(given, "prompt"))
        if event == COMPACTS:
            talk.compacting()
        elif event == COMPACTED:
            talk.compacted()
        return ""

    def _note(
        self,
        recall: app.Recall,
        host: Host,
        event: str,
        given: Mapping[str, Any],
        session: str,
        parent: int,
    ) -> None:
        process = host_process(parent)
        HostLog(recall.state_dir).note(
            host.name,
            event,
            recall.settings.project_dir,
            session=session,
            process=str(process) if process else "",
            ended=event == ENDS,
            compacted=event in (COMPACTS, COMPACTED)
            or (event == STARTS and given.get("source") == "compact"),
        )


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _known(names: object) -> str:
    return "Known: " + ", ".join(names) + "."  # type: ignore[arg-type]
