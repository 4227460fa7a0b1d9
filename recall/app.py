"""The composition root: the only place that knows every part."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from recall.core.digest import sha256
from recall.core.hosts import Host
from recall.core.snapshot import Snapshot
from recall.disk import config, places
from recall.disk.notices import warn
from recall.disk.state import StoredSessions
from recall.disk.store import Store
from recall.engine.switching import Excused, how_ready
from recall.errors import SettingsError
from recall.external import External
from recall.migrating import Migrating
from recall.settings import Arguments, Settings
from recall.writing import Writing

if TYPE_CHECKING:  # a hook's process has no use for most of it
    from weakref import WeakSet

    from recall.core.cursor import CursorSigner
    from recall.core.events import Emit, Event
    from recall.core.readiness import Readiness
    from recall.core.router import Router
    from recall.disk.catalog import FileFaults
    from recall.disk.credentials import Credential
    from recall.disk.heartbeat import Watching
    from recall.disk.meaning import StoredMeaning
    from recall.engine.history import History
    from recall.engine.hosted import HostedSession
    from recall.engine.ports import Past, Selector, Sessions
    from recall.engine.selecting import Selecting
    from recall.engine.session import Session

__all__ = ["Recall", "open_recall"]


class Recall(Migrating, Writing, External):
    """One corpus, open: its tree, and sessions over it. A context manager; close() is enough."""

    def __init__(
        self,
        settings: Settings,
        *,
        cache_dir: Path,
        state_dir: Path,
        on_event: Emit | None = None,
        kept_by: Callable[[str], Collection[Path]] = lambda _: (),
        past: Callable[[], Past] | None = None,
        credential: Callable[[], Credential] | None = None,
        home: Path | None = None,
    ) -> None:
        """`cache_dir` and `state_dir` are recall's own folders; neither is made before use.

        `on_event` takes each event of telemetry, beside the sink that the settings name.
        `kept_by` gives the memory folders of a host, whose index that host loads by itself.
        `past` gives the project's past conversations, where they may be searched.
        `credential` gives the key of the external service when one is needed; `home` is the home
        folder, of which an id there is made.
        """
        self._credential = credential
        self._home = home
        self.excused: Excused = self.not_migratable
        """Names the legacy memories that can't be migrated."""
        self._kept_by = kept_by
        self._past = past
        self._history: History | None = None
        self._meaning: StoredMeaning | None = None
        self.settings = settings
        self.cache_dir = cache_dir
        self.state_dir = state_dir
        self._corpus = name = corpus_name(settings)
        self._emit = self._emitter(name, on_event)
        self._selecting: WeakSet[Selecting] | None = None
        self.store = Store(settings, str(cache_dir / "corpora" / name), emit=self._emit)
        self._signer: CursorSigner | None = None

    def snapshot(self) -> Snapshot:
        """Return the corpus as it is on disk now: memories by ref, tree, source status."""
        return self.store.refresh()

    def router(self, snapshot: Snapshot | None = None) -> Router:
        """Return the complete tree as the model receives it, with its revision."""
        from recall.engine.delivery import router_of

        return router_of(snapshot or self.snapshot(), self.settings, proposals=self.pending())

    def session(
        self,
        id: str = "",
        sessions: Sessions | None = None,
        *,
        selector: Selector | None = None,
        selector_ms: int = 5_000,
        recorded: bool = True,
    ) -> Session:
        """Return a conversation over this corpus.

        Without an `id` a new one of this process alone; with one, the conversation of that id,
        which every process with the same state folder shares (or `sessions`, if given).
        `selector` is asked beside the fast focus, for `selector_ms` at most a question. Not
        `recorded`, where no model receives what it hands over: the audit is not told of it.
        """
        if self._signer is None:
            from recall.core.cursor import CursorSigner  # a hook signs nothing

            self._signer = CursorSigner(self._keys())
        if id and sessions is None:
            sessions = self.sessions()
        from recall.engine.session import Session

        session = Session(
            self.store,
            self.settings,
            self._signer,
            sessions=sessions,
            id=id,
            emit=self._emit,
            selector=selector,
            selector_ms=selector_ms,
            excused=self.excused,
            after_turn=self.migrate_in_background if self.settings.migration.background else None,
            writes=self.writes,
            pending=self.pending,
            ledger=self._recording() if recorded else None,
            history=self._of_past(),
            provider=self.asked_beside(),
            meaning=self.meaning(),
        )
        if session.selecting:
            from weakref import WeakSet

            self._selecting = self._selecting or WeakSet()
            self._selecting.add(session.selecting)
        return session

    def _of_past(self) -> History | None:
        """Return what looks through past conversations, one for all sessions: it has read them."""
        if self._history is None and self._past is not None and self.settings.history.search:
            from recall.engine.history import History

            language = self.settings.language
            self._history = History(self._past(), language, self.detector())
        return self._history

    def meaning(self) -> StoredMeaning | None:
        """Return what finds by meaning, one for all sessions; None where the settings have none.

        Nothing is loaded before it is asked, and then in a thread. Hooks never ask.
        """
        name = self.settings.semantic.model
        if self._meaning is None and name:
            from recall.disk.meaning import StoredMeaning

            self._meaning = StoredMeaning(self.store.folder, name, self.store.read)
        return self._meaning

    def tell(self, event: Event) -> None:
        """Hand an event to telemetry, where anybody wants it."""
        if self._emit is not None:
            self._emit(event)

    def sessions(self) -> StoredSessions:
        """Return the conversations over this corpus, as every process with this state sees them."""
        return StoredSessions(self.state_dir, corpus_name(self.settings))

    def readiness(self, snapshot: Snapshot | None = None) -> Readiness:
        """Return how ready the corpus is for structured recall, and what holds it up."""
        return how_ready(snapshot or self.snapshot(), self.excused)

    def _emitter(self, corpus: str, on_event: Emit | None) -> Emit | None:
        if self.settings.telemetry.sink == "none" and on_event is None:
            return None  # nothing is imported for it either
        from recall.disk.eventlog import FILE
        from recall.telemetry import emitter

        named = self.settings.telemetry.file
        file: Path | None = Path(named) if named else self.state_dir / FILE
        if places.root_around(file or self.state_dir, self.settings.roots):
            file = None
        return emitter(self.settings, corpus, file, on_event)

    def hosted(self, id: str, host: Host, transcript: str = "") -> HostedSession:
        """Return the conversation of that id as a host's hooks see it.

        `transcript` is the path of what the host wrote down of it, empty where it keeps none.
        Raises StoreError where the state folder must not be written.
        """
        from recall.disk.transcripts import Transcript
        from recall.engine.hosted import HostedSession

        self._state_outside()
        shown = Transcript(transcript, reply=host.reply, compaction=host.compaction)
        return HostedSession(
            self.store,
            self.settings,
            self.sessions(),
            id,
            host,
            shown if transcript else None,
            emit=self._emit,
            excused=self.excused,
            loaded=lambda: self._loaded_by(host.name),
            pending=self.pending,
            ledger=self._recording(),
        )

    def _loaded_by(self, host: str) -> frozenset[int]:
        """Return which roots are the host's own memory folders: it loads their index itself."""
        kept = self._kept_by(host)
        roots = enumerate(self.settings.roots)
        return frozenset(i for i, root in roots if kept and Path(root.path).resolve() in kept)

    def _keys(self) -> list[bytes]:
        if not places.root_around(self.state_dir, self.settings.roots):
            from recall.disk.keys import load_keys

            return load_keys(self.state_dir)
        warn("cursors end with this process: %s lies below a memory root", self.state_dir)
        return [os.urandom(32)]

    def search_memory(self, /, **parameters: Any) -> dict[str, Any]:
        """Answer one call of the tool on its own, as the first one of a conversation.

        For a conversation, in which nothing is sent twice, use `session()`.
        """
        return self.session().search_memory(**parameters)

    def faults(self) -> list[FileFaults]:
        """Return every file that has faults, is no memory, or lacks metadata of its own."""
        self.store.refresh()
        return self.store.faults()

    def watch(self) -> Watching:
        """Watch the roots until `close`, for a process that lives long; returns how.

        What changes is then taken in as it happens, and a refresh walks no folder. Where that
        can't be (`how` is "polling", `why` says so), each refresh walks as before.
        """
        return self.store.watch()

    def close(self) -> None:
        """Let go of the cache and the watch; a later use opens the cache again.

        Selectors are not heard any more; a migration in the background ends after its file.
        """
        self._end_migration()
        if self._meaning is not None:
            self._meaning.close()
            self._meaning = None
        for selecting in list(self._selecting or ()):
            selecting.close()
        self._close_audit()
        self.store.close()

    def __enter__(self) -> Recall:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_recall(
    *,
    roots: Iterable[str | os.PathLike[str] | tuple[str, str | os.PathLike[str]]] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    state_dir: str | os.PathLike[str] | None = None,
    language: str | None = None,
    mode: str | None = None,
    agent: str | None = None,
    env: Mapping[str, str] | None = None,
    home: str | os.PathLike[str] | None = None,
    on_event: Emit | None = None,
) -> Recall:
    """Open the memory of the project around `cwd`, or of `roots` alone.

    `roots` are folders, or (scope, folder) pairs; without a scope they are the project's. An empty
    list is refused: it would open the memories that are configured. What is not given comes from
    the environment, the project's file and the user's file. `on_event` takes each event of
    telemetry (docs/telemetry.md), in the thread that did the work. Raises SettingsError for a
    configuration that can't be used.
    """
    arguments = Arguments(
        roots=_spelled(roots),
        mode=mode,
        language=language,
        agent=agent,
        cache_dir=None if cache_dir is None else os.fspath(cache_dir),
        state_dir=None if state_dir is None else os.fspath(state_dir),
    )
    env = os.environ if env is None else env
    at_home = places.home_folder(env, None if home is None else Path(home))
    loaded = config.load(
        Path.cwd() if cwd is None else Path(cwd), env=env, arguments=arguments, home=at_home
    )
    return from_settings(loaded.settings, env, at_home, on_event)


