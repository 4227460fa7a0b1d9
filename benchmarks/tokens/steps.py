"""What a side sends, step by step, and what that costs with and without a prompt cache.

A step is one request to the model: the first comes with the user's message, each tool call is
answered in another. A request holds the whole conversation so far. What is counted is memory
alone: the user's and the model's own words, and the tools' schemas, are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

READ, WRITE = 0.1, 1.25
"""The prices of a cached token and of one written to the cache, where a plain input token's is 1:
Anthropic, "Prompt caching" (its documentation; five-minute cache: turns follow within that)."""

Count = Callable[[str], int]


@dataclass
class Step:
    """The texts of one request that were not in the one before, by what they are."""

    texts: dict[str, str] = field(default_factory=dict)
    evidence: list[str] = field(default_factory=list)
    """The same as a model reads it: JSON decoded. Where empty, the texts are it."""
    message: str = ""
    """The message as it was sent, where a side keeps it."""

    @property
    def read(self) -> list[str]:
        return self.evidence or list(self.texts.values())


@dataclass
class Ledger:
    """What one conversation cost so far: characters and tokens of memory."""

    count: Count
    characters: int = 0
    tokens: int = 0
    requests: int = 0
    resent: int = 0
    """Tokens of all requests, each with all that stood before it."""
    cached: float = 0.0
    """The same in the price of plain input tokens, where a prompt cache holds what stood before."""
    parts: dict[str, list[int]] = field(default_factory=dict)
    """What was sent, by what it is: characters and tokens."""

    def add(self, step: Step) -> None:
        """Note one request."""
        before = self.tokens
        for name, text in step.texts.items():
            size, tokens = len(text), self.count(text)
            part = self.parts.setdefault(name, [0, 0])
            part[0] += size
            part[1] += tokens
            self.characters += size
            self.tokens += tokens
        new = self.tokens - before
        self.requests += 1
        self.resent += self.tokens
        self.cached += READ * before + WRITE * new
