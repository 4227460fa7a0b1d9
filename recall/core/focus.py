"""The focus: the few leaves that matter for this turn's question, as text.

A leaf is described once in a conversation; afterwards its ref alone names it, until its metadata
changes or the conversation is compacted. So all focuses between two compactions together cost at
most the metadata of the corpus once, and `MENTION` characters and a ref for each mention.

::

    ## Memory focus for this turn

    build_configuration
    ├── [project:deploy/staging.md] Staging deploys
    │   about: How to deploy to staging, and who approves it
    │   keywords: deploy, staging
    │   use when: before deploying to staging
    └── [project:deploy/rollback.md] (changed since you read it, read it again)

Rules: DESIGN.md, section 7.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from recall.core.messages import FOCUS_HEADER, say
from recall.core.residency import BodyState
from recall.core.sink import ELLIPSIS, category_label, metadata, safe_ref
from recall.core.tokens import estimate_tokens
from recall.model import SHOWN_TITLE, Memory
from recall.structs import Struct, replace

MENTION = 240
"""Characters that one mention may cost beside its ref and its metadata: the header, the
category's heading, branch glyphs and the body's state."""


class Chosen(Struct):
    """One leaf of a focus: what the conversation knows of its body, and of its metadata."""

    memory: Memory
    body: BodyState = "absent"
    described: bool = False
    """Its current title and description already stand in this conversation."""


class Focus(Struct):
    """A rendered focus: `shown` leaves, best first, those `described` for the first time."""

    text: str
    shown: tuple[Memory, ...]
    described: tuple[Memory, ...]
    omitted: int
    tokens: int
    saved: int = 0
    """Characters of metadata that stand in the conversation already, and are not said again."""


def render_focus(
    chosen: Sequence[Chosen], *, budget: int = 6_000, language: str = "en"
) -> Focus | None:
    """Return the focus in at most `budget` characters; None where nothing is to be shown.

    `chosen` is best first: where not all fit, the last ones are left out and counted.
    """
    for count in range(len(chosen), 0, -1):
        kept, omitted = chosen[:count], len(chosen) - count
        text = _text(kept, omitted, language)
        if len(text) <= budget:
            described = tuple(one.memory for one in kept if not one.described)
            shown = tuple(one.memory for one in kept)
            saved = sum(_saved(one, language) for one in kept if one.described)
            return Focus(text, shown, described, omitted, estimate_tokens(text), saved)
    return None


def _saved(one: Chosen, language: str) -> int:
    """Return how many characters longer the leaf would be if it were described again."""
    short, long = (
        "\n".join(_leaf(leaf, "├── ", "│   ", language))
        for leaf in (one, replace(one, described=False))
    )
    return len(long) - len(short)


def _text(chosen: Sequence[Chosen], omitted: int, language: str) -> str:
    blocks = [FOCUS_HEADER]
    for category, leaves in _grouped(chosen):
        lines = [category_label(category)]
        for leaf in leaves:
            last = leaf is leaves[-1]
            lines += _leaf(leaf, "└── " if last else "├── ", "    " if last else "│   ", language)
        blocks.append("\n".join(lines))
    if omitted:
        blocks.append(say("focus.omitted", language, count=omitted))
    return "\n\n".join(blocks)


def _grouped(chosen: Iterable[Chosen]) -> list[tuple[str, list[Chosen]]]:
    """Group by category, in the order of each category's best leaf."""
    groups: dict[str, list[Chosen]] = {}
    for one in chosen:
        groups.setdefault(one.memory.category, []).append(one)
    return list(groups.items())


def _leaf(one: Chosen, branch: str, margin: str, language: str) -> list[str]:
    memory = one.memory
    state = _state(one.body, language)
    name = f"{branch}[{safe_ref(memory.ref)}]"
    if one.described:
        return [f"{name} ({state})" if state else name]
    title, description = metadata(memory.title, SHOWN_TITLE), metadata(memory.description)
    if description.startswith(title.removesuffix(ELLIPSIS)):
        title, description = description, ""  # it begins with the title: once is enough
    lines = [f"{name} {title}"]
    details = [
        ("focus.description", "text", description),
        ("focus.keywords", "items", _listed(memory.keywords)),
        ("focus.scenarios", "items", _listed(memory.usage_scenarios)),
    ]
    lines += [margin + say(key, language, **{name: value}) for key, name, value in details if value]
    return [*lines, margin + f"({state})"] if state else lines


def _state(body: BodyState, language: str) -> str:
    """Nothing is said of a body that is absent, or read in part: it can be read on."""
    known: Collection[str] = ("present", "stale")
    return say(f"focus.{body}", language) if body in known else ""


def _listed(values: Iterable[str]) -> str:
    return ", ".join(metadata(value) for value in values)
