"""Findings of dreams as proposals: each once, whatever a person decided, and never two at odds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from recall.core.dreaming import Finding
from recall.core.writing import Asker, Write
from recall.engine.dreaming import SOURCE
from recall.engine.writing import WriteService
from recall.errors import WriteError

OUTDATED: Final = ("WRITE_SUPERSEDED", "ENTRY_NOT_FOUND", "PINNED", "OTHER_AGENT")
"""Codes of proposals that can't be approved any more."""
_DECIDED: Final = ("pending", "approved", "dismissed")


class Told(Protocol):
    """A proposal, as far as a dream looks at it."""

    @property
    def number(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def write(self) -> Write: ...
    @property
    def asker(self) -> Asker: ...


class Kept(Protocol):
    """Where proposals are kept."""

    def listed(self, states: tuple[str, ...]) -> Sequence[Told]:
        """Return the proposals in these states, the oldest first."""


class Outcome(NamedTuple):
    """What became of a finding.

    `proposed`; `pending`, `approved` or `dismissed`: what the earlier proposal of that number is;
    `found`: it is only told; `left` for another run, or `refused`, with why.
    """

    finding: Finding
    state: str
    proposal: int = 0
    why: str = ""


class Proposing:
    """Makes findings proposals. One that was decided on is none again while its memories say the
    same; one whose memories have changed gives way to a new one.
    """

    def __init__(
        self,
        writes: Callable[[], WriteService],
        kept: Kept,
        let_go: Callable[[int, str], None],
        *,
        agent: str = "",
    ) -> None:
        """`let_go` ends a proposal that waits, for a reason."""
        self._writes = writes
        self._let_go = let_go
        self._agent = agent
        self._seen = {one.session: one for one in kept.listed(_DECIDED) if one.source == SOURCE}
        self._claimed = {
            ref: one.number
            for one in self._seen.values()
            if one.state == "pending"
            for ref in one.write.targets
        }
        self._full = ""

    def tidy(self) -> list[int]:
        """Let the proposals of earlier dreams go that can't be made any more; returns which."""
        gone = []
        for mark, one in list(self._seen.items()):
            if one.state != "pending":
                continue
            try:
                self._writes().planned(one.write, one.asker)
            except WriteError as error:
                if error.code not in OUTDATED:
                    continue
                self._let_go(one.number, "its memories changed")
                gone.append(one.number)
                del self._seen[mark]
        self._claimed = {ref: n for ref, n in self._claimed.items() if n not in gone}
        return gone

    def seen(self, finding: Finding) -> bool:
        """Tell whether the finding was proposed before: it waits, or was decided on."""
        return finding.mark in self._seen

    def told(self, finding: Finding) -> Outcome:
        """Return what is known of a finding that is not proposed now."""
        before = self._seen.get(finding.mark)
        if before is not None:
            return Outcome(finding, before.state, before.number)
        why = self._taken(finding) if finding.write else finding.why
        return Outcome(finding, "left" if finding.write and why else "found", why=why)

    def propose(self, finding: Finding, *, dry_run: bool = False) -> Outcome:
        """Make a finding that has a write a proposal, unless it was one before.

        With `dry_run` nothing is kept, and what would be a proposal comes back as `found`.
        """
        if finding.write is None or self.seen(finding) or self._taken(finding):
            return self.told(finding)
        if self._full:
            return Outcome(finding, "left", why=self._full)
        if dry_run:
            self._claimed |= dict.fromkeys(finding.write.targets, 0)
            return Outcome(finding, "found")
        asker = Asker(SOURCE, session=finding.mark, agent=self._agent)
        try:
            done = self._writes().propose(finding.write, asker)
        except WriteError as error:
            if error.code == "TOO_MANY_PROPOSALS":
                self._full = error.message
                return Outcome(finding, "left", why=error.message)
            return Outcome(finding, "refused", why=error.message)
        self._claimed |= dict.fromkeys(finding.write.targets, done.proposal)
        return Outcome(finding, "proposed", done.proposal)

    def _taken(self, finding: Finding) -> str:
        """Return why another proposal is in the way: both can't be approved."""
        for ref in finding.refs:
            if ref in self._claimed:
                other = self._claimed[ref]
                return f"{f'proposal {other}' if other else 'another finding'} changes {ref}"
        return ""
