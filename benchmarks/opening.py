"""Opening a folder of memories for a benchmark, and what a process holds."""

from __future__ import annotations

import platform
import resource
from pathlib import Path

from recall.app import Recall
from recall.model import Root
from recall.settings import Settings


def opened(root: Path, cache: Path) -> Recall:
    """Return the corpus below `root`, open in structured mode, with its cache in `cache`."""
    settings = Settings(mode="structured", roots=(Root("project", str(root)),))
    return Recall(settings, cache_dir=cache, state_dir=cache / "state")


def largest_resident() -> int:
    """Return the most resident memory that this process ever had, in bytes.

    Not by getrusage where Linux says it better: a process that was forked inherits that figure.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if platform.system() == "Darwin" else largest * 1024
