"""A dream proposes and decides nothing: each finding once, nothing lost, nothing of it outdated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recall import Recall, WriteError, open_recall
from recall.app import Recall as App
from recall.core.writing import ALLOWED, Approval
from recall.engine.dreamt import Outcome

DEPLOY = (
    "Deploys to staging need Ines to approve them on the deploy channel. They run at noon, and the "
    "release train leaves every Friday. Rollbacks need nobody."
)
LONG = "# Handbook\n\n" + "\n".join(f"## Part {n}\n\n" + "word " * 1_200 + "\n" for n in range(6))


class Yes:
    name = "callback"

    def ask(self, approval: Approval) -> str:
        return ALLOWED


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for scope in ("project", "user", "team"):
        (tmp_path / scope).mkdir()
    return tmp_path


@pytest.fixture
def recall(place: Path) -> Iterator[App]:
    with opened(place) as one:
        yield one


def opened(place: Path) -> Recall:
    roots = [(scope, place / scope) for scope in ("project", "user", "team")]
    return open_recall(
        roots=roots, cache_dir=place / "cache", state_dir=place / "state", env={}, home=place
    )


def write(place: Path, path: str, text: str) -> Path:
    file = place / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def dream(recall: Recall, scope: str = "project", **more: Any) -> list[Outcome]:
    """Dream as the command does, without a bound."""
    dreams, dreamer = recall.dreams(), recall.dreamer()
    dreams.tidy()
    return [
        dreams.propose(one, **more) for one in dreamer.find(scope, lambda one: not dreams.seen(one))
    ]


def states(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(one.finding.kind, one.state) for one in outcomes]


def files(place: Path) -> dict[str, str]:
    found = (path for s in ("project", "user", "team") for path in (place / s).rglob("*"))
    return {str(p.relative_to(place)): p.read_text() for p in found if p.is_file()}


@pytest.fixture
def twins(place: Path) -> Path:
    """Two memories that say the same, in folders of their own, each with a link."""
    write(place, "project/a/one.md", f"# Deploys\n\n{DEPLOY} See [the pager](pager.md).\n")
    write(place, "project/a/pager.md", "# Pager\n\nRosa has the pager in May.\n")
    write(place, "project/b/two.md", f"# Staging deploys\n\n{DEPLOY} Not on holidays.\n")
    return place


def test_what_says_the_same_becomes_one_proposal(recall: Recall, twins: Path) -> None:
    """Nothing is written by the dream; a yes makes one memory that says all, with live links."""
    before = files(twins)
    (one,) = dream(recall)
    assert (one.finding.kind, one.state) == ("duplicates", "proposed") and files(twins) == before
    recall.deciding().approve(one.proposal, Yes())
    after = files(twins)
    assert sorted(after.keys() - before.keys()) == ["project/deploys.md"]
    text = after["project/deploys.md"]
    assert "[the pager](a/pager.md)" in text and "Not on holidays." in text
    assert text.count("Ines") == 1 + text.partition("\n---\n")[0].count("Ines")
    assert "project/a/one.md" not in after and "project/b/two.md" not in after
    assert len(recall.write_files().lost()) == 3
    assert states(dream(recall)) == []


def test_a_second_dream_proposes_nothing_twice(recall: Recall, twins: Path) -> None:
    """What waits goes on waiting; the number is the same."""
    first = dream(recall)
    again = dream(recall)
    assert states(again) == [("duplicates", "pending")]
    assert again[0].proposal == first[0].proposal and recall.pending() == 1


def test_what_was_dismissed_is_not_proposed_again(recall: Recall, twins: Path) -> None:
    """A no holds as long as the memories say the same; when one is changed it is a new question."""
    (one,) = dream(recall)
    recall.deciding().dismiss(one.proposal, "test")
    assert states(dream(recall)) == [("duplicates", "dismissed")]
    write(twins, "project/c/other.md", "# Lunch\n\nLunch is at noon in Lisbon.\n")
    assert states(dream(recall)) == [("duplicates", "dismissed")]
    write(twins, "project/b/two.md", f"# Staging deploys\n\n{DEPLOY} Not on Sundays.\n")
    assert states(dream(recall)) == [("duplicates", "proposed")]


def test_a_dismissal_is_remembered_for_good(recall: Recall, twins: Path) -> None:
    """Decided proposals are forgotten some time; what a dream was denied is not."""
    (one,) = dream(recall)
    recall.deciding().dismiss(one.proposal, "test")
    kept = recall.proposals()
    late = type(kept)(recall.state_dir, recall._corpus, now=lambda: 4e9)
    (again,) = kept.listed(("dismissed",))
    new = Approval("add", "x", "x", "person", (), ())
    late.put(again.write, again.asker, new, "m", limit=9, days=1)
    assert [found.number for found in kept.listed(("dismissed",))] == [one.proposal]


def test_one_that_expired_is_proposed_again(recall: Recall, twins: Path) -> None:
    """Nobody said no."""
    (one,) = dream(recall)
    recall.proposals().settle(one.proposal, "expired")
    assert states(dream(recall)) == [("duplicates", "proposed")]


def test_no_edit_is_undone_by_an_old_proposal(recall: Recall, twins: Path) -> None:
    """What was changed after the dream can't be overwritten; the next dream asks anew instead."""
    (one,) = dream(recall)
    file = write(twins, "project/b/two.md", f"# Staging deploys\n\n{DEPLOY} Rosa decides now.\n")
    with pytest.raises(WriteError) as caught:
        recall.deciding().approve(one.proposal, Yes())
    assert caught.value.code == "WRITE_SUPERSEDED" and "Rosa decides now" in file.read_text()
    (new,) = dream(recall)
    assert new.state == "proposed" and recall.pending() == 1
    assert recall.proposals().find(one.proposal).state == "expired"
    assert "consolidate-expired" in [row.entry.action for row in recall.audit().rows()]
    recall.deciding().approve(new.proposal, Yes())
    assert sum("Rosa decides now." in text for text in files(twins).values()) == 1


