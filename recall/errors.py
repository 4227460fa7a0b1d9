"""Every error that recall raises on purpose.

::

    RecallError                     .code .message .fix .details()
    ├── RequestError                wrong parameters of search_memory or of a command
    ├── CursorError                 .ref
    │   ├── InvalidCursor           forged, truncated, another purpose, another ref
    │   └── StaleCursor             the memory changed since; .issued and .current versions
    ├── SettingsError               .file .key; a configuration that can't be used
    ├── RootError                   .path; a memory root that can't be used at all
    ├── ConflictError               .path; a file changed between reading and writing
    ├── AnnotationError             .retry .stop; an annotator gave no metadata for a memory
    ├── MigrationError              another process migrates, or there is nothing to take back
    ├── ProviderError               .kind .said; an external service gave no usable answer
    ├── WriteError                  .evidence; a write that was not made, with a code for why
    ├── GuardError                  a command can't be kept from memories, so it was not run
    └── StoreError                  the cache can't be opened, built or locked

Bad memory files raise nothing: what is wrong with them is a value, `recall.model.Fault`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from typing import Any


class RecallError(Exception):
    """The root. `code` is stable and meant for programs, the message for people."""

    code = "RECALL_ERROR"

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def details(self) -> dict[str, Any]:
        """Return the error as JSON-ready values: code, message, fix and the evidence."""
        out: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.fix:
            out["fix"] = self.fix
        return out


class RequestError(RecallError):
    """Parameters that can't be served; `field` names the offending one."""

    code = "INVALID_REQUEST"

    def __init__(self, message: str, *, field: str | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.field = field

    def details(self) -> dict[str, Any]:
        out = super().details()
        if self.field:
            out["field"] = self.field
        return out


class CursorError(RecallError):
    """A cursor that does not continue anything."""

    code = "CURSOR_ERROR"

    def __init__(self, message: str, *, ref: str | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.ref = ref

    def details(self) -> dict[str, Any]:
        out = super().details()
        if self.ref is not None:
            out["ref"] = self.ref
        return out


class InvalidCursor(CursorError):
    """Not a cursor that this installation signed for this purpose and ref."""

    code = "INVALID_CURSOR"


class StaleCursor(CursorError):
    """A genuine cursor into a body that has changed since it was issued.

    `issued` and `current` are versions (`v` and 16 hex digits); `restart` holds the parameters
    of a fresh start.
    """

    code = "STALE_CURSOR"

    def __init__(self, ref: str, *, issued: str, current: str) -> None:
        super().__init__(
            f"{ref} changed since the cursor was issued: it is {current}, the cursor is for "
            f"{issued}.",
            ref=ref,
            fix="Read it again from the start, without a cursor.",
        )
        self.issued = issued
        self.current = current

    @property
    def restart(self) -> dict[str, Any]:
        return {"mode": "fetch", "refs": [self.ref]}

    def details(self) -> dict[str, Any]:
        return super().details() | {
            "cursorVersion": self.issued,
            "currentVersion": self.current,
            "restart": self.restart,
        }


class SettingsError(RecallError):
    """A configuration file, variable or argument that can't be used as it stands."""

    code = "INVALID_SETTINGS"

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        key: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(message, fix=fix)
        self.file = file
        self.key = key

    def details(self) -> dict[str, Any]:
        out = super().details()
        if self.file:
            out["file"] = self.file
        if self.key:
            out["key"] = self.key
        return out


class RootError(RecallError):
    """A memory root that can't be used: missing, not a folder, refused."""

    code = "ROOT_ERROR"

    def __init__(self, message: str, *, path: str, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.path = path

    def details(self) -> dict[str, Any]:
        return super().details() | {"path": self.path}


class ConflictError(RecallError):
    """A file is no longer what it was when the change was made up; nothing was written to it."""

    code = "CONFLICT"

    def __init__(self, path: str, what: str = "") -> None:
        """`what` says what happened to the file, where it was not simply changed."""
        what = what or "was changed by somebody else meanwhile; it was left as it is"
        super().__init__(f"{path} {what}.", fix="Run the command again.")
        self.path = path

    def details(self) -> dict[str, Any]:
        return super().details() | {"path": self.path}


class StoreError(RecallError):
    """The cache can't be opened, built or locked; deleting it is always safe."""

    code = "STORE_ERROR"


class AnnotationError(RecallError):
    """An annotator can't give metadata for a memory; `retry`: another try may help.

    `stop`: the memory is not the reason, and any other would fare the same now, so that a run may
    as well end: an allowance that is spent, a key that is not taken. It was no try of the memory.
    """

    code = "ANNOTATION_ERROR"

    def __init__(
        self, message: str, *, retry: bool = False, stop: bool = False, fix: str | None = None
    ) -> None:
        super().__init__(message, fix=fix)
        self.retry = retry
        self.stop = stop

    def details(self) -> dict[str, Any]:
        return {**super().details(), "retry": self.retry, "stop": self.stop}


class GuardError(RecallError):
    """A command can't be kept from memories here, so that it was not run at all."""

    code = "GUARD_ERROR"


class MigrationError(RecallError):
    """A migration can't begin: another process migrates, or there is no such run to take back."""

    code = "MIGRATION_ERROR"


class ProviderError(RecallError):
    """An external service gave no usable answer; nothing is known of its memories.

    `kind`: `key`, `missing`, `refused`, `busy`, `late`, `unreachable`, `cut`, `odd`. `said` is the
    service's own explanation, as one short line: text of somebody else.
    """

    code = "PROVIDER_ERROR"

    def __init__(
        self, message: str, *, kind: str = "", said: str = "", fix: str | None = None
    ) -> None:
        super().__init__(message, fix=fix)
        self.kind = kind
        self.said = said

    def details(self) -> dict[str, Any]:
        told = {"kind": self.kind, "said": self.said}
        return super().details() | {name: text for name, text in told.items() if text}


class WriteError(RecallError):
    """A write that was not made: nothing has changed. docs/writes.md lists the codes.

    `code` is one of those (INVALID_INPUT, ENTRY_NOT_FOUND, BUDGET_EXCEEDED, …); `evidence` holds
    JSON-ready values: used, limit, needed, candidates, …
    """

    code = "WRITE_ERROR"

    def __init__(self, code: str, message: str, *, fix: str | None = None, **evidence: Any) -> None:
        super().__init__(message, fix=fix)
        self.code = code
        self.evidence = evidence

    def details(self) -> dict[str, Any]:
        return {**super().details(), **self.evidence}
