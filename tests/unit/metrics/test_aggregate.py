"""Means."""

from __future__ import annotations

import pytest

from retrieverbench.metrics.aggregate import mean_of, plain_mean
from retrieverbench.model import Mean


def test_the_mean_does_not_depend_on_the_order() -> None:
    values = [0.1] * 10 + [1e-17] * 7 + [1.0]
    assert mean_of(values) == mean_of(values[::-1])
    assert mean_of([0.1] * 10).value == 0.1


def test_the_standard_error_includes_what_counts_as_zero() -> None:
    assert mean_of([1.0, 0.5], 1).standard_error == mean_of([1.0, 0.5, 0.0]).standard_error
    assert mean_of([1.0]).standard_error is None
    assert mean_of([0.0, 1.0]).standard_error == pytest.approx(0.5)


def test_nothing_has_no_mean() -> None:
    assert mean_of([], 3) == Mean(None, 3, 3)
    assert plain_mean([]) is None
