"""The one passage of every write: nothing is written that was not allowed, all of it is audited."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from recall import Recall, WriteError, open_recall
from recall.app import Recall as App
from recall.core.metadata import parse_memory
from recall.core.writing import (
    ALLOWED,
    CANCELLED,
    REJECTED,
    UNAVAILABLE,
    Approval,
    Asker,
    Draft,
    Write,
)
from recall.settings import Writes
from recall.structs import replace

MODEL, PERSON = Asker("model", session="s1"), Asker("person")
TEXT = "Staging deploys need Ines to approve them on the deploy channel."


class Says:
    """An answerer that always says the same, and keeps what it was asked."""

    def __init__(self, outcome: str, name: str = "callback") -> None:
        self.name = name
        self.outcome = outcome
        self.asked: list[Approval] = []

    def ask(self, approval: Approval) -> str:
        self.asked.append(approval)
        return self.outcome


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for scope in ("project", "user", "team"):
        (tmp_path / scope).mkdir()
    return tmp_path


def opened(place: Path, **writes: Any) -> Recall:
    roots = [(scope, place / scope) for scope in ("project", "user", "team")]
    recall = open_recall(
        roots=roots, cache_dir=place / "cache", state_dir=place / "state", env={}, home=place
    )
    recall.settings = replace(recall.settings, writes=Writes(**writes))
    return recall


@pytest.fixture
def recall(place: Path) -> Iterator[App]:
    with opened(place) as one:
        yield one


def add(text: str = TEXT, **more: Any) -> Write:
    return Write("add", (Draft(text=text, **more),))


def files(place: Path) -> dict[str, bytes]:
    found = (path for s in ("project", "user", "team") for path in (place / s).rglob("*"))
    return {str(path.relative_to(place)): path.read_bytes() for path in found if path.is_file()}


def quoted(text: str) -> str:
    """Return a file's text as an approval shows it: byte for byte, with a margin."""
    return "\n".join(f"│ {line}".removesuffix(" ") for line in text.rstrip("\n").split("\n"))


def audited(recall: Recall) -> list[tuple[str, str]]:
    rows = recall.audit().rows()
    return [(row.entry.action, row.entry.outcome) for row in reversed(rows)]


# --- the gate


def test_an_approved_write_is_a_structured_memory_that_is_found(recall: Recall) -> None:
    """What was remembered is a whole memory: its metadata valid, its text found by the tool."""
    done = recall.writes().do(add(), MODEL, Says(ALLOWED))
    (ref,) = done.refs
    memory = recall.snapshot().memories[ref]
    assert memory.structured and memory.scope == "project"
    answer = recall.search_memory(mode="search", keywords=["deploy channel"])
    assert [one["ref"] for one in answer["results"]] == [ref]
    assert audited(recall) == [("add", "allowed-once (via callback)"), ("recalled", "answered")]
    assert recall.audit().rows(ref=ref)[-1].entry.text == TEXT


def test_the_person_sees_the_whole_change(recall: Recall, place: Path) -> None:
    """An approval shows what is written, byte for byte: new text, from and to, what goes."""
    yes = Says(ALLOWED)
    writes = recall.writes()
    (ref,) = writes.do(add(), MODEL, yes).refs
    path = place / "project" / ref.partition(":")[2]
    before = path.read_text()
    assert quoted(before) in yes.asked[-1].text
    writes.do(Write("replace", (Draft(text="Nobody approves."),), (ref,)), MODEL, yes)
    after = path.read_text()
    assert quoted(before) in yes.asked[-1].text and quoted(after) in yes.asked[-1].text
    writes.do(Write("remove", targets=(ref,)), MODEL, yes)
    assert quoted(after) in yes.asked[-1].text
    assert [one.payload["changes"][0]["kind"] for one in yes.asked] == [
        "create",
        "change",
        "remove",
    ]


