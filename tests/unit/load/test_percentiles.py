"""Exact percentiles against numpy, smallest samples, censored timeouts."""

from __future__ import annotations

import numpy as np
import pytest

from retrieverbench.load.percentiles import percentile, smallest_sample


@pytest.mark.parametrize(
    ("share", "n"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688)]
)
def test_smallest_sample_agrees_with_scipys_interval(share: float, n: int) -> None:
    from scipy.stats import quantile_test

    def exists(size: int) -> bool:
        interval = quantile_test(np.arange(size, dtype=float), p=share).confidence_interval(0.95)
        return not (np.isnan(interval.low) or np.isnan(interval.high))

    assert smallest_sample(share) == n
    assert exists(n)
    assert not exists(n - 1)


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("n", [400, 401, 1000])
def test_values_are_numpys_inverted_cdf(share: float, n: int) -> None:
    samples = np.sort(np.random.default_rng(n).lognormal(size=n))
    expected = float(np.percentile(samples, share * 100, method="inverted_cdf"))
    found = percentile(samples, share, 0, 1000.0)
    assert found.value == expected
    assert found.low is not None
    assert found.high is not None
    assert found.low <= expected <= found.high


def test_too_few_samples_print_nothing() -> None:
    found = percentile(np.arange(100.0), 0.99, 0, 1000.0)
    assert (found.value, found.reason) == (None, "n=100 < 368")


def test_a_percentile_among_timeouts_is_only_a_bound() -> None:
    found = percentile(np.arange(90.0), 0.95, 10, 1000.0)
    assert (found.value, found.censored) == (1000.0, True)


def test_a_percentile_below_the_timeouts_counts_them() -> None:
    found = percentile(np.arange(90.0), 0.5, 10, 1000.0)
    assert (found.value, found.censored) == (49.0, False)