def test_references_to_what_is_gone_are_told_or_mended(recall: Recall, place: Path) -> None:
    """Where exactly one memory can be meant the link is put right, byte for byte else; else a
    person is told the line.
    """
    write(place, "project/people/ines.md", "# Ines\n\nInes works from Lisbon.\n")
    body = "# Deploys\n\nAsk [Ines](ines.md#hours) or [Rosa](rosa.md).\n\nSee `tools/x.py`.\n"
    file = write(place, "project/deploys.md", body)
    (one,) = dream(recall)
    assert one.finding.details == (
        "line 3: the link ines.md → people/ines.md",
        "line 3: the link rosa.md is not there",
    )
    recall.deciding().approve(one.proposal, Yes())
    assert file.read_text() == body.replace("(ines.md", "(people/ines.md")
    (left,) = dream(recall)
    assert (left.finding.kind, left.state, left.finding.write) == ("broken", "found", None)


def test_references_that_lead_somewhere_are_no_findings(recall: Recall, place: Path) -> None:
    """Files beside, wiki links by name or title, refs, and double brackets that mean no memory."""
    write(place, "project/a/ines.md", "# Ines of Lisbon\n\nInes works from Lisbon.\n")
    write(place, "project/a/plan.png", "")
    text = "# Deploys\n\n[p](plan.png) [[ines]] [[Ines of Lisbon]] project:a/ines.md [w](https://x.example/a.md)"
    write(place, "project/a/deploys.md", text)
    write(place, "user/shell.md", "# Shell\n\nIn bash use [[ -f x ]] and [[ $y ]].\n")
    assert dream(recall) == [] and dream(recall, "user") == []


def test_what_is_too_long_is_divided(recall: Recall, place: Path) -> None:
    """A memory that no turn reads whole becomes several with a yes; their texts are its text."""
    write(place, "project/handbook.md", LONG)
    (one,) = dream(recall)
    assert (one.finding.kind, one.state) == ("long", "proposed")
    recall.deciding().approve(one.proposal, Yes())
    names = sorted(name for name in files(place))
    assert len(names) == 3 and "project/handbook.md" not in names
    assert sum(text.count("word ") for text in files(place).values()) >= 6 * 1_199
    titles = sorted(memory.title for memory in recall.snapshot().memories.values())
    assert titles[0] == "Handbook (1 of 3): Handbook" and titles[1].endswith("(2 of 3): Part 2")
    assert all(memory.structured for memory in recall.snapshot().memories.values())
    assert dream(recall) == []


def test_what_can_not_be_divided_is_told(recall: Recall, place: Path) -> None:
    """Without headings nothing is proposed, and the reason is given."""
    write(place, "project/log.md", "word " * 5_000)
    (one,) = dream(recall)
    assert one.state == "found" and "headings" in one.why


def test_scopes_are_apart(recall: Recall, place: Path) -> None:
    """The user's memory and the project's are never made one, whatever they say."""
    for scope in ("project", "user"):
        write(place, f"{scope}/deploys.md", f"# Deploys\n\n{DEPLOY}\n")
    assert dream(recall) == [] and dream(recall, "user") == []


def test_pinned_memories_and_those_of_other_agents_are_left_alone(
    recall: Recall, place: Path
) -> None:
    """A machine changes neither, so that it proposes nothing about them."""
    write(place, "project/a.md", f"---\npinned: true\n---\n\n# Deploys\n\n{DEPLOY}\n")
    write(place, "project/b.md", f"---\nagent: other\n---\n\n# Deploys\n\n{DEPLOY}\n")
    write(place, "project/c.md", f"# Deploys\n\n{DEPLOY}\n")
    assert dream(recall) == []


