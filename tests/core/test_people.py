"""Of whom a text tells: read off its names, its clauses and its speakers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.people import asked_of, is_same, names_somebody, parts, people

ANN, BEN = "Ann", "Ben"
BOTH = frozenset((ANN, BEN))


def told(text: str, known: frozenset[str] = BOTH) -> dict[str, frozenset[str]]:
    """Return each part's text, stripped, with whom it tells of."""
    found = parts(text, known)
    ends = [part.start for part in found[1:]] + [len(text)]
    pieces = [(text[p.start : end].strip(), p.of) for p, end in zip(found, ends, strict=True)]
    return {piece: of for piece, of in pieces if piece}


def of(*names: str) -> frozenset[str]:
    return frozenset(names)


TALES = ["Ann was on a walk. Ann likes rainbows. Ben said so, and Ben went. Ann, Ben has a dog."]


def test_people_are_those_who_are_named_often_and_do_something() -> None:
    assert people(TALES) == BOTH


@pytest.mark.parametrize(
    "text",
    [
        "Fix: flush the cache.\nFix: restart.\nFix: wait.\n",  # a label speaks as people do
        "Related ask which tree it is. Related ask again. Related ask.",
        "Monday was hot. Monday was wet. Monday was long.",
        "Redis was slow.",  # once only
        "the Mark was hit and a mark is a mark. Mark was hit. Mark was hit.",
    ],
)
def test_what_only_looks_like_a_name_is_nobody(text: str) -> None:
    assert people([text]) == frozenset()


def test_speakers_are_people_where_somebody_names_them() -> None:
    talk = "Ann: Hi, how are you, Ben?\nBen: Fine!\nAnn: Great.\nBen: I told her, Ann, didn't I?\n"
    assert people([talk]) == BOTH


def test_a_clause_tells_of_the_name_at_its_head_and_the_next_sentence_goes_on() -> None:
    text = "Ann went home. She slept. But Ben stayed, and Ann called him."
    assert told(text) == {
        "Ann went home.": of(ANN),
        "She slept.": of(ANN),
        "But": of(ANN),
        "Ben stayed, and": of(BEN),
        "Ann called him.": of(ANN),
    }


def test_one_who_is_only_mentioned_takes_nothing_over() -> None:
    assert told("Ann tells Ben that she passed.") == {"Ann tells Ben that she passed.": of(ANN)}


def test_what_somebody_owns_is_theirs_to_the_end_of_the_clause() -> None:
    assert told("Ann praised Ben's long race, and she slept.") == {
        "Ann praised": of(ANN),
        "Ben's long race": of(BEN),
        ", and she slept.": of(ANN),
    }


def test_two_who_are_joined_are_told_of_together_and_they_are_nobody_in_particular() -> None:
    assert (
        told("Ann and Ben met. They danced.")
        == {
            "Ann and": of(ANN),
            "Ben met.": BOTH,
            "They danced.": of(),
        }
        or told("Ann and Ben met. They danced.")["Ben met."] == BOTH
    )


def test_in_a_talk_i_is_who_speaks_and_you_the_other_one() -> None:
    text = "Ann: I ran a race. Did you see a dog?\nBen: No.\nAnn: You and I never do.\n"
    assert told(text) == {
        "Ann:": of(),
        "I ran a race.": of(ANN),
        "Did you see a dog?\nBen:": of(BEN),
        "No.\nAnn:": of(BEN),
        "You and I never do.": BOTH,
    }


def test_a_text_that_knows_nobody_is_one_part() -> None:
    assert parts("我去了公园。", frozenset()) == [(0, 0, frozenset())]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Melanie", "Mel", True),
        ("Deb", "Deborah", True),
        ("Ann", "Ann", True),
        ("Jo", "John", False),
        ("Jon", "John", False),
    ],
)
def test_short_forms_are_the_same_name(one: str, other: str, same: bool) -> None:
    assert is_same(one, other) is same


def test_a_question_asks_of_those_whom_it_names_with_a_capital() -> None:
    assert asked_of("What did Ann's friend say?", BOTH) == of(ANN)
    assert asked_of("what did ann say", BOTH) == of()


@pytest.mark.parametrize(
    ("question", "may"),
    [
        ("What did Ann say?", True),
        ("How do we deploy on Monday?", False),
        ("how do we deploy", False),
        ("怎么部署", False),
    ],
)
def test_most_questions_name_nobody_and_that_is_seen_at_once(question: str, may: bool) -> None:
    assert names_somebody(question) is may


@given(st.text(alphabet="AnBe \n.,:'s\"theyandwith>*", max_size=80))
def test_parts_go_through_a_text_in_order_and_name_only_known_people(text: str) -> None:
    found = parts(text, BOTH)
    assert found[0].start == 0
    assert [p.start for p in found] == sorted(p.start for p in found)
    assert all(p.start <= len(text) and p.of <= BOTH for p in found)
    assert [p.sentence for p in found] == sorted(p.sentence for p in found)
