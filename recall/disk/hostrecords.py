"""What hosts' files held before we wrote to them, kept until they are given back.

One small file each in `hosts/` of the state folder, for this user only: the whole earlier bytes (in
base64), the digest of what was written, and which folders were made for it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from recall.disk import atomic

FOLDER = "hosts"


class Record(NamedTuple):
    """One file: `before` is None where it was not there; `after` a digest (SHA-256)."""

    file: str
    before: bytes | None
    after: str
    folders: tuple[str, ...] = ()


class Records:
    """The records of one state folder."""

    def __init__(self, state_dir: Path) -> None:
        self.folder = state_dir / FOLDER

    def find(self, target: Path) -> Record | None:
        """Return what is known of the file; None where nothing is, or it can't be read."""
        try:
            data = json.loads(self._path(target).read_bytes())
            before = data["before"]
            return Record(
                str(data["file"]),
                None if before is None else base64.b64decode(before, validate=True),
                str(data["after"]),
                tuple(map(str, data["folders"])),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, record: Record) -> None:
        """Write the record; raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = None if record.before is None else base64.b64encode(record.before).decode()
        document = record._replace(before=None)._asdict() | {"before": before}
        data = json.dumps(document, indent=1).encode()
        atomic.replace(self._path(Path(record.file)), data, expected=atomic.ANYTHING)

    def forget(self, target: Path) -> None:
        """Delete what is known of the file, if anything is."""
        with contextlib.suppress(OSError):
            os.unlink(self._path(target))

    def _path(self, target: Path) -> Path:
        name = hashlib.sha256(os.fsencode(target)).hexdigest()[:32]
        return self.folder / f"{name}.json"
