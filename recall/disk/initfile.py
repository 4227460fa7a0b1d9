"""Writing the commented settings file: planned and shown first, then written whole or not at all.

An existing file is merged into, with its comments, order and line endings; what it says stays. A
second plan over the result changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall.disk import atomic, places
from recall.disk.adopt import Adopted
from recall.disk.commented import commented_project, commented_user
from recall.disk.configfile import decoded, parse, read_bytes, read_project_file, user_values
from recall.errors import ConflictError, SettingsError
from recall.model import SCOPES
from recall.settings_table import BY_NAME

# tomlkit and difflib are imported where they are used: every command imports this
# module, and one needs them (22 ms, measured).
if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Array

_PRIVATE, _SHARED = 0o600, 0o644
_LINE = 88  # a longer list of folders goes over several lines


@dataclass(frozen=True, slots=True)
class InitPlan:
    """What `apply` would do: the file and its new text, folders to create, a unified diff."""

    path: Path
    text: str
    diff: str
    adopted: tuple[Adopted, ...] = ()
    folders: tuple[Path, ...] = ()
    before: bytes | None = None
    """The file's bytes when it was planned; None where there was none."""
    mode: int = _PRIVATE

    @property
    def changed(self) -> bool:
        """Tell whether anything would be written or created."""
        return bool(self.diff or self.folders)


def plan_init(
    cwd: Path,
    *,
    env: Mapping[str, str],
    home: Path | None = None,
    adopted: Sequence[Adopted] = (),
    trust: bool = False,
    for_project: bool = False,
    overwrite: bool = False,
) -> InitPlan:
    """Return the plan for the user's settings file, or for the project's.

    The user's file lists the `adopted` folders (those with `adopt` set) and, with `trust`, trusts
    the project around `cwd`. The project's file takes neither; its memory folder is created with
    it. `overwrite` starts from the commented defaults again. Raises SettingsError where a file
    stands in the way that can't be read or used.
    """
    home = places.home_folder(env, home)
    project = places.find_project(cwd, home)
    if for_project:
        return _plan_project(project.folder, home, overwrite=overwrite)
    path = places.user_config(env, home, cwd)
    before = _bytes(path)
    if before is not None and not path.is_file():
        raise SettingsError(f"{path} is not a file that settings can be kept in.", file=str(path))
    old = "" if before is None else decoded(before, path)
    document = _document(commented_user() if overwrite or before is None else old, path)
    _merge(document, adopted, project.folder, home, path, trust=trust)
    text = document.as_string()
    if before is not None and not overwrite:
        text = _as_found(text, old)
        _prove(parse(old, path), parse(text, path), path)
    user_values(parse(_encodable(text, path), path), path)
    return InitPlan(path, text, _diff(path, before, old, text), tuple(adopted), (), before)


def plan_setting(
    name: str, value: str, cwd: Path, *, env: Mapping[str, str], home: Path | None = None
) -> InitPlan:
    """Return the plan that gives one text setting a value in the user's file, and changes no other.

    `name` is a dotted key. Raises SettingsError for a file that can't be read or used.
    """
    home = places.home_folder(env, home)
    path = places.user_config(env, home, cwd)
    before = _bytes(path)
    if before is not None and not path.is_file():
        raise SettingsError(f"{path} is not a file that settings can be kept in.", file=str(path))
    old = "" if before is None else decoded(before, path)
    document = _document(commented_user() if before is None else old, path)
    *tables, last = name.split(".")
    if user_values(document.unwrap(), path).values.get(name) != value:
        _table(document, *tables)[last] = BY_NAME[name].check(value)
    text = document.as_string()
    if before is not None:
        text = _as_found(text, old)
    now = user_values(parse(text, path), path)
    if now.values != {**user_values(parse(old, path), path).values, name: value}:
        raise _unsafe(path, name)
    return InitPlan(path, text, _diff(path, before, old, text), (), (), before)


def _plan_project(folder: Path, home: Path, *, overwrite: bool) -> InitPlan:
    if folder == places.resolved(home):
        raise SettingsError(
            f"{folder} is the home folder: its .recall holds your own memories, not a project's.",
            fix="Run the command inside of the project.",
        )
    path = folder / places.PROJECT_FOLDER / places.CONFIG_NAME
    memory = folder / places.DEFAULT_ROOTS["project"]
    for part in (path.parent, path, memory):
        if part.is_symlink():
            raise SettingsError(
                f"{part} is a symbolic link: nothing is written through it.",
                file=str(path),
                fix="Remove the link, or point to its target in your own settings file.",
            )
    before = _bytes(path)
    old = "" if before is None else decoded(before, path)
    if before is not None and not overwrite:
        read_project_file(path)
        text = old
    else:
        text = commented_project()
    folders = () if memory.is_dir() else (memory,)
    return InitPlan(path, text, _diff(path, before, old, text), (), folders, before, _SHARED)


