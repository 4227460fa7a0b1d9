"""Structured on-demand recall for an agent's managed memory.

>>> from recall import open_recall
>>> with open_recall(roots=["fixtures/memory/project"]) as recall:
...     tree = recall.router().text
...     answer = recall.search_memory(mode="search", keywords=["who approves a deploy"])
"""

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from typing import Any

    from recall.app import Recall as Recall
    from recall.app import open_recall as open_recall
    from recall.core.events import Event as Event
    from recall.core.router import Router as Router
    from recall.core.sink import json_text as json_text
    from recall.core.snapshot import Snapshot as Snapshot
    from recall.engine.delivery import Delivery as Delivery
    from recall.engine.ports import Leaf as Leaf
    from recall.engine.ports import Selector as Selector
    from recall.engine.session import Session as Session
    from recall.errors import AnnotationError as AnnotationError
    from recall.errors import ConflictError as ConflictError
    from recall.errors import CursorError as CursorError
    from recall.errors import GuardError as GuardError
    from recall.errors import InvalidCursor as InvalidCursor
    from recall.errors import MigrationError as MigrationError
    from recall.errors import ProviderError as ProviderError
    from recall.errors import RecallError as RecallError
    from recall.errors import RequestError as RequestError
    from recall.errors import RootError as RootError
    from recall.errors import SettingsError as SettingsError
    from recall.errors import StaleCursor as StaleCursor
    from recall.errors import StoreError as StoreError
    from recall.errors import WriteError as WriteError
    from recall.faces.mcp_schema import tool_entry as tool_entry
    from recall.model import Fault as Fault
    from recall.model import Memory as Memory
    from recall.model import Root as Root
    from recall.model import SourceStatus as SourceStatus
    from recall.settings import Limits as Limits
    from recall.settings import Settings as Settings

_HOME = {
    "recall.app": ("Recall", "open_recall"),
    "recall.core.events": ("Event",),
    "recall.core.router": ("Router",),
    "recall.core.sink": ("json_text",),
    "recall.core.snapshot": ("Snapshot",),
    "recall.engine.delivery": ("Delivery",),
    "recall.engine.ports": ("Leaf", "Selector"),
    "recall.engine.session": ("Session",),
    "recall.errors": (
        *(
            "AnnotationError",
            "ConflictError",
            "CursorError",
            "InvalidCursor",
            "GuardError",
            "MigrationError",
            "ProviderError",
            "RecallError",
            "RequestError",
        ),
        *("RootError", "SettingsError", "StaleCursor", "StoreError", "WriteError"),
    ),
    "recall.faces.mcp_schema": ("tool_entry",),
    "recall.model": ("Fault", "Memory", "Root", "SourceStatus"),
    "recall.settings": ("Limits", "Settings"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE)


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first used: a hook's process must start fast."""
    if name not in _MODULE:
        raise AttributeError(f"module 'recall' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
