"""recall as a side of the comparison: whole search_memory calls, each in a conversation of its own.

A fresh conversation a question: within one, a repeated search is answered with a reminder only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

from recall.app import Recall, from_settings
from recall.model import Root
from recall.settings import Limits, Semantic, Settings

LONGEST = Limits().keyword_length
"""Characters that a keyword of search_memory may have (DESIGN.md, section 8)."""
_MOST = 20
"""Results that may be asked for here: an excluded ref is taken out before the ranking is cut, so
the tool's own five would be one too few. The first five are the same."""


def opened(
    roots: Sequence[tuple[str, Path]], cache_dir: Path, mode: str = "auto", embedder: str = ""
) -> Recall:
    """Return recall over `roots` (scope, folder), indexed in `cache_dir`, in a recall mode.

    `embedder` is the setting `semantic.model`.

    No configuration of this machine is read. The index is built before it is returned, so that no
    question pays for it.
    """
    usual = Limits()
    settings = Settings(
        roots=tuple(Root(scope, str(folder)) for scope, folder in roots),
        mode=mode,
        semantic=Semantic(embedder),
        limits=Limits(search_results=_MOST, search_call=_MOST * usual.search_window),
        cache_dir=str(cache_dir / "cache"),
        state_dir=str(cache_dir / "state"),
    )
    memories = from_settings(settings, {}, cache_dir)
    memories.session().search_memory(mode="search", keywords=["warm up"], limit=1)
    return memories


def build(
    roots: Sequence[tuple[str, Path]], cache_dir: Path
) -> Callable[[Sequence[str], int], list[str]]:
    """Return what searches `roots` for keywords and returns at most so many refs, best first."""
    return asking(opened(roots, cache_dir))


def asking(memories: Recall) -> Callable[[Sequence[str], int], list[str]]:
    """Return what searches for keywords, each time in a conversation of its own."""

    def ask(keywords: Sequence[str], k: int) -> list[str]:
        shortened = list(dict.fromkeys(shorten(keyword) for keyword in keywords))
        answer = memories.session().search_memory(
            mode="search", keywords=shortened, limit=min(k, _MOST)
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
