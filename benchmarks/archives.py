"""The corpora that benchmarks read: folders, or `.tar.xz` archives unpacked for a while."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SUFFIX = ".tar.xz"


class MissingCorpus(Exception):
    """A corpus is neither a folder nor an archive where it was looked for."""


@contextmanager
def unpacked(data: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Yield each named corpus's folder: `data/NAME`, or `data/NAME.tar.xz` unpacked.

    What is unpacked is gone after the block. Raises MissingCorpus, naming what is not there.
    """
    with tempfile.TemporaryDirectory(prefix="recall-corpora-") as temporary:
        found = {}
        for name in names:
            folder, archive = data / name, data / f"{name}{SUFFIX}"
            if not folder.is_dir():
                if not archive.is_file():
                    raise MissingCorpus(f"no {name} in {data}: neither a folder nor {archive.name}")
                with tarfile.open(archive) as packed:
                    packed.extractall(temporary, filter="data")
                folder = Path(temporary, name)
            found[name] = folder
        yield found