def _spelled(
    roots: Iterable[str | os.PathLike[str] | tuple[str, str | os.PathLike[str]]] | None,
) -> tuple[str, ...]:
    """Return the roots as a command line would name them."""
    if roots is None:
        return ()
    given = [roots] if isinstance(roots, str | os.PathLike) else list(roots)
    if not given:
        raise SettingsError(
            "roots is empty: no folder of memories is named.",
            fix="Name one, or leave roots out for the memories that are configured.",
        )
    return tuple(
        f"{one[0]}={os.fspath(one[1])}" if isinstance(one, tuple) else os.fspath(one)
        for one in given
    )


def from_settings(
    settings: Settings, env: Mapping[str, str], home: Path, on_event: Emit | None = None
) -> Recall:
    """Return the open corpus for settings that are already loaded."""
    return Recall(
        settings,
        cache_dir=_usable_cache(settings, places.cache_dir(settings, env, home)),
        state_dir=places.state_dir(settings, env, home),
        on_event=on_event,
        kept_by=lambda host: _kept_by(host, settings, env, home),
        past=lambda: _past(settings, env, home),
        credential=lambda: _credential(settings, env),
        home=home,
    )


def _past(settings: Settings, env: Mapping[str, str], home: Path) -> Past:
    from recall.disk.pasttalks import PastTalks

    return PastTalks(Path(settings.project_dir), home, env)


