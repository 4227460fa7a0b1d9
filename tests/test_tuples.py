"""Named tuples behave as `typing`'s do, whatever they cost to define."""

from __future__ import annotations

import copy
import pickle
from typing import NamedTuple as Typed

import pytest

from recall.tuples import NamedTuple


class Place(NamedTuple):
    """A place."""

    name: str
    height: int = 0
    """Metres."""
    tags: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.name}, {self.height} m"


class Below(Place):
    """One that adds nothing but a method."""

    def deeper(self) -> int:
        return -self.height


class Same(Typed):
    """As `Place`, by typing."""

    name: str
    height: int = 0
    tags: tuple[str, ...] = ()


@pytest.mark.parametrize("make", [Place, Same])
def test_it_is_made_by_place_by_name_and_by_default(make: type[Place]) -> None:
    whole = ("a", 3, ("x",))
    assert make("a", 3, ("x",)) == make("a", tags=("x",), height=3) == whole
    assert make(tags=("x",), height=3, name="a") == whole
    assert make("a") == make(name="a") == ("a", 0, ())
    assert make._make(whole) == whole


@pytest.mark.parametrize("make", [Place, Same])
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), {}),
        (("a", 1, (), 2), {}),
        (("a",), {"name": "b"}),
        (("a",), {"width": 1}),
        ((), {"height": 1, "tags": (), "width": 1}),
    ],
)
def test_what_lacks_or_exceeds_is_a_type_error(
    make: type[Place], given: tuple[object, ...], named: dict[str, object]
) -> None:
    with pytest.raises(TypeError):
        make(*given, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [Place, Same])
def test_it_is_a_tuple_with_names(make: type[Place]) -> None:
    one = make("a", 3)
    name, height, tags = one
    assert (name, height, tags) == (one.name, one.height, one.tags) == ("a", 3, ())
    assert isinstance(one, tuple)
    assert hash(one) == hash(("a", 3, ()))
    assert one._replace(height=4) == ("a", 4, ())
    assert one._asdict() == {"name": "a", "height": 3, "tags": ()}
    assert make._fields == ("name", "height", "tags")
    assert make._field_defaults == {"height": 0, "tags": ()}
    assert repr(one) == f"{make.__name__}(name='a', height=3, tags=())"
    with pytest.raises(AttributeError):
        one.height = 5  # type: ignore[misc]
    with pytest.raises(AttributeError):
        one.other = 5  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="width"):
        one._replace(width=1)
    match one:
        case make(name, height):
            assert (name, height) == ("a", 3)


@pytest.mark.parametrize("make", [Place, Same, Below])
def test_copies_are_of_the_same_class(make: type[Place]) -> None:
    one = make("a", 3)
    for copied in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert copied == one
        assert type(copied) is make


def test_methods_stay_and_a_class_below_adds_some() -> None:
    assert Place("a", 3).shown == Below("a", 3).shown == "a, 3 m"
    assert Below("a", height=3).deeper() == -3
    assert Below._fields == Place._fields
    assert type(Below("a")._replace(height=1)) is Below
    assert Place.__doc__ == "A place."


def test_a_field_without_a_default_does_not_follow_one_that_has_one() -> None:
    with pytest.raises(TypeError, match="default"):

        class Wrong(NamedTuple):
            a: int = 0
            b: int  # type: ignore[misc]
