"""The commands of the guard: check, run, on, off."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from recall.core.guard import ACTIONS, DENY, LIST, READ, Deny, Unknown, Verdict
from recall.core.modes import LEGACY
from recall.disk import initfile, places
from recall.disk.config import Loaded
from recall.faces.cli import EXIT_FAILED, EXIT_OK, Common, common_options, emit, say, utf8
from recall.guarding import Guard
from recall.settings import Settings

_KINDS = ("path", "glob", "shell")
_STEER = "guard.steer"


@click.group()
def guard() -> None:
    """Keep an agent's other tools away from memories.

    Hosts' hooks deny what reaches memory (recall install registers them); check says what they
    would say. run keeps memories from a command for real.
    """


@guard.command()
@click.argument("kind", type=click.Choice(_KINDS), metavar="path|glob|shell")
@click.argument("argument", metavar="ARG")
@click.option(
    "--action",
    type=click.Choice(ACTIONS),
    help="What is done with it: read (for a path the default), write, list (for a glob).",
)
@click.option("--cwd", metavar="DIR", help="Where the tool would run; else here.")
@common_options
def check(common: Common, kind: str, argument: str, action: str | None, cwd: str | None) -> int:
    """Say whether a tool may use a path, a pattern or a command line.

    Exit code 0: allowed, 1: denied. Nothing is run or opened.
    """
    settings = common.load().settings
    where = os.path.abspath(cwd or os.curdir)
    off = _off(settings)
    verdict = None
    if not off:
        verdict = _verdict(settings, kind, utf8(argument), action, where)
    denied = isinstance(verdict, Deny)
    if common.json:
        emit(_document(verdict, off))
    else:
        for line in _lines(verdict, off):
            say(line)
    return EXIT_FAILED if denied else EXIT_OK


def _off(settings: Settings) -> str:
    """Return why nothing is guarded; empty where it is."""
    if settings.guard.steer == "off":
        return "guard.steer is off"
    if settings.mode == LEGACY:
        return "mode is pinned to legacy"
    return "" if settings.roots else "there is no folder of memories here"


def _verdict(settings: Settings, kind: str, argument: str, action: str | None, cwd: str) -> Verdict:
    asked = Guard(settings, places.home_folder(os.environ))
    if kind == "path":
        return asked.check_path(argument, action or READ, cwd=cwd)
    if kind == "glob":
        return asked.check_glob(argument, cwd, action=action or LIST)
    return asked.check_shell(argument, cwd)


def _document(verdict: Verdict | None, off: str) -> dict[str, Any]:
    if verdict is None:
        return {"verdict": "allow", "reason": off}
    if isinstance(verdict, Deny):
        return {
            "verdict": "deny",
            "reason": verdict.reason,
            "roots": list(verdict.roots),
            "hint": verdict.hint,
        }
    reason = {"reason": verdict.reason} if isinstance(verdict, Unknown) else {}
    return {"verdict": verdict.kind, **reason}


def _lines(verdict: Verdict | None, off: str) -> list[str]:
    if verdict is None:
        return [f"allowed: {off}"]
    if isinstance(verdict, Deny):
        return [f"denied: {verdict.reason}", *([f"  {verdict.hint}"] if verdict.hint else [])]
    if isinstance(verdict, Unknown):
        return [
            f"allowed, though it can't be seen whether it reaches memory: {verdict.reason}",
            '  guard.unknown = "deny" would deny it.',
        ]
    return ["allowed"]


@guard.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--hide", "how", flag_value="hide", default=True, help="Memories are not there.")
@click.option("--read-only", "how", flag_value="read-only", help="They can be read, not written.")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@common_options
def run(common: Common, how: str, command: tuple[str, ...]) -> int:
    """Run a command where memories are hidden, or can't be written.

    It needs Linux and bubblewrap; without them nothing is run. Exit code, signals, terminal and
    standard input are the command's own. This holds in any mode, and whatever guard.steer says.
    """
    from recall.faces.guard_run import guarded

    return guarded(how, command, common.arguments())


@guard.command()
@common_options
def on(common: Common) -> int:
    """Have hosts' hooks deny tools that reach memory (guard.steer = on)."""
    return _steer(common, "on")


@guard.command()
@common_options
def off(common: Common) -> int:
    """Let every tool through (guard.steer = off): what stands in your own settings file changes."""
    return _steer(common, "off")


def _steer(common: Common, value: str) -> int:
    common.load()  # settings that can't be used are told before anything is written
    cwd, home = Path.cwd(), places.home_folder(os.environ)
    plan = initfile.plan_setting(_STEER, value, cwd, env=os.environ, home=home)
    changed = initfile.apply(plan)
    loaded = common.load()
    now, source = loaded.values[_STEER], loaded.sources[_STEER]
    if common.json:
        emit({"file": str(plan.path), "changed": changed, "steer": now, "source": source})
        return EXIT_OK if now == value else EXIT_FAILED
    say(f"{_STEER} is {now} ({source}).")
    if now != value:
        say(f"{plan.path} says {value}, but that does not count here.")
    return EXIT_OK if now == value else EXIT_FAILED


def standing(loaded: Loaded, mode: str) -> dict[str, str]:
    """Return how it stands with steering in a conversation that begins now, for `status`."""
    settings = loaded.settings
    why = _off(settings)
    if not why and mode == LEGACY:
        why = "recall is not structured yet"
    now = "off" if why else "on"
    return {"steers": now, "why": why, "unknown": settings.guard.unknown}


def standing_line(guarded: dict[str, str]) -> str:
    """Return the same as a line for people."""
    if guarded["steers"] == "off":
        return f"guard    off: {guarded['why']}"
    unknown = "denied" if guarded["unknown"] == DENY else "allowed"
    return (
        "guard    on: hosts' hooks keep other tools away from memories, what can't be seen is "
        f"{unknown} (recall guard off turns it off)"
    )


COMMANDS = (guard,)
