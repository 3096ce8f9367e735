"""Open targets, ask every case, collect what came back."""

from retrieverbench.run.attach import uid_of
from retrieverbench.run.checks import BadAnswer, check_response
from retrieverbench.run.connect import Connection, Engines, connect, fetch_engine
from retrieverbench.run.guard import Abandoned
from retrieverbench.run.places import (
    Opened,
    Place,
    check_capabilities,
    is_loaded,
    keys_of,
    load_place,
    open_adapter,
    open_place,
    place_name,
)
from retrieverbench.run.quality import ask_all, build_queries, search_once
from retrieverbench.run.registry import LoadedAdapter, adapter_names, load_adapter
from retrieverbench.run.suite import Suite, TargetEntry, load_suite
from retrieverbench.run.text import one_line

__all__ = [
    "Abandoned",
    "BadAnswer",
    "Connection",
    "Engines",
    "LoadedAdapter",
    "Opened",
    "Place",
    "Suite",
    "TargetEntry",
    "adapter_names",
    "ask_all",
    "build_queries",
    "check_capabilities",
    "check_response",
    "connect",
    "fetch_engine",
    "is_loaded",
    "keys_of",
    "load_adapter",
    "load_place",
    "load_suite",
    "one_line",
    "open_adapter",
    "open_place",
    "place_name",
    "search_once",
    "uid_of",
]
