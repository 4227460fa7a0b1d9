"""Long runs in units that are kept as they are done, so that a run which was ended goes on.

A unit is known by a key, and its result by what it was made from: where either differs, it is
measured again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tqdm import tqdm


def source_digest(*folders: str) -> str:
    """Return a digest of the programs in these folders of the checkout: what a result is made by.

    A commit that changes none of them (a page, a test) leaves what was measured as it is.
    """
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _digest(made_from: object) -> str:
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()


class Units:
    """The units of one run: `done(key, made_from, measure)` returns a unit's result as JSON.

    With a folder, results are kept in it, a file a unit, and taken from it next time. Without one
    nothing is kept. A progress bar is shown on a terminal's stderr.
    """

    def __init__(self, total: int, folder: Path | None = None) -> None:
        self._folder = folder
        self._bar = tqdm(total=total, file=sys.stderr, disable=None, unit="unit")
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def done(self, key: str, made_from: object, measure: Callable[[], Any]) -> Any:
        """Return the unit's kept result where it was made from the same, else measure and keep it.

        `made_from` is any JSON: versions, settings, digests. What `measure` returns goes through
        JSON either way, so that a kept result and a new one look the same.
        """
        self._bar.set_description(key)
        found = self.kept(key, made_from)
        if found is None:
            found = json.loads(json.dumps(measure()))
            self._keep(key, _digest(made_from), found)
            self._bar.update()
        return found

    def kept(self, key: str, made_from: object) -> Any:
        """Return the unit's kept result where it was made from the same; None where it was not."""
        found = self._kept(key, _digest(made_from))
        if found is not None:
            self._bar.update()
        return found

    def close(self) -> None:
        """End the progress bar."""
        self._bar.close()

    def _kept(self, key: str, source: str) -> Any:
        if self._folder is None:
            return None
        try:
            kept = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(kept, dict) or kept.get("made_from") != source:
            return None
        return kept.get("result")

    def _keep(self, key: str, source: str, result: Any) -> None:
        if self._folder is None:
            return
        path = self._path(key)
        text = json.dumps({"key": key, "made_from": source, "result": result})
        whole = path.with_suffix(".part")
        whole.write_text(text, encoding="utf-8")
        os.replace(whole, path)

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        name = "".join(c if c.isalnum() or c in "-._" else "_" for c in key)
        return self._folder / f"{name}.json"
