"""Exact percentiles from raw samples, by one definition everywhere.

The definition is numpy's `inverted_cdf`: an observed value. Below the smallest sample for
which a two-sided 95 % order-statistic interval exists, nothing is printed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from retrieverbench.model import Percentile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float64]

DEFINITION = "inverted_cdf"


def smallest_sample(share: float) -> int:
    """The n from which a 95 % interval of this percentile exists: ⌈ln 0.025 / ln p⌉.

    >>> [smallest_sample(p) for p in (0.5, 0.9, 0.95, 0.99, 0.999)]
    [6, 36, 72, 368, 3688]
    """
    return math.ceil(math.log(0.025) / math.log(max(share, 1.0 - share)))


def rank_of(share: float, n: int) -> int:
    """Where the percentile stands among n ascending samples, from 1."""
    return max(math.ceil(share * n - 1e-9), 1)


def percentile(samples: Samples, share: float, timeouts: int, timeout_ms: float) -> Percentile:
    """The percentile of the complete answers and the timeouts together, in milliseconds.

    `samples` are the complete answers, ascending. Timeouts are right-censored: they stand
    above every sample, and a percentile among them is only known to exceed `timeout_ms`.
    """
    n = len(samples) + timeouts
    needed = smallest_sample(share)
    if n < needed:
        return Percentile(None, reason=f"n={n} < {needed}")
    rank = rank_of(share, n)
    if rank > len(samples):
        return Percentile(timeout_ms, censored=True)
    low, high = _interval(samples, share, timeouts)
    return Percentile(float(samples[rank - 1]), low, high)


def _interval(samples: Samples, share: float, timeouts: int) -> tuple[float | None, float | None]:
    """The within-run 95 % order-statistic interval; None without scipy or among timeouts."""
    if timeouts:
        return None, None
    try:
        from scipy.stats import quantile_test
    except ImportError:
        return None, None
    bounds = quantile_test(samples, p=share).confidence_interval(confidence_level=0.95)
    low, high = float(bounds.low), float(bounds.high)
    return (None, None) if math.isnan(low) or math.isnan(high) else (low, high)