@pytest.mark.parametrize("outcome", [REJECTED, CANCELLED])
def test_a_no_writes_nothing_and_is_audited(recall: Recall, place: Path, outcome: str) -> None:
    """A write that is not allowed leaves the files as they are, and a `-denied` row."""
    with pytest.raises(WriteError) as caught:
        recall.writes().do(add(), MODEL, Says(outcome))
    assert caught.value.code == "WRITE_DENIED" and caught.value.evidence["outcome"] == outcome
    assert files(place) == {}
    assert audited(recall) == [("add-denied", f"{outcome} (via callback)")]


def test_without_an_answer_a_write_waits(recall: Recall, place: Path) -> None:
    """No answerer, none that answers, or one that fails: a proposal, and nothing is written."""

    class Broken:
        name = "broken"

        def ask(self, approval: Approval) -> str:
            raise RuntimeError(approval.title)

    texts = (TEXT, "Kafka topics are named after teams.", "Lunch is at noon in Lisbon.")
    for text, who in zip(texts, (None, Says(UNAVAILABLE), Broken()), strict=True):
        done = recall.writes().do(add(text), MODEL, who)
        assert (done.outcome, files(place)) == ("proposed", {})
    assert recall.pending() == 3
    assert [action for action, _ in audited(recall)] == ["add-proposed"] * 3


def test_the_same_wish_is_one_proposal(recall: Recall) -> None:
    """Asked for again, a proposal that waits is not made twice."""
    numbers = {recall.writes().do(add(), MODEL).proposal for _ in range(3)}
    assert len(numbers) == recall.pending() == 1


def test_where_nobody_can_be_asked_the_settings_may_say_no(place: Path) -> None:
    """`unanswered = "deny"`: a write without an answer is denied instead of kept."""
    with opened(place, unanswered="deny") as recall:
        with pytest.raises(WriteError, match="nobody who can be asked"):
            recall.writes().do(add(), MODEL)
        assert recall.pending() == 0


@pytest.mark.parametrize(
    ("rules", "asker", "draft", "written"),
    [
        ((), MODEL, {}, None),
        (("auto",), MODEL, {}, True),
        (("auto", "source=model off"), MODEL, {}, False),
        (("source=model off", "auto"), MODEL, {}, True),
        (("auto", "scope=user ask"), MODEL, {"scope": "user"}, None),
        (("source=person auto",), PERSON, {}, True),
        (("source=person auto",), MODEL, {}, None),
        (("track=user off",), MODEL, {"type": "feedback"}, False),
        (("type=reference auto", "track=user off"), MODEL, {"type": "reference"}, True),
        (("action=remove auto",), MODEL, {}, None),
    ],
)
def test_the_last_rule_that_fits_decides(
    place: Path, rules: tuple[str, ...], asker: Asker, draft: dict[str, str], written: bool | None
) -> None:
    """Policies differ by source, scope, type, track and action; the later rule wins."""
    with opened(place, rules=rules) as recall:
        if written is False:
            with pytest.raises(WriteError, match="policy off"):
                recall.writes().do(add(**draft), asker)
        else:
            done = recall.writes().do(add(**draft), asker)
            assert (done.outcome == "written") is bool(written)


def test_of_several_files_the_strictest_policy_counts(place: Path) -> None:
    """A seed that touches a scope that is off is refused as a whole."""
    drafts = (Draft(text="One fact.", scope="project"), Draft(text="Another.", scope="user"))
    with opened(place, policy="auto", rules=("scope=user off",)) as recall:
        with pytest.raises(WriteError) as caught:
            recall.writes().do(Write("seed", drafts), PERSON)
        assert caught.value.code == "WRITE_DENIED"
        assert files(place) == {}


def test_what_changed_while_a_person_thought_is_not_written(recall: Recall, place: Path) -> None:
    """The target is resolved again after the answer: what is not as it was shown is refused."""
    (ref,) = recall.writes().do(add(), MODEL, Says(ALLOWED)).refs
    path = place / "project" / ref.partition(":")[2]

    class Meanwhile(Says):
        def ask(self, approval: Approval) -> str:
            path.write_text(path.read_text() + "\nAnd Tom.\n")
            return super().ask(approval)

    with pytest.raises(WriteError) as caught:
        change = Write("replace", (Draft(text="Nobody."),), (ref,))
        recall.writes().do(change, MODEL, Meanwhile(ALLOWED))
    assert caught.value.code == "WRITE_SUPERSEDED"
    assert path.read_text().endswith("And Tom.\n")
    assert audited(recall)[-1][0] == "replace-superseded"


