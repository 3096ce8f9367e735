"""Which target is timed twice, and what becomes of its second measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrieverbench.job.timing import is_repeatable, repeated, take_noise
from retrieverbench.load import Subject, TimedResult, Violation
from retrieverbench.model import Fidelity, Query, Response, Round, Timings
from retrieverbench.run import Abandoned, Suite
from retrieverbench.run.suite import Timing


async def search(_query: Query) -> Response:
    return Response([])


SUBJECTS = [Subject(label, search, [], None) for label in ("a", "b", "c")]
SUITE = Suite(golden="g", corpus="c")
LEAK = Violation(0, 1, "globex/1", "globex")


def timed(p50: float, drift: float = 0.0, rounds: int = 10, **errors: int) -> TimedResult:
    found = Timings(
        "closed", 4, 100, 10, 0, rounds, 1.0, 1.0, {}, errors, ("ok",),
        per_round=(Round(p50, 2 * p50, 1 / p50, drift),) * rounds,
    )  # fmt: skip
    return TimedResult(found, (), 100)


@pytest.mark.parametrize(
    ("fidelities", "label"),
    [
        (("engine", "server", "server"), "b (again)"),
        (("engine", "stand-in", "engine"), "a (again)"),
    ],
)
def test_the_first_whose_times_may_be_compared_is_timed_twice(
    fidelities: tuple[Fidelity, ...], label: str
) -> None:
    assert repeated(SUBJECTS, fidelities).label == label


@pytest.mark.parametrize(
    ("timing", "repeatable"),
    [(Timing(), True), (Timing(rounds=1), False), (Timing(noise_floor=False), False)],
)
def test_one_round_has_no_noise_floor(timing: Timing, repeatable: bool) -> None:
    assert is_repeatable(replace(SUITE, timing=timing)) is repeatable


def test_the_second_measurement_leaves_its_noise_and_its_leaks() -> None:
    again = replace(timed(1.2, timeout=3), violations=(LEAK,))
    results = {"a": timed(1.0), "b": timed(5.0), "a (again)": again}
    noise = take_noise(results)
    assert noise is not None
    assert (noise.target, noise.rounds, noise.errors) == ("a", 10, {"timeout": 3})
    assert noise.repeats["p50"].ratio == pytest.approx(1.2)
    assert set(results) == {"a", "b"}
    assert results["a"].violations == (LEAK,)
    assert results["a"].finished.errors == {}


@pytest.mark.parametrize(("again", "verdict"), [(1.0, "not-steady"), (1.5, "ok")])
def test_every_target_is_judged_by_the_noise_floor(again: float, verdict: str) -> None:
    results = {"a": timed(1.0), "b": timed(5.0, drift=-0.2), "a (again)": timed(again)}
    take_noise(results)
    assert results["b"].finished.verdicts == (verdict,)


def test_without_a_pair_there_is_no_noise() -> None:
    results = {"a": timed(1.0), "b": timed(5.0, drift=-0.2)}
    assert take_noise(results) is None
    assert results["b"].finished.verdicts == ("not-steady",)


def test_a_pair_that_was_cut_off_has_no_noise_but_its_leaks() -> None:
    results = {"a": timed(1.0), "a (again)": TimedResult(None, (LEAK,), 0, totals={2: 9})}
    assert take_noise(results) is None
    assert results["a"].violations == (LEAK,)
    assert results["a"].totals == {2: 9}


def test_a_second_measurement_that_could_not_be_ended_ends_the_first() -> None:
    left = Abandoned("search was cancelled and did not end")
    results = {"a": timed(1.0), "a (again)": TimedResult(None, (), 0, left)}
    assert take_noise(results) is None
    assert results["a"].abandoned is left
