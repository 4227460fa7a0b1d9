"""The commands that register recall with coding agents: install, uninstall."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall.core.hostentries import NAMES, PERMISSION, Level, Program
from recall.core.hosts import EVENTS, HOSTS
from recall.disk import places
from recall.disk.roots import argument_roots
from recall.errors import SettingsError
from recall.faces import serving
from recall.faces.cli import EXIT_OK, Common, common_options, emit, say, warn

# The planners are imported where they are used: every command imports this module.
if TYPE_CHECKING:
    from recall.disk import hostfiles, hostplans
    from recall.settings import Mem0

_LEVEL_HELP = "Only for the project that you are in."


@click.command()
@click.argument("host", type=click.Choice(list(HOSTS)), metavar="HOST")
@click.option("--user", is_flag=True, help="For you, in every project (the default).")
@click.option("--project", is_flag=True, help=_LEVEL_HELP)
@click.option("--ask", is_flag=True, help="Let the host ask before search_memory runs.")
@click.option(
    "--external", is_flag=True, help="Register the server external-context too: your Mem0 service."
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, write nothing.")
@common_options
def install(
    common: Common,
    host: str,
    user: bool,
    project: bool,
    ask: bool,
    external: bool,
    dry_run: bool,
) -> int:
    """Register recall with a coding agent: its hooks and its MCP server.

    HOST is claude-code, qwen-code or codex. The host's own settings files are merged into: what
    stands there stays, comments and order too. A second run changes nothing; after recall was
    moved, or with other options, it brings the entries up to date. The common options are written
    into the commands that the host runs.
    """
    from recall.disk import hostplans

    state_dir = _state_dir(common)
    where = _where(host, user=user, project=project)
    serving.require_extra()
    wishes = common.load().settings.mem0
    if external:
        _require_service(wishes)
    program = Program(program_words(), _options(common), not ask, external, wishes.env_key)
    _refuse_expanded((*program.words, *program.options))
    plan = hostplans.plan_install(where, program, state_dir)
    if plan.changed and not dry_run:
        hostplans.apply(plan, state_dir)
    todo = _next_steps(where, permit=program.permit)
    if common.json:
        emit(_document(plan, dry_run) | {"next": todo})
        return EXIT_OK
    _show(plan, dry_run)
    for note in plan.notes:
        warn(f"! {note}")
    if not plan.changed:
        say(f"{NAMES[host]} has recall already, {_of(where)}; nothing was written.")
        return EXIT_OK
    say(f"{NAMES[host]} {'would get' if dry_run else 'has'} recall now, {_of(where)}:")
    say(f"  hooks     {', '.join(EVENTS)}")
    say(f"  server    {shlex.join([*program.words, 'mcp', *program.options])}")
    if external:
        say(f"  external  {shlex.join([*program.words, 'external', 'mcp', *program.options])}")
    for step in todo:
        say(f"- {step}")
    return EXIT_OK


@click.command()
@click.argument("host", type=click.Choice(list(HOSTS)), metavar="HOST")
@click.option("--user", is_flag=True, help="For you, in every project (the default).")
@click.option("--project", is_flag=True, help=_LEVEL_HELP)
@click.option("--dry-run", is_flag=True, help="Show what would be written, write nothing.")
@common_options
def uninstall(common: Common, host: str, user: bool, project: bool, dry_run: bool) -> int:
    """Take recall out of a coding agent's settings again.

    HOST is claude-code, qwen-code or codex. A file that nobody else changed since is given back
    as it was, byte for byte; from any other, recall's own entries are taken out alone. Memories
    and recall's own settings stay.
    """
    from recall.disk import hostplans

    state_dir = _state_dir(common)
    where = _where(host, user=user, project=project)
    plan = hostplans.plan_uninstall(where, state_dir)
    if plan.changed and not dry_run:
        hostplans.apply(plan, state_dir)
    if common.json:
        emit(_document(plan, dry_run))
        return EXIT_OK
    _show(plan, dry_run)
    if not plan.changed:
        say(f"{NAMES[host]} has nothing of recall, {_of(where)}; nothing was written.")
        return EXIT_OK
    say(f"recall {'would be' if dry_run else 'was'} taken out of {NAMES[host]}, {_of(where)}.")
    say(f"- Restart {NAMES[host]}: what runs keeps the settings that it has read.")
    return EXIT_OK


# ---------------------------------------------------------------------------------------------
# What is asked for


def _where(host: str, *, user: bool, project: bool) -> hostfiles.Where:
    from recall.disk import hostfiles

    if user and project:
        raise click.UsageError("Give --user or --project, not both.")
    level: Level = "project" if project else "user"
    cwd, home = Path.cwd(), places.home_folder(os.environ)
    where = hostfiles.Where(host, level, home, cwd, os.environ)
    if project and where.project == places.resolved(home):
        raise SettingsError(
            f"{home} is the home folder, not a project.",
            fix="Run the command inside of a project, or leave --project out.",
        )
    return where


def _state_dir(common: Common) -> Path:
    settings = common.load().settings
    return places.state_dir(settings, os.environ, places.home_folder(os.environ))


def _require_service(wishes: Mem0) -> None:
    """Raise where no external service is configured, or what it needs is not installed."""
    from recall.remote.mem0 import contract_of, require_extra

    contract_of(wishes)
    require_extra()


def program_words() -> tuple[str, ...]:
    """Return the words that start this program, its path absolute; links in it stay.

    A link is what survives an update of a tool's own environment (pipx, uv).
    """
    started = Path(sys.argv[0])
    for path in (started, Path(sys.executable).parent / "recall"):
        if path.name == "recall" and path.is_file() and os.access(path, os.X_OK):
            return (os.path.abspath(path),)
    return (sys.executable, "-m", "recall")


def _options(common: Common) -> tuple[str, ...]:
    """Return the common options that were given, with absolute folders."""
    cwd, home = Path.cwd(), places.home_folder(os.environ)
    words = []
    for root in argument_roots(common.roots, cwd, home):
        words += ["--root", f"{root.scope}={places.expand(root.path, home, cwd)}"]
    for name in ("language", "agent"):
        if (value := getattr(common, name)) is not None:
            words += [f"--{name}", value]
    for name in ("cache_dir", "state_dir"):
        if (value := getattr(common, name)) is not None:
            words += [f"--{name.replace('_', '-')}", str(places.expand(value, home, cwd))]
    return tuple(words)


def _refuse_expanded(words: tuple[str, ...]) -> None:
    """Raise where a host would read something else: they put variables in place of `$`."""
    for word in words:
        if "$" in word or not word.isprintable() or not _encodable(word):
            raise SettingsError(
                f"{word!r} can't be written into a host's settings: the host would read it "
                "differently.",
                fix="Use a path without $, line ends and bytes that are not UTF-8.",
            )


def _encodable(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


# ---------------------------------------------------------------------------------------------
# What is told


def _document(plan: hostplans.HostPlan, dry_run: bool) -> dict[str, Any]:
    return {
        "host": plan.where.host,
        "level": plan.where.level,
        "changed": plan.changed,
        "written": plan.changed and not dry_run,
        "files": [
            {
                "path": str(one.path),
                "changed": one.changed,
                "removed": one.after is None,
                "diff": one.diff,
            }
            for one in plan.changes
        ],
        "notes": list(plan.notes),
    }


def _show(plan: hostplans.HostPlan, dry_run: bool) -> None:
    for change in plan.changes:
        if not change.changed:
            continue
        say(change.diff.rstrip("\n"))
        verb = "removed" if change.after is None else "written"
        say(f"{change.path} {'would be' if dry_run else 'was'} {verb}.")
    if plan.changed:
        say()


def _of(where: hostfiles.Where) -> str:
    return "for you" if where.level == "user" else f"for the project {where.project}"


def _next_steps(where: hostfiles.Where, *, permit: bool) -> list[str]:
    host, name = where.host, NAMES[where.host]
    steps = [f"Restart {name}: what runs keeps the settings that it has read."]
    if where.level == "project":
        steps += _PROJECT_STEPS[host]
        steps.append("The commands name a path of this machine: think before you commit the files.")
    if host == "codex":
        steps.append(
            "Codex runs no hook that you have not trusted: start codex, type /hooks, trust the "
            f"{len(EVENTS)} of recall. It says nothing of those that it skips."
        )
    elif permit:
        steps.append(
            "search_memory only reads, and may run without asking "
            f"({PERMISSION} in permissions.allow); --ask leaves that to you."
        )
    else:
        steps.append(f"{name} asks before search_memory runs: allow it there.")
    level = "" if where.level == "user" else " --project"
    steps.append(f"To see how it stands: recall status. To undo: recall uninstall {host}{level}")
    return steps


_PROJECT_STEPS: Mapping[str, list[str]] = {
    "claude-code": [
        "Claude Code asks whether you trust the folder, and whether its server recall may be "
        "used: allow both (/mcp shows the server)."
    ],
    "qwen-code": [
        "Qwen Code reads a project's settings in a trusted folder only, and newer versions ask "
        "once for its hooks and its server: allow them."
    ],
    "codex": ["Codex reads a project's settings only where you trust the project."],
}


COMMANDS = (install, uninstall)
