"""A model, asked within an allowance: in the first shape of a request that its endpoint takes.

What it says of a failure names the endpoint and the setting, never the key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from recall.core.allowance import Allowance, Ceilings, Grant, Spent, Usage
from recall.core.sink import json_text
from recall.core.tokens import estimate_tokens
from recall.errors import AnnotationError, SettingsError
from recall.remote.address import checked
from recall.remote.chat import Answer, Chat, Refusal
from recall.settings import Llm, Settings

Message = dict[str, str]

REPLY_TOKENS = 4_000
"""The most that a reply is asked to take; models that think before they speak need most of it."""
DEFAULT_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before a busy endpoint is asked again, where it does not say, and where it does."""


class Shape(NamedTuple):
    """How a request asks for JSON and bounds the reply: endpoints differ."""

    format: str
    bound: str


SHAPES = (
    Shape("json_schema", "max_completion_tokens"),
    Shape("json_object", "max_completion_tokens"),
    Shape("text", "max_completion_tokens"),
    Shape("json_schema", "max_tokens"),
    Shape("json_object", "max_tokens"),
    Shape("text", "max_tokens"),
)
"""Best first. Which one an endpoint takes is found out once a run."""
TEXT_SHAPES = SHAPES[2::3]
"""The same where words are asked for, and no JSON."""


def connected(settings: Settings, env: Mapping[str, str]) -> Chat:
    """Return the endpoint that the settings name, with the key in `env`; asks it nothing.

    Raises SettingsError, naming what to set, where no model is configured, its address can't be
    used, its key is missing, or the client is not installed.
    """
    llm = settings.llm
    if not llm.model:
        raise SettingsError(
            "No model is configured: llm.model is empty.",
            key="llm.model",
            fix='Set it in your own settings file ([llm], model = "…") or in RECALL_LLM_MODEL.',
        )
    address = checked(
        llm.base_url,
        key="llm.base_url",
        allow_insecure=llm.allow_insecure_http,
        allow_key="llm.allow_insecure_http",
    )
    key = _key(llm, env, needed=not address.loopback)
    if find_spec("openai") is None or find_spec("httpx2") is None:
        raise SettingsError(
            "Asking a model needs the openai client, which is not installed here.",
            fix="Install it with pip install 'recall-memory[llm]'.",
        )
    return Chat(address, key)


def allowance_of(llm: Llm) -> Allowance:
    """Return what one run may cost, by the settings."""
    return Allowance(Ceilings(llm.max_calls, llm.max_tokens, llm.max_seconds))


