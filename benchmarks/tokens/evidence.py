"""Whether a memory's text stands in what a model was sent: looked for in the texts themselves.

A memory's evidence is there when its body is: whole, or where it is long a run of `RUN` characters
of it, as much as half a window of a search. A description (512 characters at most) is none,
unless the body is no longer than it. Which window would have held the answer is not labelled, so
`whole` counts beside it the bodies that stand there from the first character to the last.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

RUN = 600
"""Characters in a row that make a window of a body, blanks counted once."""
_BLOCK = RUN // 2


class Watch:
    """One conversation that only grows: which of these memories' bodies it holds by now."""

    def __init__(self, bodies: Mapping[str, str]) -> None:
        """`bodies` are those that some question needs, by ref."""
        self._bodies = {ref: flat(body) for ref, body in bodies.items()}
        self.held: set[str] = set()
        self.whole: set[str] = set()

    def add(self, text: str) -> None:
        """Note a text that was sent."""
        if not text:
            return
        sent = flat(text)
        for ref, body in self._bodies.items():
            if ref in self.whole:
                continue
            if body in sent:
                self.held.add(ref)
                self.whole.add(ref)
            elif ref not in self.held and holds(sent, body):
                self.held.add(ref)


def flat(text: str) -> str:
    """Return the text with every run of blanks as one, widths folded (NFKC)."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def holds(sent: str, body: str) -> bool:
    """Tell whether `sent` has a short body whole, or a run of RUN characters of a long one.

    Each block of half a run is looked for, and extended to both sides where it is found.
    """
    if len(body) <= RUN:
        return body in sent
    for start in range(0, len(body) - _BLOCK + 1, _BLOCK):
        at = sent.find(body[start : start + _BLOCK])
        if at >= 0 and _around(sent, at, body, start) >= RUN:
            return True
    return False


def _around(sent: str, at: int, body: str, start: int) -> int:
    """Return how long the run is that both texts share around these two places."""
    left = 0
    while left < min(at, start) and sent[at - left - 1] == body[start - left - 1]:
        left += 1
    right = _BLOCK
    most = min(len(sent) - at, len(body) - start)
    while right < most and sent[at + right] == body[start + right]:
        right += 1
    return left + right
