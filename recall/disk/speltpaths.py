"""Whether paths that memories speak of lead somewhere: below their root, or in their project."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from recall.model import Memory, Root


class SpeltPaths:
    """The `Places` port over the roots and the project's folder. Looks, and opens nothing."""

    def __init__(self, roots: Sequence[Root], project_dir: str = "") -> None:
        self._roots = [os.path.realpath(root.path) for root in roots]
        self._project = os.path.realpath(project_dir) if project_dir else ""

    def beside(self, memory: Memory, target: str) -> bool | None:
        """Tell whether a path, relative to the memory's file, leads to something.

        None where it leads out of both its root and its project.
        """
        root = self._roots[memory.root]
        at = os.path.normpath(os.path.join(root, os.path.dirname(memory.path), target))
        inside = (root, self._project) if memory.scope == "project" else (root,)
        if not any(folder and _is_below(at, folder) for folder in inside):
            return None
        return _is_there(at)

    def in_project(self, memory: Memory, target: str) -> bool | None:
        """Tell whether a path of code stands in the project of a project's memory.

        None where there is no project, or none of its folders is called like the path's first:
        it is another project's path then, or an example.
        """
        if memory.scope != "project" or not self._project:
            return None
        first = Path(self._project, target.split("/", 1)[0])
        if target.startswith("../") or not first.is_dir():
            return None
        return _is_there(os.path.join(self._project, target)) or bool(self.beside(memory, target))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_there(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # NUL
        return False
