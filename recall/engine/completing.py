"""A draft's metadata: what it leaves open is made up, from its text without the secrets in it.

Titles and descriptions are read far more often than texts: by every model, in every conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from recall.core import migration
from recall.core.annotation import Unannotated
from recall.core.drafts import new_file, title_of
from recall.core.metadata import parse_memory
from recall.core.vocabulary import Vocabulary
from recall.core.writing import Draft
from recall.engine.ports import Annotator
from recall.errors import AnnotationError, WriteError
from recall.structs import replace


def annotated(
    draft: Draft,
    words: Vocabulary,
    at: str,
    annotator: Callable[[], Annotator],
    redacted: Callable[[str], str],
) -> Draft:
    """Return the draft with metadata for every owned field, in the vocabulary's words.

    Raises WriteError INVALID_INPUT where it has none and none can be made up.
    """
    keywords = tuple(dict.fromkeys(map(words.canonical, draft.keywords)))
    if len(keywords) >= min(2, len(draft.keywords)):
        draft = replace(draft, keywords=keywords)
    shown = replace(draft, text=redacted(draft.text or ""))
    if not draft.title:
        heading = parse_memory(new_file(shown, draft.id, at), "").metadata.title
        draft = replace(draft, title=heading or title_of(shown.text or ""))
    parsed = parse_memory(new_file(replace(draft, text=shown.text), draft.id, at), "")
    missing = parsed.metadata.missing
    if missing:
        asked = Unannotated("", draft.scope, "", parsed)
        try:
            given = migration.canonical(annotator().annotate(asked, words), words)
        except AnnotationError as error:
            raise _incomplete(missing, error.message) from None
        values = migration.values_of(parsed.metadata, given)
        named = {"title" if key == "name" else key: value for key, value in values.items()}
        draft = replace(
            draft, **{k: v if isinstance(v, str) else tuple(v) for k, v in named.items()}
        )
        missing = parse_memory(new_file(draft, draft.id, at), "").metadata.missing
    if missing:
        raise _incomplete(missing, "the annotator gave nothing usable")
    return draft


def _incomplete(missing: Collection[str], why: str) -> WriteError:
    fields = ", ".join("title" if name == "name" else name for name in missing)
    return WriteError(
        "INVALID_INPUT",
        f"The memory has no usable {fields}, and none could be made up: {why}.",
        fix=f"Give {fields} yourself.",
        field=fields,
    )
