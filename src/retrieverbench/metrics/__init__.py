"""Numbers from ids; standard library only."""

from retrieverbench.metrics.conventions import CONVENTIONS
from retrieverbench.metrics.declarations import (
    COUNTERS,
    METRICS,
    Metric,
    lower_is_better,
    parse_metric,
)
from retrieverbench.metrics.scoring import parts_of, score_run
from retrieverbench.metrics.trec import TrecScores, score_trec

__all__ = [
    "CONVENTIONS",
    "COUNTERS",
    "METRICS",
    "Metric",
    "TrecScores",
    "lower_is_better",
    "parse_metric",
    "parts_of",
    "score_run",
    "score_trec",
]
