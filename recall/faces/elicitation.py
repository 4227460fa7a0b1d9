"""The user asked through his host: MCP's elicitation, as an answerer of the gate.

A yes is only a form that was sent with `approve` chosen in it. A host that accepts without a
choice, dismisses the form, can't show it or takes too long has not answered: what was asked for
then waits as a proposal.
"""

from __future__ import annotations

import logging
from typing import Any

import anyio
from anyio import from_thread
from mcp.server.session import ServerSession
from mcp_types import ClientCapabilities, ElicitationCapability

from recall.core.sink import metadata, passage
from recall.core.writing import ALLOWED, REJECTED, UNAVAILABLE, Approval

log = logging.getLogger("recall.mcp")

MAX_MESSAGE = 12_000
"""Characters that a host is asked to show; what is longer waits for a terminal, which shows all."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "Whether this may be written.",
            "enum": ["approve", "reject"],
        }
    },
    "required": ["decision"],
}


class Elicitation:
    """Asks over one connection; for worker threads of the server's event loop."""

    def __init__(self, session: ServerSession, wait_s: float) -> None:
        self._session = session
        self._wait_s = wait_s
        client = session.client_params.client_info.name if session.client_params else ""
        self.name = f"elicitation, {metadata(client, 60)}" if client else "elicitation"

    @classmethod
    def over(cls, session: ServerSession, wait_s: float) -> Elicitation | None:
        """Return one for the connection, None where its client can't ask anybody."""
        wanted = ClientCapabilities(elicitation=ElicitationCapability())
        return cls(session, wait_s) if session.check_client_capability(wanted) else None

    def ask(self, approval: Approval) -> str:
        """Return ALLOWED, REJECTED or UNAVAILABLE; blocks until the user answers."""
        text = passage(approval.text)
        return UNAVAILABLE if len(text) > MAX_MESSAGE else from_thread.run(self._ask, text)

    async def _ask(self, text: str) -> str:
        try:
            with anyio.fail_after(self._wait_s):
                said = await self._session.elicit_form(text, SCHEMA)
        except Exception as error:  # noqa: BLE001  # a host may fail in any way
            log.warning("the host could not ask the user: %s", error or type(error).__name__)
            return UNAVAILABLE
        if said.action == "decline":
            return REJECTED
        decision = (said.content or {}).get("decision") if said.action == "accept" else None
        return {"approve": ALLOWED, "reject": REJECTED}.get(str(decision), UNAVAILABLE)
