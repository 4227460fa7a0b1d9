"""Consolidations worded by a model: one call for each, within the allowance of a run.

Implements `recall.engine.ports.Merger`. What it returns is not trusted: who asked looks whether
every fact still stands in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recall.core.allowance import Allowance
from recall.core.merge_prompt import MOST, messages, note_of
from recall.core.tokens import estimate_tokens
from recall.errors import AnnotationError
from recall.remote.model import TEXT_SHAPES, Model, allowance_of, connected
from recall.settings import Settings

_SPARE = 1_000  # tokens of a reply beyond those of all texts, for models that think first


def model_merger(settings: Settings, env: Mapping[str, str]) -> ModelMerger:
    """Return the merger that asks the model of the settings; `env` holds the key.

    Raises SettingsError where there is none, or its address or key can't be used.
    """
    llm = settings.llm
    chat = connected(settings, env)
    return ModelMerger(Model(llm, chat, allowance_of(llm), shapes=TEXT_SHAPES))


class ModelMerger:
    """Asks one model. What it has used stands in `allowance`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def allowance(self) -> Allowance:
        return self._model.allowance

    def merge(self, title: str, texts: Sequence[str]) -> str:
        """Return the model's text. Raises AnnotationError, `stop` where no call may help now."""
        size = sum(map(len, texts))
        if size > MOST:
            raise AnnotationError(
                f"The texts of {title!r} have {size:,} characters; at most {MOST:,} are sent."
            )
        most = sum(map(estimate_tokens, texts)) + _SPARE
        answer = self._model.say(messages(title, texts), None, most)
        if answer.finish == "length":
            raise AnnotationError(f"The model's text for {title!r} was cut off.", retry=True)
        return note_of(answer.text)