# --- targets


def test_a_target_is_a_ref_or_words_of_exactly_one(recall: Recall) -> None:
    """None is ENTRY_NOT_FOUND, several are AMBIGUOUS_MATCH with samples; case does not matter."""
    writes, yes = recall.writes(), Says(ALLOWED)
    writes.do(add("The coffee machine is a model A."), PERSON, yes)
    writes.do(add("The coffee grinder makes a terrible noise in the morning."), PERSON, yes)
    new = (Draft(text="Gone."),)
    with pytest.raises(WriteError) as none:
        writes.do(Write("replace", new, ("tea",)), PERSON, yes)
    with pytest.raises(WriteError) as several:
        writes.do(Write("replace", new, ("COFFEE",)), PERSON, yes)
    assert none.value.code == "ENTRY_NOT_FOUND"
    assert several.value.code == "AMBIGUOUS_MATCH" and several.value.evidence["candidates"] == 2
    assert len(several.value.evidence["sample"]) == 2
    done = writes.do(Write("replace", new, ("coffee GRINDER",)), PERSON, yes)
    assert done.outcome == "written"


def test_nothing_found_is_not_nothing_looked_at(place: Path) -> None:
    """Where the roots can't be read, a write says so instead of not finding its target."""
    with opened(place) as recall:
        for scope in ("project", "user", "team"):
            (place / scope).rmdir()
        with pytest.raises(WriteError) as caught:
            recall.writes().do(Write("remove", targets=("anything",)), PERSON)
    assert caught.value.code == "SCOPE_UNAVAILABLE"
    assert "root_read_failed" in caught.value.message


def test_no_machine_touches_what_is_pinned_or_another_agents(recall: Recall, place: Path) -> None:
    """A person may; a model is told whose it is."""
    writes, yes = recall.writes(), Says(ALLOWED)
    (ref,) = writes.do(add(pinned=True), PERSON, yes).refs
    for write in (
        Write("replace", (Draft(text="No."),), (ref,)),
        Write("remove", targets=(ref,)),
        Write("consolidate", (Draft(text="No."),), (ref,)),
    ):
        with pytest.raises(WriteError) as caught:
            writes.do(write, MODEL, yes)
        assert caught.value.code == "PINNED"
    writes.do(Write("replace", (Draft(text="Yes."),), (ref,)), PERSON, yes)
    (place / "project" / "theirs.md").write_text("---\nname: T\nagent: reviewer\n---\nTheirs.\n")
    recall.settings = replace(recall.settings, agent="reviewer")
    with (
        open_recall(
            roots=[place / "project"],
            cache_dir=place / "cache2",
            state_dir=place / "state",
            agent="reviewer",
            env={},
            home=place,
        ) as theirs,
        pytest.raises(WriteError) as caught,
    ):
        theirs.writes().do(Write("remove", targets=("project:theirs.md",)), MODEL, yes)
    assert caught.value.code == "OTHER_AGENT"


# --- changes


def test_a_change_keeps_every_byte_that_it_does_not_mean(recall: Recall, place: Path) -> None:
    """Replacing a text keeps the head, blank lines around and line endings of a person's file."""
    path = place / "project" / "mine.md"
    head = "---\r\nname: 'Mine'   # so it is\r\nkeywords: [a, b]\r\nx: 1\r\n---\r\n\r\n\r\n"
    path.write_bytes((head + "Old line.\r\nOld too.\r\n\r\n").encode())
    recall.writes().do(
        Write("replace", (Draft(text="New.\nLine."),), ("project:mine.md",)), PERSON, Says(ALLOWED)
    )
    assert path.read_bytes() == (head + "New.\r\nLine.\r\n\r\n").encode()


