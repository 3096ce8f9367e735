"""The table of times shows no time that means nothing, and says what the others are worth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.model import (
    Agreement,
    Artifact,
    Noise,
    Percentile,
    Repeat,
    Signal,
    TargetResult,
    Timings,
)
from retrieverbench.report.times import service_times

MakeArtifact = Callable[..., Artifact]
MakeResult = Callable[..., TargetResult]
LABEL = "fake/lexical/filter"
TIMED = Timings(
    "closed", 4, 400, 20, 8, 4, 1.5, 250.0,
    {name: Percentile(1.25) for name in ("p50", "p95", "p99")},
    {}, ("ok",), 12.5, notes=("closed loop",), round_variation=0.123,
    agreement=Agreement(400, 400, 400, 1.0, 0.95),
)  # fmt: skip
NOISE = Noise(LABEL, 4, {"p50": Repeat(1.01, 0.9, 1.1, math.log(1.121))})


@pytest.fixture
def row(make_artifact: MakeArtifact, make_result: MakeResult) -> Callable[..., dict[str, str]]:
    """The row of a target with these timings, by column."""

    def make(**changes: Any) -> dict[str, str]:
        artifact = make_artifact(make_result(timings=replace(TIMED, **changes)))
        found = service_times(artifact)
        return dict(zip(found.columns, found.rows[0], strict=True))

    return make


@pytest.fixture
def notes(make_artifact: MakeArtifact, make_result: MakeResult) -> Callable[..., str]:
    """All sentences below the table of a target with these timings."""

    def make(noise: Noise | None = None, **changes: Any) -> str:
        result = make_result(timings=replace(TIMED, **changes))
        return "\n".join(service_times(make_artifact(result, noise=noise)).notes)

    return make


def test_a_valid_time_stands_beside_its_variation_and_the_share_of_same_answers(
    row: Callable[..., dict[str, str]],
) -> None:
    found = row()
    assert (found["p50 ms"], found["p50 CV"], found["same answers"]) == ("1.25", "12.3 %", "100 %")
    assert found["validity"] == "ok"


@pytest.mark.parametrize(
    ("agreement", "cell"),
    [
        (Agreement(400, 400, 398, 0.9988, 0.95), "99.5 %, overlap 0.999"),
        (Agreement(100_000, 100_000, 99_999, 0.999999, 0.95), "99.9 %, overlap 0.999"),
        (Agreement(400, 400, 0, 0.0, 0.95), "0 %, overlap 0.000"),
        (Agreement(0, 0, 0, None, 0.95), "-"),
        (None, "-"),
    ],
)
def test_answers_that_are_not_all_the_same_are_never_called_so(
    row: Callable[..., dict[str, str]], agreement: Agreement | None, cell: str
) -> None:
    assert row(agreement=agreement)["same answers"] == cell


def test_a_void_time_is_not_shown_and_says_why(row: Callable[..., dict[str, str]]) -> None:
    found = row(void="answers are others", verdicts=("invalid",))
    for column in ("p50 ms", "p95 ms", "p99 ms", "ok/s", "p50 CV", "client CPU µs"):
        assert found[column] == "-"
    assert found["requests"] == "400"
    assert found["validity"] == "invalid: answers are others"


def test_a_limited_client_is_shown_with_its_signals(row: Callable[..., dict[str, str]]) -> None:
    signals = (
        Signal("headroom", 1.25, 2.0, over=True),
        Signal("run-queue wait", 0.01, 0.05, over=False),
    )
    found = row(verdicts=("client-limited", "not-steady"), signals=signals)
    assert found["validity"] == "client-limited (headroom 1.25), not-steady"


def test_the_clients_part_stands_beside_its_processor_time(
    row: Callable[..., dict[str, str]],
) -> None:
    assert row()["client CPU µs"] == "12 (1 % of p50)"
    assert row(client_cpu_us=2000.0)["client CPU µs"] == "2000 (all of p50)"
    assert row(client_cpu_us=None)["client CPU µs"] == "-"


@pytest.mark.parametrize(
    ("fidelity", "changes", "told"),
    [
        ("server", {}, ""),
        ("engine", {}, "2 not answered by a vendor's server (fidelity 'server')"),
        (
            "server",
            {"verdicts": ("client-limited",)},
            "2 held up by this process or machine (client-limited)",
        ),
        ("server", {"void": "x"}, "2 void"),
        (
            "engine",
            {"verdicts": ("client-limited",)},
            (
                "2 not answered by a vendor's server (fidelity 'server'), "
                "2 held up by this process or machine (client-limited)"
            ),
        ),
    ],
)
def test_why_no_two_targets_may_be_compared_is_told_first(
    make_artifact: MakeArtifact,
    make_result: MakeResult,
    fidelity: str,
    changes: dict[str, Any],
    told: str,
) -> None:
    pair = [
        make_result(name=name, fidelity=fidelity, timings=replace(TIMED, **changes))
        for name in ("a", "b")
    ]
    first = service_times(make_artifact(*pair, noise=NOISE)).notes[0]
    reasons = f"Of 2, for one reason or several: {told}."
    sentence = f"No two targets of this run may be compared by time. {reasons}"
    assert first == sentence if told else first.startswith("Closed loop")


@pytest.mark.parametrize(("ratio", "shown"), [(1.151, "16 %"), (1.31, "35 %"), (1.6, "60 %")])
def test_a_loud_machine_is_called_so(notes: Callable[..., str], ratio: float, shown: str) -> None:
    found = notes(Noise(LABEL, 4, {"p50": Repeat(1.0, 0.9, ratio, math.log(ratio))}))
    assert f"p50 {shown} (ratios" in found
    assert ("Too noisy to compare by p50" in found) == (ratio > 1.5)


def test_a_signal_that_was_not_read_is_named_with_its_reason(notes: Callable[..., str]) -> None:
    signals = (Signal("loop lag p99 ms", None, 1.0, over=False, reason="n=3 < 100"),)
    assert f"loop lag p99 ms could not be measured for {LABEL} (n=3 < 100)" in (
        notes(signals=signals)
    )


def test_what_is_noted_of_one_target_is_printed_with_its_name(notes: Callable[..., str]) -> None:
    found = notes(notes=("closed loop", "may not be steady"))
    assert f"{LABEL}: may not be steady." in found
    assert f"{LABEL}: closed loop" not in found


def test_questions_and_their_repeats_are_printed(notes: Callable[..., str]) -> None:
    assert "20 different questions, each asked 20 times on average" in notes()
    assert "each asked 2.7 times on average" in notes(requests=54)


def test_targets_that_were_asked_differently_are_all_covered(
    make_artifact: MakeArtifact, make_result: MakeResult
) -> None:
    fewer = replace(TIMED, rounds=1, requests=50, distinct_queries=10)
    artifact = make_artifact(make_result(timings=TIMED), make_result(timings=fewer))
    told = "1 to 4 rounds, 10 to 20 different questions, each asked 5 to 20 times on average"
    assert told in "\n".join(service_times(artifact).notes)


def test_the_noise_floor_is_printed_rounded_up(notes: Callable[..., str]) -> None:
    found = notes(NOISE)
    assert f"{LABEL} was timed twice" in found
    assert "p50 13 % (ratios 0.90 to 1.10)" in found
    assert "may be compared" not in found.partition("Noise floor")[2]


@pytest.mark.parametrize(
    "changes", [{"noise": None}, {"noise": Noise(LABEL, 4, {})}, {"noise": NOISE, "void": "x"}]
)
def test_without_a_noise_floor_no_times_may_be_compared(
    notes: Callable[..., str], changes: dict[str, Any]
) -> None:
    assert "no two times of this run may be compared" in notes(**changes)
