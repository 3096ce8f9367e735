"""The table of times, with what each of them is worth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from retrieverbench.model import Artifact, Noise, TargetResult, Timings
from retrieverbench.report.cells import DASH, figure, percentile_cell, rate
from retrieverbench.report.table import Table

COLUMNS = (
    "target",
    "fidelity",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "ok/s",
    "p50 CV",
    "requests",
    "errors",
    "same answers",
    "client CPU µs",
    "validity",
)
_PERCENTILES = ("p50", "p95", "p99")
TOO_NOISY = math.log(1.5)
"""A target that differs from itself by more leaves nothing to compare."""
_NUMBERS = {"p50": "p50", "p95": "p95", "throughput": "ok/s"}


def service_times(artifact: Artifact) -> Table:
    """Times of every target that was timed; a time that means nothing is not shown."""
    timed = [(result, result.timings) for result in artifact.targets if result.timings is not None]
    rows = tuple(
        (result.target.label, result.fidelity or DASH, *_cells(result, timings))
        for result, timings in timed
    )
    if not timed:
        return Table("Service time", COLUMNS, ())
    notes = (
        *_comparable(timed),
        _what_it_is([timings for _result, timings in timed]),
        *_noise(artifact),
        *_warnings(artifact),
    )
    return Table("Service time", COLUMNS, rows, notes)


def _cells(result: TargetResult, timings: Timings) -> tuple[str, ...]:
    errors = ", ".join(f"{number} {code}" for code, number in timings.errors.items()) or "0"
    counts = (str(timings.requests), errors, _same(timings))
    void = _void(result, timings)
    if void is not None:
        return (*[DASH] * 5, *counts, DASH, void)
    return (
        *(percentile_cell(timings.service.get(name)) for name in _PERCENTILES),
        figure(timings.throughput, 0),
        rate(timings.round_variation),
        *counts,
        _client_part(timings),
        ", ".join(_verdicts(timings)),
    )


def _client_part(timings: Timings) -> str:
    """Processor time of this process per request, and how much of p50 that is."""
    p50 = timings.service["p50"].value if "p50" in timings.service else None
    shown = figure(timings.client_cpu_us, 0)
    if timings.client_cpu_us is None or not p50:
        return shown
    share = timings.client_cpu_us / 1e3 / p50
    return f"{shown} ({'all' if share >= 1 else rate(share)} of p50)"


def _comparable(timed: Sequence[tuple[TargetResult, Timings]]) -> Iterator[str]:
    """Why no two targets may be compared by time, where that is so."""
    unfit = [_unfit(result, timings) for result, timings in timed]
    why = Counter(reason for reasons in unfit for reason in reasons)
    fit = sum(not reasons for reasons in unfit)
    if len(timed) < 2 or fit >= 2:
        return
    counts = ", ".join(f"{number} {reason}" for reason, number in why.items())
    yield (
        f"No two targets of this run may be compared by time. Of {len(timed)}, for one reason or "
        f"several: {counts}."
    )


def _unfit(result: TargetResult, timings: Timings) -> tuple[str, ...]:
    """Every reason why the times of one target may not stand beside another's."""
    reasons = {
        "void": _void(result, timings) is not None,
        "not answered by a vendor's server (fidelity 'server')": result.fidelity != "server",
        "held up by this process or machine (client-limited)": "client-limited" in timings.verdicts,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def _void(result: TargetResult, timings: Timings) -> str | None:
    if result.backend and result.backend.settings_changed:
        return "void: the backend's settings changed during the run"
    return f"invalid: {timings.void}" if timings.void else None


def _same(timings: Timings) -> str:
    """The share of answers equal to the quality pass's; if not all, no rounding makes it 100 %."""
    found = timings.agreement
    if found is None or found.overlap is None:
        return DASH
    if found.equal == found.compared:
        return "100 %"
    share, overlap = (
        min(number, 0.999) for number in (found.equal / found.compared, found.overlap)
    )
    return f"{rate(share)}, overlap {overlap:.3f}"


def _verdicts(timings: Timings) -> Iterator[str]:
    """The verdicts, with the signals that speak for a client at its limit."""
    over = ", ".join(f"{s.name} {figure(s.value, 2)}" for s in timings.signals if s.over)
    for verdict in timings.verdicts:
        yield f"{verdict} ({over})" if verdict == "client-limited" and over else verdict


def _what_it_is(timed: Sequence[Timings]) -> str:
    repeats = [t.requests / t.distinct_queries for t in timed if t.distinct_queries]
    return (
        f"Closed loop ({timed[0].concurrency} workers, {_span([t.rounds for t in timed])} rounds, "
        f"{_span([t.distinct_queries for t in timed])} different questions, each asked "
        f"{_span(repeats)} times on average): "
        "service time, not the latency of a user who arrives by himself. Only targets of fidelity "
        "'server' may be compared by time; the others show theirs for orientation. "
        "'client-limited' means that this process or this machine was at its limit (by the signals "
        "in brackets), so that the time holds waiting of the client's own and is no time of the "
        "backend alone; 'client CPU' is what this process computed per request, on average. 'same "
        "answers' is the share of timed answers with the chunks and the order of the quality pass."
    )


def _span(values: Sequence[float]) -> str:
    """The one value of all targets, or the smallest and the largest of them."""
    shown = [figure(value, 1, trim=True) for value in sorted(values)]
    return " to ".join(dict.fromkeys((shown[0], shown[-1]))) if shown else DASH


def _noise(artifact: Artifact) -> Iterator[str]:
    """How far two measurements of one target differ here, beside every difference."""
    noise = artifact.noise
    if noise is None or not noise.repeats or _moved(artifact, noise):
        yield "No noise floor was measured: no two times of this run may be compared."
        return
    yield (
        f"Noise floor: {noise.target} was timed twice, interleaved with all others, and differed "
        f"from itself by up to {', '.join(_floors(noise))} in {noise.rounds} rounds. A smaller "
        "difference between two targets is none."
    )
    loud = [
        word
        for name, word in _NUMBERS.items()
        if name in noise.repeats and noise.repeats[name].floor > TOO_NOISY
    ]
    if loud:
        yield f"Too noisy to compare by {', '.join(loud)}: time it again on a quieter machine."


def _floors(noise: Noise) -> Iterator[str]:
    for name, word in _NUMBERS.items():
        repeat = noise.repeats.get(name)
        if repeat is not None:
            low, high = f"{repeat.low:.2f}", f"{repeat.high:.2f}"
            yield f"{word} {_percent(repeat.floor)} (ratios {low} to {high})"


def _moved(artifact: Artifact, noise: Noise) -> bool:
    """Whether the times of the target that was measured twice are void themselves."""
    return any(
        result.timings is None or _void(result, result.timings) is not None
        for result in artifact.targets
        if result.target.label == noise.target
    )


def _percent(log_ratio: float) -> str:
    """A difference, rounded up: to 1 %, above 20 % to 5 %, which is all that it is good for."""
    percent = 100 * math.expm1(log_ratio)
    step = 1 if percent <= 20 else 5
    return f"{step * math.ceil(round(percent / step, 6))} %"


def _warnings(artifact: Artifact) -> Iterator[str]:
    """What is said of single targets, and which signals of the client could not be read."""
    unread: dict[str, list[str]] = {}
    for result in artifact.targets:
        if result.timings is not None:
            yield from (f"{result.target.label}: {note}." for note in result.timings.notes[1:])
            for signal in result.timings.signals:
                if signal.value is None:
                    unread.setdefault(signal.name, []).append(
                        f"{result.target.label} ({signal.reason})"
                    )
    for name, targets in unread.items():
        yield (
            f"{name} could not be measured for {', '.join(targets)}: there it does not tell "
            "whether the client kept up."
        )
