"""Which folders are read for which scope, and why a scope can't be looked at.

Reasons (DESIGN.md, 5): `disabled` by the settings, `untrusted` because the folder came with a
project that the user has not trusted, `not_configured` because there is no folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recall.disk import places
from recall.disk.configfile import ProjectTable, is_anchored, nearest
from recall.errors import RootError, SettingsError
from recall.model import SCOPES, Root, Unavailable
from recall.structs import Struct


class Rooted(Struct):
    """The roots in the order of SCOPES, the scopes without any, and what to tell a person."""

    roots: tuple[Root, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    notes: tuple[str, ...] = ()


def matching(
    tables: Iterable[ProjectTable], cwd: Path, project: places.Project, home: Path
) -> list[ProjectTable]:
    """Return the tables of which `cwd` or its project lies at or below the folder, outer first."""
    here = (places.resolved(cwd), project.folder, project.main)
    found = []
    for table in tables:
        folder = places.resolved(places.expand(table.folder, home, home))
        if any(place.is_relative_to(folder) for place in here):
            found.append((len(folder.parts), table))
    return [table for _, table in sorted(found, key=lambda pair: pair[0])]


def is_trusted(
    tables: Sequence[ProjectTable],
    values: Mapping[str, Any],
    project: places.Project,
    home: Path,
) -> bool:
    """Tell whether the user's file trusts the project; the innermost table that says so decides.

    The trusted folder must hold the whole project: trusting a part of it trusts nothing else.
    """

    def holds(folder: str) -> bool:
        trusted = places.resolved(places.expand(folder, home, home))
        return any(p.is_relative_to(trusted) for p in (project.folder, project.main))

    for table in reversed(tables):
        if table.trusted is not None and holds(table.folder):
            return table.trusted
    return values["trust.all"] or any(holds(folder) for folder in values["trust.projects"])


def find_roots(
    values: Mapping[str, Any],
    sources: Mapping[str, str],
    project: places.Project,
    home: Path,
    *,
    trusted: bool,
) -> Rooted:
    """Return the roots that the settings name, scope by scope.

    A folder that a settings file names absolutely is a root whether it is there or not (the scan
    reports one that vanished); a default or relative one counts where it exists.
    """
    roots: list[Root] = []
    unavailable: list[Unavailable] = []
    notes: list[str] = []
    for scope in SCOPES:
        if not values[f"scopes.{scope}"]:
            unavailable.append(Unavailable(scope, "disabled"))
            continue
        found, refused = _of_scope(scope, values[f"roots.{scope}"], project, home, trusted=trusted)
        origin = sources[f"roots.{scope}"]
        roots += [Root(scope, str(path), origin) for path in found]
        notes += [
            f"{path} is not read: it came with a project that is not trusted. Trust it in your "
            "own settings if you know what is in it."
            for path in refused
            if not places.is_missing(path)
        ]
        if not found:
            reason = "untrusted" if refused else "not_configured"
            unavailable.append(Unavailable(scope, reason))
    return Rooted(tuple(roots), tuple(unavailable), tuple(notes))


def _of_scope(
    scope: str, listed: Sequence[str], project: places.Project, home: Path, *, trusted: bool
) -> tuple[list[Path], list[Path]]:
    """Return the folders to read, and those refused for want of trust."""
    found: dict[Path, Path] = {}
    refused: list[Path] = []
    default = places.expand(places.DEFAULT_ROOTS[scope], home, project.folder)
    users_own = places.expand(places.DEFAULT_ROOTS["user"], home, home)
    for text in listed:
        path = places.expand(text, home, project.folder)
        if scope != "user" and path == users_own:
            continue  # the home folder as a project: its `.recall` holds the user's memories
        if not trusted and _needs_trust(scope, path, project.folder):
            refused.append(path)
        elif not (places.is_missing(path) and (path == default or not is_anchored(text))):
            found.setdefault(places.resolved(path), path)
    return list(found.values()), refused


def _needs_trust(scope: str, path: Path, project: Path) -> bool:
    # What lies in the project came with it. Its team memories speak with the team's voice, and a
    # link in it could point anywhere; its plain project memories are like any file in it.
    lies_in_it = path.is_relative_to(project)
    leads_into_it = places.resolved(path).is_relative_to(project)
    if scope == "team":
        return lies_in_it or leads_into_it
    return scope == "project" and lies_in_it and not leads_into_it


def argument_roots(texts: Iterable[str], cwd: Path, home: Path) -> tuple[Root, ...]:
    """Return the roots that `--root [SCOPE=]DIR` names, in the order of SCOPES.

    What stands before the first `=` is a scope where it is one and the rest is a folder; a
    folder that exists under the whole text counts otherwise, so that `a=b` can be named. Raises
    RootError for anything that is no folder.
    """
    found: dict[tuple[str, Path], Root] = {}
    for text in texts:
        scope, path = _argument_root(text, cwd, home)
        found.setdefault((scope, places.resolved(path)), Root(scope, str(path), "argument"))
    return tuple(sorted(found.values(), key=lambda root: SCOPES.index(root.scope)))


def _argument_root(text: str, cwd: Path, home: Path) -> tuple[str, Path]:
    before, sign, after = text.partition("=")
    scoped = sign and before in SCOPES and after
    if scoped and _is_folder(path := places.expand(after, home, cwd)):
        return before, path
    if text and _is_folder(path := places.expand(text, home, cwd)):
        return "project", path
    near = nearest(before, SCOPES) if after and not scoped else None
    if near and _is_folder(places.expand(after, home, cwd)):
        raise SettingsError(
            f"--root {text}: {before!r} is no scope. The nearest known one is {near}.",
            key="--root",
            fix=f"Use one of {', '.join(SCOPES)} before the `=`.",
        )
    path = places.expand(after if scoped else text, home, cwd)
    what = "is not a folder" if text and not places.is_missing(path) else "is not there"
    raise RootError(
        f"--root {text}: {path} {what}.",
        path=str(path),
        fix="Name an existing folder: --root [SCOPE=]DIR, with SCOPE project, user or team.",
    )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
