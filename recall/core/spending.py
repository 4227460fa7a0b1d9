"""What a conversation cost, and what it was spared: characters, and tokens as an estimate."""

from __future__ import annotations

from typing import Any

from recall.tuples import NamedTuple


class Size(NamedTuple):
    """A text's length in characters, and in tokens as an estimate."""

    characters: int = 0
    tokens: int = 0

    def plus(self, other: Size) -> Size:
        return Size(self.characters + other.characters, self.tokens + other.tokens)

    def times(self, number: int) -> Size:
        return Size(self.characters * number, self.tokens * number)

    def share(self, characters: int) -> Size:
        """Return the size of so many characters of such text."""
        tokens = round(characters * self.tokens / self.characters) if self.characters else 0
        return Size(characters, tokens)


class Cost(NamedTuple):
    """One delivery: its tree, its focus, and all of its text with the fence around them.

    `saved` is what the focus did not say again, in characters. In legacy recall `router` is the
    flat index, and `bodies` are what stands below it.
    """

    router: Size = Size()
    focus: Size = Size()
    text: Size = Size()
    saved: int = 0
    bodies: Size = Size()

    @classmethod
    def from_row(cls, row: list[Any]) -> Cost:
        """Return what JSON made of one; an empty list is nothing."""
        if not row:
            return cls()
        router, focus, text, saved, *bodies = row  # bodies came later
        sizes = Size(*router), Size(*focus), Size(*text)
        return cls(*sizes, saved, Size(*bodies[0]) if bodies else Size())


class Spent(NamedTuple):
    """All that a conversation received since it began, over compactions.

    A delivery counts once it is confirmed, a body when it is handed over. `router` counts flat
    indexes too. `bodies` are those of legacy recall, and the contents of the tool's results
    without the JSON around them.
    """

    router: Size = Size()
    focus: Size = Size()
    fences: Size = Size()
    bodies: Size = Size()
    saved_metadata: int = 0
    """Characters of metadata that a focus did not say again."""
    saved_bodies: int = 0
    """Characters of bodies that were asked for and already available."""

    def with_delivery(self, cost: Cost, times: int = 1) -> Spent:
        """Return the account with a delivery; `times` -1 takes back one that never arrived."""
        parts = cost.router.plus(cost.focus).plus(cost.bodies)
        fence = cost.text.plus(parts.times(-1))
        return self._replace(
            router=self.router.plus(cost.router.times(times)),
            focus=self.focus.plus(cost.focus.times(times)),
            fences=self.fences.plus(fence.times(times)),
            bodies=self.bodies.plus(cost.bodies.times(times)),
            saved_metadata=self.saved_metadata + cost.saved * times,
        )

    def with_body(self, characters: int, tokens: int) -> Spent:
        return self._replace(bodies=self.bodies.plus(Size(characters, tokens)))

    def with_spared(self, characters: int) -> Spent:
        return self._replace(saved_bodies=self.saved_bodies + characters)

    @property
    def total(self) -> Size:
        return self.router.plus(self.focus).plus(self.fences).plus(self.bodies)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return what was spent and what was saved, as JSON-ready values.

        The tokens of what was saved are estimated by those of what was sent of the same kind:
        it is the same text.
        """
        metadata = self.focus.share(self.saved_metadata)
        bodies = self.bodies.share(self.saved_bodies)
        spent = {
            "router": self.router,
            "focus": self.focus,
            "fences": self.fences,
            "bodies": self.bodies,
            "total": self.total,
        }
        saved = {"metadata": metadata, "bodies": bodies, "total": metadata.plus(bodies)}
        return {
            "spent": {name: size._asdict() for name, size in spent.items()},
            "saved": {name: size._asdict() for name, size in saved.items()},
        }

    def to_row(self) -> list[int]:
        """Return the figures as a flat list, for a store; `from_row` reads it."""
        sizes = (self.router, self.focus, self.fences, self.bodies)
        return [n for size in sizes for n in size] + [self.saved_metadata, self.saved_bodies]

    @classmethod
    def from_row(cls, row: list[int]) -> Spent:
        """Return what `to_row` spelled; nothing spent for an empty list."""
        if not row:
            return cls()
        router, focus, fences, bodies = (Size(row[i], row[i + 1]) for i in range(0, 8, 2))
        return cls(router, focus, fences, bodies, row[8], row[9])
