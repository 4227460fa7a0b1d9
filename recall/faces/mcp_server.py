"""The MCP server over standard input and output: two tools, and the tree as a resource.

Built on the SDK's low-level `Server`. Its `MCPServer` makes a tool's schema from a function's
signature, ignores parameters that the schema does not have, and words their errors itself; here
the schema, the refusals and the answers are recall's own. An answer is one text block of JSON,
and nothing repeats it as structured content: hosts hand both to the model, which would pay twice.

This module imports `mcp`, which takes most of a second: only `recall mcp` imports it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
from anyio import to_thread
from mcp import MCPError, stdio_server
from mcp.server.lowlevel import Server
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
)

from recall.app import Recall
from recall.core.policy import may_write
from recall.core.router import Router
from recall.core.sink import json_text, metadata
from recall.engine.ports import Answerer
from recall.errors import RecallError
from recall.faces import manage_schema, mcp_schema
from recall.faces.binding import Talks
from recall.faces.elicitation import Errands, Said
from recall.faces.talk import Clock, Talk

log = logging.getLogger("recall.mcp")

GRACE_S = 1.5
"""What has not ended so long after the client left or a signal came is left as it stands (the
cache mends itself). The SDK's own client waits 2 s before it kills."""

_CHUNK = 65_536
_NAME = 80


class _Handlers:
    """What the server does on each request. Blocking work runs in threads."""

    def __init__(self, recall: Recall, session: str, clock: Clock) -> None:
        self._recall = recall
        self._language = recall.settings.language
        self._talks = Talks(recall, session, clock)
        entry = mcp_schema.tool_entry(recall.settings.limits, self._language)
        self._tools = [Tool.model_validate(entry)]
        self._errands = Errands(recall.settings.writes.wait_seconds)
        if may_write(recall.settings.writes):
            self._tools.append(Tool.model_validate(manage_schema.tool_entry(self._language)))

    async def list_tools(self, _: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=self._tools)

    async def call_tool(
        self, context: Any, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.name not in [tool.name for tool in self._tools]:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {metadata(params.name, _NAME)}")
        left = threading.Event()
        meta = dict(params.meta or {})
        talk = await to_thread.run_sync(self._talks.of_call, meta)
        arguments = params.arguments or {}
        try:
            if params.name == manage_schema.TOOL_NAME:
                return await self._manage(context, params, talk)
            work = partial(self._said, params.name, partial(talk.answer, arguments, left))
            return _result(await to_thread.run_sync(work, abandon_on_cancel=True))
        except anyio.get_cancelled_exc_class():
            left.set()
            talk.unheard()  # should the thread be at work on it: it goes on
            raise

    async def _manage(
        self, context: Any, params: CallToolRequestParams, talk: Talk
    ) -> CallToolResult | InputRequiredResult:
        arguments = params.arguments or {}

        def work(answerer: Answerer | None) -> Said:
            return self._said(params.name, partial(talk.manage, arguments, answerer))

        said = await self._errands.run(work, context.session, params)
        if said is None:
            raise MCPError(INVALID_PARAMS, "What the user was asked is not known any more.")
        return said if isinstance(said, InputRequiredResult) else _result(said)

    def _said(self, name: str, work: Callable[[], dict[str, Any]]) -> Said:
        try:
            return Said(json_text(work()), False)
        except RecallError as error:
            details = error.details()
        except Exception as error:
            log.exception("%s failed", name)
            details = {
                "code": "INTERNAL_ERROR",
                "message": f"The call failed in recall itself ({type(error).__name__}).",
                "fix": "Try again once; if it fails again, go on without this memory and say so.",
            }
        return Said(json_text({"error": details}), True)

    async def list_resources(
        self, _: Any, __: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return ListResourcesResult(resources=[(await self._tree())[1]])

    async def list_templates(
        self, _: Any, __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        # Clients ask for them wherever there are resources, and some report a refusal.
        return ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(self, _: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        if params.uri != mcp_schema.TREE_URI:
            uri = metadata(params.uri, _NAME)
            raise MCPError(INVALID_PARAMS, f"Resource not found: {uri}", {"uri": params.uri})
        router, resource = await self._tree()
        contents = TextResourceContents(
            uri=resource.uri, mime_type=resource.mime_type, text=router.text, _meta=resource.meta
        )
        return ReadResourceResult(contents=[contents])

    async def _tree(self) -> tuple[Router, Resource]:
        try:
            router = await to_thread.run_sync(self._recall.router, abandon_on_cancel=True)
        except RecallError as error:
            raise MCPError(INTERNAL_ERROR, error.message, error.details()) from error
        return router, Resource.model_validate(mcp_schema.tree_entry(router, self._language))


def _result(said: Said) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said.text)], is_error=said.failed)


def build_server(
    recall: Recall, *, session: str = "", clock: Clock = time.monotonic
) -> Server[Any]:
    """Return the server over an open corpus, tied to no transport yet.

    It serves the conversation of the id `session`; without one it finds out which. Raises what
    `Recall.session` raises where this installation's keys can't be used.
    """
    handlers = _Handlers(recall, session, clock)
    return Server(
        mcp_schema.SERVER_NAME,
        version=mcp_schema.server_version(),
        instructions=mcp_schema.instructions(recall.settings.language),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


def serve(recall: Recall, session: str = "") -> None:
    """Serve over this process's standard streams, until the client leaves or a signal ends it.

    For a process of its own: it takes over standard input and output (whatever else writes to
    standard output reaches standard error meanwhile), SIGTERM and SIGINT, and does not give them
    back. GRACE_S after the end of the input the process ends, with whatever is still at work.
    """
    server = build_server(recall, session=session)
    _divert_input()
    try:
        anyio.run(_run, server)
    except* ConnectionError:
        log.debug("the client is gone")
    recall.close()


async def _run(server: Server[Any]) -> None:
    async with stdio_server() as (reader, writer):
        # The SDK points descriptor 1 elsewhere while it serves; what `print` leaves in a buffer
        # would be written after that.
        with contextlib.redirect_stdout(sys.stderr):
            await server.run(reader, writer, server.create_initialization_options())


def _divert_input() -> None:
    """Put a pipe of our own before standard input, so that a signal is the end of the input.

    The SDK reads in a thread that nothing can interrupt but that.
    """
    source, output = os.dup(0), os.dup(1)
    inner, sink = os.pipe()
    os.dup2(inner, 0)
    os.close(inner)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    # A signal's number is written to the pipe at once, in whichever thread it arrives.
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave_soon)
    arguments = (source, sink, woken, output)
    threading.Thread(target=_pump, args=arguments, name="recall input", daemon=True).start()


def _pump(source: int, sink: int, woken: int, output: int) -> None:
    """Copy `source` to `sink` until it ends, a signal wakes us or nobody reads `output` any more.

    The last happens where another process has inherited the client's end of our input.
    """
    watch = select.poll()
    watch.register(source, select.POLLIN)
    watch.register(woken, select.POLLIN)
    watch.register(output, 0)  # its hang-up is reported all the same
    try:
        while {number for number, _ in watch.poll()} == {source}:
            data = os.read(source, _CHUNK)
            if not data:
                break
            while data:
                data = data[os.write(sink, data) :]
    except OSError as error:
        log.debug("standard input: %s", error)
    os.close(sink)
    _leave_soon()


def _leave_soon(*_: object) -> None:
    timer = threading.Timer(GRACE_S, os._exit, (0,))
    timer.daemon = True
    timer.start()
