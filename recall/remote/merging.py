"""Consolidations worded by a model: one call for each, within the allowance of a run.

Implements `recall.engine.ports.Merger`. What it returns is not trusted: who asked looks whether
every fact still stands in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from recall.core.allowance import Allowance, Ceilings, Spent, Usage
from recall.core.merge_prompt import MOST, messages, note_of
from recall.core.tokens import estimate_tokens
from recall.errors import AnnotationError
from recall.remote.chat import Answer, Chat, Refusal
from recall.remote.model import connected
from recall.settings import Llm, Settings

_BOUNDS = ("max_completion_tokens", "max_tokens")
"""What endpoints call the bound of a reply; the second is tried where the first is refused."""
_SPARE = 1_000  # tokens of a reply beyond those of all texts, for models that think first
_STOPS = ("key", "missing", "unreachable", "closed")


def model_merger(settings: Settings, env: Mapping[str, str]) -> ModelMerger:
    """Return the merger that asks the model of the settings; `env` holds the key.

    Raises SettingsError where there is none, or its address or key can't be used.
    """
    llm = settings.llm
    ceilings = Ceilings(llm.max_calls, llm.max_tokens, llm.max_seconds)
    return ModelMerger(llm, connected(settings, env), Allowance(ceilings))


class ModelMerger:
    """Asks one endpoint. What it has used stands in `allowance`."""

    def __init__(self, llm: Llm, chat: Chat, allowance: Allowance) -> None:
        self.allowance = allowance
        self._llm = llm
        self._chat = chat
        self._bound = 0

    def merge(self, title: str, texts: Sequence[str]) -> str:
        """Return the model's text. Raises AnnotationError, `stop` where no call may help now."""
        size = sum(map(len, texts))
        if size > MOST:
            raise AnnotationError(
                f"The texts of {title!r} have {size:,} characters; at most {MOST:,} are sent."
            )
        asked = messages(title, texts)
        most = sum(map(estimate_tokens, texts)) + _SPARE
        try:
            answer = self._ask(asked, most)
        except Spent as spent:
            raise AnnotationError(
                f"No further call is made: {spent}.",
                retry=True,
                stop=True,
                fix=f"Run again, or raise {spent.key} in your own settings file.",
            ) from None
        except Refusal as refusal:
            stop = refusal.kind in _STOPS
            raise AnnotationError(refusal.text, retry=True, stop=stop) from None
        if answer.finish == "length":
            raise AnnotationError(f"The model's text for {title!r} was cut off.", retry=True)
        return note_of(answer.text)

    def _ask(self, asked: list[dict[str, str]], most: int) -> Answer:
        try:
            return self._counted(asked, most)
        except Refusal as refusal:
            named = _BOUNDS[self._bound]
            if refusal.kind != "refused" or self._bound or named not in refusal.text.lower():
                raise
        self._bound = 1
        return self._counted(asked, most)

    def _counted(self, asked: list[dict[str, str]], most: int) -> Answer:
        """Make one call within the allowance, and settle what it used."""
        prompt = sum(estimate_tokens(one["content"]) + 4 for one in asked)
        grant = self.allowance.grant(prompt, most)
        used, start = Usage(1, prompt), time.monotonic()
        body = {"model": self._llm.model, "messages": asked, _BOUNDS[self._bound]: grant.reply}
        try:
            answer = self._chat.ask(body, min(self._llm.timeout_ms / 1_000, grant.seconds))
            told = answer.completion_tokens or estimate_tokens(answer.text)
            used = Usage(1, answer.prompt_tokens or prompt, told)
            return answer
        finally:
            self.allowance.settle(grant, used._replace(seconds=time.monotonic() - start))
