"""Numbers of a measurement that cannot stand beside one another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.load import ClosedPlan, derived, impossible, noise_faults
from retrieverbench.load.rounds import variation
from retrieverbench.load.signals import SIGNALS, judge_again
from retrieverbench.model import (
    Agreement,
    Noise,
    Percentile,
    Repeat,
    Round,
    Signal,
    Timings,
)

PLAN = ClosedPlan(2, rounds=2, requests=50, warmup=1, seconds=20.0, timeout=5.0, seed=0)
ROUNDS = (Round(10.0, None, 190.0, 0.0), Round(11.0, None, 180.0, 0.1))
SIGNALS_SEEN = tuple(
    Signal(name, 0.01 if name != "headroom" else 9.0, 0.0, over=False) for name in SIGNALS
)
SECONDS = 50 / 190 + 50 / 180
HONEST = Timings(
    mode="closed",
    concurrency=2,
    requests=100,
    distinct_queries=5,
    warmup_requests=2,
    rounds=2,
    seconds=SECONDS,
    throughput=100 / SECONDS,
    service={
        "p50": Percentile(10.5, 10.0, 11.0),
        "p95": Percentile(11.5, 11.0, 12.0),
        "p99": Percentile(None, reason="n=100 < 368"),
        "max": Percentile(12.5),
    },
    errors={},
    verdicts=("ok",),
    client_cpu_us=80.0,
    run_queue_wait=0.005,
    notes=("service time in a closed loop, not the latency of a user who arrives by himself",),
    agreement=Agreement(100, 100, 100, 1.0, 0.95),
    signals=judge_again(SIGNALS_SEEN, 10.5),
    per_round=ROUNDS,
    round_variation=variation(ROUNDS),
)


def places(timings: Timings) -> list[str]:
    return [place for place, _found, _expected in impossible(timings, PLAN)]


def test_what_was_measured_is_possible_and_follows() -> None:
    assert places(HONEST) == []
    again = derived(HONEST, PLAN, range(5), None)
    assert replace(again, plan_hash="", seconds=SECONDS) == HONEST
    assert again.seconds == pytest.approx(SECONDS)


@pytest.mark.parametrize(
    ("asked", "requests", "told", "expected"),
    [
        ("abcde", 100, 4, 5),
        ("aabbc", 100, 5, 3),
        ("abcde", 90, 4, 4),  # rounds that were cut off may have asked fewer
        ("abcde", 90, 9, 5),
        ("abcde", 2, 5, 2),
    ],
)
def test_different_questions_follow_from_the_plan(
    asked: str, requests: int, told: int, expected: int
) -> None:
    timings = replace(HONEST, requests=requests, distinct_queries=told)
    assert derived(timings, PLAN, asked, None).distinct_queries == expected


def percentile(
    name: str, value: float, low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    return {"service": {**HONEST.service, name: Percentile(value, low, high)}}


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"requests": 101}, "requests"),
        ({"requests": 90}, "requests"),
        ({"warmup_requests": 3}, "warmup_requests"),
        ({"errors": {"timeout": 0}}, "errors.timeout"),
        ({"errors": {"ok": 1}}, "errors.ok"),
        ({"errors": {"timeout": 101}}, "errors"),
        ({"per_round": ROUNDS[:1], "requests": 50}, "per_round"),
        ({"seconds": SECONDS / 2}, "seconds"),
        ({"seconds": -1.0}, "seconds"),
        (percentile("p50", 10.5, 10.6, 11.0), "service.p50"),
        (percentile("p50", -1.0), "service.p50"),
        (percentile("p50", 12.0, 10.0, 12.0), "service.p50.value"),
        (percentile("p50", 10.5, 10.0), "service.p50.low"),
        (percentile("p95", 11.5, 11.0, 13.0), "service.max.value"),
        (percentile("max", 12.5, 12.0, 13.0), "service.max.low"),
        ({"service": {}}, "service"),
        ({"per_round": (ROUNDS[0], replace(ROUNDS[1], p50=-1.0))}, "per_round.1.p50"),
        ({"per_round": (ROUNDS[0], replace(ROUNDS[1], p50=None))}, "per_round.1.p50"),
        ({"per_round": (ROUNDS[0], replace(ROUNDS[1], p95=11.0))}, "per_round.1.p95"),
        (
            {"per_round": (ROUNDS[0], replace(ROUNDS[1], throughput=900.0))},
            "per_round.1.throughput",
        ),
        ({"agreement": None}, "agreement"),
        ({"agreement": Agreement(100, 90, 90, 1.0, 0.95)}, "agreement.compared"),
        ({"agreement": Agreement(100, 100, 90, 1.0, 0.95)}, "agreement.overlap"),
        ({"agreement": Agreement(100, 100, 101, 1.0, 0.95)}, "agreement.equal"),
        ({"run_queue_wait": 0.2}, "run_queue_wait"),
        ({"client_cpu_us": None}, "client_cpu_us"),
        ({"server_ms_p50": -1.0}, "server_ms_p50"),
        ({"signals": HONEST.signals[1:]}, "signals"),
    ],
)
def test_a_number_that_no_measurement_gives_is_named(fields: dict[str, Any], place: str) -> None:
    assert place in places(replace(HONEST, **fields))


def test_a_round_that_was_cut_off_may_ask_less() -> None:
    agreement = Agreement(90, 90, 90, 1.0, 0.95)
    longer = replace(HONEST, requests=90, seconds=20.5, agreement=agreement)
    assert places(longer) == []


@pytest.mark.parametrize(
    ("repeat", "rounds", "place"),
    [
        (Repeat(1.0, 0.9, 1.1, 0.10536051565782628), 2, None),
        (Repeat(1.0, 0.9, 1.1, 0.01), 2, "noise.repeats.p50.floor"),
        (Repeat(1.05, 0.9, 1.1, 0.10536051565782628), 2, "noise.repeats.p50.ratio"),
        (Repeat(2.7, 0.200002, 5.2, 1.6486586255873816), 2, "noise.repeats.p50.ratio"),
        (Repeat(1.2, 0.9, 1.1, 0.10536051565782628), 2, "noise.repeats.p50"),
        (Repeat(1.0, 0.9, 1.1, 0.10536051565782628), 3, "noise.rounds"),
    ],
)
def test_noise_that_cannot_be_is_named(repeat: Repeat, rounds: int, place: str | None) -> None:
    noise = Noise("t", rounds, {"p50": repeat, "throughput": Repeat(1.0, 1.0, 1.0, 0.0)})
    found = [where for where, _found, _expected in noise_faults(noise, HONEST, PLAN)]
    assert found == ([] if place is None else [place])
