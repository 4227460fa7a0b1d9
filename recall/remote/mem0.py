"""A Mem0 service: searched, and given texts to store, as its contract says.

What is sent and how answers are read stands in `recall.remote.contracts`; nothing here knows one
protocol from another. A search that could not even connect is tried once more, a write never. No
error and no outcome holds the key, or more of what the service said than one short line.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from recall.core import sink
from recall.core.external import (
    ACCEPTED,
    FAILED,
    MAX_ID,
    MAX_RESULTS,
    STORED,
    UNKNOWN,
    Destination,
    Item,
    Outcome,
)
from recall.errors import ProviderError, RecallError, SettingsError
from recall.remote.address import checked
from recall.remote.channel import Answer, Channel, Unanswered
from recall.remote.contracts import ABSENT, BODY, CONTRACTS, STATUS, Contract
from recall.settings import Mem0

if TYPE_CHECKING:
    import httpx2

_SAID = 160  # characters of a service's own explanation
_AGAIN = 1  # how often a search is tried anew that could not connect
_OPEN = (408, 425)
"""Refusals after which a request may have been carried out all the same."""


class Mem0Client:
    """One service, one key, one set of ids. Safe to use from several threads."""

    def __init__(
        self,
        settings: Mem0,
        key: str,
        ids: Mapping[str, str],
        transport: Callable[[], httpx2.AsyncBaseTransport] | None = None,
    ) -> None:
        """`ids` are those of the contract, by name; `transport` replaces the network.

        Raises SettingsError for a configuration that can't be used.
        """
        self.contract = contract_of(settings)
        self._ids = dict(ids)
        self._key = key
        address = checked(
            settings.base_url,
            key="external.mem0.base_url",
            allow_insecure=settings.allow_insecure_http,
            allow_key="external.mem0.allow_insecure_http",
            without=(self.contract.search.path, self.contract.write.path),
        )
        self.destination = Destination(
            address.host,
            address.url + self.contract.write.path,
            self.contract.name,
            tuple(self._ids.items()),
        )
        self._seconds = settings.timeout_ms / 1_000
        secret = self.contract.scheme + key
        self._channel = Channel(address, self.contract.header, secret, transport)

    def holds_key(self, text: str) -> bool:
        """Tell whether a text holds the key."""
        return self._key in text

    def search(self, query: str, limit: int = MAX_RESULTS) -> tuple[Item, ...]:
        """Return at most `limit` memories, the service's best first; raises ProviderError."""
        contract = self.contract
        limit = min(limit, MAX_RESULTS)
        body: dict[str, Any] = {"query": query, contract.limit: limit, **dict(contract.fixed)}
        self._place(body, [(one.name, one.search) for one in contract.ids])
        try:
            answer = self._asked(body)
        except Unanswered as error:
            raise self._failed(error.kind, error.text) from None
        if not 200 <= answer.status < 300:
            raise self._failed(*self._refusal(answer), said=self._said(answer))
        return tuple(self._items(answer)[:limit])

    def remember(self, content: str) -> Outcome:
        """Store a text, word for word; returns what came of it. Raises nothing."""
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": content}],
            "infer": False,
        }
        self._place(body, [(one.name, one.write) for one in self.contract.ids])
        method, path = self.contract.write
        try:
            answer = self._channel.send(method, path, body, self._seconds)
        except Unanswered as error:
            return Outcome(UNKNOWN if error.sent else FAILED, error.text)
        if not 200 <= answer.status < 300:
            _, text = self._refusal(answer)
            definite = 400 <= answer.status < 500 and answer.status not in _OPEN
            said = self._said(answer)
            return Outcome(
                FAILED if definite else UNKNOWN, f'{text} It said: "{said}"' if said else text
            )
        return self._outcome(answer)

    # --- asking

    def _asked(self, body: Mapping[str, Any]) -> Answer:
        """Send a search, once more where nothing could be sent; all of it in one timeout."""
        until = time.monotonic() + self._seconds
        method, path = self.contract.search
        for _ in range(_AGAIN):
            try:
                return self._channel.send(method, path, body, self._seconds)
            except Unanswered as error:
                left = until - time.monotonic()
                if error.sent or left <= 0:
                    raise
        return self._channel.send(method, path, body, left)

    def _place(self, body: dict[str, Any], places: list[tuple[str, str]]) -> None:
        for name, place in places:
            if name in self._ids and place != ABSENT:
                into = body if place == BODY else body.setdefault(place, {})
                into[name] = self._ids[name]

    # --- answers

    def _items(self, answer: Answer) -> list[Item]:
        found = self._parsed(answer)
        listed = found.get(self.contract.results) if isinstance(found, dict) else None
        if not isinstance(listed, list):
            raise self._failed("odd", f"{self._host} gave an answer without a list of memories.")
        items = [item for one in listed if (item := self._item(one)) is not None]
        if listed and not items:
            raise self._failed("odd", f"{self._host} gave memories in no form of the protocol.")
        return items

    def _item(self, value: object) -> Item | None:
        if not isinstance(value, dict):
            return None
        id = _id(value.get(self.contract.id))
        texts = [value.get(name) for name in self.contract.content]
        content = next((text for text in texts if isinstance(text, str) and text), "")
        if not id or not content:
            return None
        if self.contract.unwraps and value.get("infer") is False:
            content = unwrapped(content)
        updated = value.get("updated_at")
        return Item(
            self._without_key(id),
            self._without_key(content),
            _number(value.get("score")),
            updated if isinstance(updated, str) else "",
        )

    def _outcome(self, answer: Answer) -> Outcome:
        try:
            told = self._parsed(answer)
        except ProviderError as error:
            return Outcome(UNKNOWN, error.message)
        told = told if isinstance(told, dict) else {}
        listed = told.get("results")
        rows = listed if isinstance(listed, list) else []
        found = [_id(one.get(self.contract.id)) for one in rows if isinstance(one, dict)]
        ids = tuple(self._without_key(id) for id in found[:MAX_RESULTS] if id)
        if self.contract.answer == STATUS and "status" in told:
            return self._status(told, ids)
        if ids:
            return Outcome(STORED, ids=ids)
        return Outcome(UNKNOWN, f"{self._host} took it, and did not say what became of it.")

    def _status(self, told: Mapping[str, Any], ids: tuple[str, ...]) -> Outcome:
        event = _id(told.get("event_id"))
        ids = ids or ((self._without_key(event),) if event else ())
        status = told["status"]
        if status == "SUCCEEDED":
            return Outcome(STORED, ids=ids)
        if status == "FAILED":
            return Outcome(FAILED, f"{self._host} says that it failed.", ids)
        if status == "PENDING" and ids:
            return Outcome(ACCEPTED, f"{self._host} has queued it.", ids)
        return Outcome(UNKNOWN, f"{self._host} took it, and did not say what became of it.", ids)

    def _parsed(self, answer: Answer) -> Any:
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            pass
        if "html" in answer.kind or answer.body.lstrip()[:1] == b"<":
            what = "a web page in place of JSON"
        elif not answer.body.strip():
            what = "an empty answer"
        else:
            what = "an answer that is no JSON, or not all of it"
        raise self._failed("odd", f"{self._host} gave {what}.")

    # --- what went wrong

    @property
    def _host(self) -> str:
        return self.destination.host

    def _refusal(self, answer: Answer) -> tuple[str, str]:
        """Return the kind of a status that is no success, and a sentence."""
        text = f"{self._host} answered {answer.status}"
        if 300 <= answer.status < 400:
            return "missing", f"{text}, a redirect; those are not followed, the key stays here."
        if answer.status in (401, 403):
            return "key", f"{text}: it does not take the key."
        if answer.status in (404, 405):
            return "missing", f"{text}: there is no such operation."
        if answer.status == 429 or answer.status >= 500:
            return "busy", f"{text}."
        return "refused", f"{text}."

    def _said(self, answer: Answer) -> str:
        """Return a service's own explanation as one short line, without the key."""
        if answer.status in (401, 403):  # it may repeat the key, in part
            return ""
        try:
            told = json.loads(answer.body)
        except (ValueError, RecursionError):
            return ""
        texts = [told.get(name) for name in _EXPLAINS] if isinstance(told, dict) else []
        said = next((one for one in texts if isinstance(one, str) and one), "")
        said = sink.metadata(self._without_key(said[: 64 * _SAID]))
        return sink.shorten(self._without_key(said), _SAID)

    def _failed(self, kind: str, text: str, said: str = "") -> ProviderError:
        return ProviderError(text, kind=kind, said=said, fix=_FIXES[kind])

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***")


