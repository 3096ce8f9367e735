"""What is refused before anything is made: settings, an old client, an old server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version

from retrieverbench.adapter import OWN_PREFIX, Settings
from retrieverbench.errors import InputError, MissingClient, Unsupported
from retrieverbench_adapters.qdrant.description import numbers
from retrieverbench_adapters.qdrant.options import Options, Search

_CLIENT_FLOOR = (1, 20)  # older ones drop root filters of fusions in their local mode
_RRF_CONSTANT_SINCE, _RRF_WEIGHTS_SINCE, _IDF_CORPUS_SINCE = (1, 16), (1, 17), (1, 19)
_LAYOUTS = ("filter", "partition", "index")


def check_settings(settings: Settings, options: Options) -> None:
    """Raise InputError with a line per fault, or MissingClient."""
    installed = version("qdrant-client")
    if numbers(installed) < _CLIENT_FLOOR:
        raise MissingClient(
            f"qdrant-client {installed} is too old; run: pip install 'retrieverbench[qdrant]'"
        )
    faults = [f"qdrant: {fault}" for fault in _faults(settings, options)]
    if faults:
        raise InputError(*faults)


def check_server(served: str, settings: Settings, search: Search) -> bool:
    """Whether this server can count IDF within a tenant; Unsupported for what it cannot do."""
    has = numbers(served)
    if "hybrid" in settings.modes and search.fusion == "rrf":
        if has < _RRF_CONSTANT_SINCE:
            raise Unsupported(
                f"qdrant {served} cannot set the rank constant of RRF; use 1.16 or newer, set "
                "search.fusion to dbsf, or leave out mode hybrid"
            )
        if search.weights is not None and has < _RRF_WEIGHTS_SINCE:
            raise Unsupported(
                f"qdrant {served} cannot weight RRF; use 1.17 or newer, or leave out search.weights"
            )
    return has >= _IDF_CORPUS_SINCE


def _faults(settings: Settings, options: Options) -> Iterator[str]:
    if not settings.endpoint:
        yield "endpoint: empty; give the server's URL"
    if settings.layout not in _LAYOUTS:
        yield f"layout: {settings.layout!r} is not supported; use {', '.join(_LAYOUTS)}"
    if settings.modes & {"dense", "hybrid"} and settings.dimension < 1:
        yield f"dimension: {settings.dimension}; dense vectors need one"
    if settings.concurrency < 1:
        yield f"concurrency: {settings.concurrency}; must be 1 or more"
    if options.search.weights is not None and options.search.fusion != "rrf":
        yield "search.weights: only fusion rrf has weights; remove them"
    yield from (
        _own_faults(settings, options) if settings.attached is None else _attached_faults(settings)
    )


def _own_faults(settings: Settings, options: Options) -> Iterator[str]:
    if not settings.place.startswith(OWN_PREFIX):
        yield f"place: {settings.place!r} does not begin with {OWN_PREFIX!r}"
    if settings.layout == "index" and re.fullmatch(r"[A-Za-z0-9_-]*", settings.place) is None:
        yield f"place: {settings.place!r}: layout index needs letters, digits, _ and - only"
    if options.search.sparse:
        yield "search.sparse: only an attached collection's vector can be named; remove it"


def _attached_faults(settings: Settings) -> Iterator[str]:
    if settings.layout == "index":
        yield "layout: one attached collection is no collection per tenant; use filter or partition"
