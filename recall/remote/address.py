"""Whether an address may be sent memories: an origin and an optional prefix, over HTTPS."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from recall.errors import SettingsError

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~%!$&'()*+,;=:@-]+)*")


class Address(NamedTuple):
    """A checked address. `host` names it in messages: without scheme, port and prefix."""

    url: str
    host: str
    loopback: bool


def checked(
    url: str, *, key: str, allow_insecure: bool, allow_key: str, without: Sequence[str] = ()
) -> Address:
    """Return the address; raises SettingsError, naming the setting `key`, where it can't be used.

    Refused: anything but http and https, credentials, a query, a fragment, blanks, backslashes; a
    path that ends with one of `without`, which are added to it; and http to anything but this
    machine, unless `allow_insecure` (the setting `allow_key`).
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused(key, "it is no URL") from None
    odd = next((at for at, char in enumerate(url) if not "!" <= char <= "~" or char == "\\"), None)
    if odd is not None:
        raise _refused(key, f"it holds {_named(url[odd])} (character {odd + 1})")
    if parts.scheme not in ("https", "http"):
        raise _refused(key, "it does not begin with https://")
    if "@" in parts.netloc:
        raise _refused(key, "it holds credentials; a key belongs into a variable")
    if "?" in url:
        raise _refused(key, "it holds a query (from the ? on)")
    if "#" in url:
        raise _refused(key, "it holds a fragment (from the # on)")
    if any(part.lower().replace("%2e", ".") in (".", "..") for part in parts.path.split("/")):
        raise _refused(key, "its prefix holds a step up or nowhere (.. or .)")
    named = parts.netloc if port is None else parts.netloc.rpartition(":")[0]
    if not _HOST.fullmatch(named) or not _PREFIX.fullmatch(parts.path.rstrip("/")):
        raise _refused(key, "it is more than a host, a port and a prefix")
    for path in without:
        if f"{parts.path.rstrip('/')}/".endswith(f"{path.rstrip('/')}/"):
            raise _refused(key, f"it ends with {path}, which is added to it")
    host = named.strip("[]").lower()
    loopback = _is_loopback(host)
    if parts.scheme == "http" and not (loopback or allow_insecure):
        raise SettingsError(
            f"{key} is an http:// address on {host}: what is sent there, your key included, could "
            "be read on the way.",
            key=key,
            fix=f"Use https://; if that network is yours alone, set {allow_key} = true.",
        )
    return Address(url.rstrip("/"), host, loopback)


def shown(url: str) -> str:
    """Return an address as a report may show it: what could hold a secret is `***`."""
    if "@" in url or "?" in url or "#" in url:
        return "***"
    return url


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _named(char: str) -> str:
    if char.isspace():
        return "a blank" if char == " " else "a line end or another space"
    return "a backslash" if char == "\\" else "a character that a URL has not"


def _refused(key: str, why: str) -> SettingsError:
    # The address itself is not repeated: it may hold a password.
    return SettingsError(
        f"{key} can't be used: {why}.",
        key=key,
        fix="Write an origin with an optional prefix, as https://api.example.com/v1.",
    )