def test_two_proposals_never_change_the_same_memory(recall: Recall, place: Path) -> None:
    """A link in one of two duplicates waits for another run: both could not be approved."""
    write(place, "project/people/ines.md", "# Ines\n\nInes works from Lisbon.\n")
    for name in ("one", "two"):
        write(place, f"project/{name}.md", f"# Deploys\n\n{DEPLOY} Ask [Ines](ines.md).\n")
    told = dream(recall)
    assert [one.state for one in told] == ["proposed", "left", "left"]
    assert f"proposal {told[0].proposal} changes" in told[1].why
    assert [one.state for one in dream(recall, dry_run=True)] == ["pending", "left", "left"]


def test_a_dry_run_keeps_nothing(recall: Recall, twins: Path) -> None:
    """What would be proposed is told, and nothing waits afterwards."""
    dreams, dreamer = recall.dreams(), recall.dreamer()
    told = [dreams.propose(one, dry_run=True) for one in dreamer.find("project")]
    assert states(told) == [("duplicates", "found")] and recall.pending() == 0
    assert not (twins / "state" / "writes.sqlite").exists()


def test_a_secret_is_neither_lost_nor_kept(recall: Recall, twins: Path) -> None:
    """Memories that hold a key are not consolidated by a dream, and it is told why."""
    key = "ghp_" + "aB3dE5gH7j" * 4
    for name in ("a/one", "b/two"):
        path = twins / f"project/{name}.md"
        path.write_text(path.read_text() + f"\nThe key is {key[:40]}.\n")
    (one,) = dream(recall)
    assert one.state == "refused" and "secret" in one.why and recall.pending() == 0


def test_no_more_wait_than_the_settings_allow(recall: Recall, place: Path) -> None:
    """When the proposals are full the rest is left for another run."""
    from recall.structs import replace

    for n, place_name in enumerate(("Lisbon", "Porto", "Faro", "Braga")):
        for twin in "ab":
            text = f"# {place_name}\n\n{place_name} has {n + 3} offices, Ines leads the largest."
            write(place, f"project/{place_name}-{twin}.md", text)
    wishes = replace(recall.settings.writes, max_proposals=2)
    recall.settings = replace(recall.settings, writes=wishes)
    assert [one.state for one in dream(recall)] == ["proposed", "proposed", "left", "left"]


def test_what_could_not_be_read_is_not_called_gone(place: Path) -> None:
    """Where a folder can't be read no reference is said to lead nowhere, and it is told so."""
    write(place, "project/deploys.md", "# Deploys\n\nSee [[ines]], [[pager]] and [r](rosa.md).\n")
    write(place, "project/ines.md", "# Ines\n\nInes works from Lisbon.\n")
    write(place, "team/pager.md", "# Pager\n\nRosa has the pager.\n")
    roots = [("project", place / "project"), ("project", place / "team")]
    with open_recall(
        roots=roots, cache_dir=place / "cache", state_dir=place / "state", env={}, home=place
    ) as recall:
        dreamer = recall.dreamer()
        (one,) = dreamer.find("project")
        assert len(one.details) == 1 and dreamer.trouble == []
        (place / "team").rename(place / "unmounted")
        assert list(dreamer.find("project")) == []
        assert "could be read" in dreamer.trouble[0]


def test_links_follow_what_was_consolidated(recall: Recall, twins: Path) -> None:
    """Whatever pointed at a memory that became a part of another is told to point there."""
    text = "# Index\n\n[one](a/one.md) [[two]] project:b/two.md\n"
    index = write(twins, "project/index-of.md", text)
    (one,) = dream(recall)
    assert set(one.finding.details) == {
        "project:index-of.md points at project:b/two.md",
        "project:index-of.md points at project:a/one.md",
    }
    (ref, *_) = recall.deciding().approve(one.proposal, Yes()).refs
    (mended,) = dream(recall)
    assert (mended.finding.kind, mended.state) == ("broken", "proposed")
    recall.deciding().approve(mended.proposal, Yes())
    name = ref.partition(":")[2]
    assert f"[one]({name})" in index.read_text() and ref in index.read_text()


def test_a_link_is_not_led_to_another_file(recall: Recall, place: Path) -> None:
    """A file whose name differs in case, or a title alone, is not what a link means."""
    write(place, "project/AGENTS.md", "# Agents of this repository\n\nThey obey.\n")
    write(place, "project/people.md", "# rosa\n\nRosa works from Porto.\n")
    write(place, "project/docs/index-of.md", "# Index\n\n[a](agents.md) [r](rosa.md)\n")
    (one,) = dream(recall)
    assert one.finding.write is None and len(one.finding.details) == 2
