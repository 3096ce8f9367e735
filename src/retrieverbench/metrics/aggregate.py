"""Means over cases: each case once, failures counted as 0 and said so."""

from __future__ import annotations

import math
from collections.abc import Collection

from retrieverbench.model import Mean


def mean_of(values: Collection[float], failed: int = 0) -> Mean:
    """The macro mean over answered cases and `failed` ones, which count as 0.

    Without an answered case there is no mean: nothing valid was measured.

    >>> mean = mean_of([1.0, 0.5], failed=1)
    >>> mean.value, mean.n, mean.counted_as_zero, mean.answered
    (0.5, 3, 1, 0.75)
    """
    n = len(values) + failed
    mean = plain_mean(values, failed)
    if mean is None:
        return Mean(None, n, failed)
    error = None
    if n > 1:
        squares = math.fsum((value - mean) ** 2 for value in values) + failed * mean**2
        error = math.sqrt(squares / (n - 1) / n)
    return Mean(mean, n, failed, plain_mean(values), error)


def plain_mean(values: Collection[float], failed: int = 0) -> float | None:
    """The mean of some numbers and of `failed` zeros, None without a number."""
    return math.fsum(values) / (len(values) + failed) if values else None
