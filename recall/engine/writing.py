"""The one passage of every write: planned, checked, asked for, planned again, written, audited.

No other path writes memories: the tool of models, the command line, imports, the page and the
memory protocol all come through `WriteService.do` (DESIGN.md, 11).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from recall.core.approval import approval_of
from recall.core.audit import Entry, detail_text
from recall.core.budget import Budgets
from recall.core.drafts import text_of
from recall.core.policy import AUTO, OFF, policy_of
from recall.core.snapshot import Snapshot
from recall.core.writing import (
    ADD,
    ALLOWED,
    OWN_PENDING,
    PROPOSED,
    REJECTED,
    REPLACE,
    SEED,
    UNAVAILABLE,
    UNCHANGED,
    WRITTEN,
    Approval,
    Asker,
    Decision,
    FileChange,
    Flag,
    Plan,
    Usage,
    Write,
    Written,
)
from recall.core.writing_values import mark_of
from recall.engine.nearness import nearest
from recall.engine.planning import Planner
from recall.engine.ports import Answerer, Ledger, Proposals, Store, WriteFiles
from recall.engine.secrecy import Secrecy
from recall.errors import StoreError, WriteError
from recall.model import Memory, track_of
from recall.settings import Writes

_POLICY_OFF = "policy off"


class WriteService:
    """Writes over one corpus. Safe to use from threads and from several processes at once."""

    def __init__(
        self,
        store: Store,
        files: WriteFiles,
        planner: Planner,
        ledger: Ledger,
        proposals: Proposals,
        wishes: Writes,
        secrecy: Secrecy,
        *,
        budgets: Budgets | None = None,
    ) -> None:
        """`budgets` instead of those of the settings, for who has limits of his own."""
        self._store = store
        self._files = files
        self._planner = planner
        self._ledger = ledger
        self._proposals = proposals
        self._wishes = wishes
        self._secrecy = secrecy
        self._budgets = Budgets.of(wishes) if budgets is None else budgets

    def do(self, write: Write, asker: Asker, answerer: Answerer | None = None) -> Written:
        """Make the write, or keep it as a proposal; returns which.

        `answerer` is who can be asked for approval; without one, a write that needs it becomes a
        proposal, or is denied where the settings say so. Raises WriteError where nothing was
        written, with the code that says why, and StoreError.
        """
        self._proposals.let_go()
        write = self.settled(write, asker)
        plan = self.planned(write, asker)
        if not plan.changes:
            return Written(write.action, UNCHANGED, targets=write.targets)
        decision = self._decide(plan, asker, answerer)
        if decision is None:
            return self._proposed(write, asker, plan)
        return self.decided(write, asker, plan, decision)

    def propose(self, write: Write, asker: Asker, *, once: bool = False) -> Written:
        """Keep the write as a proposal, even where the settings would let it through at once.

        For who only ever proposes (recall dream, captures, recall extract). With `once` what was
        proposed before is not proposed again, whatever was decided on it: UNCHANGED. Raises
        WriteError: WRITE_DENIED where the settings refuse it or want no proposals, SECRET_FOUND
        where it holds a secret: that must neither be kept here nor lost.
        """
        self._proposals.let_go()
        write = self.settled(write, asker)
        plan = self.planned(write, asker)
        if not plan.changes or (once and self._proposals.seen(mark_of(plan))):
            return Written(write.action, UNCHANGED, targets=write.targets)
        self.check_policy(write, asker, plan)
        if self._wishes.unanswered == "deny":
            return self.decided(
                write, asker, plan, Decision(UNAVAILABLE, "no proposals are wanted")
            )
        if self._secrecy.kept(write, plan.changes) != write:
            raise WriteError(
                "SECRET_FOUND",
                "The text holds what looks like a secret, which would be lost: what waits holds "
                "none.",
                fix="Change these memories yourself.",
            )
        return self._proposed(write, asker, plan)

    def settled(self, write: Write, asker: Asker) -> Write:
        """Return the write with nothing left open: times, ids, metadata. Raises WriteError."""
        with self._secrecy.told():
            return self._planner.settle(write, asker, self._store.refresh())

    def planned(self, write: Write, asker: Asker) -> Plan:
        """Return what a settled write would change now, with its flags. Raises WriteError.

        What would not be allowed to anybody (a secret in the team's memories, a budget that is
        used up, what a machine may not do) is refused here, before anybody is asked.
        """
        with self._secrecy.told():
            snapshot = self._store.refresh(index=write.action == ADD)
            plan = self._planner.plan(write, asker, snapshot)
            flags = (*self._secrecy.flags(plan), *self._near(write, asker, plan, snapshot))
            if write.action in (ADD, SEED):
                flags += tuple(self._planner.elsewhere(write))
            self._budgets.check(self.budgets(), plan.changes)
        return plan._replace(flags=flags)

    def waiting(self, write: Write, asker: Asker, plan: Plan) -> tuple[Write, Plan]:
        """Return a settled write as it may wait for a person, and its plan: without its secrets."""
        kept = self._secrecy.kept(write, plan.changes)
        if kept == write:
            return write, plan
        flags = [
            one._replace(
                message=f"{one.message}. It is not kept while the write waits: [secret: …] stands "
                "in its place"
            )
            for one in plan.flags
            if one.kind == "secret"
        ]
        now = self.planned(kept, asker)
        return kept, now._replace(flags=(*flags, *now.flags))

    def text_of(self, target: str, asker: Asker) -> str:
        """Return the text of the memory that a target means. Raises WriteError."""
        write = Write(REPLACE, targets=(target,))
        with self._secrecy.told():
            (memory,) = self._planner.targets(write, asker, self._store.refresh())
        return self._text(memory)

    def budgets(self) -> list[Usage]:
        """Return what each budget holds; nothing where there are none."""
        if not self._budgets.limits:
            return []
        memories = self._store.refresh().memories.values()
        return self._budgets.usage((track_of(m.type), m.scope, self._text(m)) for m in memories)

    def approval(self, plan: Plan, asker: Asker) -> Approval:
        """Return what a person is shown of a plan: all of it."""
        return approval_of(plan, asker)

    # --- checks

    def _text(self, memory: Memory) -> str:
        try:
            return text_of(self._store.read(memory).body)
        except OSError:
            return ""

    def _near(self, write: Write, asker: Asker, plan: Plan, snapshot: Snapshot) -> list[Flag]:
        """Return what a new memory is like; raises for a machine's that says nothing new."""
        if write.action != ADD or asker.source == "protocol":
            return []
        (draft,) = write.drafts
        found = nearest(self._store, snapshot, draft.title, draft.text or "")
        for near in found:
            if near.certain and asker.machine:
                raise WriteError(
                    "DUPLICATE",
                    f"This is already in {near.ref}.",
                    fix="Nothing needs to be written. To change what it says, update that one.",
                    ref=near.ref,
                )
        ref = plan.changes[0].ref
        return [Flag("near_duplicate", f"{ref} is much like {one.ref}", ref) for one in found]

    # --- the gate

    def _decide(self, plan: Plan, asker: Asker, answerer: Answerer | None) -> Decision | None:
        """Return who lets the plan through, or does not; None where it waits for a person."""
        policy = policy_of(plan, asker.source, self._wishes)
        if policy == OFF:
            return Decision(REJECTED, _POLICY_OFF)
        if policy == AUTO:
            return Decision(ALLOWED, "policy auto")
        outcome = answer_of(answerer, self.approval(plan, asker)) if answerer else UNAVAILABLE
        if outcome != UNAVAILABLE and answerer is not None:
            return Decision(outcome, answerer.name)
        if self._wishes.unanswered == "deny":
            return Decision(UNAVAILABLE, "nobody who can be asked")
        return None

    def _proposed(self, write: Write, asker: Asker, plan: Plan) -> Written:
        kept, plan = self.waiting(write, asker, plan)
        approval, wishes = self.approval(plan, asker), self._wishes
        self._ledger.ready()
        number = self._proposals.put(
            kept,
            asker,
            approval,
            mark_of(plan),
            limit=wishes.max_proposals,
            days=wishes.expire_days,
            own=OWN_PENDING.get(asker.source),
        )
        told = f"proposal {number}"
        self._ledger.extend(self._entries(plan, asker, told, "-proposed"))
        return Written(write.action, PROPOSED, plan.changes, plan.flags, number)

    def check_policy(self, write: Write, asker: Asker, plan: Plan) -> None:
        """Raise WriteError WRITE_DENIED, and audit it, where the settings let nobody write this."""
        if policy_of(plan, asker.source, self._wishes) == OFF:
            self.decided(write, asker, plan, Decision(REJECTED, _POLICY_OFF))

    def alone(self) -> AbstractContextManager[None]:
        """Return what holds the lock among writing processes. Raises WriteError WRITE_FAILED."""
        return self._files.alone()

    def decided(
        self,
        write: Write,
        asker: Asker,
        plan: Plan,
        decision: Decision,
        overtaken: Callable[[], WriteError | None] = lambda: None,
    ) -> Written:
        """Make a plan true that was decided on, or refuse it; both are audited.

        It is planned anew while nobody else writes: what differs from what was approved is
        refused. So is what `overtaken` returns then, which somebody else has decided on meanwhile:
        that is no attempt of this one, and has no row. Raises WriteError (WRITE_DENIED,
        WRITE_SUPERSEDED, BUDGET_EXCEEDED, …).
        """
        if not decision.allowed:
            self.refused(plan, asker, decision)
            raise _denied(plan, decision)
        try:
            with self._files.alone():
                late = overtaken()
                operation = "" if late else self._made(write, asker, plan, decision)
        except WriteError as error:
            self._lost(plan, asker, decision, error)
            raise
        if late:
            raise late
        self._store.refresh()
        return Written(
            write.action,
            WRITTEN,
            plan.changes,
            plan.flags,
            decision=decision.words,
            operation=operation,
        )

    def _made(self, write: Write, asker: Asker, plan: Plan, decision: Decision) -> str:
        """Write what was approved, with the lock held; returns the operation's name."""
        now = self.planned(write, asker)
        if now.same != plan.same:
            raise _superseded(plan)
        entries = self._entries(plan, asker, decision.words)
        return self._files.commit(plan, entries, decision.proposal)

    def refused(self, plan: Plan, asker: Asker, decision: Decision) -> None:
        """Audit a write that was denied."""
        self._ledger.extend(self._entries(plan, asker, decision.words, "-denied"))

    def _lost(self, plan: Plan, asker: Asker, decision: Decision, error: WriteError) -> None:
        """Audit a write that was allowed, and could not be made."""
        how = "-superseded" if error.code == "WRITE_SUPERSEDED" else "-failed"
        told = f"{error.code} after {decision.words}"
        try:
            self._ledger.extend(self._entries(plan, asker, told, how))
        except StoreError as lost:
            error.add_note(f"Not audited either: {lost.message}")

    def _entries(self, plan: Plan, asker: Asker, outcome: str, how: str = "") -> list[Entry]:
        """Return the audit's rows, one for each memory."""
        return [self._entry(plan, change, asker, outcome, how) for change in plan.changes]

    def _entry(self, plan: Plan, change: FileChange, asker: Asker, outcome: str, how: str) -> Entry:
        text = change.old_text if change.after is None else change.new_text
        told = {
            "kind": change.kind,
            "title": change.title,
            "flags": [flag.kind for flag in plan.flags if flag.ref == change.ref],
            "agent": asker.agent,
        }
        return Entry(
            action=plan.action + how,
            outcome=outcome,
            source=asker.label or asker.source,
            session=asker.session,
            scope=change.scope,
            track=change.track,
            ref=change.ref,
            entry=change.entry,
            text=text,
            detail=detail_text(told),
        )


def answer_of(answerer: Answerer, approval: Approval) -> str:
    """Return what an answerer says; UNAVAILABLE where it fails."""
    try:
        return answerer.ask(approval)
    except Exception:  # noqa: BLE001  # whoever can't answer has not said yes
        return UNAVAILABLE


def _denied(plan: Plan, decision: Decision) -> WriteError:
    fix = "Don't try it again in other words; go on without it, and tell the user."
    if decision.by == _POLICY_OFF:
        fix = "writes.policy, or one of writes.rules, is off for this: nothing here can write it."
    return WriteError(
        "WRITE_DENIED",
        f"The write was not allowed: {decision.words}. Nothing was written.",
        fix=fix,
        outcome=decision.outcome,
        refs=[change.ref for change in plan.changes],
    )


def _superseded(plan: Plan) -> WriteError:
    return WriteError(
        "WRITE_SUPERSEDED",
        "What it would change was changed by somebody else while it waited for an answer; nothing "
        "was written.",
        fix="Read it as it is now, then ask for the write again.",
        refs=[change.ref for change in plan.changes],
    )
