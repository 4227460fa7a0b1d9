"""The tool's door: whatever JSON names a parameter, the answer is an error and never a crash."""

from __future__ import annotations

import pytest
from conftest import Opener

from recall.errors import RequestError


@pytest.mark.parametrize("name", ["self", "mode ", "parameters", "__class__"])
def test_odd_parameter_names_are_refused(opened: Opener, name: str) -> None:
    """A parameter of any name is refused by name."""
    with pytest.raises(RequestError):
        opened().search_memory(**{"mode": "explore", name: 1})
