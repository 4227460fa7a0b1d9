"""The annotator that asks a model: one call a memory, one more where the reply is wrong.

Implements `recall.engine.ports.Annotator`. What it may cost stands in an Allowance, which a run
shares; what it says of a failure names the endpoint and the setting, never the key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from recall.core import annotation_prompt as prompts
from recall.core.allowance import Allowance, Ceilings, Estimate, Grant, Spent, Usage
from recall.core.annotation import Annotation, Unannotated
from recall.core.annotation_reply import Reply, Wanted, read_reply
from recall.core.sink import json_text
from recall.core.tokens import estimate_tokens
from recall.core.vocabulary import Vocabulary
from recall.errors import AnnotationError, SettingsError
from recall.remote.address import checked
from recall.remote.chat import Answer, Chat, Refusal
from recall.settings import Llm, Settings

REPLY_TOKENS = 4_000
"""The most that a reply is asked to take; models that think before they speak need most of it."""
USUAL_REPLY = 200
"""Tokens of a reply as an estimate counts them."""
VOCABULARY = 8_000
"""Characters of the vocabulary in a prompt."""
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


def model_annotator(
    settings: Settings,
    env: Mapping[str, str],
    *,
    categories: Sequence[str] = (),
    allowance: Allowance | None = None,
) -> ModelAnnotator:
    """Return the annotator that the settings name; `categories` are those in use.

    `env` holds the key. Raises SettingsError, naming what to set, where no model is configured,
    its address can't be used, its key is missing, or the client is not installed.
    """
    chat, llm = connected(settings, env), settings.llm
    offered = prompts.categories_of(settings.taxonomy.names, categories)
    ceilings = Ceilings(llm.max_calls, llm.max_tokens, llm.max_seconds)
    return ModelAnnotator(llm, chat, offered, allowance or Allowance(ceilings))


def connected(settings: Settings, env: Mapping[str, str]) -> Chat:
    """Return the endpoint that the settings name, with the key in `env`; asks it nothing.

    Raises SettingsError as `model_annotator` does.
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


