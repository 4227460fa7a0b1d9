"""recall.core.modes: the mode of a conversation, as promises over any order of events."""

from __future__ import annotations

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from recall.core.conversation import PENDING_KEPT, Conversation, Prepared
from recall.core.modes import AUTO, COMMIT, CONFIRM, LEGACY, PREPARE, ROLLBACK, STRUCTURED, Mode


def delivery(id: str, talk: Conversation, *, seen: bool = True) -> Prepared:
    return Prepared(id, talk.epoch, "", (), "text", seen=seen)


def steps(talk: Conversation) -> list[str]:
    return [one.step for one in talk.steps]


def test_a_conversation_becomes_structured_when_a_delivery_is_confirmed() -> None:
    """Prepared at the turn's start, committed when the host has sent it."""
    talk = Conversation()
    mode = talk.turn_to(AUTO, ready=True)
    talk.prepare(delivery("d1", talk), mode)
    assert (mode, talk.mode.now) == (STRUCTURED, LEGACY)
    assert talk.confirm("d1", 7.0)
    assert talk.mode.now == STRUCTURED
    assert steps(talk) == [PREPARE, CONFIRM, COMMIT]
    assert talk.mode.last is not None
    assert talk.mode.last.to_dict()["at"] == "1970-01-01T00:00:07Z"


def test_a_rolled_back_switch_leaves_everything_as_it_was() -> None:
    """But for the record that it was tried."""
    talk = Conversation()
    before = talk.mode
    talk.prepare(delivery("d1", talk), talk.turn_to(AUTO, ready=True))
    talk.rollback("d1")
    assert talk.mode._replace(last=None) == before
    assert steps(talk) == [PREPARE, ROLLBACK]


def test_overlapping_turns_make_one_switch() -> None:
    """Whichever is confirmed first commits it; the other changes nothing any more."""
    talk = Conversation()
    for id in ("d1", "d2"):
        talk.prepare(delivery(id, talk), talk.turn_to(AUTO, ready=True))
    talk.rollback("d1")
    assert talk.mode.switch is not None
    talk.confirm("d2")
    assert steps(talk) == [PREPARE, CONFIRM, COMMIT]


def test_a_new_legacy_memory_does_not_throw_a_conversation_out() -> None:
    """Structured once, structured until it ends; a pin alone changes that."""
    talk = Conversation(mode=Mode(STRUCTURED))
    assert talk.turn_to(AUTO, ready=False) == STRUCTURED
    assert talk.turn_to(LEGACY, ready=True) == LEGACY


def test_a_switch_that_is_no_longer_wanted_is_rolled_back() -> None:
    """A legacy memory came before the delivery was confirmed: it is too late for that one."""
    talk = Conversation()
    talk.prepare(delivery("d1", talk), talk.turn_to(AUTO, ready=True))
    assert talk.turn_to(AUTO, ready=False) == LEGACY
    talk.confirm("d1")
    assert talk.mode.now == LEGACY
    assert steps(talk) == [PREPARE, ROLLBACK]


def test_what_a_host_was_handed_counts_until_it_is_missed() -> None:
    """Found missing in the transcript, the conversation is where it was before."""
    talk = Conversation()
    talk.hand(delivery("d1", talk, seen=False), talk.turn_to(AUTO, ready=True))
    assert talk.mode.now == STRUCTURED
    talk.looked((), ("d1",))
    assert talk.mode.now == LEGACY
    assert steps(talk) == [PREPARE, CONFIRM, COMMIT, ROLLBACK]


def test_what_was_seen_to_arrive_is_settled() -> None:
    """A later delivery that gets lost does not take the mode back."""
    talk = Conversation()
    for id in ("d1", "d2"):
        talk.hand(delivery(id, talk, seen=False), talk.turn_to(AUTO, ready=True))
    talk.looked(("d1",), ("d2",))
    assert talk.mode.now == STRUCTURED
    assert ROLLBACK not in steps(talk)


