"""The annotator that asks a model: one call a memory, one more where the reply is wrong.

Implements `recall.engine.ports.Annotator`. What it may cost stands in an Allowance, which a run
shares; what it says of a failure names the endpoint and the setting, never the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from recall.core import annotation_prompt as prompts
from recall.core.allowance import Allowance, Estimate, Usage
from recall.core.annotation import Annotation, Unannotated
from recall.core.annotation_reply import Reply, Wanted, read_reply
from recall.core.vocabulary import Vocabulary
from recall.errors import AnnotationError
from recall.remote.chat import Answer, Chat
from recall.remote.model import Model, allowance_of, connected, tokens_of
from recall.settings import Llm, Settings

USUAL_REPLY = 200
"""Tokens of a reply as an estimate counts them."""
VOCABULARY = 8_000
"""Characters of the vocabulary in a prompt."""


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
    return ModelAnnotator(llm, chat, offered, allowance or allowance_of(llm))


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
        self._model = Model(llm, chat, allowance, name="metadata", pause=pause)
        self._categories = categories

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
        self._model.close()

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
            tokens += tokens_of(asked, self._schema(memory)) + USUAL_REPLY
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
        said = self._model.say(asked, schema)
        reply = _read(said, wanted)
        if reply.annotation is None:
            said = self._model.say(prompts.again(asked, said.text, reply.faults), schema)
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


def _is_askable(memory: Unannotated) -> bool:
    return bool(memory.parsed.metadata.missing and memory.parsed.body.strip())


def _read(answer: Answer, wanted: Wanted) -> Reply:
    reply = read_reply(answer.text, wanted)
    if reply.annotation is None and answer.finish == "length":
        return Reply(None, ("It was too long and was cut off.", *reply.faults))
    return reply
