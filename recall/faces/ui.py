"""The command that serves the page: ui. What it needs beyond the base install is imported then."""

from __future__ import annotations

import webbrowser

import click

from recall.errors import RecallError
from recall.faces.cli import EXIT_OK, Common, common_options, emit, say, warn
from recall.faces.person import agent_above

_EXTRA = ("starlette", "uvicorn", "jinja2", "nh3", "markdown_it", "markupsafe", "anyio")


@click.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Listen there; 0: any.")
@click.option("--read-only", is_flag=True, help="Decide on nothing there: the page only shows.")
@click.option("--open", "to_open", is_flag=True, help="Open the page in your browser.")
@common_options
def ui(common: Common, port: int, read_only: bool, to_open: bool) -> int:
    """Serve a page on this machine: memories, conversations, proposals, health.

    It prints an address that lets one browser in, once, and listens on loopback alone until you
    end it (Ctrl-C). With --json the address is in a JSON document. Below a coding agent the page
    only reads: no agent approves its own writes.
    """
    try:
        from recall.faces.page.server import Server, listening
        from recall.faces.page.site import Site
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise RecallError(
            f"The page needs the package {error.name}, which is not installed here.",
            fix="Install it: pip install 'recall-memory[ui]'",
        ) from error
    with common.open() as recall:
        recall.store.watch()
        recall.store.refresh(index=True)  # else the first search would wait for it
        agent = agent_above(recall.state_dir)
        why = "asked" if read_only else f"recall ui runs inside {agent}." if agent else ""
        try:
            line = listening(port)
        except OSError as error:
            raise RecallError(
                f"Port {port} can't be listened on: {error.strerror or error}.",
                fix="Name another one, or leave --port out.",
            ) from error
        with line:
            port = line.getsockname()[1]
            site = Site(
                recall,
                port,
                read_only=why,
                on_token=lambda address: warn(f"A browser was let in. For another one: {address}"),
                ended=lambda: server.should_exit,
            )

            def told() -> None:
                if common.json:
                    emit({"url": site.opening, "port": port, "readOnly": bool(why)})
                else:
                    say(site.opening)
                    warn("It lets one browser in, once. Ctrl-C ends the page.")
                if to_open:
                    webbrowser.open(site.opening)

            server = Server(site.app, told)
            server.run(sockets=[line])
    return EXIT_OK


COMMANDS = (ui,)
