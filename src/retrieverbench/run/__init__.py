"""Open targets, ask every case, collect what came back."""

from retrieverbench.run.attach import uid_of
from retrieverbench.run.checks import BadAnswer, check_response, read_response
from retrieverbench.run.connect import Connection, Engines, connect, fetch_engine
from retrieverbench.run.description import plan_of
from retrieverbench.run.exclusive import engine_at
from retrieverbench.run.guard import Abandoned, Step
from retrieverbench.run.leftovers import Leftover, all_left, left_at
from retrieverbench.run.misplaced import Misplaced
from retrieverbench.run.places import (
    Opened,
    Place,
    is_loaded,
    keys_of,
    load_place,
    open_adapter,
    open_place,
    place_name,
)
from retrieverbench.run.quality import ask_all, build_queries, search_once, to_give
from retrieverbench.run.registry import LoadedAdapter, adapter_names, load_adapter
from retrieverbench.run.suite import LAYOUTS, Suite, TargetEntry
from retrieverbench.run.suite_checks import capability_faults, suite_faults
from retrieverbench.run.suite_file import FILLED_IN, load_suite
from retrieverbench.run.target_checks import address_faults, option_faults
from retrieverbench.run.text import (
    log_frames,
    one_line,
    place_in_file,
    reason_and_remedy,
    refuse_words,
    text_of,
)

__all__ = [
    "FILLED_IN",
    "LAYOUTS",
    "Abandoned",
    "BadAnswer",
    "Connection",
    "Engines",
    "Leftover",
    "LoadedAdapter",
    "Misplaced",
    "Opened",
    "Place",
    "Step",
    "Suite",
    "TargetEntry",
    "adapter_names",
    "address_faults",
    "all_left",
    "ask_all",
    "build_queries",
    "capability_faults",
    "check_response",
    "connect",
    "engine_at",
    "fetch_engine",
    "is_loaded",
    "keys_of",
    "left_at",
    "load_adapter",
    "load_place",
    "load_suite",
    "log_frames",
    "one_line",
    "open_adapter",
    "open_place",
    "option_faults",
    "place_in_file",
    "place_name",
    "plan_of",
    "read_response",
    "reason_and_remedy",
    "refuse_words",
    "search_once",
    "suite_faults",
    "text_of",
    "to_give",
    "uid_of",
]
