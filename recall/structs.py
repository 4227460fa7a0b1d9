"""Structs: values of named fields, as frozen dataclasses are, at a twentieth of the cost to define.

A hook's process defines some dozens of classes before it can answer. `dataclasses` compiles source
text for each (0.4 ms) and imports `inspect` (7 ms); here every class shares the same few methods.
A type checker sees a dataclass (PEP 681). Fields that begin with `_` are neither compared nor
shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

__all__ = ["Struct", "field", "replace"]

_V = TypeVar("_V", bound="Struct")
_set = object.__setattr__


class _Made:
    """A default that is made for each value."""

    def __init__(self, factory: Callable[[], Any], init: bool) -> None:
        self.factory = factory
        self.init = init


def field(*, default_factory: Callable[[], Any], init: bool = True) -> Any:
    """Return a default that `default_factory` makes for each value; `init`: it can be given."""
    return _Made(default_factory, init)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class _Maker(type):
    """Makes the classes: annotated names become slots, their values defaults."""

    __fields__: tuple[str, ...]
    __compared__: tuple[str, ...]
    __given__: tuple[str, ...]
    __match_args__: tuple[str, ...]
    __defaults__: dict[str, Any]

    def __new__(
        mcls, name: str, bases: tuple[type, ...], space: dict[str, Any], *, frozen: bool = True
    ) -> _Maker:
        own = tuple(space.get("__annotations__", ()))
        above = next((base for base in bases if isinstance(base, _Maker)), None)
        fields = above.__fields__ + own if above else own
        defaults = above.__defaults__.copy() if above else {}
        defaults |= {one: space.pop(one) for one in own if one in space}
        space["__slots__"] = own
        if not frozen:
            space |= {"__setattr__": _set, "__delattr__": object.__delattr__, "__hash__": None}
        cls = super().__new__(mcls, name, bases, space)
        cls.__fields__ = fields
        cls.__compared__ = tuple(one for one in fields if one[0] != "_")
        cls.__given__ = tuple(one for one in fields if getattr(defaults.get(one), "init", True))
        cls.__match_args__ = cls.__given__  # type: ignore[misc]
        cls.__defaults__ = defaults
        return cls


class Struct(metaclass=_Maker):
    """The base of all; `class Name(Struct)`, or `class Name(Struct, frozen=False)` to set fields.

    A frozen one is hashable if its fields are.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        cls = type(self)
        if len(given) > len(cls.__given__):
            raise TypeError(f"{cls.__name__} takes {len(cls.__given__)} values, not {len(given)}")
        for name, value in zip(cls.__given__, given, strict=False):
            _set(self, name, value)
        if len(given) < len(cls.__fields__):
            self.__fill(cls.__fields__, cls.__given__[: len(given)], named)
        if named:
            raise TypeError(f"{cls.__name__} takes no {', '.join(named)}, or takes it once")
        self.__post_init__()

    def __fill(self, fields: tuple[str, ...], done: tuple[str, ...], named: dict[str, Any]) -> None:
        """Set what was given by name, take it out of `named`, and set what has a default."""
        cls = type(self)
        for name in fields:
            if name in done:
                continue
            if name in named and name in cls.__given__:
                value = named.pop(name)
            elif name in cls.__defaults__:
                value = cls.__defaults__[name]
                if type(value) is _Made:
                    value = value.factory()
            else:
                raise TypeError(f"{cls.__name__} lacks {name}")
            _set(self, name, value)

    def __post_init__(self) -> None:
        """Do what is left to do once the fields are set."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set {name}: a {type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name}: a {type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self is other or self.__key() == other.__key()

    def __hash__(self) -> int:
        return hash(self.__key())

    def __key(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in type(self).__compared__])

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in type(self).__compared__)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), [getattr(self, name) for name in type(self).__fields__])

    def __replace__(self: _V, /, **changes: Any) -> _V:
        return replace(self, **changes)


def replace(value: _V, /, **changes: Any) -> _V:
    """Return the value with some fields changed, as `dataclasses.replace`."""
    kept = {name: getattr(value, name) for name in type(value).__given__ if name not in changes}
    return type(value)(**kept, **changes)


def _remade(cls: type[_V], values: list[Any]) -> _V:
    """Return a value that was pickled or copied."""
    value = object.__new__(cls)
    for name, one in zip(cls.__fields__, values, strict=True):
        _set(value, name, one)
    return value