def test_an_entry_counts_its_versions(recall: Recall, place: Path) -> None:
    """What was written through here has an id that stays, and a version that goes up."""
    writes, yes = recall.writes(), Says(ALLOWED)
    (ref,) = writes.do(add(tags=("a ", "a", "b")), MODEL, yes).refs
    path = place / "project" / ref.partition(":")[2]
    first = parse_memory(path.read_bytes(), "").metadata
    writes.do(Write("replace", (Draft(text="Else."),), (ref,)), MODEL, yes)
    second = parse_memory(path.read_bytes(), "").metadata
    assert (first.entry_version, second.entry_version) == (1, 2)
    assert first.id == second.id != "" and first.created == second.created <= second.updated
    assert first.tags == second.tags == ("a", "b")


def test_what_is_so_already_is_not_written(recall: Recall, place: Path) -> None:
    """A change that changes nothing asks nobody and writes nothing."""
    yes = Says(ALLOWED)
    (ref,) = recall.writes().do(add(), MODEL, yes).refs
    before = files(place)
    done = recall.writes().do(Write("replace", (Draft(text=TEXT),), (ref,)), MODEL, yes)
    assert (done.outcome, len(yes.asked), files(place)) == ("unchanged", 1, before)


def test_a_consolidation_is_one_file_instead_of_several(recall: Recall, place: Path) -> None:
    """Targets go, the new one has what they share; what they were can be brought back whole."""
    writes, yes = recall.writes(), Says(ALLOWED)
    texts = ("Stand-up is at nine.", "Retros are on Fridays in the big room.")
    for text in texts:
        writes.do(add(text, scope="user", type="feedback", tags=(text[:5],)), MODEL, yes)
    before = files(place)
    done = writes.do(
        Write("consolidate", (Draft(text="Nine; Fridays."),), ("stand-up", "retros")), MODEL, yes
    )
    assert (len(done.refs), len(done.removed)) == (1, 2)
    (ref,) = done.refs
    memory = recall.snapshot().memories[ref]
    assert (memory.scope, memory.type) == ("user", "feedback")
    assert recall.store.read(memory).metadata.tags == ("Stand", "Retro")
    assert len(files(place)) == 1
    writes.do(Write("restore", targets=(done.operation,)), PERSON, yes)
    assert files(place) == before


def test_forgetting_can_be_undone(recall: Recall, place: Path) -> None:
    """A forgotten memory comes back byte for byte, unless something else took its name."""
    writes, yes = recall.writes(), Says(ALLOWED)
    (ref,) = writes.do(add(), MODEL, yes).refs
    before = files(place)
    writes.do(Write("remove", targets=(ref,)), MODEL, yes)
    assert files(place) == {}
    path = place / "project" / ref.partition(":")[2]
    path.write_text("somebody else's")
    with pytest.raises(WriteError) as caught:
        writes.do(Write("restore", targets=(ref,)), PERSON, yes)
    assert caught.value.code == "WRITE_CONFLICT" and path.read_text() == "somebody else's"
    path.unlink()
    assert writes.do(Write("restore", targets=(ref,)), PERSON, yes).refs == (ref,)
    assert files(place) == before


def test_names_never_collide_and_stay_below_the_root(recall: Recall, place: Path) -> None:
    """Equal titles, other scripts, paths and dots: each new memory is a file of its own."""
    titles = ("Deploy", "deploy", "DEPLOY", "../../etc/passwd", "部署说明", "...", "MEMORY", "con")
    drafts = tuple(Draft(text=f"Text {n} of them.", title=t) for n, t in enumerate(titles))
    done = recall.writes().do(Write("seed", drafts), PERSON, Says(ALLOWED))
    names = {name.casefold() for name in files(place)}
    assert len(done.refs) == len(names) == len(titles)
    assert {name.partition("/")[0] for name in names} == {"project"}
    assert set(recall.snapshot().memories) == set(done.refs)


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n\t\n"}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"text": "x" * 100_001}, "text"),
        ({"scope": "world"}, "scope"),
        ({"type": "fact"}, "type"),
        ({"tags": ("x" * 33,)}, "tags"),
        ({"tags": tuple(map(str, range(17)))}, "tags"),
        ({"tags": ("bad\u0000tag",)}, "tags"),
    ],
)
def test_bad_input_names_the_field(
    recall: Recall, place: Path, draft: dict[str, Any], field: str
) -> None:
    """What can't be used is refused before anybody is asked; nothing is cut."""
    yes = Says(ALLOWED)
    with pytest.raises(WriteError) as caught:
        recall.writes().do(add(**draft), MODEL, yes)
    assert (caught.value.code, caught.value.evidence["field"]) == ("INVALID_INPUT", field)
    assert (yes.asked, files(place)) == ([], {})


