"""The registry of adapters (dsh-memory-protocol/v1, section 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from recall.core.drafts import checked
from recall.core.lazy import pattern
from recall.core.protocol import Entry
from recall.core.writing import Draft
from recall.errors import RecallError, WriteError

_ID = pattern(r"[a-z0-9][a-z0-9-]*")


class Adapter(NamedTuple):
    """How one format becomes drafts, and entries that format."""

    id: str
    """Lower case letters, digits and hyphens."""
    name: str
    description: str
    """Says too what the format has no place for."""
    version: str
    import_formats: tuple[str, ...]
    export_format: str
    adapt: Callable[[object], Sequence[Draft]]
    """The payload is text, JSON values, or a file's `{"path", "text"}`. Raises what `unmapped`
    makes."""
    export: Callable[[Sequence[Entry]], Any]
    """What it returns is JSON-ready."""

    def to_dict(self) -> dict[str, Any]:
        """Return what a listing shows."""
        return {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "version": self.version,
            "importFormats": list(self.import_formats),
            "exportFormat": self.export_format,
        }


def unmapped(
    adapter: str, what: str, *, line: int | None = None, fix: str | None = None
) -> WriteError:
    """Return the error for what an adapter can't map; `line` is 1-based in the payload's text."""
    place = f"line {line}: " if line else ""
    evidence = {"line": line} if line else {}
    return WriteError(
        "ADAPTER_PAYLOAD", f"{adapter}: {place}{what}", fix=fix, adapterId=adapter, **evidence
    )


def mapped(adapter: str, draft: Draft, *, line: int | None = None, what: str = "") -> Draft:
    """Return a draft as a memory can be made of it.

    Raises WriteError ADAPTER_PAYLOAD where none can: its text is too long or no plain Unicode, a
    tag can't be kept. `what` begins the message.
    """
    try:
        return checked(draft, new=True)
    except WriteError as error:
        raise unmapped(adapter, what + error.message, line=line, fix=error.fix) from None


def text_in(payload: object) -> str | None:
    """Return a payload that is text: as it is, or as a file's `{"path", "text"}`; else None."""
    text = payload.get("text") if isinstance(payload, dict) else payload
    return text if isinstance(text, str) else None


class Adapters:
    """Adapters by id."""

    def __init__(self) -> None:
        self._adapters: dict[str, Adapter] = {}

    def register(self, adapter: Adapter) -> Callable[[], None]:
        """Add an adapter; returns what takes it out again.

        Raises WriteError INVALID_INPUT for one that is not whole, or whose id is taken.
        """
        _check(adapter)
        if adapter.id in self._adapters:
            raise _wrong(f"An adapter {adapter.id} is registered already.")
        self._adapters[adapter.id] = adapter

        def dispose() -> None:
            if self._adapters.get(adapter.id) is adapter:
                del self._adapters[adapter.id]

        return dispose

    def all(self) -> list[Adapter]:
        """Return the adapters in the order of their ids."""
        return [self._adapters[id] for id in sorted(self._adapters)]

    def get(self, id: str) -> Adapter:
        """Return an adapter; raises WriteError ADAPTER_NOT_FOUND."""
        found = self._adapters.get(id) if isinstance(id, str) else None
        if found is None:
            raise WriteError(
                "ADAPTER_NOT_FOUND",
                f"There is no adapter {id!r:.80}.",
                fix=f"Registered are: {', '.join(sorted(self._adapters)) or 'none'}.",
                adapterId=str(id),
            )
        return found

    def adapt(self, id: str, payload: object) -> list[Draft]:
        """Return a payload's memories as drafts.

        Raises WriteError ADAPTER_NOT_FOUND, or ADAPTER_PAYLOAD where the payload can't be mapped.
        """
        adapter = self.get(id)
        return list(_guarded(id, adapter.adapt, payload))

    def export(self, id: str, entries: Sequence[Entry]) -> Any:
        """Return entries in the adapter's format; raises as `adapt`."""
        return _guarded(id, self.get(id).export, entries)


def _guarded(id: str, convert: Callable[[Any], Any], given: object) -> Any:
    """Convert; whatever a foreign adapter raises is an error that names it."""
    try:
        return convert(given)
    except RecallError:
        raise
    except Exception as error:
        raise unmapped(id, f"it failed: {error or type(error).__name__}.") from error


def _check(adapter: Adapter) -> None:
    if not isinstance(adapter, Adapter):
        raise _wrong("This is no Adapter.")
    if not isinstance(adapter.id, str) or not _ID.fullmatch(adapter.id):
        raise _wrong("An adapter's id is lower case letters, digits and hyphens.")
    texts = ("name", "description", "version", "export_format")
    lacking = [one for one in texts if not _is_text(getattr(adapter, one))]
    formats = adapter.import_formats
    if not isinstance(formats, tuple) or not formats or not all(map(_is_text, formats)):
        lacking.append("import_formats")
    lacking += [one for one in ("adapt", "export") if not callable(getattr(adapter, one))]
    if lacking:
        raise _wrong(f"The adapter {adapter.id} lacks {', '.join(lacking)}.")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _wrong(message: str) -> WriteError:
    return WriteError("INVALID_INPUT", message)