def _key(llm: Llm, env: Mapping[str, str], *, needed: bool) -> str:
    key = env.get(llm.env_key, "").strip() if llm.env_key else ""
    if not key and llm.env_key and needed:
        raise SettingsError(
            f"The variable {llm.env_key} holds no key for the model.",
            key="llm.env_key",
            fix=f"Set {llm.env_key}, name another variable in llm.env_key, or leave llm.env_key "
            "empty where the endpoint needs none.",
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        # Its value would stand in the error that the client raises for it.
        raise SettingsError(
            f"The variable {llm.env_key} holds something that can't be a key: blanks, line breaks "
            "or other characters that a header has not.",
            key="llm.env_key",
            fix=f"Set {llm.env_key} to the key alone.",
        )
    return key


class Model:
    """One model at one endpoint. May be used from several threads."""

    def __init__(
        self,
        llm: Llm,
        chat: Chat,
        allowance: Allowance,
        *,
        name: str = "",
        shapes: Sequence[Shape] = SHAPES,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        """`name` is what a schema is called; `pause` waits some seconds for a busy endpoint."""
        self.allowance = allowance
        self.called = llm.model
        self._llm = llm
        self._chat = chat
        self._name = name
        self._shapes = shapes
        self._pause = pause or chat.pause
        self._shape = 0
        self._proven = False

    def close(self) -> None:
        """End what is under way; it and all later calls raise AnnotationError (`stop`)."""
        self._chat.close()

    def say(
        self, asked: list[Message], schema: dict[str, Any] | None, reply: int = REPLY_TOKENS
    ) -> Answer:
        """Return the model's answer, in the first shape of a request that the endpoint takes.

        `schema` is None where the shapes ask for words; `reply` is the most that it may take, in
        tokens. Raises AnnotationError.
        """
        at = self._shape
        while True:
            try:
                answer = self._patiently(asked, schema, self._shapes[at], reply)
            except Refusal as refusal:
                after = None if self._proven else self._next_shape(at, refusal)
                if after is None:
                    raise self._failed(refusal) from None
                at = after
            else:
                self._shape, self._proven = at, True
                return answer

    def _next_shape(self, at: int, refusal: Refusal) -> int | None:
        """Return which shape to try after the endpoint refused one; None where none would help."""
        said, shape = refusal.text.lower(), self._shapes[at]
        if refusal.kind != "refused" or "context" in refusal.code or "context length" in said:
            return None
        names_bound = shape.bound in said and shape.bound == "max_completion_tokens"
        other = shape._replace(bound="max_tokens")
        later = range(at + 1, len(self._shapes))
        return next((n for n in later if not names_bound or self._shapes[n] == other), None)

    def _patiently(
        self, asked: list[Message], schema: dict[str, Any] | None, shape: Shape, reply: int
    ) -> Answer:
        """Ask; where the endpoint is busy, wait as long as it says, and ask once more."""
        try:
            return self._counted(asked, schema, shape, reply)
        except Refusal as refusal:
            wait = DEFAULT_WAIT if refusal.wait is None else refusal.wait
            if refusal.kind != "busy" or wait > min(LONGEST_WAIT, self.allowance.seconds_left()):
                raise
        before = time.monotonic()
        self._pause(wait)
        self.allowance.waited(time.monotonic() - before)
        return self._counted(asked, schema, shape, reply)

    def _counted(
        self, asked: list[Message], schema: dict[str, Any] | None, shape: Shape, reply: int
    ) -> Answer:
        """Make one call within the allowance, and settle what it used."""
        prompt = tokens_of(asked, schema if shape.format == "json_schema" else None)
        try:
            grant = self.allowance.grant(prompt, reply)
        except Spent as spent:
            raise AnnotationError(
                f"No further call is made: {spent}.",
                retry=True,
                stop=True,
                fix=f"Run again, or raise {spent.key}.",
            ) from None
        used = Usage(1, prompt)
        start = time.monotonic()
        try:
            seconds = min(self._llm.timeout_ms / 1_000, grant.seconds)
            answer = self._chat.ask(self._body(asked, schema, shape, grant), seconds)
            used = _used(answer, prompt)
            return answer
        except Refusal as refusal:
            if refusal.kind not in ("late", "cut", "odd", "closed"):
                used = Usage(1)  # nothing was read by a model
            raise
        finally:
            self.allowance.settle(grant, used._replace(seconds=time.monotonic() - start))

    def _body(
        self, asked: list[Message], schema: dict[str, Any] | None, shape: Shape, grant: Grant
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._llm.model,
            "messages": asked,
            shape.bound: grant.reply,
        }
        if shape.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif shape.format == "json_schema":
            named = {"name": self._name, "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def _failed(self, refusal: Refusal) -> AnnotationError:
        retry, stop, fix = _MEANING[refusal.kind]
        if refusal.kind == "refused" and not self._proven:
            stop = retry = True  # nothing was ever answered: it is hardly this memory
        if refusal.wait is not None:
            fix = f"It asks to be left alone for {refusal.wait:,.0f} s. " + fix
        fix = fix.replace("KEY", self._llm.env_key or "the variable that llm.env_key names")
        return AnnotationError(refusal.text, retry=retry, stop=stop, fix=fix)


_MEANING = {
    "refused": (False, False, "Check llm.model and llm.base_url; the memory may be too long."),
    "key": (True, True, "Check the key in KEY, and that it is one for llm.base_url."),
    "missing": (True, True, "Check llm.base_url (most end in /v1) and llm.model."),
    "busy": (True, False, "Run again later."),
    "late": (True, False, "Run again later, or raise llm.timeout_ms."),
    "unreachable": (True, True, "Check llm.base_url, and that the endpoint runs."),
    "cut": (True, False, "Run again later."),
    "odd": (True, False, "Check that llm.base_url is an OpenAI-compatible endpoint."),
    "closed": (True, True, "Run again."),
}
"""Of each kind of refusal: whether to try again, whether to stop the run, what to do."""


def tokens_of(asked: Sequence[Message], schema: dict[str, Any] | None) -> int:
    """Return how many tokens a request takes, an estimate."""
    extra = [json_text(schema)] if schema else []
    return sum(estimate_tokens(text) + 4 for text in (*(m["content"] for m in asked), *extra))


def _used(answer: Answer, prompt: int) -> Usage:
    told, said = answer.prompt_tokens, answer.completion_tokens
    return Usage(
        1,
        told or prompt,  # some report 0
        said or estimate_tokens(answer.text),
    )