def _credential(settings: Settings, env: Mapping[str, str]) -> Credential:
    from recall.disk.credentials import credential

    return credential(settings.mem0.env_key, env=env, config=Path(settings.user_file))


def _kept_by(host: str, settings: Settings, env: Mapping[str, str], home: Path) -> Collection[Path]:
    from recall.disk import adopt  # legacy recall alone asks for it

    return adopt.kept_by(host, Path(settings.project_dir), home, env=env)


def _usable_cache(settings: Settings, folder: Path) -> Path:
    """Return the cache folder, or a temporary one where that must not or can't be written.

    Reading never writes below a root, and a read-only home is no reason not to read.
    """
    if places.root_around(folder, settings.roots):
        why = "it lies below a memory root"
    else:
        above = folder
        while not above.exists() and above != above.parent:
            above = above.parent
        if os.access(above, os.W_OK | os.X_OK):
            return folder
        why = "it can't be written"
    warn("the cache %s is not used, %s: a temporary one serves this process", folder, why)
    import atexit
    import shutil
    import tempfile

    temporary = tempfile.mkdtemp(prefix="recall-cache-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def corpus_name(settings: Settings) -> str:
    """Return the name of a corpus's cache folder: its roots and what shapes their tree."""
    roots = [[root.scope, os.path.realpath(root.path)] for root in settings.roots]
    shape = [roots, list(settings.taxonomy.names), settings.taxonomy.strict]
    return sha256(json.dumps(shape).encode("utf-8", "surrogateescape")).hexdigest()[:16]
