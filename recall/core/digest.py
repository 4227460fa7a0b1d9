"""SHA-256 without OpenSSL, which takes a hook's process 3 ms to load.

Python's own gives the same digests at a quarter of the speed. Whoever hashes much imports hashlib
anyway: then that is used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256 as sha256
else:
    try:
        from _sha2 import sha256 as _own  # CPython from 3.12 on
    except ImportError:
        try:
            from _sha256 import sha256 as _own
        except ImportError:
            from hashlib import sha256 as _own

    def sha256(data=b""):
        """Return what `hashlib.sha256` returns."""
        loaded = sys.modules.get("hashlib")
        return loaded.sha256(data) if loaded else _own(data)