# --- budgets, secrets, duplicates


def test_over_budget_is_refused_with_figures_and_nothing_is_cut(place: Path) -> None:
    """Used, limit and needed are told; a text that makes room passes; a seed fails as a whole."""
    with opened(place, policy="auto", budgets=True, budget_agent=100) as recall:
        writes = recall.writes()
        writes.do(add("a" * 60), MODEL)
        with pytest.raises(WriteError) as caught:
            writes.do(add("b" * 60), MODEL)
        evidence = {"track": "agent", "scope": "project", "used": 60, "limit": 100, "needed": 120}
        assert (caught.value.code, caught.value.evidence) == ("BUDGET_EXCEEDED", evidence)
        drafts = (Draft(text="c" * 10), Draft(text="d" * 40))
        with pytest.raises(WriteError):
            writes.do(Write("seed", drafts), PERSON)
        assert len(files(place)) == 1
        writes.do(add("e" * 60, scope="user"), MODEL)  # a budget of its own
        writes.do(Write("replace", (Draft(text="f" * 100),), ("a" * 60,)), MODEL)
        used = {(one.track, one.scope): one.used for one in writes.budgets()}
        assert used["agent", "project"] == 100 and used["agent", "user"] == 60


def test_a_budget_used_up_while_a_person_thought_counts(place: Path) -> None:
    """The budget is checked again on what is there when the answer comes."""
    with opened(place, budgets=True, budget_agent=100) as recall:

        class Meanwhile(Says):
            def ask(self, approval: Approval) -> str:
                (place / "project" / "late.md").write_text("x" * 80)
                return super().ask(approval)

        with pytest.raises(WriteError) as caught:
            recall.writes().do(add("y" * 60), MODEL, Meanwhile(ALLOWED))
        assert caught.value.code == "BUDGET_EXCEEDED"
        assert list(files(place)) == ["project/late.md"]
        assert audited(recall)[-1][0] == "add-failed"


def test_a_machine_does_not_remember_twice(recall: Recall, place: Path) -> None:
    """What a memory says already is refused to a model by its ref; a person is only told."""
    writes, yes = recall.writes(), Says(ALLOWED)
    (ref,) = writes.do(add(), MODEL, yes).refs
    with pytest.raises(WriteError) as caught:
        writes.do(add(TEXT.upper()), MODEL, yes)
    assert (caught.value.code, caught.value.evidence["ref"]) == ("DUPLICATE", ref)
    done = writes.do(add(TEXT), PERSON, yes)
    assert [flag.kind for flag in done.flags] == ["near_duplicate"]
    assert len(files(place)) == 2


def test_a_memory_that_goes_to_another_scope_says_so(place: Path) -> None:
    """Without a folder for the user's memories theirs go to the project: the person is told."""
    with open_recall(
        roots=[place / "project"], cache_dir=place / "c", state_dir=place / "s", env={}, home=place
    ) as recall:
        yes = Says(ALLOWED)
        done = recall.writes().do(add(type="feedback"), MODEL, yes)
        assert done.refs[0].startswith("project:")
        (flag,) = done.flags
        assert flag.kind == "other_scope" and "mkdir -p ~/.recall/memory" in flag.message
        assert flag.message in yes.asked[0].text
        assert recall.writes().do(add("Another fact, on lunch.", type="project"), MODEL).flags == ()
        with pytest.raises(WriteError, match="no folder") as caught:
            recall.writes().do(add(scope="user"), MODEL, yes)
    assert caught.value.code == "SCOPE_UNAVAILABLE"
    assert "mkdir -p ~/.recall/memory" in (caught.value.fix or "")


