"""What was seen of other tenants, judged by our own ledger."""

from retrieverbench.leaks.canary import Canary, CanaryResult, make_canaries, probe_canaries
from retrieverbench.leaks.columns import MAX_KEPT_FINDINGS, leak_columns
from retrieverbench.leaks.control import (
    ControlResult,
    ask_control,
    control_cases,
    control_chunks,
)
from retrieverbench.leaks.ledger import Ledger, check_result, foreign_hits, make_ledger

__all__ = [
    "MAX_KEPT_FINDINGS",
    "Canary",
    "CanaryResult",
    "ControlResult",
    "Ledger",
    "ask_control",
    "check_result",
    "control_cases",
    "control_chunks",
    "foreign_hits",
    "leak_columns",
    "make_canaries",
    "make_ledger",
    "probe_canaries",
]
