"""recall as a side of the comparison: whole search_memory calls, each in a conversation of its own.

A fresh conversation a question: within one, a repeated search is answered with a reminder only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from recall.model import Root
from recall.settings import Limits, Settings

LONGEST = Limits().keyword_length
"""Characters that a keyword of search_memory may have (DESIGN.md, section 8)."""
_MOST = 20
"""Results that may be asked for here: an excluded ref is taken out before the ranking is cut, so
the tool's own five would be one too few. The first five are the same."""


class NotBuilt(Exception):
    """This checkout has no public API to measure."""


def build(roots: Sequence[tuple[str, Path]], cache_dir: Path) -> Callable[[str, int], list[str]]:
    """Return a side that searches `roots` (scope, folder) with an index in `cache_dir`.

    No configuration of this machine is read. The index is built before the answer, so that no
    question pays for it. Raises NotBuilt where there is no recall.app to open.
    """
    try:
        app: Any = import_module("recall.app")
    except ImportError as missing:
        raise NotBuilt(f"recall.app can't be imported: {missing}") from missing
    usual = Limits()
    settings = Settings(
        roots=tuple(Root(scope, str(folder)) for scope, folder in roots),
        limits=Limits(search_results=_MOST, search_call=_MOST * usual.search_window),
        cache_dir=str(cache_dir / "cache"),
        state_dir=str(cache_dir / "state"),
    )
    memories = app.from_settings(settings, {}, cache_dir)
    memories.session().search_memory(mode="search", keywords=["warm up"], limit=1)

    def ask(question: str, k: int) -> list[str]:
        answer = memories.session().search_memory(
            mode="search", keywords=[shorten(question)], limit=min(k, _MOST)
        )
        return [plain_ref(result["ref"]) for result in answer["results"]]

    return ask


def shorten(question: str, longest: int = LONGEST) -> str:
    """Return the question cut to `longest` characters, at a blank where there is one."""
    text = question.strip()
    if len(text) <= longest:
        return text
    head = text[:longest]
    if head[-1].isspace() or text[longest].isspace():
        return head.rstrip()
    words = head.rsplit(None, 1)
    # Text without blanks (Chinese) has no better place than the bound itself.
    return words[0] if len(words) == 2 else head


def plain_ref(ref: str) -> str:
    """Return `project:calendar/23%20b.md` as the labelled sets name it: `calendar/23 b`."""
    path = "/".join(unquote(part) for part in ref.partition(":")[2].split("/"))
    return path.removesuffix(".md")
