"""What a run with a model may cost, what it has cost so far, and what it would cost.

One Allowance is shared by every call of a run, from whichever thread. A call asks for a grant,
which sets aside the most that it may use, and hands it back with what it did use.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

LEAST_REPLY = 256
"""Tokens; with less left for a reply, no call is made."""


class Ceilings(NamedTuple):
    """The most that a run may use: calls, tokens of prompts and replies together, seconds."""

    calls: int
    tokens: int
    seconds: float


class Usage(NamedTuple):
    """What calls have used. Tokens as the endpoint reports them, estimated where it does not."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Time in calls, and waiting because the endpoint asked for it."""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def and_(self, more: Usage) -> Usage:
        """Return both together."""
        return Usage(
            self.calls + more.calls,
            self.prompt_tokens + more.prompt_tokens,
            self.completion_tokens + more.completion_tokens,
            self.seconds + more.seconds,
        )


class Estimate(NamedTuple):
    """What annotating some memories would take, were each reply right at once."""

    calls: int = 0
    tokens: int = 0

    def and_(self, more: Estimate) -> Estimate:
        """Return both together."""
        return Estimate(self.calls + more.calls, self.tokens + more.tokens)


class Grant(NamedTuple):
    """One call that may be made: with at most `reply` tokens of a reply, in `seconds`."""

    prompt: int
    reply: int
    seconds: float


class Spent(Exception):
    """Nothing more is granted; the text says which ceiling, `key` the setting that raises it."""

    def __init__(self, text: str, key: str) -> None:
        super().__init__(text)
        self.key = key


class Allowance:
    """The ceilings of one run, and what is left below them."""

    def __init__(self, ceilings: Ceilings) -> None:
        self.ceilings = ceilings
        self._used = Usage()
        self._open: list[Grant] = []
        self._last: int | None = None
        self._lock = threading.Lock()

    @property
    def used(self) -> Usage:
        """Return what has been used so far, calls that are under way left out."""
        with self._lock:
            return self._used

    def at_most(self, calls: int | None) -> None:
        """Grant so many more calls at most, should the ceilings allow more; None: as they say."""
        with self._lock:
            self._last = None if calls is None else self._used.calls + len(self._open) + calls

    def seconds_left(self) -> float:
        """Return the seconds that may still be spent, never below 0."""
        return max(0.0, self.ceilings.seconds - self.used.seconds)

    def grant(self, prompt: int, reply: int) -> Grant:
        """Return leave for one call whose prompt is about `prompt` tokens; raises Spent.

        `reply` is the most that it would take; less is granted where less is left.
        """
        with self._lock:
            used, most = self._used, self.ceilings
            made = used.calls + len(self._open)
            if self._last is not None and made >= self._last:
                raise Spent("this run may make no more", "--max-calls")
            if made >= most.calls:
                raise Spent(f"all {most.calls:,} calls of this run are made", "llm.max_calls")
            if used.seconds >= most.seconds:
                raise Spent(f"the {most.seconds:,.0f} s of this run are over", "llm.max_seconds")
            held = sum(one.prompt + one.reply for one in self._open)
            left = most.tokens - used.tokens - held - prompt
            if left < min(reply, LEAST_REPLY):
                raise Spent(
                    f"of the {most.tokens:,} tokens of this run too few are left for a prompt of "
                    f"about {prompt:,}",
                    "llm.max_tokens",
                )
            given = Grant(prompt, min(reply, left), most.seconds - used.seconds)
            self._open.append(given)
            return given

    def settle(self, grant: Grant, usage: Usage) -> None:
        """Take a grant back, with what the call used."""
        with self._lock:
            self._open.remove(grant)
            self._used = self._used.and_(usage)

    def waited(self, seconds: float) -> None:
        """Count time that was spent waiting."""
        with self._lock:
            self._used = self._used.and_(Usage(seconds=seconds))
