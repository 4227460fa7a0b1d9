"""The workspaces that a memory protocol's server serves: the parts put together.

Either those that the settings name, each session's project around its folder; or a store of its
own, one folder that holds the user's entries and each workspace's. docs/protocol.md.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from recall.app import Recall, from_settings
from recall.core.adapters import built_in
from recall.core.adapters.registry import Adapters
from recall.core.budget import Budgets, utf16_units
from recall.core.protocol import ENTRY_SCOPES, UNBOUNDED, our_scope
from recall.disk import config, places
from recall.disk.entrystore import EntryStore
from recall.disk.recalls import StoredRecalls
from recall.engine.entry_reading import EntryReader, Workspace
from recall.engine.entry_writing import EntryWriter
from recall.errors import SettingsError
from recall.model import TRACKS, SourceStatus
from recall.settings import Arguments, Settings, Writes
from recall.structs import replace

Limits = Mapping[tuple[str, str], int]
"""Characters by track and scope of the protocol."""

_OPEN = 32
"""Workspaces that are kept open."""


class _Opened:
    """Workspaces that are opened when they are asked for; the last used ones stay open."""

    def __init__(
        self, arguments: Arguments, env: Mapping[str, str], home: Path, limits: Limits
    ) -> None:
        self._arguments = arguments
        self._env = env
        self._home = home
        self._limits = limits
        self._open: OrderedDict[str, tuple[Recall, Workspace]] = OrderedDict()

    def close(self) -> None:
        """Let go of all that is open."""
        for recall, _ in self._open.values():
            recall.close()
        self._open.clear()

    def recall(self, key: str) -> Recall:
        """Return the open corpus of a workspace."""
        return self._opened(key)[0]

    def _load(self, cwd: Path, arguments: Arguments) -> Settings:
        return config.load(cwd, env=self._env, arguments=arguments, home=self._home).settings

    def _settings(self, key: str) -> Settings:
        """Return the settings of a workspace."""
        raise NotImplementedError

    def _opened(self, key: str) -> tuple[Recall, Workspace]:
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = self._made(key)
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)[1][0].close()
        self._open.move_to_end(key)
        return found

    def _made(self, key: str) -> tuple[Recall, Workspace]:
        settings = self._settings(key)
        # The protocol has no answer that says "later"; whose entry it is, its own rules decide.
        writes = replace(settings.writes, unanswered="deny")
        settings = replace(settings, every_agent=True, writes=writes)
        recall = from_settings(settings, self._env, self._home)
        budgets = budgets_of(writes, self._limits)
        passage = cache(lambda: recall.writes(budgets=budgets))
        return recall, Workspace(key, recall.store, budgets, passage)


class ConfiguredWorkspaces(_Opened):
    """Projects as the settings see them; what `--root` names is one workspace, whoever asks."""

    def __init__(
        self,
        cwd: Path,
        arguments: Arguments,
        env: Mapping[str, str],
        home: Path,
        limits: Limits,
    ) -> None:
        super().__init__(arguments, env, home, limits)
        self._alone = bool(arguments.roots)
        self._cwd = cwd
        self._served = str(places.find_project(cwd, home).main)

    def key(self, cwd: str) -> str:
        """Return the folder of the project around `cwd`; raises SettingsError for no folder."""
        if not cwd or self._alone:
            return self._served
        if not os.path.isabs(cwd):
            raise SettingsError(f"The workspace {cwd[:200]!r} is no absolute folder.", key="cwd")
        return str(places.find_project(Path(cwd), self._home).main)

    def get(self, key: str) -> Workspace:
        """Return the workspace around a folder."""
        return self._opened(self.key(key))[1]

    def all(self) -> Sequence[Workspace]:
        """Return the one that is served, and those that were asked for."""
        self._opened(self._served)
        return [workspace for _, workspace in self._open.values()]

    def _settings(self, key: str) -> Settings:
        cwd = self._cwd if key == self._served else Path(key)
        return self._load(cwd, self._arguments)


class StoredWorkspaces(_Opened):
    """One folder for everything, each session's workspace in it."""

    def __init__(
        self,
        folder: Path,
        arguments: Arguments,
        env: Mapping[str, str],
        home: Path,
        limits: Limits,
    ) -> None:
        super().__init__(arguments, env, home, limits)
        self._store = EntryStore(folder)

    def key(self, cwd: str) -> str:
        """Return a session's folder in one spelling; it need not be there."""
        return os.path.normcase(os.path.abspath(cwd)) if os.path.isabs(cwd) else cwd

    def get(self, key: str) -> Workspace:
        """Return the workspace of a folder, with room for its entries."""
        return self._opened(self.key(key))[1]

    def all(self) -> Sequence[Workspace]:
        """Return every workspace of the store; that of no folder at least."""
        return [self.get(key) for key in self._store.keys() or [""]]

    def _settings(self, key: str) -> Settings:
        named = self._store.arguments(key)
        return self._load(self._store.folder, replace(named, language=self._arguments.language))


def budgets_of(writes: Writes, limits: Limits) -> Budgets:
    """Return the budgets of the protocol's entries, counted as JavaScript counts a text.

    `limits` come before those of the settings; where neither bounds one, UNBOUNDED does.
    """
    own = {"user": writes.budget_user, "agent": writes.budget_agent}
    made = {}
    for track in TRACKS:
        for scope in ENTRY_SCOPES:
            otherwise = own[track] if writes.budgets else UNBOUNDED
            made[track, our_scope(scope)] = limits.get((track, scope), otherwise)
    return Budgets(made, utf16_units)


class Entries:
    """The memory protocol's surface over open workspaces. A context manager; close() is enough."""

    def __init__(
        self, workspaces: ConfiguredWorkspaces | StoredWorkspaces, adapters: Adapters | None = None
    ) -> None:
        """`adapters` instead of those that come with recall."""
        self.workspaces = workspaces
        recall = workspaces.recall(workspaces.key(""))
        adapters = built_in() if adapters is None else adapters
        self.wait_seconds = recall.settings.writes.wait_seconds
        recalls = StoredRecalls(recall.state_dir)
        self.reading = EntryReader(workspaces, recall.audit(), recalls, adapters)
        self.writing = EntryWriter(self.reading, adapters)

    def status(self) -> SourceStatus:
        """Return what could and could not be looked at, of the workspace that is served."""
        return self.workspaces.recall(self.workspaces.key("")).snapshot().status

    def close(self) -> None:
        """Let go of every workspace."""
        self.workspaces.close()

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
