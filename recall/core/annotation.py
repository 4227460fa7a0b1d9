"""Metadata that a memory lacks: what an annotator is given, and what it gives.

Only what is missing or unusable is ever written; a curated value stays as it is.
"""

from __future__ import annotations

from typing import NamedTuple

from recall.model import Parsed


class Unannotated(NamedTuple):
    """A legacy memory that waits for metadata."""

    ref: str
    scope: str
    path: str
    """Relative to its root, `/` between segments."""
    parsed: Parsed
    """What the file says of itself; `parsed.metadata.missing` names the owned fields it lacks."""


class Annotation(NamedTuple):
    """What an annotator proposes for the owned fields; those that are not missing are ignored."""

    name: str = ""
    description: str = ""
    type: str = ""
    category: str = ""
    keywords: tuple[str, ...] = ()
    usage_scenarios: tuple[str, ...] = ()

    def values(self, missing: tuple[str, ...]) -> dict[str, str | tuple[str, ...]]:
        """Return the values to write: those of the missing fields, in their order."""
        return {field: getattr(self, field) for field in missing}
