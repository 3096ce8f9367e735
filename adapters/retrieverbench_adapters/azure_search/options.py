"""What a suite may set for this adapter, and what of it cannot be."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from annotated_types import Ge, Gt, Le

from retrieverbench.adapter import OWN_PREFIX, Settings

TenantFilter = Literal["eq", "search.in"]


@dataclass(frozen=True, slots=True)
class Connect:
    """How the service is spoken to.

    `auth` is `key` (secret `api_key`) or `entra`: a bearer token, over https only. It is the
    secret `token` where that is given (as `az account get-access-token --resource <audience>`
    prints it), else what azure-identity's DefaultAzureCredential finds. `ca_file` (PEM)
    holds the authorities to trust instead of the system's.
    """

    api_version: str = "2026-04-01"
    auth: Literal["key", "entra"] = "key"
    audience: str = "https://search.azure.com"
    ca_file: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The index; the defaults are the service's own, but for the English analyzer.

    `m`, `ef_construction` and `ef_search` are those of `hnsw`. An index with
    `exhaustiveKnn` is always searched exactly.
    """

    analyzer: str = "en.lucene"
    vector_index: Literal["hnsw", "exhaustiveKnn"] = "hnsw"
    m: Annotated[int, Ge(4), Le(10)] = 4
    ef_construction: Annotated[int, Ge(100), Le(1000)] = 400
    ef_search: Annotated[int, Ge(100), Le(1000)] = 500
    settle_seconds: Annotated[float, Gt(0)] = 60.0


@dataclass(frozen=True, slots=True)
class Search:
    """`vector_k` is the length of the vector list, by default 50 or k if that is more.

    `vector_weight` is its weight in the fusion; the text list weighs 1. `raw_syntax` sends
    query texts as they are; otherwise they are escaped, so that every text is words and no
    operator. `tenant_filter` is the form of the tenant's condition: `tenant eq 'acme'` or
    `search.in(tenant, 'acme', '|')`.
    """

    tenant_filter: TenantFilter = "eq"
    exact: bool = False
    search_mode: Literal["any", "all"] = "any"
    raw_syntax: bool = False
    vector_k: Annotated[int, Ge(1)] | None = None
    vector_weight: Annotated[float, Gt(0)] = 1.0
    vector_filter_mode: Literal["preFilter", "postFilter", "strictPostFilter"] = "preFilter"
    scoring_statistics: Literal["global", "local"] = "global"
    session_id: str = "retrieverbench"


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a suite may set for this adapter."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


def faults(settings: Settings, connect: Connect) -> list[str]:
    """One line for everything in the settings that cannot be, before anything is sent."""
    found = _connect_faults(settings, connect)
    if settings.attached is not None and settings.layout != "filter":
        found.append(f"layout: {settings.layout!r} cannot be attached; use filter")
    if settings.attached is None and not settings.place.startswith(OWN_PREFIX):
        found.append(f"place: {settings.place!r} does not begin with {OWN_PREFIX!r}")
    if settings.layout not in {"filter", "index"}:
        found.append(f"layout: {settings.layout!r} is not supported; use filter or index")
    if settings.dimension <= 0 and settings.modes & {"dense", "hybrid"}:
        found.append("dimension: 0 with a mode that needs vectors; choose an embedder")
    return [f"azure_search: {fault}" for fault in found]


def _connect_faults(settings: Settings, connect: Connect) -> list[str]:
    found = []
    url = urlsplit(settings.endpoint)
    if url.scheme not in {"http", "https"} or not url.hostname:
        found.append(f"endpoint: {settings.endpoint!r} is no URL; give https://NAME.search...")
    elif url.scheme == "http" and not is_loopback(settings.endpoint):
        found.append(f"endpoint: {settings.endpoint!r} would send the key in clear; use https")
    elif url.scheme == "http" and connect.auth == "entra":
        found.append(f"endpoint: {settings.endpoint!r}: a token is sent over https only")
    if connect.auth == "key" and "api_key" not in settings.secrets:
        found.append("secrets.api_key: missing; name the variable that holds the key")
    if connect.ca_file and not Path(connect.ca_file).is_file():
        found.append(f"options.connect.ca_file: no file {connect.ca_file!r}")
    elif connect.ca_file:
        try:
            ssl.create_default_context(cafile=connect.ca_file)
        except OSError as error:
            told = f"{connect.ca_file!r} holds no certificates that can be read"
            found.append(f"options.connect.ca_file: {told}: {error}")
    return found


def is_loopback(endpoint: str) -> bool:
    """Whether the host of a URL is this machine, by address or as `localhost`."""
    host = urlsplit(endpoint).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
