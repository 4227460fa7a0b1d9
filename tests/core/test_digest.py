"""One function, whoever computes it."""

from __future__ import annotations

import hashlib
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from recall.core import digest


@given(st.binary())
def test_both_give_what_hashlib_gives(data: bytes) -> None:
    wanted = hashlib.sha256(data).hexdigest()
    assert digest.sha256(data).hexdigest() == wanted
    assert digest._own(memoryview(data)).hexdigest() == wanted  # type: ignore[attr-defined]


def test_openssl_is_not_loaded_for_it() -> None:
    code = (
        "import sys; from recall.core.digest import sha256;"
        "print(sha256(b'x').hexdigest(), '_hashlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [hashlib.sha256(b"x").hexdigest(), "False"]