# --- proposals


def test_a_proposal_is_made_as_the_person_decides(recall: Recall, place: Path) -> None:
    """Approved it is written and found; the audit names the proposal and who approved it."""
    number = recall.writes().do(add(), MODEL).proposal
    shown = recall.deciding().show(number)
    assert TEXT in shown.approval.text
    done = recall.deciding().approve(number, Says(ALLOWED, "terminal"))
    assert done.outcome == "written" and len(files(place)) == 1
    row = recall.audit().rows()[0].entry
    assert (row.action, row.source, row.session) == ("add", "model", "s1")
    assert row.outcome == f"allowed-once (via proposal {number}, terminal)"
    assert recall.pending() == 0
    with pytest.raises(WriteError) as caught:
        recall.deciding().approve(number, Says(ALLOWED))
    assert caught.value.code == "PROPOSAL_NOT_FOUND"


def test_a_proposal_that_is_denied_or_dismissed_is_gone(recall: Recall, place: Path) -> None:
    """A no, and a dismissal, end a proposal; without an answer it goes on waiting."""
    writes, deciding = recall.writes(), recall.deciding()
    first = writes.do(add(), MODEL).proposal
    with pytest.raises(WriteError, match="goes on waiting"):
        deciding.approve(first, Says(UNAVAILABLE))
    assert recall.pending() == 1
    with pytest.raises(WriteError, match="not allowed"):
        deciding.approve(first, Says(REJECTED))
    second = writes.do(add("Another fact, about lunch."), MODEL).proposal
    deciding.dismiss(second, "terminal")
    assert (recall.pending(), files(place)) == (0, {})
    assert [action for action, _ in audited(recall)][-3:] == [
        "add-denied",
        "add-proposed",
        "add-dismissed",
    ]


@pytest.mark.parametrize("meanwhile", ["dismissed", "edited"])
def test_what_is_decided_elsewhere_while_a_person_is_asked_counts(
    recall: Recall, place: Path, meanwhile: str
) -> None:
    """A yes to what was dismissed, or was edited since it was shown, writes nothing."""
    number = recall.writes().do(add(), MODEL).proposal

    class Slow(Says):
        def ask(self, approval: Approval) -> str:
            if meanwhile == "dismissed":
                recall.deciding().dismiss(number, "page")
            else:
                recall.deciding().edit(number, Draft(text="Other words, put in on the page."))
            return super().ask(approval)

    with pytest.raises(WriteError) as caught:
        recall.deciding().approve(number, Slow(ALLOWED, "terminal"))
    dismissed = meanwhile == "dismissed"
    assert caught.value.code == ("PROPOSAL_NOT_FOUND" if dismissed else "WRITE_SUPERSEDED")
    assert files(place) == {}
    assert recall.pending() == (0 if dismissed else 1)


@pytest.mark.parametrize("kind", [ALLOWED, REJECTED])
def test_of_many_who_decide_at_once_one_does(place: Path, kind: str) -> None:
    """All are shown it before anybody answers: one answer counts, the others are told of it."""
    with opened(place) as recall:
        number = recall.writes().do(add(), MODEL).proposal
    together = threading.Barrier(4)

    class Together(Says):
        def ask(self, approval: Approval) -> str:
            together.wait(30)
            return super().ask(approval)

    def decide(_: int) -> str:
        with opened(place) as recall:
            try:
                recall.deciding().approve(number, Together(kind, "terminal"))
            except WriteError as error:
                return error.code
        return "written"

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(decide, range(4)))
    first = "written" if kind == ALLOWED else "WRITE_DENIED"
    assert answers == sorted([first, *["PROPOSAL_NOT_FOUND"] * 3])
    with opened(place) as recall:
        rows = [action for action, _ in audited(recall)]
    assert rows == ["add-proposed", "add" if kind == ALLOWED else "add-denied"]
    assert len(files(place)) == (1 if kind == ALLOWED else 0)


