"""What a person decides on proposals: shown as they would be now, approved, dismissed, edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from recall.core.audit import Entry, detail_text
from recall.core.writing import (
    ALLOWED,
    REJECTED,
    UNAVAILABLE,
    Approval,
    Asker,
    Decision,
    Draft,
    Plan,
    Write,
    Written,
)
from recall.core.writing_values import draft_values, mark_of
from recall.engine.ports import Answerer, Ledger
from recall.engine.writing import WriteService, answer_of
from recall.errors import WriteError
from recall.structs import replace

APPROVED, DISMISSED, EXPIRED = "approved", "dismissed", "expired"


class Waiting(Protocol):
    """A proposal, as it is kept."""

    @property
    def number(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def write(self) -> Write: ...
    @property
    def asker(self) -> Asker: ...


class Kept(Protocol):
    """Where proposals are kept, for who decides on them."""

    def waiting(self, number: int) -> Waiting:
        """Return one that waits. Raises WriteError PROPOSAL_NOT_FOUND."""

    def settle(self, number: int, state: str) -> bool:
        """Record what became of one that waits; False where it waits no more."""

    def edit(self, number: int, write: Write, title: str, mark: str) -> None:
        """Put another write in the place of one that waits."""


class Shown(NamedTuple):
    """A proposal as it would be made now."""

    proposal: Waiting
    plan: Plan
    approval: Approval


class Deciding:
    """A person's decisions on the proposals about one corpus."""

    def __init__(self, writes: WriteService, kept: Kept, ledger: Ledger) -> None:
        self._writes = writes
        self._kept = kept
        self._ledger = ledger

    def show(self, number: int) -> Shown:
        """Return what a proposal would change now, whole.

        Raises WriteError: PROPOSAL_NOT_FOUND, and whatever makes it impossible by now.
        """
        found = self._kept.waiting(number)
        try:
            plan = self._writes.planned(found.write, found.asker)
        except WriteError as error:
            raise WriteError(
                error.code,
                f"Proposal {number} can't be made any more. {error.message}",
                fix=f"Dismiss it: recall proposals dismiss {number}.",
                **error.evidence,
            ) from error
        return Shown(found, plan, self._writes.approval(plan, found.asker))

    def hindered(self, number: int) -> str:
        """Return the code of what makes a proposal impossible by now, empty where nothing does."""
        try:
            self.show(number)
        except WriteError as error:
            return error.code
        return ""

    def approve(self, number: int, answerer: Answerer) -> Written:
        """Ask `answerer` about a proposal as it would be made now, and make it if he says yes.

        A no dismisses it; without an answer, and where the policy is off by now, it goes on
        waiting. Raises WriteError WRITE_DENIED then, and what makes it impossible.
        """
        shown = self.show(number)
        self._writes.check_policy(shown.proposal.write, shown.proposal.asker, shown.plan)
        outcome = answer_of(answerer, shown.approval)
        found, by = shown.proposal, f"proposal {number}, {answerer.name}"
        decision = Decision(outcome, by, number)
        if outcome not in (ALLOWED, REJECTED):
            what = "No answer came" if outcome == UNAVAILABLE else "It was left undecided"
            raise WriteError(
                "WRITE_DENIED",
                f"{what}: proposal {number} goes on waiting.",
                fix=f"recall proposals approve {number}, or dismiss it.",
                outcome=outcome,
            )
        if outcome == REJECTED and not self._kept.settle(number, DISMISSED):
            self._kept.waiting(number)  # says what became of it

        def overtaken() -> WriteError | None:
            return self._overtaken(found)

        return self._writes.decided(found.write, found.asker, shown.plan, decision, overtaken)

    def _overtaken(self, found: Waiting) -> WriteError | None:
        """Return why a proposal is not the one any more that somebody was asked about."""
        try:
            now = self._kept.waiting(found.number)
        except WriteError as error:
            return error
        if now.write == found.write:
            return None
        return WriteError(
            "WRITE_SUPERSEDED",
            f"Proposal {found.number} was edited meanwhile: nothing was written.",
            fix=f"Look at it again: recall proposals show {found.number}.",
        )

    def dismiss(self, number: int, by: str) -> None:
        """Let a proposal go, and audit who said so."""
        self._end(number, DISMISSED, "-dismissed", by)

    def let_go(self, number: int, why: str) -> None:
        """Let a proposal expire before its time, and audit why."""
        self._end(number, EXPIRED, "-expired", why)

    def _end(self, number: int, state: str, how: str, by: str) -> None:
        with self._writes.alone():
            self._ledger.append(_ended(self._kept.waiting(number), how, by))
            self._kept.settle(number, state)

    def edit(self, number: int, draft: Draft) -> Shown:
        """Put other words in a proposal's draft; returns it as it would be made now.

        What `draft` leaves open stays. Only a proposal with one new text can be edited. Raises
        WriteError.
        """
        found = self._kept.waiting(number)
        if len(found.write.drafts) != 1:
            raise WriteError(
                "INVALID_INPUT",
                f"Proposal {number} has no single text that could be edited.",
                fix="Approve or dismiss it.",
            )
        edited = replace(found.write.drafts[0], **draft_values(draft))
        write = self._writes.settled(replace(found.write, drafts=(edited,)), found.asker)
        plan = self._writes.planned(write, found.asker)
        write, plan = self._writes.waiting(write, found.asker, plan)
        approval = self._writes.approval(plan, found.asker)
        with self._writes.alone():
            late = self._overtaken(found)
            if late is not None:
                raise late
            self._kept.edit(number, write, approval.title, mark_of(plan))
        return Shown(self._kept.waiting(number), plan, approval)


def note_expired(ledger: Ledger, late: Sequence[Waiting]) -> None:
    """Audit that proposals are let go because their time is over. Raises StoreError."""
    ledger.extend([_ended(one, "-expired", "its time was over") for one in late])


def _ended(proposal: Waiting, how: str, by: str) -> Entry:
    """Return the audit's row of a proposal that ends without being decided on by an answerer."""
    return Entry(
        action=proposal.action + how,
        outcome=by,
        source=proposal.asker.label or proposal.asker.source,
        session=proposal.asker.session,
        ref=", ".join(proposal.write.targets),
        detail=detail_text({"proposal": proposal.number, "title": proposal.title}),
    )
