"""What every test stands on: memories written to a folder, and recall opened over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from recall.app import Recall, open_recall

Opener = Callable[..., Recall]

# Machines here are shared, and tests don't time: how long an example takes says nothing.
settings.register_profile("recall", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("recall")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked `long` to a run that asks for them by `-m`."""
    if "long" not in config.getoption("markexpr"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in set(long)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder of memories."""
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(tmp_path: Path, root: Path) -> Iterator[Opener]:
    """Open recall over `root`, or over the given roots, with a cache and state of the test's.

    Pinned to structured recall, unless a test gives another mode.
    """
    made: list[Recall] = []

    def opener(**more: Any) -> Recall:
        given = {
            "roots": [root],
            "cwd": tmp_path,
            "cache_dir": tmp_path / "cache",
            "state_dir": tmp_path / "state",
            "env": {},
            "home": tmp_path,
            "mode": "structured",
        }
        recall = open_recall(**(given | more))
        made.append(recall)
        return recall

    yield opener
    for recall in made:
        recall.close()


def write(folder: Path, path: str, body: str, /, **head: Any) -> Path:
    """Write a memory with a plain head; values are written as YAML would take them bare."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{key}: {value}" for key, value in head.items()]
    fence = ["---", *lines, "---", ""] if lines else []
    file.write_text("\n".join(fence) + body, encoding="utf-8", newline="")
    return file


def complete(folder: Path, path: str, body: str = "Text.\n", /, **head: Any) -> Path:
    """Write a structured memory: what the head does not say is filled in."""
    name = head.get("name", Path(path).stem)
    whole = {
        "name": name,
        "description": f"about {name}",
        "type": "project",
        "category": "task_summary",
        "keywords": f"[{Path(path).stem}, memory]",
        "usage_scenarios": "[when asked]",
    }
    return write(folder, path, body, **(whole | head))