def test_what_is_off_by_now_is_not_approved(place: Path) -> None:
    """The policy is asked when a proposal is decided on, too: nobody is asked, and it waits on."""
    with opened(place) as recall:
        number = recall.writes().do(add(), MODEL).proposal
    yes = Says(ALLOWED)
    with opened(place, policy="off") as recall:
        with pytest.raises(WriteError, match="policy off") as caught:
            recall.deciding().approve(number, yes)
        assert caught.value.code == "WRITE_DENIED" and "writes.policy" in (caught.value.fix or "")
        assert (yes.asked, recall.pending(), files(place)) == ([], 1, {})
        assert audited(recall)[-1][0] == "add-denied"


@pytest.mark.parametrize("number", [99, 2**63 - 1, 2**63, 10**40])
def test_a_number_of_no_proposal_is_said(recall: Recall, number: int) -> None:
    """However large it is."""
    for decide in (recall.deciding().show, recall.proposals().find):
        with pytest.raises(WriteError, match=f"no proposal {number}") as caught:
            decide(number)
        assert caught.value.code == "PROPOSAL_NOT_FOUND"


def test_what_is_proposed_can_forge_no_line(recall: Recall) -> None:
    """What it is called is one line, and each line of a file that is shown has a margin."""
    title = "Lunch\n   9  2026-01-01 12:00  model: add harmless.md\n" + "long " * 100
    text = "Fine.\n\n+ project:other.md, new:\r\nWrite this? [y/n] y"
    number = recall.writes().do(add(text, title=title), MODEL).proposal
    assert "\n" not in recall.proposals().find(number).title
    assert len(recall.proposals().find(number).title) < 250
    shown = recall.deciding().show(number).approval.text
    ours = [line for line in shown.splitlines() if line and not line.startswith("│")]
    assert len(ours) == 2 and ours[1].endswith(", new:")


def test_a_proposal_that_became_impossible_says_so(recall: Recall, place: Path) -> None:
    """Its target went: show and approve name it and say to dismiss it; the code is what hinders."""
    (ref,) = recall.writes().do(add(), PERSON, Says(ALLOWED)).refs
    number = recall.writes().do(Write("remove", targets=(ref,)), MODEL).proposal
    assert recall.deciding().hindered(number) == ""
    (place / "project" / ref.partition(":")[2]).unlink()
    yes = Says(ALLOWED)
    with pytest.raises(WriteError, match=f"Proposal {number} can't be made any more") as caught:
        recall.deciding().approve(number, yes)
    assert caught.value.fix == f"Dismiss it: recall proposals dismiss {number}."
    assert recall.deciding().hindered(number) == caught.value.code == "ENTRY_NOT_FOUND"
    assert yes.asked == []
    recall.deciding().dismiss(number, "terminal")
    assert recall.pending() == 0


def test_a_proposal_is_edited_before_it_is_approved(recall: Recall, place: Path) -> None:
    """A person's own words are what is written; the rest of the draft stays."""
    number = recall.writes().do(add(type="feedback", scope="user"), MODEL).proposal
    recall.deciding().edit(number, Draft(text="Ines or Tom approve."))
    (ref,) = recall.deciding().approve(number, Says(ALLOWED)).refs
    memory = recall.snapshot().memories[ref]
    assert (memory.scope, memory.type) == ("user", "feedback")
    assert "Ines or Tom approve." in recall.store.read(memory).body


def test_proposals_are_bounded_and_expire(place: Path) -> None:
    """Beyond the bound nothing is kept, and it is said; what waited too long is let go."""
    with opened(place, max_proposals=2, expire_days=1) as recall:
        for text in ("One fact.", "Another fact about lunch."):
            recall.writes().do(add(text), MODEL)
        with pytest.raises(WriteError) as caught:
            recall.writes().do(add("A third one on trains."), MODEL)
        assert caught.value.code == "TOO_MANY_PROPOSALS"
        kept = recall.proposals()
        kept._now = lambda: time.time() + 2 * 86_400
        assert (len(kept.expire()), kept.expire(), kept.pending()) == (2, [], 0)
        assert {one.state for one in recall.proposals().listed(("expired",))} == {"expired"}