def apply(plan: InitPlan) -> bool:
    """Carry out the plan; return whether anything changed.

    The file is replaced as a whole: after a crash there is the old one or the new one. Raises
    SettingsError, and writes nothing, if it is no longer what it was when it was planned.
    """
    if plan.diff:
        target = places.resolved(plan.path)
        target.parent.mkdir(
            mode=0o700 if plan.mode == _PRIVATE else 0o777, parents=True, exist_ok=True
        )
        data = plan.text.encode()
        if (plan.before or b"").startswith(b"\xef\xbb\xbf"):
            data = b"\xef\xbb\xbf" + data
        expected = atomic.NOTHING if plan.before is None else atomic.digest(plan.before)
        try:
            atomic.replace(target, data, expected=expected, mode=plan.mode)
        except ConflictError:
            raise _moved_on(plan.path) from None
    for folder in plan.folders:
        folder.mkdir(parents=True, exist_ok=True)
    return plan.changed


def _document(text: str, path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    parse(text, path)  # its errors name the line
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise SettingsError(f"{path} can't be edited: {error}.", file=str(path)) from None


def _merge(
    document: TOMLDocument,
    adopted: Sequence[Adopted],
    project: Path,
    home: Path,
    path: Path,
    *,
    trust: bool,
) -> None:
    """List the adopted folders in the document, each where it is not listed yet."""
    said = user_values(document.unwrap(), path)
    own = next((t for t in said.projects if _names(t.folder, project, home)), None)
    name = str(project) if own is None else own.folder
    for scope in SCOPES:
        folders = [a.path for a in adopted if a.adopt and a.scope == scope]
        key = f"roots.{scope}"
        current = said.values.get(key, BY_NAME[key].default)
        if scope != "user" and own is not None:
            current = own.roots.get(key, current)
        listed = _listed(current, folders, project, home)
        if listed != list(current):
            above = ("roots",) if scope == "user" else ("projects", name, "roots")
            _table(document, *above)[scope] = _array(listed)
    if trust and (own is None or own.trusted is not True):
        _table(document, "projects", name)["trusted"] = True


def _names(folder: str, project: Path, home: Path) -> bool:
    return places.resolved(places.expand(folder, home, home)) == project


def _listed(
    current: Sequence[str], folders: Sequence[Path], project: Path, home: Path
) -> list[str]:
    listed = list(current)
    known = {places.resolved(places.expand(text, home, project)) for text in listed}
    for folder in folders:
        if places.resolved(folder) not in known:
            known.add(places.resolved(folder))
            listed.append(_spelled(folder, project, home))
    return listed


def _spelled(folder: Path, project: Path, home: Path) -> str:
    if folder.is_relative_to(project):
        text = str(folder.relative_to(project))
        return f"./{text}" if text.startswith("~") or not text.strip() else text
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def _table(document: Any, *names: str) -> Any:
    """Return the table under these names, made where it is not there."""
    import tomlkit
    from tomlkit.items import InlineTable

    table = document
    for depth, name in enumerate(names, 1):
        if name not in table:
            inline = isinstance(table, InlineTable)
            # `[projects]` itself is never written: only the tables below it are.
            above = depth < len(names)
            table[name] = tomlkit.inline_table() if inline else tomlkit.table(above)
        table = table[name]
    return table


def _array(texts: Sequence[str]) -> Array:
    import tomlkit

    array = tomlkit.array()
    array.extend(texts)
    return array.multiline(len(str(texts)) > _LINE)


def _as_found(text: str, old: str) -> str:
    """Return the merged text with the line endings of the old one, where those are all CRLF."""
    crlf = old.count("\r\n")
    if crlf and crlf == old.count("\n"):
        return text.replace("\r\n", "\n").replace("\n", "\r\n")
    return text


def _encodable(text: str, path: Path) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(
            f"{path}: TOML can't hold the name of one of the folders: it is not UTF-8.",
            file=str(path),
            fix="Rename the folder, or make a link to it and name that.",
        ) from None
    return text


def _prove(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> None:
    """Raise unless everything that the old file said is still said; lists may have grown."""
    for key, value in old.items():
        kept = new.get(key)
        if isinstance(value, dict) and isinstance(kept, dict):
            _prove(value, kept, path)
        elif isinstance(value, list) and isinstance(kept, list):
            if kept[: len(value)] != value:
                raise _unsafe(path, key)
        elif kept != value and key != "trusted":
            raise _unsafe(path, key)


def _unsafe(path: Path, key: str) -> SettingsError:
    return SettingsError(
        f"{path} can't be changed without losing {key}; nothing was written.",
        file=str(path),
        key=key,
        fix="List the folders there by hand.",
    )


def _moved_on(path: Path) -> SettingsError:
    return SettingsError(
        f"{path} changed since the change was shown; nothing was written.",
        file=str(path),
        fix="Run the command again.",
    )


def _diff(path: Path, before: bytes | None, old: str, new: str) -> str:
    import difflib

    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        new.splitlines(keepends=True),
        os.devnull if before is None else str(path),
        str(path),
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _bytes(path: Path) -> bytes | None:
    if places.is_missing(places.resolved(path)):
        return None
    return read_bytes(path)