class Modes(RuleBasedStateMachine):
    """One conversation, several processes that hold it in turn, files and pins that change.

    Each rule holds a copy that went through the store's form, as every process does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.talk = Conversation()
        self.ready = False
        self.pin = AUTO
        self.waiting: list[tuple[str, str, int]] = []
        self.unseen: list[tuple[str, str]] = []
        self.number = 0
        self.allowed = False
        """A structured turn began while the corpus was ready or pinned: it may be committed."""

    def _held(self) -> Conversation:
        talk = self.talk.copied()
        talk.mode = Mode.from_row(json.loads(json.dumps(talk.mode.to_row())))
        assert talk.mode == self.talk.mode
        return talk

    def _kept(self, talk: Conversation, cause: str) -> None:
        before, after = self.talk.mode, talk.mode
        if after.now == STRUCTURED != before.now:
            assert self.allowed, "structured before it was ready"
        if after.now == LEGACY != before.now:
            back = bool(talk.steps) and talk.steps[-1].step == ROLLBACK
            assert back or self.left, "back to legacy without a pin"
            if back:
                assert before.switch is not None and after.now == before.switch.before
        flight = 0 if self.talk.mode.switch is None or self.talk.mode.switch.committed else 1
        for one in talk.steps:
            if one.step == PREPARE:
                flight += 1
            elif one.step in (COMMIT, ROLLBACK):
                flight = 0
            assert flight <= 1, "two switches in flight"
        self.talk = talk
        assert cause

    @property
    def left(self) -> bool:
        """Some turn began under a pin to legacy, whose delivery may still be confirmed."""
        return self.pinned_legacy

    pinned_legacy = False

    def _begin(self, talk: Conversation) -> str:
        talk.next_turn()
        mode = talk.turn_to(self.pin, ready=self.ready)
        if self.pin != AUTO:
            assert mode == self.pin, "a pin is honoured"
        elif self.talk.mode.now == STRUCTURED:
            assert mode == STRUCTURED, "thrown out by a legacy file"
        else:
            assert mode == (STRUCTURED if self.ready else LEGACY)
        self.allowed |= mode == STRUCTURED
        self.pinned_legacy |= self.pin == LEGACY
        return mode

    @rule()
    def turn(self) -> None:
        talk = self._held()
        mode = self._begin(talk)
        self.number += 1
        id = f"d{self.number}"
        talk.prepare(delivery(id, talk), mode)
        self.waiting = [*self.waiting, (id, mode, talk.epoch)][-PENDING_KEPT:]
        self._kept(talk, "turn")

    @rule(shown=st.booleans())
    def hosted_turn(self, shown: bool) -> None:
        talk = self._held()
        mode = self._begin(talk)
        self.number += 1
        id = f"h{self.number}"
        talk.hand(delivery(id, talk, seen=not shown), mode)
        assert talk.mode.now == mode, "what is handed over counts at once"
        if shown:
            self.unseen.append((id, mode))
        self._kept(talk, "hosted turn")

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 99))
    def confirm(self, which: int) -> None:
        id, mode, epoch = self.waiting.pop(which % len(self.waiting))
        talk = self._held()
        before = talk.mode
        counted = talk.confirm(id)
        assert counted == (epoch == talk.epoch)
        if talk.mode.now != before.now:
            assert talk.mode.now == mode
        self._kept(talk, "confirm")

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 99))
    def rollback(self, which: int) -> None:
        id, _, _ = self.waiting.pop(which % len(self.waiting))
        talk = self._held()
        before = talk.mode
        talk.rollback(id)
        if talk.mode.now != before.now:
            # Handed over, lost, and this was the last delivery that could still have arrived.
            assert before.switch is not None and before.switch.committed
            assert before.switch.carriers == (id,)
        self._kept(talk, "rollback")

    @precondition(lambda self: self.unseen)
    @rule(arrived=st.booleans())
    def look(self, arrived: bool) -> None:
        talk = self._held()
        ids = {id for id, _ in self.unseen} & talk.delivered.keys()
        self.unseen = []
        talk.looked(ids if arrived else (), () if arrived else ids)
        self._kept(talk, "look")

    @rule()
    def compact(self) -> None:
        talk = self._held()
        before = talk.mode.now
        talk.compacted()
        assert talk.mode.now == before
        assert talk.mode.switch is None
        self.unseen = []
        self._kept(talk, "compact")

    @rule(ready=st.booleans())
    def files_turn(self, ready: bool) -> None:
        self.ready = ready

    @rule(pin=st.sampled_from([AUTO, LEGACY, STRUCTURED]))
    def pin_turns(self, pin: str) -> None:
        self.pin = pin


TestModes = Modes.TestCase
TestModes.settings = settings(max_examples=300, stateful_step_count=30, deadline=None)