class ModelAnnotator:
    """Writes metadata by asking a model. May be used from several threads."""

    def __init__(
        self,
        llm: Llm,
        chat: Chat,
        categories: tuple[str, ...],
        allowance: Allowance,
        *,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        """`pause` waits some seconds for a busy endpoint."""
        self.allowance = allowance
        self._llm = llm
        self._chat = chat
        self._categories = categories
        self._pause = pause or chat.pause
        self._shape = 0
        self._proven = False

    @property
    def name(self) -> str:
        return "model"

    @property
    def identity(self) -> str:
        """Return which model it is, and where: what one can't do another may."""
        return f"{self.name} {self._llm.model} at {self._llm.base_url}"

    @property
    def usage(self) -> Usage:
        """Return what the run has used so far."""
        return self.allowance.used

    def at_most(self, calls: int | None) -> None:
        """Make so many more calls at most, retries included; None: as many as the ceilings say."""
        self.allowance.at_most(calls)

    def close(self) -> None:
        """End what is under way; it and all later calls raise AnnotationError (`stop`)."""
        self._chat.close()

    def estimate(
        self, memories: Unannotated | Iterable[Unannotated], vocabulary: Vocabulary
    ) -> Estimate:
        """Return what one memory, or several of a scope, would take; asks nobody.

        Retries are not foreseen, nor what a model thinks before it speaks.
        """
        if isinstance(memories, Unannotated):
            memories = [memories]
        text = vocabulary.render(VOCABULARY)
        calls = tokens = 0
        for memory in memories:
            if not _is_askable(memory):
                continue
            asked = self._messages(memory, text)
            calls += 1
            tokens += _tokens_of(asked, self._schema(memory)) + USUAL_REPLY
        return Estimate(calls, tokens)

    def annotate(self, memory: Unannotated, vocabulary: Vocabulary) -> Annotation:
        """Return valid metadata for the missing fields; see the port. Raises AnnotationError."""
        missing = memory.parsed.metadata.missing
        if not missing:
            return Annotation()
        if not _is_askable(memory):
            raise AnnotationError(
                "The memory's body is empty: there is nothing to describe.",
                fix="Write something below its head, or delete the file.",
            )
        wanted = Wanted(
            missing,
            self._categories,
            vocabulary.canonical,
            prompts.language_of(memory.parsed.body),
        )
        asked, schema = self._messages(memory, vocabulary.render(VOCABULARY)), self._schema(memory)
        said = self._say(asked, schema)
        reply = _read(said, wanted)
        if reply.annotation is None:
            said = self._say(prompts.again(asked, said.text, reply.faults), schema)
            reply = _read(said, wanted)
        if reply.annotation is None:
            raise AnnotationError(
                f"The model {self._llm.model} gave no usable metadata, asked twice: "
                + " ".join(reply.faults[:3]),
                fix="Write the fields by hand, use --annotator heuristic, or set llm.model anew.",
            )
        return reply.annotation

    # --- the request -----------------------------------------------------------------------------

    def _messages(self, memory: Unannotated, vocabulary: str) -> list[prompts.Message]:
        return prompts.messages(memory, prompts.Choice(self._categories, vocabulary))

    def _schema(self, memory: Unannotated) -> dict[str, Any]:
        return prompts.schema(memory.parsed.metadata.missing, self._categories)

    def _say(self, asked: list[prompts.Message], schema: dict[str, Any]) -> Answer:
        """Return the model's answer, in the first shape of a request that the endpoint takes."""
        at = self._shape
        while True:
            try:
                answer = self._patiently(asked, schema, SHAPES[at])
            except Refusal as refusal:
                after = None if self._proven else _next_shape(at, refusal)
                if after is None:
                    raise self._failed(refusal) from None
                at = after
            else:
                self._shape, self._proven = at, True
                return answer

    def _patiently(
        self, asked: list[prompts.Message], schema: dict[str, Any], shape: Shape
    ) -> Answer:
        """Ask; where the endpoint is busy, wait as long as it says, and ask once more."""
        try:
            return self._counted(asked, schema, shape)
        except Refusal as refusal:
            wait = DEFAULT_WAIT if refusal.wait is None else refusal.wait
            if refusal.kind != "busy" or wait > min(LONGEST_WAIT, self.allowance.seconds_left()):
                raise
        before = time.monotonic()
        self._pause(wait)
        self.allowance.waited(time.monotonic() - before)
        return self._counted(asked, schema, shape)

    def _counted(
        self, asked: list[prompts.Message], schema: dict[str, Any], shape: Shape
    ) -> Answer:
        """Make one call within the allowance, and settle what it used."""
        prompt = _tokens_of(asked, schema if shape.format == "json_schema" else None)
        try:
            grant = self.allowance.grant(prompt, REPLY_TOKENS)
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
        self, asked: list[prompts.Message], schema: dict[str, Any], shape: Shape, grant: Grant
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._llm.model,
            "messages": asked,
            shape.bound: grant.reply,
        }
        if shape.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif shape.format == "json_schema":
            named = {"name": "metadata", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    # --- what went wrong -------------------------------------------------------------------------

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


def _next_shape(at: int, refusal: Refusal) -> int | None:
    """Return which shape to try after the endpoint refused one; None where no other would help."""
    said = refusal.text.lower()
    if refusal.kind != "refused" or "context" in refusal.code or "context length" in said:
        return None
    names_bound = SHAPES[at].bound in said and SHAPES[at].bound == "max_completion_tokens"
    after = at + 3 if names_bound else at + 1
    return after if after < len(SHAPES) else None


def _is_askable(memory: Unannotated) -> bool:
    return bool(memory.parsed.metadata.missing and memory.parsed.body.strip())


def _read(answer: Answer, wanted: Wanted) -> Reply:
    reply = read_reply(answer.text, wanted)
    if reply.annotation is None and answer.finish == "length":
        return Reply(None, ("It was too long and was cut off.", *reply.faults))
    return reply


def _tokens_of(asked: Sequence[prompts.Message], schema: dict[str, Any] | None) -> int:
    extra = [json_text(schema)] if schema else []
    return sum(estimate_tokens(text) + 4 for text in (*(m["content"] for m in asked), *extra))


def _used(answer: Answer, prompt: int) -> Usage:
    told, said = answer.prompt_tokens, answer.completion_tokens
    return Usage(
        1,
        told or prompt,  # some report 0
        said or estimate_tokens(answer.text),
    )
