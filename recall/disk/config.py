"""Settings from the user's file, the project's file, the environment and the arguments.

Later ones win. The user's file may also speak for single projects (`[projects."FOLDER"]`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from recall.disk import places
from recall.disk.configfile import nearest, read_project_file, read_user_file, shown
from recall.disk.roots import Rooted, argument_roots, find_roots, is_trusted, matching
from recall.errors import SettingsError
from recall.model import Taxonomy
from recall.settings import (
    Arguments,
    AuditWishes,
    GuardWishes,
    HistoryWishes,
    Limits,
    Llm,
    Mem0,
    MigrationWishes,
    Semantic,
    Settings,
    Telemetry,
    Writes,
)
from recall.settings_table import BY_NAME, KEYS, Key, merge_limit
from recall.structs import Struct, field

__all__ = ["Arguments", "Loaded", "load"]

# (inner, outer, room): a window never exceeds its call, and what stands before a hit leaves room
# for the hit.
_NESTED_LIMITS = (
    ("fetch_window", "fetch_call", 0),
    ("search_window", "search_call", 0),
    ("search_before", "search_window", 50),
)


class Loaded(Struct):
    """The settings, and where each comes from."""

    settings: Settings
    sources: Mapping[str, str]
    """Dotted key → `default`, `user config: FILE`, `project config: FILE`,
    `environment: RECALL_…` or `argument`."""
    values: Mapping[str, Any]
    """Dotted key → value, as the sources gave it."""
    notes: tuple[str, ...] = ()
    """What a person should know although nothing failed, one sentence or two each."""
    user_file: str = ""
    """The user's file, whether it is there or not."""
    project_file: str = ""
    """The project's file; empty where there is none."""


def load(
    cwd: Path,
    *,
    env: Mapping[str, str],
    arguments: Arguments | None = None,
    home: Path | None = None,
) -> Loaded:
    """Return the settings for a session that works in `cwd`.

    Reads two files at most and looks whether the roots are there; writes nothing. Raises
    SettingsError for anything that can't be used, naming file and key, and RootError for a
    `--root` that is no folder.
    """
    arguments = arguments or Arguments()
    home = places.home_folder(env, home)
    project = places.find_project(cwd, home)
    user_file = places.user_config(env, home, cwd)
    user_source = f"user config: {user_file}"
    merged = _Merged()

    user = read_user_file(user_file, named=bool(env.get("RECALL_CONFIG")))
    merged.take(user.values, user_source)
    tables = matching(user.projects, cwd, project, home)
    for table in tables:
        merged.take(table.roots, user_source)
    if project.config is not None:
        merged.tune(read_project_file(project.config), project.config)
    _take_environment(merged, env, home, cwd)
    _take_arguments(merged, arguments, home, cwd)

    trusted = is_trusted(tables, merged.values, project, home)
    if arguments.roots:
        rooted = Rooted(argument_roots(arguments.roots, cwd, home))
        merged.sources |= {f"roots.{root.scope}": "argument" for root in rooted.roots}
    else:
        rooted = find_roots(merged.values, merged.sources, project, home, trusted=trusted)
    return Loaded(
        _settings(merged, rooted, project, home, user_file, trusted=trusted),
        MappingProxyType(merged.sources),
        MappingProxyType(merged.values),
        (*merged.notes, *rooted.notes),
        str(user_file),
        str(project.config or ""),
    )


class _Merged(Struct, frozen=False):
    """The values so far, each with its source: one layer is laid upon the other."""

    values: dict[str, Any] = field(default_factory=lambda: {k.name: k.default for k in KEYS})
    sources: dict[str, str] = field(default_factory=lambda: {k.name: "default" for k in KEYS})
    notes: list[str] = field(default_factory=list)

    def take(self, values: Mapping[str, Any], source: str) -> None:
        self.values |= values
        self.sources |= dict.fromkeys(values, source)

    def tune(self, wanted: Mapping[Key, Any], file: Path) -> None:
        """Lay a project's own file on top: its limits go down only, see `merge_limit`."""
        for key, value in wanted.items():
            if key.project == "lower":
                current, chosen = self.values[key.name], self.sources[key.name] != "default"
                allowed = merge_limit(key, current, value, chosen=chosen)
                if allowed < value:
                    self.notes.append(f"{file}: {key.name} = {value} counts as {allowed} only.")
                if allowed == current:
                    continue
                value = allowed
            self.take({key.name: value}, f"project config: {file}")


