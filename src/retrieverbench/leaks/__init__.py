"""What was seen of other tenants, judged by our own ledger."""

from retrieverbench.leaks.canary import Canary, CanaryResult, make_canaries, probe_canaries
from retrieverbench.leaks.columns import leak_columns
from retrieverbench.leaks.control import control_cases, control_chunks, count_foreign
from retrieverbench.leaks.ledger import Ledger, check_run, foreign_hits, make_ledger

__all__ = [
    "Canary",
    "CanaryResult",
    "Ledger",
    "check_run",
    "control_cases",
    "control_chunks",
    "count_foreign",
    "foreign_hits",
    "leak_columns",
    "make_canaries",
    "make_ledger",
    "probe_canaries",
]
