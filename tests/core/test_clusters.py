"""Memories that say the same are grouped; what only speaks in the same words is not."""

from __future__ import annotations

import pytest

from recall.core.clusters import Member, clusters, member, sketch

DEPLOY = (
    "Deploys to staging need Ines to approve them on the deploy channel. They run at noon, and the "
    "release train leaves every Friday. Rollbacks need nobody."
)


def groups(*texts: tuple[str, str]) -> list[tuple[str, ...]]:
    """Return the groups of texts with their titles, by number."""
    sketches = [sketch(str(n), title, text) for n, (title, text) in enumerate(texts)]

    def read(ref: str) -> Member:
        return member(*texts[int(ref)])

    return clusters(sketches, read)


@pytest.mark.parametrize(
    ("title", "other"),
    [
        ("Deploys", DEPLOY),
        ("Staging deploys", DEPLOY.replace("noon", "lunchtime")),
        ("Deploys", f"{DEPLOY} Ask in the thread, not in private."),
        ("Deploys", "They run at noon. " + DEPLOY.replace(" They run at noon,", " And")),
        ("Deploys", DEPLOY.upper()),
    ],
    ids=["same", "a word", "one more", "moved", "case"],
)
def test_what_says_the_same_is_found(title: str, other: str) -> None:
    """Copies, other words here and there, a sentence more, another order."""
    assert [set(one) for one in groups(("Deploys", DEPLOY), (title, other))] == [{"0", "1"}]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ("Release 5.2", "Release 5.2 fixes the pager and the mail."),
            ("Release 5.3", "Release 5.3 fixes the pager and the mail."),
        ),
        (
            ("Ines", "Ines works from Lisbon on Mondays and Tuesdays."),
            ("Rosa", "Rosa works from Lisbon on Mondays and Tuesdays."),
        ),
        (("Deploys", DEPLOY), ("Deploys", DEPLOY.replace("need Ines", "need Rosa"))),
        (
            ("Caroline", "Caroline thanks Melanie.\n\n_17 August_"),
            ("Melanie", "Melanie thanks Caroline for the tea.\n\n_17 August_"),
        ),
        (
            ("Jolene does yoga", f"Jolene does yoga.\n\n> {DEPLOY}"),
            ("Anna eats tofu", f"Anna eats tofu.\n\n> {DEPLOY}"),
        ),
        (
            ("_SWITCH_PORT_SUPPORT structure", f"{DEPLOY} It is for switches."),
            ("_SWITCH_SUPPORT structure", f"{DEPLOY} It is for switches."),
        ),
        (
            ("Cake", f"{DEPLOY} I baked a cake for a friend of mine today."),
            ("Cake", f"{DEPLOY} I baked a cake for a friend of mine last weekend."),
        ),
    ],
    ids=["number", "name", "fact", "who", "quote", "code", "when"],
)
def test_what_speaks_of_something_else_is_not(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Two releases, two people, two facts that quote the same words: neither is a duplicate."""
    assert groups(one, other) == []


def test_a_group_is_around_its_longest() -> None:
    """The longest text comes first; each memory is in one group at most."""
    longer = f"{DEPLOY} Ask in the thread, not in private."
    found = groups(
        ("A", DEPLOY), ("A", longer), ("A", DEPLOY), ("B", "Lunch is at noon in Lisbon.")
    )
    assert found == [("1", "0", "2")]


def test_quotes_alone_are_compared() -> None:
    """A memory that only quotes says what it quotes."""
    assert groups(("A", f"> {DEPLOY}"), ("A", f"> {DEPLOY}")) == [("0", "1")]


def test_one_that_is_gone_is_in_no_group() -> None:
    """What can't be read any more when it is compared is left out."""
    sketches = [sketch(str(n), "A", DEPLOY) for n in range(2)]
    assert clusters(sketches, lambda ref: None) == []
