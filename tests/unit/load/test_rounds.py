"""Noise, drift and variation of rounds whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieverbench.errors import Code
from retrieverbench.load.judge import JudgedBlock
from retrieverbench.load.rounds import (
    noise_between,
    round_of,
    sign_flip_p,
    steadiness_notes,
    variation,
    with_steadiness,
)
from retrieverbench.model import Noise, Repeat, Round, Timings

MS = 1_000_000


def block(service_ms: Sequence[float] | NDArray[np.float64], code: Code = Code.OK) -> JudgedBlock:
    """One worker's requests, one after another; the first ten are answered with `code`."""
    took = (np.asarray(service_ms) * MS).astype(np.int64)
    end = np.cumsum(took)
    codes = np.zeros(len(took), dtype=np.int32)
    codes[:10] = code
    return JudgedBlock(end - took, end, codes, ())


def timings(rounds: Sequence[Round], verdicts: tuple[str, ...] = ("ok",)) -> Timings:
    return Timings(
        "closed", 1, 100, 10, 0, len(rounds), 1.0, 1.0, {}, {}, verdicts, per_round=tuple(rounds)
    )


def drifting(*drifts: float) -> Timings:
    return timings([Round(1.0, 2.0, 100.0, drift) for drift in drifts])


def test_one_round_by_itself() -> None:
    found = round_of(block([1.0] * 50 + [3.0] * 50))
    assert (found.p50, found.p95) == (1.0, 3.0)
    assert found.throughput == pytest.approx(500.0)
    assert found.drift == pytest.approx(math.log(1 / 3))


def test_failed_requests_have_no_part_in_times_but_timeouts_stand_above_them() -> None:
    service = [1.0] * 10 + [2.0] * 90
    assert round_of(block(service, Code.THROTTLED)).p50 == 2.0
    assert round_of(block(service, Code.TIMEOUT)).p95 is None


def test_too_few_requests_have_no_percentile_and_no_drift() -> None:
    found = round_of(block([1.0] * 17))
    assert (found.p50, found.p95, found.drift) == (1.0, None, None)
    assert round_of(block([1.0] * 5)).p50 is None


def test_drift_is_by_the_order_of_asking() -> None:
    slower = block([1.0] * 30 + [2.0] * 30)
    mixed = np.random.default_rng(1).permutation(60)
    shuffled = replace(slower, start=slower.start[mixed], end=slower.end[mixed])
    assert round_of(shuffled) == round_of(slower)


def test_variation_of_the_rounds() -> None:
    rounds = [Round(p50, None, None, None) for p50 in (1.0, 3.0)]
    assert variation(rounds) == pytest.approx(math.sqrt(2) / 2)
    assert variation(rounds[:1]) is None


def test_noise_is_the_largest_ratio_of_two_measurements_in_either_direction() -> None:
    first = timings([Round(1.0, 4.0, 100.0, None), Round(1.0, 4.0, 100.0, None)])
    again = timings([Round(0.8, 4.0, 110.0, None), Round(1.1, 5.0, 100.0, None)])
    noise = noise_between("t", first, again)
    assert noise is not None
    assert noise.rounds == 2
    p50 = noise.repeats["p50"]
    assert p50.ratio == pytest.approx(0.95)
    assert (p50.low, p50.high) == (0.8, 1.1)
    assert p50.floor == pytest.approx(math.log(1 / 0.8))
    assert noise.repeats["p95"].floor == pytest.approx(math.log(1.25))
    assert noise.repeats["throughput"].floor == pytest.approx(math.log(1.1))


def test_what_one_round_lacks_has_no_noise() -> None:
    first = timings([Round(1.0, None, 100.0, None), Round(1.0, 4.0, 100.0, None)])
    noise = noise_between("t", first, first)
    assert noise is not None
    assert set(noise.repeats) == {"p50", "throughput"}


def test_one_round_has_no_noise() -> None:
    one = timings([Round(1.0, 2.0, 100.0, None)])
    assert noise_between("t", one, one) is None


def test_eight_rounds_that_slow_down_are_not_steady() -> None:
    assert with_steadiness(drifting(*[-0.2] * 8), None).verdicts == ("not-steady",)


def test_a_verdict_of_before_is_kept() -> None:
    limited = replace(drifting(*[-0.2] * 8), verdicts=("client-limited",))
    assert with_steadiness(limited, None).verdicts == ("client-limited", "not-steady")


@pytest.mark.parametrize(
    "drifts",
    [[-0.2] * 7, [-0.09] * 8, [-0.2, 0.2] * 4, [0.0] * 8],
    ids=["too few rounds", "below 10 %", "either way", "none"],
)
def test_what_cannot_be_told_from_steady_is_not_called_otherwise(drifts: list[float]) -> None:
    assert with_steadiness(drifting(*drifts), None).verdicts == ("ok",)


def test_drift_within_the_noise_of_the_machine_is_none() -> None:
    noise = Noise("t", 8, {"p50": Repeat(1.0, 0.7, 1.3, math.log(1.3))})
    assert with_steadiness(drifting(*[-0.2] * 8), noise).verdicts == ("ok",)
    assert with_steadiness(drifting(*[-0.3] * 8), noise).verdicts == ("not-steady",)


def test_a_target_that_slows_down_by_one_per_cent_a_second_is_not_steady() -> None:
    """Blocks of 30 s at about 100 requests a second: 25 s between the middles of the thirds."""
    rounds = [round_of(block(10 * 1.01 ** np.linspace(0, 30, 3_000))) for _ in range(10)]
    assert with_steadiness(timings(rounds), None).verdicts == ("not-steady",)


@pytest.mark.parametrize(("rounds", "smallest"), [(5, 1 / 16), (7, 1 / 64), (8, 1 / 128)])
def test_smallest_p_of_a_sign_flip_test(rounds: int, smallest: float) -> None:
    assert sign_flip_p([1.0] * rounds) == pytest.approx(smallest)


@pytest.mark.parametrize("rounds", [6, 40])
def test_sign_flips_agree_with_scipy(rounds: int) -> None:
    from scipy.stats import permutation_test

    values = np.random.default_rng(3).normal(0.2, 1.0, rounds)
    oracle = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=20_000,
        random_state=4,  # the name that the oldest allowed version knows too
    )  # fmt: skip
    assert sign_flip_p(list(values)) == pytest.approx(oracle.pvalue, abs=0.02)


def test_equal_rounds_are_seldom_called_unsteady() -> None:
    random = np.random.default_rng(5)
    called = sum(
        with_steadiness(drifting(*random.normal(0, 0.3, 10)), None).verdicts == ("not-steady",)
        for _ in range(300)
    )
    assert called <= 12


def test_few_rounds_that_trend_are_warned_of_and_nothing_more() -> None:
    (note,) = steadiness_notes([block(np.linspace(1.0, 2.0, 300))])
    assert note.startswith("may not be steady: p50 of the last third of the requests is 1.5")


@pytest.mark.parametrize(
    "service",
    [np.ones(300), np.linspace(1.0, 1.05, 300), np.tile([1.0, 2.0], 150), np.linspace(1, 2, 30)],
    ids=["even", "below 10 %", "alternating", "too few"],
)
def test_steady_rounds_are_not_warned_of(service: NDArray[np.float64]) -> None:
    assert list(steadiness_notes([block(service)])) == []


def test_rounds_that_can_decide_are_not_warned_of() -> None:
    assert list(steadiness_notes([block(np.linspace(1.0, 2.0, 300))] * 8)) == []