_EXPLAINS = ("detail", "message", "error")
_FIXES = {
    "refused": "Check external.mem0.protocol and external.mem0.scope.",
    "key": "Check the key in the variable that external.mem0.env_key names, and the protocol.",
    "missing": "Check external.mem0.base_url and external.mem0.protocol.",
    "busy": "Try again later.",
    "late": "Try again later, or raise external.mem0.timeout_ms.",
    "unreachable": "Check external.mem0.base_url, and that the service runs.",
    "cut": "Try again later.",
    "odd": "Check external.mem0.base_url and external.mem0.protocol.",
}


def contract_of(settings: Mem0) -> Contract:
    """Return the contract of a configuration; raises SettingsError where there is none."""
    if not settings.base_url:
        raise SettingsError(
            "No external service is configured.",
            key="external.mem0.base_url",
            fix="Set external.mem0.base_url in your own settings file; see docs/external.md.",
        )
    contract = CONTRACTS[settings.protocol]
    known = [one.name for one in contract.ids]
    for name, _ in settings.scope:
        if name not in known:
            raise SettingsError(
                f"external.mem0.scope has {name}, which {contract.name} does not know.",
                key="external.mem0.scope",
                fix=f"It takes {' and '.join(known)}.",
            )
    return contract


def scope_of(settings: Mem0, default: Callable[[], str]) -> dict[str, str]:
    """Return the ids of a configuration, by name; what is required and not given is the default."""
    given = dict(settings.scope)
    out = {}
    for place in contract_of(settings).ids:
        if place.name in given:
            out[place.name] = given[place.name]
        elif place.required:
            out[place.name] = default()
    return out


def require_extra() -> None:
    """Raise RecallError unless what the client needs is installed; imports none of it."""
    if find_spec("httpx2") is None:
        raise RecallError(
            "External memories need the package httpx2, which is not installed here.",
            fix="Install it: pip install 'recall-memory[external]'",
        )


def unwrapped(content: str) -> str:
    """Return the text of one user's message where `content` is that as JSON; else `content`."""
    try:
        messages = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if not isinstance(messages, list) or len(messages) != 1 or not isinstance(messages[0], dict):
        return content
    text = messages[0].get("content")
    whole = messages[0].get("role") == "user" and isinstance(text, str) and text
    return str(text) if whole else content


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _id(value: object) -> str:
    """Return a service's id of something; empty where it is none that could be told."""
    good = isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable()
    return str(value) if good and str(value).strip() else ""
