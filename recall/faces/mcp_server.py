"""The MCP server over standard input and output: two tools, and the tree as a resource.

Built on the SDK's low-level `Server`. Its `MCPServer` makes a tool's schema from a function's
signature, ignores parameters that the schema does not have, and words their errors itself; here
the schema, the refusals and the answers are recall's own. An answer is one text block of JSON,
and nothing repeats it as structured content: hosts hand both to the model, which would pay twice.

This module imports `mcp`, which takes most of a second: only `recall mcp` imports it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
from anyio import to_thread
from mcp import MCPError
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
from recall.faces import manage_schema, mcp_schema, stdio
from recall.faces.binding import Talks
from recall.faces.elicitation import Errands, Said
from recall.faces.talk import Clock, Talk

log = logging.getLogger("recall.mcp")

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
    """Serve over this process's standard streams, as `stdio.serve`."""
    stdio.serve(build_server(recall, session=session))
    recall.close()
