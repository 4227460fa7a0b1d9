"""Memories out of a conversation, by a model: one call a portion, one more for a wrong reply.

Implements `recall.engine.ports.Extractor`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recall.core import extraction
from recall.core.allowance import Allowance, Estimate
from recall.core.annotation_prompt import Choice, again, categories_of, language_of
from recall.core.annotation_reply import Wanted
from recall.core.extraction import Extracted
from recall.core.metadata import OWNED
from recall.core.said import Said
from recall.core.vocabulary import Vocabulary
from recall.errors import AnnotationError
from recall.remote.llm import VOCABULARY
from recall.remote.model import Model, allowance_of, connected, tokens_of
from recall.settings import Settings

USUAL_REPLY = 400
"""Tokens of a reply as an estimate counts them."""


def model_extractor(
    settings: Settings, env: Mapping[str, str], *, categories: Sequence[str] = ()
) -> ModelExtractor:
    """Return the extractor that asks the model of the settings; `env` holds the key.

    Raises SettingsError where there is none, or its address or key can't be used.
    """
    allowance = allowance_of(settings.llm)
    model = Model(settings.llm, connected(settings, env), allowance, name="memories")
    return ModelExtractor(model, categories_of(settings.taxonomy.names, categories))


def estimate(
    portions: Sequence[Sequence[Said]], categories: Sequence[str], vocabulary: Vocabulary
) -> Estimate:
    """Return what asking about these portions would take, were each reply right at once."""
    choice = Choice(tuple(categories), vocabulary.render(VOCABULARY))
    schema = extraction.reply_schema(categories)
    tokens = sum(
        tokens_of(extraction.messages(one, choice), schema) + USUAL_REPLY for one in portions
    )
    return Estimate(len(portions), tokens)


class ModelExtractor:
    """Asks one model. What it has used stands in `allowance`."""

    def __init__(self, model: Model, categories: tuple[str, ...]) -> None:
        self._model = model
        self._categories = categories

    @property
    def allowance(self) -> Allowance:
        return self._model.allowance

    def close(self) -> None:
        """End what is under way; it and all later calls raise AnnotationError (`stop`)."""
        self._model.close()

    def extract(self, portion: Sequence[Said], vocabulary: Vocabulary) -> Extracted:
        """Return what the model proposes of a portion; of two replies what counts of both.

        Raises AnnotationError, `stop` where no other portion would fare better now.
        """
        choice = Choice(self._categories, vocabulary.render(VOCABULARY))
        language = language_of("\n".join(one.text for one in portion))
        wanted = Wanted(OWNED, self._categories, vocabulary.canonical, language)
        asked = extraction.messages(portion, choice)
        schema = extraction.reply_schema(self._categories)
        said = self._model.say(asked, schema)
        found = extraction.read(said.text, portion, wanted)
        if not found.faults:
            return found
        cut = ("It was too long and was cut off.",) if said.finish == "length" else ()
        try:
            said = self._model.say(again(asked, said.text, (*cut, *found.faults)), schema)
        except AnnotationError:
            if not found.proposed:
                raise
            return found  # what was right of the first reply is right
        second = extraction.read(said.text, portion, wanted)
        return second if len(second.proposed) >= len(found.proposed) else found
