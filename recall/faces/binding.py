"""Which conversation a call of the MCP server belongs to.

In this order: the session that the server was started for; the one that the call itself names
(Codex); the one whose hooks run below the same host process; the one that the host's environment
names. Where none is known the server is a conversation of its own, and takes any compaction in
its project for its own: at worst it sends once more, it never withholds.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from recall.app import Recall
from recall.core.hosts import HOSTS, session_of
from recall.disk.hostlog import HostLog
from recall.disk.processes import host_process
from recall.errors import StoreError
from recall.faces.talk import Clock, Talk

_CODEX_META = "x-codex-turn-metadata"
_KEPT = 16


class Bound(NamedTuple):
    """A conversation's id, empty for the server's own; whether hooks tell of its turns."""

    session: str = ""
    hooked: bool = False


class Talks:
    """The conversations that one server process takes part in. Safe to call from threads."""

    def __init__(
        self,
        recall: Recall,
        session: str = "",
        clock: Clock = time.monotonic,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """`session` is the one that the server was started for; empty: find out."""
        self._recall = recall
        self._session = session
        self._clock = clock
        self._env = os.environ if env is None else env
        self._log = HostLog(recall.state_dir)
        self._process = host_process()
        self._lock = threading.Lock()
        self._talks: OrderedDict[Bound, Talk] = OrderedDict()
        self._compactions = self._compacted()

    def of_call(self, meta: Mapping[str, Any]) -> Talk:
        """Return the conversation that a call belongs to; `meta` is what came with the call."""
        with self._lock:
            bound = self.bound(meta)
            talk = self._talks.pop(bound, None) or self._new(bound)
            self._talks[bound] = talk
            while len(self._talks) > _KEPT:
                self._talks.popitem(last=False)
            if not bound.session:
                before, self._compactions = self._compactions, self._compacted()
                if before != self._compactions:
                    talk.forget()
        return talk

    def bound(self, meta: Mapping[str, Any]) -> Bound:
        """Return which session the call belongs to, as far as anything tells."""
        if self._session:
            return Bound(self._session)
        named, thread = _named_by_codex(meta)
        if named:
            return Bound(session_of("codex", thread), thread == named and self._fires("codex"))
        found = self._in_our_host()
        if found:
            return Bound(found, True)
        for host in HOSTS.values():
            id = self._env.get(host.session_env, "") if host.session_env else ""
            if id:
                return Bound(session_of(host.name, id), False)
        return Bound()

    def _new(self, bound: Bound) -> Talk:
        session = self._recall.session(bound.session)
        return Talk(session, self._recall.settings.limits, self._clock, hooked=bound.hooked)

    def _in_our_host(self) -> str:
        try:
            return self._log.session_in(str(self._process)) if self._process else ""
        except (OSError, sqlite3.Error, StoreError):
            return ""

    def _fires(self, host: str) -> bool:
        """Tell whether that host's prompts reach us in this project."""
        try:
            return any(
                one.host == host
                and one.event == "UserPromptSubmit"
                and one.project == self._recall.settings.project_dir
                for one in self._log.fired()
            )
        except (OSError, sqlite3.Error, StoreError):
            return False

    def _compacted(self) -> int:
        try:
            return self._log.compactions(self._recall.settings.project_dir)
        except (OSError, sqlite3.Error, StoreError):
            return 0


def _named_by_codex(meta: Mapping[str, Any]) -> tuple[str, str]:
    """Return (session, thread) of a call by Codex; empty texts for any other.

    A sub-agent is a thread of its own within the session: it sees nothing of the others.
    """
    value = meta.get(_CODEX_META)
    try:
        told = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(told, dict) or not isinstance(told.get("session_id"), str):
        return "", ""
    thread = told.get("thread_id")
    return told["session_id"], thread if isinstance(thread, str) else told["session_id"]
