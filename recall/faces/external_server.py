"""The MCP server `external-context`: an external service's memories, searched and, asked, stored.

`context_remember` is there only where texts may be stored and this very client can show its user
a form: nothing is sent that nobody was shown. Imports `mcp`: only `recall external mcp` does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from anyio import to_thread
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from recall.app import Recall
from recall.core.external import FAILED
from recall.core.sink import json_text, metadata
from recall.core.writing import Asker
from recall.engine.ports import Answerer
from recall.errors import RecallError, RequestError
from recall.faces import external_schema, stdio
from recall.faces.elicitation import Errands, Said, can_show
from recall.faces.external import may_store, told
from recall.faces.mcp_schema import server_version

log = logging.getLogger("recall.mcp")

_NAME = 80
_MODEL = "model"


class _Handlers:
    """What the server does on each request. Blocking work runs in threads."""

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        settings = recall.settings
        self._language = settings.language
        self._errands = Errands(settings.writes.wait_seconds)
        self._stores = may_store(settings)
        search = external_schema.search_entry(self._language)
        remember = external_schema.remember_entry(self._language)
        self._search, self._remember = map(Tool.model_validate, (search, remember))

    def _tools(self, session: ServerSession) -> list[Tool]:
        asks = self._stores and can_show(session)
        return [self._search, *([self._remember] if asks else [])]

    async def list_tools(self, context: Any, _: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=self._tools(context.session))

    async def call_tool(
        self, context: Any, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.name not in [tool.name for tool in self._tools(context.session)]:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {metadata(params.name, _NAME)}")
        given = params.arguments or {}
        if params.name == external_schema.SEARCH:
            work = partial(self._said, partial(self._searched, given))
            return _result(await to_thread.run_sync(work, abandon_on_cancel=True))
        said = await self._errands.run(
            lambda answerer: self._said(partial(self._remembered, given, answerer)),
            context.session,
            params,
        )
        if said is None:
            raise MCPError(INVALID_PARAMS, "What the user was asked is not known any more.")
        return said if isinstance(said, InputRequiredResult) else _result(said)

    def _searched(self, given: Mapping[str, Any]) -> dict[str, Any]:
        _only(given, "query")
        return self._recall.external_search(given.get("query"), external_schema.SEARCH)

    def _remembered(self, given: Mapping[str, Any], answerer: Answerer | None) -> dict[str, Any]:
        _only(given, "content")
        asker = Asker(_MODEL, agent=self._recall.settings.agent)
        outcome = self._recall.external_writes().do(given.get("content"), asker, answerer)
        return told(outcome, self._recall.provider().destination, self._language)

    def _said(self, work: Callable[[], dict[str, Any]]) -> Said:
        try:
            answer = work()
            return Said(json_text(answer), answer.get("outcome") == FAILED)
        except RecallError as error:
            details = error.details()
        except Exception as error:  # noqa: BLE001  # a server goes on
            # Without its words: they could hold what was sent.
            log.error("a call failed in recall itself: %s", type(error).__name__)
            details = {
                "code": "INTERNAL_ERROR",
                "message": f"The call failed in recall itself ({type(error).__name__}).",
                "fix": "Go on without external memories, and say so.",
            }
        return Said(json_text({"error": details}), True)


def _only(given: Mapping[str, Any], name: str) -> None:
    other = next((one for one in given if one != name), None)
    if other is not None:
        raise RequestError(
            f"There is no parameter {metadata(str(other), _NAME)}: {name} is the only one.",
            field=metadata(str(other), _NAME),
            fix=f"Send {name} alone.",
        )


def _result(said: Said) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said.text)], is_error=said.failed)


def build_server(recall: Recall) -> Server[Any]:
    """Return the server, tied to no transport yet. Raises what `Recall.provider` raises."""
    recall.provider()
    handlers = _Handlers(recall)
    return Server(
        external_schema.SERVER_NAME,
        version=server_version(),
        instructions=external_schema.instructions(recall.settings.language),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )


def serve(recall: Recall) -> None:
    """Serve over this process's standard streams, as `stdio.serve`."""
    stdio.serve(build_server(recall))
    recall.close()
