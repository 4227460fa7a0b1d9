"""What the page's tests stand on: a place with some memories, its page served, a reader in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # without the extra its modules are skipped, with the reason
    from .place import Place, Reader


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A corpus of four memories."""
    from .place import Place, some_memories

    made = Place(tmp_path)
    some_memories(made.root)
    yield made
    made.recall.close()


@pytest.fixture
def stranger(place: Place) -> Iterator[Reader]:
    """Somebody at the page of the place who was not let in."""
    from .place import served

    with served(place) as reader:
        yield reader


@pytest.fixture
def reader(stranger: Reader) -> Reader:
    """Somebody at the page of the place."""
    stranger.enter()
    return stranger
