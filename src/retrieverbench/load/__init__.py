"""Latency and throughput."""

from retrieverbench.load.block import BlockPlan, BlockRecord, empty_record, run_block
from retrieverbench.load.closed import (
    ClosedPlan,
    Subject,
    TimedResult,
    measure_closed,
    query_order,
)
from retrieverbench.load.judge import Violation

__all__ = [
    "BlockPlan",
    "BlockRecord",
    "ClosedPlan",
    "Subject",
    "TimedResult",
    "Violation",
    "empty_record",
    "measure_closed",
    "query_order",
    "run_block",
]
