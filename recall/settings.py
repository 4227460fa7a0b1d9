"""One frozen Settings, and every figure in it with its unit and its source."""

from __future__ import annotations

from dataclasses import dataclass, field

from recall.model import Root, Taxonomy

LANGUAGES = ("en", "zh")
MODES = ("auto", "legacy", "structured")


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of answers, in characters unless said; DESIGN.md, sections 6 and 8."""

    router: int = 6_000
    fetch_window: int = 8_000
    fetch_call: int = 20_000
    fetch_refs: int = 5
    ref_turn: int = 20_000
    search_window: int = 1_200
    search_before: int = 300
    search_call: int = 6_000
    search_results: int = 5
    search_keywords: int = 5
    keyword_length: int = 200
    explore_branches: int = 3
    explore_leaves: int = 20
    answer: int = 25_000
    """One answer as JSON text."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one installation runs with; disk/config.py reads it from files and environment."""

    roots: tuple[Root, ...] = ()
    taxonomy: Taxonomy = field(default_factory=Taxonomy)
    limits: Limits = field(default_factory=Limits)
    language: str = "en"
    mode: str = "auto"
    agent: str = ""
    cache_dir: str = ""
    """Empty: the platform's own (platformdirs)."""
    state_dir: str = ""
    lock_wait_ms: int = 1_000
    """How long a reader waits for another process's refresh before it answers stale."""
