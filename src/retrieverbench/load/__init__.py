"""Latency and throughput."""

from retrieverbench.load.block import BlockPlan, BlockRecord, empty_record, run_block
from retrieverbench.load.closed import (
    ClosedPlan,
    Subject,
    TimedResult,
    largest,
    measure_closed,
    query_order,
)
from retrieverbench.load.judge import Violation
from retrieverbench.load.plausible import derived, impossible, noise_faults
from retrieverbench.load.rounds import NOISE_ROUNDS, noise_between, with_steadiness

__all__ = [
    "NOISE_ROUNDS",
    "BlockPlan",
    "BlockRecord",
    "ClosedPlan",
    "Subject",
    "TimedResult",
    "Violation",
    "derived",
    "empty_record",
    "impossible",
    "largest",
    "measure_closed",
    "noise_between",
    "noise_faults",
    "query_order",
    "run_block",
    "with_steadiness",
]
