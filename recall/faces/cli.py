"""The command line as a function: `run(argv)` returns the exit code.

0 ok, 1 the work failed, 2 wrong use. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from recall import app
from recall.core.sink import json_text, terminal
from recall.disk import config, places
from recall.errors import InvalidCursor, RecallError, RequestError, SettingsError
from recall.model import SCOPES
from recall.settings import LANGUAGES, Arguments

_F = TypeVar("_F", bound=Callable[..., Any])

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
_WRONG_USE = (RequestError, InvalidCursor, SettingsError)


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command takes."""

    roots: tuple[str, ...] = ()
    json: bool = False
    language: str | None = None
    agent: str | None = None
    cache_dir: str | None = None
    state_dir: str | None = None

    def repeated(self) -> str:
        """Return the options as a follow-up command needs them to reach the same memories."""
        given = [("--root", root) for root in self.roots]
        given += [
            (f"--{name.replace('_', '-')}", value)
            for name in ("language", "agent", "cache_dir", "state_dir")
            if (value := getattr(self, name)) is not None
        ]
        return "".join(f" {name} {shlex.quote(value)}" for name, value in given)

    def arguments(self, more_roots: Sequence[str] = ()) -> Arguments:
        """Return what the options say of the settings."""
        return Arguments(
            roots=(*self.roots, *more_roots),
            language=self.language,
            agent=self.agent,
            cache_dir=self.cache_dir,
            state_dir=self.state_dir,
        )

    def load(self, more_roots: Sequence[str] = ()) -> config.Loaded:
        """Return the settings and where each of them comes from."""
        arguments = self.arguments(more_roots)
        return config.load(Path.cwd(), env=os.environ, arguments=arguments, home=_home())

    def open(self, more_roots: Sequence[str] = ()) -> app.Recall:
        """Return the corpus that the options and settings name."""
        recall = app.from_settings(self.load(more_roots).settings, os.environ, _home())
        if sys.stderr.isatty() and not Path(recall.store.folder).exists():
            warn("recall: reading these memories for the first time …")
        return recall


def _home() -> Path:
    return places.home_folder(os.environ)


def common_options(command: _F) -> _F:
    """Add the common options; the command receives them as one `Common`."""

    def gathered(**given: Any) -> Any:
        common = Common(
            roots=given.pop("root"),
            json=given.pop("as_json"),
            language=given.pop("language"),
            agent=given.pop("agent"),
            cache_dir=given.pop("cache_dir"),
            state_dir=given.pop("state_dir"),
        )
        return command(common, **given)

    gathered.__name__, gathered.__doc__ = command.__name__, command.__doc__
    gathered.__dict__.update(command.__dict__)
    options = (
        click.option(
            "--root",
            multiple=True,
            metavar="[SCOPE=]DIR",
            help="Read this folder of memories, and no configured one; repeatable. SCOPE is "
            "project (the default), user or team.",
        ),
        click.option(
            "--json", "as_json", is_flag=True, help="Print one JSON document on standard output."
        ),
        click.option(
            "--language",
            type=click.Choice(LANGUAGES),
            help="Language of the text that the model sees.",
        ),
        click.option("--agent", metavar="NAME", help="Also show memories of this agent."),
        click.option("--cache-dir", metavar="DIR", help="Where rebuildable files are kept."),
        click.option("--state-dir", metavar="DIR", help="Where keys are kept."),
    )
    wrapped: Any = gathered
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def scopes_option(help: str) -> Callable[[_F], _F]:
    """Add `--scope`, repeatable; the command receives `scopes`, empty where it was not given."""
    return click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help=help)


def emit(document: Any, *, compact: bool = False) -> None:
    """Print one JSON document; nothing in it can act on a terminal or close a wrapper.

    `compact` is how a model receives it, and what its bounds are counted in.
    """
    click.echo(json_text(document, indent=None if compact else 2))


