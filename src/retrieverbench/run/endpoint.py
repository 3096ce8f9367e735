"""An address and the credentials in it, told apart before anything can show them."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from retrieverbench.adapter import Secret

_SECRETS: Mapping[str, str] = {
    "user": "user",
    "username": "user",
    "password": "password",
    "passwd": "password",
    "pwd": "password",
    "api_key": "api_key",
    "api-key": "api_key",
    "apikey": "api_key",
}
"""Names of parameters that hold a credential, and the secret that adapters know it as."""

_PORTS = {"http": 80, "https": 443, "postgres": 5432, "postgresql": 5432}

THIS_MACHINE = "this machine"
"""All names of it, where a server is named."""

_PAIR = re.compile(r"\s*(\w+)\s*=\s*('(?:\\.|[^'\\])*'|(?:\\.|[^\s'\\])*)")


def split_credentials(endpoint: str) -> tuple[str, dict[str, Secret]]:
    """An address without its credentials, and these as secrets `user`, `password`, `api_key`.

    Reads URLs (user and password before the host, or as parameters) and the
    `key=value key='value'` form of PostgreSQL. Raises ValueError, which shows nothing of
    the address, where it cannot be told which part is the password.
    """
    if "://" not in endpoint and _PAIR.match(endpoint):
        return _split_pairs(endpoint)
    try:
        parts = urlsplit(endpoint)
    except ValueError:
        raise ValueError("this is no address; write scheme://host:port/name") from None
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        raise ValueError(
            "there is an @ behind the host; percent-encode the special characters of user "
            "and password (@ is %40, / is %2F, # is %23, ? is %3F)"
        )
    credentials, _, host = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    found = {"user": unquote(user), "password": unquote(password)}
    kept = []
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        name = _SECRETS.get(key.lower())
        if name is None:
            kept.append((key, value))
        else:
            found[name] = value
    query = parts.query if len(kept) == len(parse_qsl(parts.query, True)) else urlencode(kept)
    plain = SplitResult(parts.scheme, host, parts.path, query, parts.fragment)
    same = not credentials and query == parts.query
    return endpoint if same else urlunsplit(plain), _secrets(found)


def server_of(endpoint: str) -> str:
    """Which server an address without credentials leads to, as `host:port/path`.

    All names of this machine are one; whether two names of another lead to one server nobody
    can tell without asking it. Blocks while a name is looked up.
    """
    if "://" not in endpoint and _PAIR.match(endpoint):
        told = {pair[1].lower(): pair[2].strip("'") for pair in _PAIR.finditer(endpoint)}
        host, path = told.get("host", ""), f"/{told.get('dbname', '')}"
        port = told.get("port", "5432")
    else:
        try:
            parts = urlsplit(endpoint)
            host, path = parts.hostname or "", parts.path
            port = str(parts.port or _PORTS.get(parts.scheme) or "")
        except ValueError:  # several hosts
            return endpoint
    host = THIS_MACHINE if _is_here(host) else host.lower()
    return f"{host}:{port}{path.rstrip('/')}"


def _is_here(host: str) -> bool:
    """Whether it names this machine: what is sent to its address would be sent from there."""
    if not host:
        return True
    with suppress(OSError, UnicodeError):
        for family, _, _, _, address in socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM):
            with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect(address)  # chooses a route and sends nothing
                if probe.getsockname()[0] == address[0]:
                    return True
    return False


def _split_pairs(endpoint: str) -> tuple[str, dict[str, Secret]]:
    """The same for `host=localhost password='a b'`."""
    found = {}
    kept = []
    end = 0
    for pair in _PAIR.finditer(endpoint):
        if endpoint[end : pair.start()].strip():
            break
        end = pair.end()
        name = _SECRETS.get(pair[1].lower())
        if name is None:
            kept.append(pair[0].strip())
            continue
        value = pair[2][1:-1] if pair[2].startswith("'") else pair[2]
        found[name] = re.sub(r"\\(.)", r"\1", value)
    if endpoint[end:].strip():
        raise ValueError("this is no list of key=value; quote values with blanks as 'a b'")
    return " ".join(kept) if found else endpoint, _secrets(found)


def _secrets(found: Mapping[str, str]) -> dict[str, Secret]:
    return {name: Secret(value) for name, value in found.items() if value}
