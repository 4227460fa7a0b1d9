"""Structs behave as the frozen dataclasses that they stand for."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from recall.structs import Struct, field, replace


class Point(Struct):
    x: int
    y: int = 0
    names: tuple[str, ...] = ()
    _seen: list[int] = field(default_factory=list, init=False)


class Place(Point):
    where: str = "here"


class Counter(Struct, frozen=False):
    count: int = 0
    log: list[str] = field(default_factory=list)


def test_values_come_by_place_by_name_or_by_default() -> None:
    point = Point(1, names=("a",))
    assert (point.x, point.y, point.names, point._seen) == (1, 0, ("a",), [])
    assert Place(1, 2, where="there") == Place(x=1, y=2, where="there")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), {}),
        ((1, 2, (), []), {}),
        ((1,), {"x": 1}),
        ((1, 2, ()), {"y": 2}),
        ((1,), {"z": 1}),
        ((1,), {"_seen": []}),
    ],
)
def test_a_value_that_lacks_is_given_twice_or_is_not_known_is_refused(
    given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="Point"):
        Point(*given, **named)


def test_a_frozen_struct_can_not_be_changed() -> None:
    """Neither by setting a field nor by deleting one, nor can it be given another."""
    point = Point(1)
    for change in (lambda: setattr(point, "x", 2), lambda: delattr(point, "x")):
        with pytest.raises(AttributeError, match="frozen"):
            change()
    with pytest.raises(AttributeError):
        point.z = 1  # type: ignore[attr-defined]


def test_a_struct_that_is_not_frozen_can_be_changed_and_has_no_hash() -> None:
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError):
        hash(counter)
    with pytest.raises(AttributeError):
        counter.other = 1  # type: ignore[attr-defined]


def test_what_a_default_makes_is_each_value_s_own() -> None:
    Counter().log.append("x")
    assert Counter().log == []


def test_equal_fields_make_equal_structs_of_one_class() -> None:
    """Private fields are apart; another class with the same fields is another value."""
    one, other = Point(1), Point(1)
    one._seen.append(3)
    assert one == other and hash(one) == hash(other) and len({one, other}) == 1
    assert Point(1) != Point(2) and Point(1) != Place(1) and Point(1) != (1, 0, ())


def test_a_struct_shows_its_fields() -> None:
    assert repr(Place(1)) == "Place(x=1, y=0, names=(), where='here')"


def test_replacing_makes_a_new_value() -> None:
    point = Point(1, 2)
    assert replace(point, y=5) == Point(1, 5) and point == Point(1, 2)
    with pytest.raises(TypeError):
        replace(point, z=1)


def test_a_struct_is_copied_and_pickled_whole() -> None:
    place = Place(1, 2)
    place._seen.append(7)
    for same in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert same == place and same._seen == [7]


def test_a_struct_can_be_matched_by_place() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
