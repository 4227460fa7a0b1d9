"""`NamedTuple` as `typing` has it, at a tenth of the cost to define.

A hook's process defines more than fifty of them before it can answer. `typing` compiles source text
for each; here all classes share the same methods. To a type checker it is `typing`'s own.
"""

from __future__ import annotations

from operator import itemgetter

try:
    from _collections import _tuplegetter  # type: ignore[import-not-found]  # what namedtuple uses
except ImportError:  # another Python than CPython

    def _tuplegetter(index: int, doc: str | None) -> property:
        return property(itemgetter(index), doc=doc)


__all__ = ["NamedTuple"]

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from typing import Any, NamedTuple

_new = tuple.__new__


class _Maker(type):
    """Makes the classes: annotated names become fields, their values defaults."""

    def __new__(mcls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> type:
        space["__slots__"] = ()
        if isinstance(bases[0], _Maker) and not hasattr(bases[0], "_size"):
            fields = tuple(space.get("__annotations__", ()))
            defaults = {one: space.pop(one) for one in fields if one in space}
            if fields[len(fields) - len(defaults) :] != tuple(defaults):
                raise TypeError(f"{name}: a field without a default follows one that has one")
            for number, one in enumerate(fields):
                space[one] = _tuplegetter(number, None)
            space["_fields"] = space["__match_args__"] = fields
            space["_field_defaults"] = defaults
            space["_size"] = len(fields)
        return super().__new__(mcls, name, bases, space)


class _Row(tuple[Any, ...] if TYPE_CHECKING else tuple, metaclass=_Maker):  # type: ignore[misc]
    """The base of all; `class Name(NamedTuple)`."""

    _fields: tuple[str, ...]
    _field_defaults: dict[str, Any]
    _size: int

    def __new__(cls, *given: Any, **named: Any) -> Any:
        if not named and len(given) == cls._size:
            return _new(cls, given)
        if not given and len(named) == cls._size:
            try:
                return _new(cls, [named[name] for name in cls._fields])
            except KeyError:
                pass  # said below, in full
        return _new(cls, _completed(cls, given, named))

    @classmethod
    def _make(cls, given: Any) -> Any:
        return cls(*given)

    def _replace(self, /, **changes: Any) -> Any:
        values = [changes.pop(name, value) for name, value in zip(self._fields, self, strict=True)]
        if changes:
            raise ValueError(f"{type(self).__name__} has no {', '.join(changes)}")
        return _new(type(self), values)

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({', '.join(shown)})"


if not TYPE_CHECKING:
    NamedTuple = _Row


def _completed(cls: type[_Row], given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """Return all values: what was given by place, by name, and defaults for the rest."""
    values = list(given)
    for name in cls._fields[len(given) :]:
        if name in named:
            values.append(named.pop(name))
        elif name in cls._field_defaults:
            values.append(cls._field_defaults[name])
        else:
            raise TypeError(f"{cls.__name__} lacks {name}")
    if named or len(values) > cls._size:
        what = ", ".join(named) or f"more than {cls._size} values"
        raise TypeError(f"{cls.__name__} takes no {what}, or takes it once")
    return values
