"""The external service of one open corpus, for `recall.app.Recall`; docs/external.md."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall.auditing import Auditing
from recall.disk import places
from recall.errors import SettingsError
from recall.structs import replace

if TYPE_CHECKING:
    from recall.disk.credentials import Credential
    from recall.engine.external import ExternalWrites
    from recall.engine.ports import Detector, Provider
    from recall.remote.mem0 import Mem0Client


class External(Auditing):
    """What an open corpus can do with memories that are kept elsewhere."""

    _credential: Callable[[], Credential] | None
    _home: Path | None
    _provider: Mem0Client | None = None

    def detector(self) -> Detector | None:
        """Return what finds secrets in texts that are written."""
        raise NotImplementedError

    def provider(self) -> Mem0Client:
        """Return the external service that the settings name.

        Raises SettingsError where none is configured or it can't be used as it is, RecallError
        where what it needs is not installed.
        """
        if self._provider is None:
            from recall.remote.mem0 import Mem0Client, contract_of, require_extra

            wishes = self.settings.mem0
            contract_of(wishes)
            require_extra()
            if self._credential is None:
                raise SettingsError(
                    "There is nothing that could give the service's key.",
                    key="external.mem0.env_key",
                )
            key = self._credential().reveal()
            self._provider = Mem0Client(wishes, key, self.external_ids())
        return self._provider

    def external_ids(self) -> dict[str, str]:
        """Return the ids that memories have at the service; raises SettingsError."""
        from recall.core.external import default_id
        from recall.remote.mem0 import scope_of

        folder = places.resolved(Path(self.settings.project_dir or os.curdir))
        root = places.git_root(folder) or folder
        home = places.resolved(self._home or Path.home())
        return scope_of(self.settings.mem0, lambda: default_id(_bytes(home), _bytes(root)))

    def external_writes(self) -> ExternalWrites:
        """Return the one passage of every text to the service; raises as `provider`.

        Raises SettingsError where the settings do not enable writes there.
        """
        from recall.engine.external import ExternalWrites

        provider = self.provider()
        if not self.settings.mem0.enable_writes:
            raise SettingsError(
                "Storing texts at the external service is off.",
                key="external.mem0.enable_writes",
                fix="Set external.mem0.enable_writes = true in your own settings file.",
            )
        return ExternalWrites(provider, self.audit(), self.settings.writes, self.detector())

    def external_search(self, query: object, source: str, session: str = "") -> dict[str, Any]:
        """Return what the service finds, as JSON-ready values within the settings' bounds.

        `source` is who asks, for the audit. Raises RequestError, ProviderError and as `provider`.
        """
        from recall.core.external import checked_query, shown
        from recall.core.messages import say
        from recall.engine.recording import asked_outside
        from recall.errors import ProviderError

        text = checked_query(query)
        provider = self.provider()
        told: dict[str, Any] = {"source": provider.destination.source}
        record = self._recording()
        try:
            if provider.holds_key(text):
                raise ProviderError("The question holds the key; it was not sent.", kind="refused")
            found = provider.search(text)
        except ProviderError as error:
            if record:
                failed = told | {"results": [], "error": error.details()}
                record().note([asked_outside(_without(text, provider), failed, source, session)])
            raise
        limits = self.settings.limits
        results, omitted = shown(
            found, told["source"], window=limits.search_window, total=limits.search_call
        )
        told |= {"results": results} | ({"omitted": omitted} if omitted else {})
        if results:
            told["notice"] = say("external.notice", self.settings.language)
        if record:
            record().note([asked_outside(text, told, source, session)])
        return told

    def ask_beside(self) -> None:
        """Have this corpus's own searches ask the service, as long as one call there may take.

        Where the settings say how long they wait, that holds. Raises as `provider`.
        """
        self.provider()
        wishes = self.settings.mem0
        wishes = replace(wishes, search_ms=wishes.search_ms or wishes.timeout_ms)
        self.settings = replace(self.settings, mem0=wishes)

    def asked_beside(self) -> Callable[[], Provider] | None:
        """Return what gives the service to recall's own searches; None where they don't ask it."""
        wishes = self.settings.mem0
        return self.provider if wishes.base_url and wishes.search_ms else None


def _without(text: str, provider: Provider) -> str:
    return "(it held the key)" if provider.holds_key(text) else text


def _bytes(path: Path) -> bytes:
    return os.fsencode(path)
