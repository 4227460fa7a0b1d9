"""The user asked through his host: MCP's elicitation, as an answerer of the gate.

A yes is only a form that was sent with `approve` chosen in it. A host that accepts without a
choice, dismisses the form, can't show it or takes too long has not answered: what was asked for
then waits as a proposal.

The write is at work in a thread of its own, an `Errand`, which waits while the user thinks. Until
2025-11-25 of the protocol the server sends the form as a request; since 2026-07-28 it answers the
call with the form, and the client calls again with what the user said.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import anyio
from anyio import to_thread
from mcp.server.session import ServerSession
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequests,
    InputRequiredResult,
)

from recall.core.sink import metadata, passage
from recall.core.writing import ALLOWED, REJECTED, UNAVAILABLE, Approval
from recall.engine.ports import Answerer

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
_FORM = "approval"
_KEPT = 16


class Said(NamedTuple):
    """A tool's answer as it goes out: JSON text, and whether it is an error."""

    text: str
    failed: bool


Work = Callable[[Answerer | None], Said]


class Errand:
    """One call at work in a thread, which may come back with a question first."""

    def __init__(self, work: Work, session: ServerSession, wait_s: float) -> None:
        client = session.client_params.client_info.name if session.client_params else ""
        self.name = f"elicitation, {metadata(client, 60)}" if client else "elicitation"
        self._wait_s = wait_s
        self._out: queue.SimpleQueue[str | Said] = queue.SimpleQueue()
        self._in: queue.SimpleQueue[str] = queue.SimpleQueue()
        asks = self if can_show(session) else None
        run = threading.Thread(target=lambda: self._out.put(work(asks)), daemon=True)
        run.start()

    def ask(self, approval: Approval) -> str:
        """Return what the user says of a change; UNAVAILABLE where he says nothing in time."""
        text = passage(approval.text)
        if len(text) > MAX_MESSAGE:
            return UNAVAILABLE
        self._out.put(text)
        try:
            return self._in.get(timeout=self._wait_s)
        except queue.Empty:
            return UNAVAILABLE

    async def next(self) -> str | Said:
        """Return the text that the user is to be asked about, or the answer of the call."""
        return await to_thread.run_sync(self._out.get, abandon_on_cancel=True)

    def answer(self, result: object) -> None:
        """Hand over what came back of the form; anything but a choice is no answer."""
        self._in.put(_outcome(result))


class Errands:
    """The errands of one server, those included that wait for a second call."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._waiting: OrderedDict[str, tuple[Errand, dict[str, Any] | None]] = OrderedDict()

    async def run(
        self, work: Work, session: ServerSession, params: CallToolRequestParams
    ) -> Said | InputRequiredResult | None:
        """Return a call's answer, or what the client is to ask the user before it calls again.

        None where the call goes on with an errand that is not known any more.
        """
        if params.request_state is None:
            errand = Errand(work, session, self._wait_s)
        else:
            found, arguments = self._waiting.pop(params.request_state, (None, None))
            if found is None or arguments != params.arguments:
                return None
            errand = found
            errand.answer((params.input_responses or {}).get(_FORM))
        try:
            return await self._next(errand, session, params.arguments)
        except anyio.get_cancelled_exc_class():
            errand.answer(None)
            raise

    async def _next(
        self, errand: Errand, session: ServerSession, arguments: dict[str, Any] | None
    ) -> Said | InputRequiredResult:
        while isinstance(told := await errand.next(), str):
            form = ElicitRequestFormParams(message=told, requested_schema=SCHEMA)
            if not session.can_send_request:
                token = secrets.token_urlsafe(24)
                self._waiting[token] = errand, arguments
                while len(self._waiting) > _KEPT:
                    self._waiting.popitem(last=False)[1][0].answer(None)
                asked: InputRequests = {_FORM: ElicitRequest(params=form)}
                return InputRequiredResult(input_requests=asked, request_state=token)
            errand.answer(await self._sent(session, told))
        return told

    async def _sent(self, session: ServerSession, text: str) -> ElicitResult | None:
        try:
            with anyio.fail_after(self._wait_s):
                return await session.elicit_form(text, SCHEMA)
        except Exception as error:  # noqa: BLE001  # a host may fail in any way
            log.warning("the host could not ask the user: %s", error or type(error).__name__)
            return None


def can_show(session: ServerSession) -> bool:
    """Tell whether the client says that it can show forms; one for addresses alone can't."""
    can = session.client_capabilities.elicitation if session.client_capabilities else None
    return can is not None and (can.form is not None or can.url is None)


def _outcome(result: object) -> str:
    if not isinstance(result, ElicitResult):
        return UNAVAILABLE
    if result.action == "decline":
        return REJECTED
    decision = (result.content or {}).get("decision") if result.action == "accept" else None
    return {"approve": ALLOWED, "reject": REJECTED}.get(str(decision), UNAVAILABLE)
