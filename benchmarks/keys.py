"""Keys, tokens and passwords that open nothing, made by chance in the shapes that services give.

None stands in this file: each is put together from parts when it is asked for, so that no scanner
takes the file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from collections.abc import Callable

_UPPER, _DIGITS = string.ascii_uppercase, string.digits
_ALNUM = string.ascii_letters + _DIGITS
_WEB = _ALNUM + "-_"
_HEX = "0123456789abcdef"
_SIX = string.digits + string.ascii_uppercase + string.ascii_lowercase

Make = Callable[[random.Random], str]


def _of(letters: str, length: int, chance: random.Random) -> str:
    return "".join(chance.choice(letters) for _ in range(length))


def _plain(*parts: str | tuple[str, int]) -> Make:
    """Return what joins the parts, each (letters, length) drawn anew."""

    def make(chance: random.Random) -> str:
        return "".join(p if isinstance(p, str) else _of(p[0], p[1], chance) for p in parts)

    return make


def _checked(prefix: str, length: int = 30) -> Make:
    """Return a maker of tokens that end in their own CRC-32, in base 62, as GitHub's and npm's."""

    def make(chance: random.Random) -> str:
        body = _of(_ALNUM, length, chance)
        number, tail = zlib.crc32(body.encode()), ""
        for _ in range(6):
            number, digit = divmod(number, 62)
            tail = _SIX[digit] + tail
        return prefix + body + tail

    return make


def _coded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _jwt(chance: random.Random) -> str:
    head = _coded(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
    said = _coded(json.dumps({"sub": _of(_DIGITS, 9, chance), "iat": 1_700_000_000}).encode())
    return ".".join((head, said, _coded(chance.randbytes(32))))


def _pem(kind: str, lines: int = 12) -> Make:
    def make(chance: random.Random) -> str:
        body = base64.b64encode(chance.randbytes(48 * lines)).decode()
        rows = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
        dashes = "-" * 5
        return f"{dashes}BEGIN {kind}{dashes}\n{rows}\n{dashes}END {kind}{dashes}"

    return make


def _azure(chance: random.Random) -> str:
    key = base64.b64encode(chance.randbytes(64)).decode()
    return f"DefaultEndpointsProtocol=https;AccountName=shop{_of(_HEX, 4, chance)};AccountKey={key}"


def _basic(chance: random.Random) -> str:
    pair = f"rosa:{_of(_ALNUM, 16, chance)}"
    return "Authorization: Basic " + base64.b64encode(pair.encode()).decode()


_PRIVATE = "PRIVATE" + " KEY"

KINDS: dict[str, Make] = {
    "aws access key": _plain("AK" + "IA", ("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    "aws secret key": _plain("aws_secret_access" + "_key = ", (_ALNUM + "+/", 40)),
    "github token": _checked("gh" + "p_"),
    "github app token": _checked("gh" + "s_"),
    "github fine-grained": _plain("github" + "_pat_", (_ALNUM, 22), "_", (_ALNUM, 59)),
    "gitlab token": _plain("gl" + "pat-", (_WEB, 20)),
    "npm token": _checked("np" + "m_"),
    "pypi token": _plain("py" + "pi-AgEIcHlwaS5vcmc", (_WEB, 120)),
    "slack bot token": _plain("xo" + "xb-", (_DIGITS, 12), "-", (_DIGITS, 12), "-", (_ALNUM, 24)),
    "slack webhook": _plain(
        "https://hooks.slack" + ".com/services/T",
        (_UPPER + _DIGITS, 8),
        "/B",
        (_UPPER + _DIGITS, 10),
        "/",
        (_ALNUM, 24),
    ),
    "stripe key": _plain("sk" + "_live_", (_ALNUM, 24)),
    "google api key": _plain("AI" + "za", (_WEB, 35)),
    "openai key": _plain("sk-" + "proj-", (_WEB, 74), "T3Blbk" + "FJ", (_WEB, 74)),
    "anthropic key": _plain("sk-" + "ant-api03-", (_WEB, 93), "AA"),
    "hugging face token": _plain("h" + "f_", (string.ascii_letters, 34)),
    "sendgrid key": _plain("S" + "G.", (_WEB, 22), ".", (_WEB, 43)),
    "twilio key": _plain("twilio key S" + "K", (_HEX, 32)),
    "mailgun key": _plain("mailgun ke" + "y-", (_HEX, 32)),
    "telegram bot token": _plain("telegram bot token ", (_DIGITS, 10), ":A" + "A", (_WEB, 33)),
    "discord bot token": _plain("M", (_ALNUM, 25), ".", (_WEB, 6), ".", (_WEB, 38)),
    "digitalocean token": _plain("dop" + "_v1_", (_HEX, 64)),
    "shopify token": _plain("shp" + "at_", (_HEX, 32)),
    "databricks token": _plain("da" + "pi", (_HEX, 32)),
    "docker token": _plain("dckr" + "_pat_", (_WEB, 27)),
    "grafana token": _plain("gls" + "a_", (_ALNUM, 32), "_", (_HEX, 8)),
    "vault token": _plain("hv" + "s.", (_WEB, 95)),
    "linear key": _plain("lin" + "_api_", (_ALNUM, 40)),
    "postman key": _plain("PM" + "AK-", (_HEX, 24), "-", (_HEX, 34)),
    "azure storage key": _azure,
    "jwt": _jwt,
    "rsa private key": _pem("RSA " + _PRIVATE),
    "openssh private key": _pem("OPENSSH " + _PRIVATE, 6),
    "pkcs8 private key": _pem(_PRIVATE),
    "pgp private key": _pem("PGP " + _PRIVATE + " BLOCK", 20),
    "password in a url": _plain("postgres://rosa:", (_ALNUM, 14), "@db.shop.example:5432/orders"),
    "basic authorization": _basic,
    "password assigned": _plain("pass" + 'word = "', (_ALNUM + "!#%&", 14), '"'),
    "secret assigned": _plain("CLIENT_SEC" + "RET=", (_ALNUM, 32)),
}
"""By the kind's name, what makes one of it, with the words that it cannot be told without."""

SETTINGS = (
    "The deploy job needs {}\n",
    "# Access\n\nRosa keeps the key of the staging account in the vault; until then:\n\n"
    "```sh\nexport ACCESS={}\n```\n",
    "- 预发环境的密钥：{}\n- rotate it in May\n",
    "Set it in `.env`:\n\n    TOKEN={}\n",
)
"""Where a memory would have one; `{}` is the place."""