def test_another_corpus_has_proposals_of_its_own(place: Path, tmp_path: Path) -> None:
    """What waits about one project is neither counted nor decided in another."""
    with opened(place) as recall:
        number = recall.writes().do(add(), MODEL).proposal
    (tmp_path / "other").mkdir()
    with open_recall(
        roots=[tmp_path / "other"],
        cache_dir=place / "cache",
        state_dir=place / "state",
        env={},
        home=place,
    ) as other:
        assert other.pending() == 0
        with pytest.raises(WriteError, match="no proposal"):
            other.deciding().show(number)


def test_the_tree_says_how_many_wait(recall: Recall) -> None:
    """The tree's head counts proposals, where there are any."""
    recall.writes().do(add(), PERSON, Says(ALLOWED))
    assert "proposed" not in recall.router().text
    recall.writes().do(add("Lunch is at noon in Lisbon."), MODEL)
    assert "> 1 proposed changes wait for the user" in recall.router().text


# --- the tool


def test_manage_memory_tells_what_came_of_it(recall: Recall) -> None:
    """Written: the refs; waiting: its number and what to do; so already: that."""
    session = recall.session("c1")
    yes = Says(ALLOWED)
    done = session.manage_memory(yes, action="remember", content=TEXT)
    assert done["outcome"] == "written"
    waits = session.manage_memory(action="update", targets=done["refs"], content="Nobody.")
    assert (waits["outcome"], waits["proposal"], waits["pending"]) == ("proposed", 1, 1)
    same = session.manage_memory(action="update", targets=done["refs"], content=TEXT)
    assert same["outcome"] == "unchanged"
    gone = session.manage_memory(yes, action="forget", targets=["ines"])
    assert gone["removed"] == done["refs"]
    assert recall.audit().rows()[0].entry.session == "c1"
    json.dumps([done, waits, same, gone])


def test_a_loop_over_a_full_budget_ends(place: Path) -> None:
    """Over budget twice in a turn, a model gets a final answer; the next turn starts anew."""
    with opened(place, policy="auto", budgets=True, budget_agent=10) as recall:
        session = recall.session()
        call = {"action": "remember", "content": "This is too much."}
        session.next_turn()
        with pytest.raises(WriteError, match="may hold 10 characters"):
            session.manage_memory(**call)
        for _ in range(2):
            final = session.manage_memory(**call)
            assert (final["final"], final["outcome"], final["limit"]) == (True, "refused", 10)
        session.next_turn()
        with pytest.raises(WriteError):
            session.manage_memory(**call)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ({}, "action"),
        ({"action": "seed"}, "action"),
        ({"action": "remember"}, "content"),
        ({"action": "remember", "content": 3}, "content"),
        ({"action": "remember", "content": "a", "targets": ["b"]}, "targets"),
        ({"action": "remember", "content": "a", "policy": "auto"}, "policy"),
        ({"action": "remember", "content": "a", "pinned": True}, "pinned"),
        ({"action": "update", "content": "a"}, "targets"),
        ({"action": "update", "targets": ["a"]}, "content"),
        ({"action": "update", "targets": ["a", "b"], "content": "c"}, "targets"),
        ({"action": "forget", "targets": "project:a.md"}, "targets"),
        ({"action": "forget", "targets": []}, "targets"),
        ({"action": "consolidate", "targets": ["a"]}, "content"),
    ],
)
def test_wrong_parameters_name_the_field_and_an_example(
    recall: Recall, call: dict[str, Any], field: str
) -> None:
    """A model is told which parameter is wrong, and what to send."""
    from recall import RequestError

    with pytest.raises(RequestError) as caught:
        recall.session().manage_memory(**call)
    assert caught.value.field == field
    assert '"action"' in (caught.value.fix or "")
