"""What finds keys, tokens and passwords in a text: redact-secret, and a few shapes beside it.

Offline, in-process, in well under a millisecond for a memory; docs/secrets.md has what it finds of
which kinds, and what it takes for one that is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recall.core.lazy import pattern
from recall.core.redaction import Secret, joined
from recall.errors import WriteError

_MORE: Final = (
    # kind, what stands in every text that holds one (case aside; empty: anything), its shape
    (
        "slack webhook",
        ("hooks.slack.com",),
        pattern(r"https://hooks\.slack\.com/(?:services|workflows)/[\w/-]{30,120}"),
    ),
    (
        "twilio key",
        (),
        pattern(r"[SA](?<![0-9A-Za-z].)(?:(?<=S)K|(?<=A)C)[0-9a-f]{32}(?![0-9A-Za-z])"),
    ),
    (
        "azure storage key",
        ("accountkey",),
        pattern(r"(?i)AccountKey\s*=\s*[A-Za-z0-9+/]{60,100}={0,2}"),
    ),
    (
        "discord bot token",
        (),
        pattern(r"[MNO](?<![\w-].)[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
    ),
    (
        "pgp private key",
        ("begin pgp private key",),
        pattern(
            r"-----BEGIN PGP PRIVATE KEY BLOCK-----"
            r"(?:.{0,20000}?-----END PGP PRIVATE KEY BLOCK-----)?",
            16,  # re.DOTALL
        ),
    ),
    (
        "password",
        ("pass", "secret", "token", "key", "密码", "口令", "密钥", "令牌"),
        # A value of ten characters and more, with a letter and a digit, that is no placeholder.
        pattern(
            r"(?i)(?:password|passwd|passphrase|secret|token|api[_-]?key|密码|口令|密钥|令牌)"
            r"[\"'`]?[ \t]{0,3}(?:[:=：]|(?<!token )\bis\b|是|为)[ \t]{0,3}[\"'`]?"
            r"(?=[^\s\"'`]{0,99}\d)(?=[^\s\"'`]{0,99}[a-z])"
            r"(?![^\s\"'`]{0,99}(?:[<>{}$()\[\]*]|xxx|\.\.\.|://))"
            r"(?P<secret>[!-~]{10,100}?)(?=[\"'`,;)]?(?:\s|$|[^!-~]))"
        ),
    ),
)
"""Shapes that redact-secret 0.1.0b15 does not know."""


_GUESSED: Final = frozenset(("contextual secret", "bearer token", "connection string password"))
"""Kinds that go by what stands around a value; the others have a shape that no word has."""
_PLACEHOLDER = pattern(
    r"(?i:.*(?:your|here|example|placeholder|changeme|dummy).*|pass|passwd|password|secret|token)"
    r"|[A-Z]+(?:_[A-Z]+)+"  # PROXY_PASS
    r"|\$?[A-Za-z_]+(?:\.[A-Za-z_]+)+"  # params.apiKey
    r"|[a-z]+(?:[A-Z][a-z]+)+"  # hashedPassword
    r"|.*[^\x00-\x7f].*"  # 未设置
    r"|\[secret: .*"  # what recall itself put in its place
)
"""Values that are no secrets: names, words, and what stands for one in an example."""


class SecretDetector:
    """The Detector of recall.engine.ports."""

    def find(self, text: str) -> list[Secret]:
        """Return each secret in the text, in order; none overlap.

        Raises WriteError (WRITE_FAILED) where the text can't be looked through: it is then not
        known to hold none.
        """
        import redact_secret

        try:
            found = redact_secret.scan(text.encode("utf-8", "replace").decode())
        except redact_secret.SecretScanError as error:
            raise WriteError(
                "WRITE_FAILED",
                f"The text could not be looked through for secrets: {error}",
                fix="Write less of it at once.",
            ) from error
        spans = [(one.type.replace("_", " "), one.start, one.end) for one in found]
        return joined([*(span for span in spans if _is_one(text, *span)), *_more(text)])


def _is_one(text: str, kind: str, start: int, end: int) -> bool:
    return kind not in _GUESSED or not _PLACEHOLDER.fullmatch(text[start:end].strip("\"'"))


def _more(text: str) -> Iterator[tuple[str, int, int]]:
    folded = text.lower()
    for kind, signs, shape in _MORE:
        if signs and not any(sign in folded for sign in signs):
            continue
        for hit in shape.finditer(text):
            named = "secret" if "secret" in hit.groupdict() else 0
            yield kind, hit.start(named), hit.end(named)