def _take_environment(merged: _Merged, env: Mapping[str, str], home: Path, cwd: Path) -> None:
    for key in KEYS:
        text = env.get(key.env) if key.env else None
        if text:
            value = _spelled(key, text, key.env, home, cwd)
            merged.take({key.name: value}, f"environment: {key.env}")
    known = ["RECALL_CONFIG", *(key.env for key in KEYS if key.env)]
    for name in env:
        if name.startswith("RECALL_") and name not in known:
            # Other variables may begin like ours: only a likely slip is worth a word.
            near = nearest(name, known, cutoff=0.9)
            if near:
                merged.notes.append(f"{name} is not read; did you mean {near}?")


def _take_arguments(merged: _Merged, arguments: Arguments, home: Path, cwd: Path) -> None:
    for name in ("mode", "language", "agent", "cache_dir", "state_dir"):
        text = getattr(arguments, name)
        if text is not None:
            value = _spelled(BY_NAME[name], text, f"the argument for {name}", home, cwd)
            merged.take({name: value}, "argument")


def _spelled(key: Key, text: str, where: str, home: Path, cwd: Path) -> Any:
    """Return the value that a variable or an argument spells.

    A relative folder is below the folder that the command runs in, as in a shell.
    """
    try:
        value = key.read(text)
    except ValueError as error:
        raise SettingsError(
            f"{where} is {shown(text)}: {error}.", key=key.name, fix=f"Use {key.allowed}."
        ) from None
    is_path = key.kind in ("folder", "file") and value
    return str(places.expand(value, home, cwd)) if is_path else value


def _settings(
    merged: _Merged,
    rooted: Rooted,
    project: places.Project,
    home: Path,
    user_file: Path,
    *,
    trusted: bool,
) -> Settings:
    values = merged.values
    for name in ("cache_dir", "state_dir", "telemetry.file"):
        if values[name]:
            values[name] = str(places.expand(values[name], home, project.folder))
            _keep_out_of_roots(name, Path(values[name]), rooted)
    return Settings(
        roots=rooted.roots,
        taxonomy=Taxonomy(values["taxonomy.names"], values["taxonomy.strict"]),
        limits=_limits(merged),
        language=values["language"],
        mode=values["mode"],
        agent=values["agent"],
        cache_dir=values["cache_dir"],
        state_dir=values["state_dir"],
        lock_wait_ms=values["lock_wait_ms"],
        telemetry=Telemetry(values["telemetry.sink"], values["telemetry.file"]),
        migration=MigrationWishes(
            values["migration.background"], values["migration.rebuild_index"]
        ),
        audit=AuditWishes(values["audit.deliveries"]),
        history=HistoryWishes(values["history.search"]),
        semantic=Semantic(values["semantic.model"]),
        guard=GuardWishes(values["guard.steer"], values["guard.unknown"]),
        llm=Llm(**{name: values[f"llm.{name}"] for name in Llm.__fields__}),
        writes=Writes(**{name: values[f"writes.{name}"] for name in Writes.__fields__}),
        mem0=Mem0(**{name: values[f"external.mem0.{name}"] for name in Mem0.__fields__}),
        unavailable=rooted.unavailable,
        project_dir=str(project.folder),
        trusted=trusted,
        user_file=str(user_file),
    )


def _limits(merged: _Merged) -> Limits:
    found = {name: merged.values[f"limits.{name}"] for name in Limits.__fields__}
    for inner, outer, room in _NESTED_LIMITS:
        if found[inner] > found[outer] - room:
            found[inner] = found[outer] - room
            merged.sources[f"limits.{inner}"] += f" (lowered to fit limits.{outer})"
    return Limits(**found)


def _keep_out_of_roots(name: str, folder: Path, rooted: Rooted) -> None:
    root = places.root_around(folder, rooted.roots)
    if root is not None:
        raise SettingsError(
            f"{name} is {folder}, which lies in the memory root {root.path}: reading "
            "memories never writes among them.",
            key=name,
            fix="Choose a folder outside of the memories.",
        )
