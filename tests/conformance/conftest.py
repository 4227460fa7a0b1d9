"""Servers for the tests of the memory protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from client import Client


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Start a server over the test's own store; each one is ended at the end."""
    made: list[Client] = []

    def start(*options: str, **more: Any) -> Client:
        made.append(Client(tmp_path / "store", *options, **more))
        return made[-1]

    yield start
    for client in made:
        if client.process.poll() is None:
            client.close()
