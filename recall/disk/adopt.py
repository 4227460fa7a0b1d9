"""Finding the memory folders that other hosts keep, so that they can be listed as roots.

Nothing is moved, written or created in them. Where each host keeps its memory was read in the
hosts themselves: Claude Code 2.1.197 (its bundled program) and Qwen Code 0.24.4 (its bundle and
`packages/core/src/memory/paths.ts`).
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recall.disk import places
from recall.disk.roots import argument_roots
from recall.errors import RootError

HOSTS = ("claude-code", "qwen-code")

_SUFFIXES = (".md", ".markdown", ".mdx")
_INDEX = "memory.md"  # an index, not a memory (DESIGN.md, 2)
_MAX_ENTRIES = 100_000  # counting is a courtesy: it ends there
_MAX_SLUG = 200  # Claude Code's; Qwen Code has no limit
_SETTINGS_BYTES = 1 << 20


class Adopted(NamedTuple):
    """A folder of memories that a host, or a person, keeps.

    `files` counts its memories (not its index). `adopt` is False where the folder should not be
    listed without a person's word; `note` then says why, and otherwise what is worth knowing.
    """

    scope: str
    path: Path
    host: str
    files: int
    note: str = ""
    adopt: bool = True


def find_host_roots(
    host: str | None, project: Path, home: Path, *, env: Mapping[str, str] | None = None
) -> list[Adopted]:
    """Return the existing memory folders of `host` for this project and this user.

    `host` is one of HOSTS, `auto` for both, None for none. `env` moves a host's folders as it
    moves them for the host itself (CLAUDE_CONFIG_DIR, QWEN_HOME …). No folder comes twice.
    """
    env = {} if env is None else env
    found: dict[tuple[str, Path], Adopted] = {}
    if host in ("claude-code", "auto"):
        _gather(found, _claude_code(project, home, env))
    if host in ("qwen-code", "auto"):
        _gather(found, _qwen_code(project, home, env))
    return list(found.values())


def kept_by(host: str, project: Path, home: Path, *, env: Mapping[str, str]) -> frozenset[Path]:
    """Return the resolved memory folders that `host` keeps, and whose index it loads by itself."""
    find = {"claude-code": _claude_code, "qwen-code": _qwen_code}.get(host)
    found = find(project, home, env) if find else ()
    return frozenset(places.resolved(one.path) for one in found)


def named_folders(texts: Iterable[str], cwd: Path, home: Path) -> list[Adopted]:
    """Return the folders that `--root [SCOPE=]DIR` names; raises as `argument_roots` does."""
    return [
        plain_folder(root.path, cwd, home, root.scope) for root in argument_roots(texts, cwd, home)
    ]


def plain_folder(text: str, cwd: Path, home: Path, scope: str = "project") -> Adopted:
    """Return the folder that a person named; raises RootError where it is none."""
    path = places.expand(text, home, cwd)
    if not _is_folder(path):
        raise RootError(f"{path} is not a folder.", path=str(path), fix="Name an existing folder.")
    return Adopted(scope, path, "folder", *_count(path))


def claude_slug(folder: str) -> str:
    """Return the name under `projects/` that Claude Code derives from a folder.

    Every UTF-16 code unit that is no ASCII letter or digit becomes `-`; a name over 200 is cut
    there and ends in a hash of the whole.
    """
    slug = _dashes(folder)
    if len(slug) <= _MAX_SLUG:
        return slug
    return f"{slug[:_MAX_SLUG]}-{_base36(abs(_string_hash(folder)))}"


def qwen_slug(folder: str) -> str:
    """Return the name under `projects/` that Qwen Code derives from a folder."""
    return _dashes(folder.lower() if os.name == "nt" else folder)


def _claude_code(project: Path, home: Path, env: Mapping[str, str]) -> Iterator[Adopted]:
    base = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    moved = _setting(base / "settings.json", "autoMemoryDirectory")
    if moved:
        yield from _looked_at("project", places.expand(moved, home, home), "claude-code")
    for own in ("settings.local.json", "settings.json"):
        named = _setting(project / ".claude" / own, "autoMemoryDirectory")
        if named:
            # A repository can ship these files, and could name any folder in them.
            why = f"named by this project's .claude/{own}, not by you: list it with --root"
            path = places.expand(named, home, project)
            yield from _looked_at("project", path, "claude-code", why, adopt=False)

    projects = Path(env.get("CLAUDE_CODE_REMOTE_MEMORY_DIR") or base) / "projects"
    fixed = env.get("CLAUDE_CODE_PROJECT_DIR_NAME") if env.get("CLAUDE_CONFIG_DIR") else None
    if fixed and "/" not in fixed:
        yield from _looked_at("project", projects / fixed / "memory", "claude-code")
    for key, note in _checkouts(project):
        slug = claude_slug(unicodedata.normalize("NFC", str(key)))
        yield from _looked_at("project", projects / slug / "memory", "claude-code", note)
        if len(slug) > _MAX_SLUG:
            yield from _cut_names(projects, slug)


def _cut_names(projects: Path, slug: str) -> Iterator[Adopted]:
    # Versions hash a long path differently, and other projects may share the first 200.
    try:
        names = sorted(os.listdir(projects))
    except OSError:
        return
    for name in names:
        if name != slug and name.startswith(slug[: _MAX_SLUG + 1]):
            why = "its name is cut and may be another project's: list it with --root if it is not"
            yield from _looked_at(
                "project", projects / name / "memory", "claude-code", why, adopt=False
            )


def _qwen_code(project: Path, home: Path, env: Mapping[str, str]) -> Iterator[Adopted]:
    home_qwen = env.get("QWEN_HOME") or str(home / ".qwen")
    runtime = env.get("QWEN_RUNTIME_DIR") or home_qwen
    base = places.expand(env.get("QWEN_CODE_MEMORY_BASE_DIR") or runtime, home, project)
    for key, note in _checkouts(project):
        memory = base / "projects" / qwen_slug(str(key)) / "memory"
        yield from _looked_at("project", memory, "qwen-code", note)
    yield from _in_project("project", project / ".qwen" / "memory", project)
    yield from _looked_at("user", base / "memories", "qwen-code")
    team = (places.git_root(places.resolved(project)) or project) / ".qwen" / "team-memory"
    yield from _in_project("team", team, team.parent.parent)


def _checkouts(project: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folders that a host may have named its own after, the likeliest first.

    Claude Code takes the main checkout of a linked worktree, Qwen Code the worktree itself, and
    versions of both did otherwise; outside of git both take the folder that they were started in.
    """
    here = places.resolved(project)
    root = places.git_root(here) or here
    main = places.main_checkout(root)
    seen = set()
    for folder, note in (
        (main, "" if main == root else f"of the main checkout {main}, shared by its worktrees"),
        (root, "" if main == root else f"of this worktree alone, not of {main}"),
        (here, "" if here == root else f"of {here} alone, not of the whole repository"),
        (project, "" if project == here else f"kept under {project}, which is a link"),
    ):
        if folder not in seen:
            seen.add(folder)
            yield folder, note


