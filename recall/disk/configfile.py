"""What one settings file says, read and checked: every error names the file and the key.

Two kinds: the user's own, which may set everything, and a project's, which is data that came with
a repository and may only tune what `recall.settings.KEYS` lists for it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from recall.core.lazy import pattern
from recall.disk import places
from recall.errors import SettingsError
from recall.model import SCOPES
from recall.settings_table import (
    ALIASES,
    BY_NAME,
    INNER_TABLES,
    KEYS,
    PROJECT_REFUSES,
    TABLES,
    Key,
    is_variable,
)
from recall.tuples import NamedTuple

MAX_BYTES = 256 * 1024
"""A larger settings file is a mistake."""

PROJECT_BYTES = 32 * 1024
"""Of a project's own file: it is read in every hook, and anyone can have written it."""

_DOTS = 500  # in one line; tomllib needs quadratic time for a dotted key: 3 s for 16,000 parts
_HEADER = pattern(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_SHOWN = 60  # characters of a wrong value that an error repeats
SECRETIVE = ("external.mem0.env_key", "external.mem0.credential_env", "external.mem0.base_url")
"""Keys in whose place people put a secret: errors do not repeat what stands there."""


class ProjectTable(NamedTuple):
    """One `[projects."FOLDER"]` of the user's file; `roots` by dotted key, as `roots.team`."""

    folder: str
    roots: dict[str, tuple[str, ...]]
    trusted: bool | None


class UserFile(NamedTuple):
    """A user's file, checked: dotted key → value, and the tables for single projects."""

    values: dict[str, Any]
    projects: tuple[ProjectTable, ...] = ()


def read_user_file(path: Path, *, named: bool = False) -> UserFile:
    """Return what the user's file sets: nothing where it is not there, an error if `named`.

    It may be a link, as dotfile managers make them.
    """
    if places.is_missing(path):
        if named:
            raise SettingsError(
                f"RECALL_CONFIG names {path}, and there is no such file.",
                file=str(path),
                key="RECALL_CONFIG",
                fix="Unset RECALL_CONFIG, mend the path, or create the file with `recall init`.",
            )
        return UserFile({})
    return user_values(parse(decoded(read_bytes(path), path), path), path)


def read_project_file(path: Path) -> dict[Key, Any]:
    """Return what a project's own file sets; it must be a regular file, not behind a link."""
    if path.is_symlink() or path.parent.is_symlink():
        raise SettingsError(
            f"{path} is, or lies behind, a symbolic link: a project's settings must be its own.",
            file=str(path),
            fix="Put a regular file there, or remove it.",
        )
    data = parse(decoded(read_bytes(path, PROJECT_BYTES), path), path)
    _refuse_what_is_not_its_own(data, path)
    return {key: _checked(key, value, path) for key, value in _flat(data, path)}


def user_values(data: Mapping[str, Any], path: Path) -> UserFile:
    """Return the checked values of a user's file that was parsed to `data`."""
    values = {}
    _check_env(data.get("env", {}), path)
    plain = {k: v for k, v in data.items() if k not in ("projects", "env")}
    for key, value in _flat(plain, path):
        values[key.name] = _checked(key, value, path)
        _refuse_relative(key, values[key.name], path)
    return UserFile(values, tuple(_project_tables(data.get("projects", {}), path)))


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a settings file: a regular one, at most `limit` bytes.

    No bytes for the null device, which people name to switch a file off.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            found = os.fstat(fd)
            if stat.S_ISCHR(found.st_mode) and os.path.samefile(path, os.devnull):
                return b""
            if not stat.S_ISREG(found.st_mode):
                raise SettingsError(
                    f"{path} is not a file.", file=str(path), fix="Put a regular file there."
                )
            data = file.read(limit + 1)
    except OSError as error:
        raise SettingsError(
            f"{path} can't be read: {error.strerror}.",
            file=str(path),
            fix="Make it a readable file, or remove it.",
        ) from None
    if len(data) > limit:
        raise SettingsError(
            f"{path} is larger than {limit:,} bytes: that is no settings file.",
            file=str(path),
            fix="Check what stands there; memories belong in a memory root.",
        )
    return data


def decoded(data: bytes, path: Path) -> str:
    """Return the text of a settings file, UTF-8 without its BOM; line endings stay."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(
            f"{path}:{line}: not UTF-8 text.", file=str(path), fix="Save the file as UTF-8."
        ) from None


def parse(text: str, path: Path) -> dict[str, Any]:
    """Return the parsed TOML; raises SettingsError with the line where it is broken."""
    import tomllib  # 3 ms, and most processes find no settings file

    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _DOTS:
            raise SettingsError(f"{path}:{number}: more than {_DOTS} dots.", file=str(path))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # "… (at line 3, column 5)" or "… (at end of document)": the line as editors take it.
        found = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        number = int(found[1]) if found else text.count("\n") + 1
        what = re.sub(r" \(at [^()]*\)$", "", str(error))
        fix = "Mend the TOML there, then run the command again."
        if first := _declared_before(text, number):
            table, line_no = first
            what = f"the table [{table}] stands in line {line_no} already"
            fix = f"Put the keys below line {line_no}, and leave this line out."
        raise SettingsError(f"{path}:{number}: {what}.", file=str(path), fix=fix) from None
    except RecursionError:
        raise SettingsError(f"{path} is nested too deeply.", file=str(path)) from None


def _declared_before(text: str, number: int) -> tuple[str, int] | None:
    """Return the table whose header stands in this line and in an earlier one, and that line."""
    headers = [_HEADER.match(line) for line in text.splitlines()[:number]]
    names = [re.sub(r"\s", "", one[1]) if one else "" for one in headers]
    if not names or not names[-1] or names[-1] not in names[:-1]:
        return None
    return names[-1], names.index(names[-1]) + 1


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that a misspelt one most likely means; None where none is near."""
    import difflib  # needed after a mistake only

    found = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return found[0] if found else None


def shown(value: object) -> str:
    """Return a wrong value as an error repeats it: on one line, bounded."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _flat(data: Mapping[str, Any], path: Path) -> Iterator[tuple[Key, Any]]:
    for name, value in data.items():
        if name in TABLES:
            yield from _of_table(name, value, path)
        else:
            yield _known(name, path), value


def _of_table(name: str, table: object, path: Path) -> Iterator[tuple[Key, Any]]:
    if not isinstance(table, dict):
        raise _wrong(name, table, "a table", path)
    for inner, content in table.items():
        full = f"{name}.{inner}"
        if full in INNER_TABLES:
            yield from _of_table(full, content, path)
        elif full in ALIASES:
            key = BY_NAME[ALIASES[full]]
            yield key, _only_one(key, full, content, table, path)
        else:
            yield _known(full, path), content


def _only_one(key: Key, alias: str, value: Any, table: Mapping[str, Any], path: Path) -> Any:
    """Return what an alias says; raises where the key itself stands there and says otherwise."""
    value = _checked(key, value, path, alias)
    if table.get(key.name.rpartition(".")[2], value) != value:
        raise SettingsError(
            f"{path}: {key.name} and {alias} name different variables.",
            file=str(path),
            key=alias,
            fix=f"Keep {key.name} alone.",
        )
    return value


def _check_env(table: object, path: Path) -> None:
    """Raise for an `[env]` that can't be used; its values, which are secrets, are never told."""
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: env is no table.", file=str(path), key="env")
    for name, value in table.items():
        if not is_variable(name):
            raise SettingsError(
                f"{path}: a name in [env] is none of a variable.",
                file=str(path),
                key="env",
                fix='Write a line such as MEM0_API_KEY = "…" below [env].',
            )
        if not isinstance(value, str):
            raise SettingsError(
                f"{path}: env.{name} is no text.",
                file=str(path),
                key=f"env.{name}",
                fix="Put the value in quotes.",
            )


def _known(name: str, path: Path) -> Key:
    key = BY_NAME.get(name)
    if key is None:
        raise _unknown(name, (*BY_NAME, *TABLES, "projects"), path)
    return key


def _checked(key: Key, value: object, path: Path, name: str = "") -> Any:
    try:
        return key.check(value)
    except ValueError:
        raise _wrong(name or key.name, value, key.allowed, path) from None


def _wrong(name: str, value: object, allowed: str, path: Path) -> SettingsError:
    if name in SECRETIVE:
        said = f"{path}: {name} can't be that: expected {allowed}."
    else:
        said = f"{path}: {name} is {shown(value)}: expected {allowed}."
    return SettingsError(
        said,
        file=str(path),
        key=name,
        fix=f"Use {allowed}.",
    )


def _unknown(name: str, known: Iterable[str], path: Path) -> SettingsError:
    known = tuple(known)
    # `routr` at the top level means `limits.router`: compare with the last part as well.
    near = nearest(name, known) or nearest(
        name.rpartition(".")[2], [k.split(".")[-1] for k in known]
    )
    if near and near not in known:
        near = next(k for k in known if k.split(".")[-1] == near)
    return SettingsError(
        f"{path}: unknown key {name}." + (f" The nearest known one is {near}." if near else ""),
        file=str(path),
        key=name,
        fix=f"Write {near}, or remove it." if near else "Known: " + ", ".join(known) + ".",
    )


def is_anchored(text: str) -> bool:
    """Tell whether a folder is absolute or below the home folder."""
    return text == "~" or text.startswith(("~/", "~\\")) or os.path.isabs(text)


def _refuse_relative(key: Key, value: Any, path: Path, name: str = "") -> None:
    # Project and team roots may be relative: to the folder of whichever project is open.
    if key.kind not in ("folder", "folders", "file") or key.name in ("roots.project", "roots.team"):
        return
    for text in (value,) if isinstance(value, str) else value:
        if text and not is_anchored(text):
            raise _wrong(name or key.name, text, "an absolute path, or one below `~/`", path)


def _project_tables(projects: object, path: Path) -> Iterator[ProjectTable]:
    if not isinstance(projects, dict):
        raise _wrong("projects", projects, "a table with one table for each folder", path)
    for folder, table in projects.items():
        name = f'projects."{folder}"'
        if not isinstance(table, dict):
            raise _wrong(name, table, "a table", path)
        if not is_anchored(folder):
            raise _wrong("projects", folder, "an absolute path, or one below `~/`", path)
        for inner in table:
            if inner not in ("roots", "trusted"):
                raise _unknown(f"{name}.{inner}", (f"{name}.roots", f"{name}.trusted"), path)
        trusted = table.get("trusted")
        if not isinstance(trusted, bool | None):
            raise _wrong(f"{name}.trusted", trusted, "true or false", path)
        yield ProjectTable(folder, _listed_roots(name, table.get("roots", {}), path), trusted)


def _listed_roots(table: str, roots: object, path: Path) -> dict[str, tuple[str, ...]]:
    if not isinstance(roots, dict):
        raise _wrong(f"{table}.roots", roots, "a table with a list of folders a scope", path)
    listed = {}
    for scope, value in roots.items():
        name = f"{table}.roots.{scope}"
        if scope not in SCOPES:
            raise _unknown(name, [f"{table}.roots.{known}" for known in SCOPES], path)
        key = BY_NAME[f"roots.{scope}"]
        listed[key.name] = _checked(key, value, path, name)
        _refuse_relative(key, listed[key.name], path, name)
    return listed


def _refuse_what_is_not_its_own(data: Mapping[str, Any], path: Path) -> None:
    for name, value in data.items():
        reason = PROJECT_REFUSES.get(name)
        if reason is None:
            continue
        key = name
        while isinstance(value, dict) and value and key in (name, *INNER_TABLES):
            inner, value = next(iter(value.items()))
            key = f"{key}.{inner}"
        own = ", ".join(k.name for k in KEYS if k.project == "yes")
        raise SettingsError(
            f"{path}: a project's own file may not set {key}: {reason}.",
            file=str(path),
            key=key,
            fix=f"Put it into your own settings file. A project may set {own} and limits.*.",
        )