def exit_code(status: Mapping[str, Any]) -> int:
    """Return the code of a report on the source: it failed where nothing could be looked at.

    A folder that nobody configured is no failure; a part that could not be read is told.
    """
    return EXIT_FAILED if status["incompleteScopes"] and not status["searchedScopes"] else EXIT_OK


def say(text: str = "") -> None:
    """Print text for people: what memories hold is made harmless for the terminal."""
    click.echo(terminal(text))


def utf8(argument: str) -> str:
    """Return an argument's text: UTF-8, whatever the locale took its bytes for."""
    if argument.isascii():
        return argument
    with contextlib.suppress(UnicodeError):
        return os.fsencode(argument).decode("utf-8")
    return argument


def warn(text: str) -> None:
    click.echo(terminal(text), err=True)


@contextlib.contextmanager
def bar(label: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Lend what shows how many files of how many are done, on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    bars: list[Any] = []

    def show(done: int, total: int) -> None:  # noqa: ARG001  # it counts by itself
        if not bars:
            bar = click.progressbar(length=total, label=label, file=sys.stderr)
            bar.__enter__()
            bars.append(bar)
        bars[0].update(1)

    try:
        yield show
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(package_name="recall-memory", prog_name="recall")
def cli() -> None:
    """Structured on-demand recall for an agent's managed memory.

    Memories are markdown files. `recall tree DIR` works on any folder of them, without any
    configuration; `recall init` sets up a user's or a project's own.
    """


def run(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code and never raises.

    That of a hook is 0 whatever happens: 2 would have a host block the prompt.
    """
    code = _run(argv)
    return EXIT_OK if next(iter(argv), "") == "hook" else code


def _run(argv: Sequence[str]) -> int:
    _register(next(iter(argv), ""))
    logging.basicConfig(stream=sys.stderr, format="recall: %(message)s", level=logging.WARNING)
    as_json = "--json" in argv or next(iter(argv), "") == "call"
    try:
        result = cli.main(list(argv), prog_name="recall", standalone_mode=False)
    except RecallError as error:
        _report(error, as_json)
        wrong = isinstance(error, _WRONG_USE) or error.code == "INVALID_INPUT"
        return EXIT_USAGE if wrong else EXIT_FAILED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return EXIT_USAGE
    except click.ClickException as error:
        if as_json:
            emit({"error": {"code": "USAGE", "message": error.format_message()}})
        else:
            error.show(sys.stderr)
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        warn("Interrupted.")
        return 130
    except BrokenPipeError:  # whoever read the output has gone
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        # Not as JSON: standard output may be what failed.
        with contextlib.suppress(OSError):
            warn(f"recall: {error.filename or 'the system'}: {error.strerror or error}")
        return EXIT_FAILED
    return result if isinstance(result, int) else EXIT_OK


def _report(error: RecallError, as_json: bool) -> None:
    if as_json:
        emit({"error": error.details()})
        return
    warn(f"recall: {error.message}")
    if error.fix:
        warn(f"        {error.fix}")


_FACES = {
    "setup": ("init", "status", "doctor"),
    "reading": ("tree", "focus", "search", "fetch", "explore", "call"),
    "vocabulary": ("vocabulary",),
    "semantic": ("semantic",),
    "serving": ("mcp", "hook"),
    "hosts": ("install", "uninstall"),
    "migrate": ("migrate",),
    "writing": ("remember", "replace", "forget", "consolidate", "trash"),
    "proposals": ("proposals",),
    "audit": ("audit",),
    "transfer": ("export", "import"),
    "protocol": ("protocol",),
    "dream": ("dream",),
    "extract": ("extract",),
    "external": ("external",),
    "guard": ("guard",),
    "ui": ("ui",),
}
"""The modules beside this one, and the commands of each."""


def _register(asked: str) -> None:
    """Take in the module of a command; all of them where it is none: they are to be listed."""
    needed = [face for face, names in _FACES.items() if asked in names] or _FACES
    for face in needed:
        for command in import_module(f"recall.faces.{face}").COMMANDS:
            cli.add_command(command)