def _in_project(scope: str, path: Path, project: Path) -> Iterator[Adopted]:
    if not places.resolved(path).is_relative_to(places.resolved(project)):
        why = "a link to outside of the project that it came with: list its target with --root"
        yield from _looked_at(scope, path, "qwen-code", why, adopt=False)
        return
    note = "came with the repository; read when scopes.team is on and the project is trusted"
    yield from _looked_at(scope, path, "qwen-code", note if scope == "team" else "")


def _looked_at(
    scope: str, path: Path, host: str, note: str = "", *, adopt: bool = True
) -> Iterator[Adopted]:
    if _is_folder(path):
        yield Adopted(scope, path, host, 0, note, adopt)


def _gather(found: dict[tuple[str, Path], Adopted], folders: Iterator[Adopted]) -> None:
    for folder in folders:
        key = (folder.scope, places.resolved(folder.path))
        if key not in found:
            files, counted = _count(folder.path)
            notes = "; ".join(filter(None, (folder.note, counted)))
            found[key] = folder._replace(files=files, note=notes)


def _count(folder: Path) -> tuple[int, str]:
    """Return how many memories the folder holds, and what was left out of the count."""
    files, seen, unread = 0, 0, 0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > _MAX_ENTRIES:
                        return files, f"counted up to {_MAX_ENTRIES:,} entries only"
                    if entry.name.startswith(".") or entry.name == "node_modules":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name.lower().endswith(_SUFFIXES):
                        files += entry.name.lower() != _INDEX
        except OSError:
            unread += 1
    return files, f"{unread} folders in it can't be read" if unread else ""


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _setting(file: Path, name: str) -> str:
    """Return a text from a host's JSON settings; empty where it can't be had, as hosts do."""
    try:
        if not file.is_file() or file.stat().st_size > _SETTINGS_BYTES:
            return ""
        data: Any = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    value = data.get(name) if isinstance(data, dict) else None
    if not isinstance(value, str) or "\0" in value:
        return ""
    return value if value.startswith(("/", "~/")) else ""


def _dashes(folder: str) -> str:
    # JavaScript's strings are UTF-16: a character beyond U+FFFF becomes two dashes.
    return "".join(
        c if c.isascii() and c.isalnum() else "-" * (2 if ord(c) > 0xFFFF else 1) for c in folder
    )


def _string_hash(text: str) -> int:
    """Return `h = h * 31 + unit` over UTF-16 code units, as a signed 32-bit number."""
    value = 0
    data = text.encode("utf-16-le", "surrogatepass")
    for i in range(0, len(data), 2):
        value = (value * 31 + int.from_bytes(data[i : i + 2], "little")) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits
