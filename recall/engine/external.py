"""The one passage of every text to an external service: checked, asked for, sent once, audited.

Nothing is stored there that a person has not seen whole and said yes to, whatever the policy is:
`auto` counts as `ask` here, and where nobody can be asked nothing waits and nothing goes. Each
text leaves a row before it is sent and one of what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recall.core.audit import Entry, detail_text
from recall.core.external import STORED, Outcome, approval_of, checked_content
from recall.core.policy import OFF, policy_for
from recall.core.redaction import redacted
from recall.core.writing import ADD, REJECTED, UNAVAILABLE, Asker, Decision, Flag
from recall.engine.ports import Answerer, Detector, Ledger, Provider
from recall.engine.writing import answer_of
from recall.errors import StoreError, WriteError
from recall.settings import Writes

ACTION = "external-add"
"""The audit's row of a text that is stored there; of any other with `-sent`, `-accepted`,
`-failed`, `-unknown` or `-denied`."""


class ExternalWrites:
    """Texts on their way to one service. Safe to use from several threads."""

    def __init__(
        self, provider: Provider, ledger: Ledger, wishes: Writes, detector: Detector | None = None
    ) -> None:
        self._provider = provider
        self._ledger = ledger
        self._wishes = wishes
        self._detector = detector

    def do(self, content: object, asker: Asker, answerer: Answerer | None) -> Outcome:
        """Have a text stored; returns what came of it.

        Raises WriteError where nothing was sent (INVALID_INPUT, SECRET_FOUND, WRITE_DENIED), and
        StoreError where the audit can't be written: then nothing is sent either.
        """
        text = checked_content(content)
        if self._provider.holds_key(text):
            raise WriteError(
                "SECRET_FOUND",
                "The text holds the service's own key; nothing was sent.",
                fix="Take it out.",
            )
        self._ledger.ready(len(text))
        decision = self._decide(text, asker, answerer)
        if not decision.allowed:
            self._ledger.extend([self._entry(text, asker, decision.words, "-denied")])
            raise _denied(decision)
        self._ledger.extend([self._entry(text, asker, decision.words, "-sent")])
        return self._settled(text, asker, decision, self._provider.remember(text))

    def _decide(self, text: str, asker: Asker, answerer: Answerer | None) -> Decision:
        if policy_for(asker.source, ADD, self._wishes) == OFF:
            return Decision(REJECTED, "policy off")
        if answerer is None:
            return Decision(UNAVAILABLE, "nobody who can be asked")
        approval = approval_of(text, self._provider.destination, asker, self._flags(text))
        return Decision(answer_of(answerer, approval), answerer.name)

    def _flags(self, text: str) -> list[Flag]:
        found = self._detector.find(text) if self._detector else ()
        kinds = ", ".join(dict.fromkeys(kind for kind, _, _ in found))
        return [Flag("secret", f"It holds what looks like a secret: {kinds}")] if kinds else []

    def _settled(self, text: str, asker: Asker, decision: Decision, outcome: Outcome) -> Outcome:
        how = "" if outcome.kind == STORED else f"-{outcome.kind}"
        told = {"outcome": outcome.kind, "cause": outcome.cause, "ids": list(outcome.ids)}
        try:
            self._ledger.extend([self._entry(text, asker, decision.words, how, told)])
        except StoreError as error:
            # The row before it stands: what was sent is told there.
            told_too = f"The audit does not say so: {error.message}."
            return outcome._replace(cause=f"{outcome.cause} {told_too}".strip())
        return outcome

    def _entry(
        self,
        text: str,
        asker: Asker,
        outcome: str,
        how: str,
        told: Mapping[str, Any] | None = None,
    ) -> Entry:
        detail = {
            "destination": self._provider.destination.to_dict(),
            "agent": asker.agent,
            **(told or {}),
        }
        return Entry(
            action=ACTION + how,
            outcome=outcome,
            source=asker.label or asker.source,
            session=asker.session,
            text=redacted(text, self._detector.find(text)) if self._detector else text,
            detail=detail_text(detail),
        )


def _denied(decision: Decision) -> WriteError:
    return WriteError(
        "WRITE_DENIED",
        f"It was not allowed: {decision.words}. Nothing was sent.",
        fix="Don't try it again in other words; go on without it, and tell the user.",
        outcome=decision.outcome,
    )
