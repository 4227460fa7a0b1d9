"""Asking the person at the terminal whether a write may be made."""

from __future__ import annotations

import sys

import click

from recall.core.writing import ALLOWED, REJECTED, UNAVAILABLE, Approval
from recall.faces.cli import warn


class Terminal:
    """The person behind this command, if there is one: an `Answerer`.

    The whole change is shown before the question; whoever only presses Enter has said no.
    """

    name = "terminal"

    def ask(self, approval: Approval) -> str:
        """Return what is said; UNAVAILABLE where input or error output is no terminal."""
        if sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
            return UNAVAILABLE
        warn(approval.text)
        return ALLOWED if click.confirm("Write this?", err=True) else REJECTED
