"""Whether the numbers of a measurement can stand beside one another.

The samples are not kept, so that no percentile can be computed again. But what follows from
other numbers of the measurement is, and the rest is bounded by them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from retrieverbench.errors import Code
from retrieverbench.load.closed import ClosedPlan, plan_hash, query_order
from retrieverbench.load.percentiles import rank_of, smallest_sample
from retrieverbench.load.rounds import DRIFT_ROUNDS, LEAST_PER_WINDOW, variation, with_steadiness
from retrieverbench.load.signals import SIGNALS, client_notes, judge_again
from retrieverbench.load.summary import (
    CLOSED,
    LITTLE_LIMIT,
    PERCENTILES,
    unaccounted,
    unlike,
    verdict_words,
)
from retrieverbench.model import Noise, Percentile, Round, Timings

Fault = tuple[str, object, str]
"""A field's path, its value, and what it had to be."""
SLACK = 1e-6
"""Relative: times are sums of nanoseconds, printed as fractions."""
EXACT = 1e-12
"""Relative: numbers made of others that are kept in full."""
CUT_OFF = 0.99
"""A round that is cut off lasts at least this share of its time; its first request starts late."""
_IN_FLIGHT = re.compile(r"(\d+\.\d\d) of \d+ requests were in flight .*")


def derived(
    timings: Timings, plan: ClosedPlan, questions: Sequence[Hashable], noise: Noise | None
) -> Timings:
    """The timings with every number computed again that others of them, or the plan, give.

    `questions` were asked, in the order of the set; two of them may be equal. An artifact holds
    no other agreement than that of all timed answers, for all questions of an accepted run were
    answered.
    """
    ok = _answered(timings)
    p50 = _value(timings, "p50")
    signals = judge_again(timings.signals, p50)
    void = _void(timings)
    agreement = timings.agreement
    if agreement is not None:
        answers = ok + timings.errors.get(Code.WRONG_COUNT.word, 0)
        agreement = replace(agreement, answers=answers, least=plan.min_overlap)
    steady = [note for note in timings.notes if note.startswith("may not be steady: ")]
    if len(timings.per_round) >= DRIFT_ROUNDS:
        steady = []
    again = replace(
        timings,
        mode="closed",
        concurrency=plan.concurrency,
        distinct_queries=_distinct(timings, plan, questions),
        rounds=len(timings.per_round),
        seconds=_seconds(timings, plan),
        throughput=ok / timings.seconds if ok and timings.seconds else None,
        service=_service(timings, plan),
        verdicts=tuple(verdict_words(timings.errors, p50, signals, void)) or ("ok",),
        plan_hash=plan_hash(len(questions), plan),
        notes=(CLOSED, *client_notes(plan.concurrency, timings.client_cpu_us, p50), *steady[:1]),
        agreement=agreement,
        signals=signals,
        round_variation=variation(timings.per_round),
        void=void,
    )
    return with_steadiness(again, noise)


def impossible(timings: Timings, plan: ClosedPlan) -> Iterator[Fault]:
    """Numbers that no measurement of this plan gives, whatever the backend."""
    counts = list(_count_faults(timings, plan))
    yield from counts
    if counts:
        return
    yield from _service_faults(timings)
    yield from _round_faults(timings, plan)
    yield from _agreement_faults(timings)
    for name in ("client_cpu_us", "run_queue_wait", "server_ms_p50"):
        value = getattr(timings, name)
        if value is not None and not 0 <= value < math.inf:
            yield name, value, "0 or more expected"
    yield from _signal_faults(timings)
    waits = [s.value for s in timings.signals if s.name == "run-queue wait"]
    told, most = timings.run_queue_wait, next(iter(waits), None)
    if (told is None) != (most is None) or (told or 0.0) > (most or 0.0) * (1 + SLACK):
        yield "run_queue_wait", told, f"at most the signal's {most}"
    if timings.client_cpu_us is None:
        yield "client_cpu_us", None, "there beside requests"


def _count_faults(timings: Timings, plan: ClosedPlan) -> Iterator[Fault]:
    most = len(timings.per_round) * plan.requests
    if not 0 < timings.requests <= most:
        yield "requests", timings.requests, f"1 to {most}"
    if not timings.errors and len(timings.per_round) != plan.rounds:
        yield "per_round", len(timings.per_round), f"{plan.rounds} rounds by the suite"
    if timings.requests < most and timings.seconds < plan.seconds * CUT_OFF:
        yield (
            "requests",
            timings.requests,
            f"{most} by the suite: no round was cut off at {plan.seconds:g} s",
        )
    words = {code.word for code in Code} - {Code.OK.word}
    for word, count in timings.errors.items():
        if word not in words or count < 1:
            yield f"errors.{word}", count, "a code's word, and how often it came"
    if _answered(timings) < 0:
        yield "errors", dict(timings.errors), f"at most {timings.requests} requests"
    warmup = plan.warmup * plan.concurrency
    if not 0 <= timings.warmup_requests <= warmup:
        yield "warmup_requests", timings.warmup_requests, f"at most {warmup} by the suite"


def _service_faults(timings: Timings) -> Iterator[Fault]:
    """Percentiles in order, within their intervals, and with room for them in the seconds."""
    if list(timings.service) != [*PERCENTILES, "max"]:
        yield "service", list(timings.service), f"{[*PERCENTILES, 'max']} expected"
        return
    for name, found in timings.service.items():
        place = f"service.{name}"
        bounds = [found.low, found.value, found.high]
        if (found.low is None) != (found.high is None) or (name == "max" and found.low is not None):
            yield f"{place}.low", found.low, "both bounds or none, and none of the largest"
        numbers = [number for number in bounds if number is not None]
        if any(not 0 < number < math.inf for number in numbers):
            yield place, numbers, "milliseconds above 0"
        if numbers != sorted(numbers):
            yield place, numbers, "low, value and high in this order"
    for field in ("low", "value", "high"):
        in_order = [(n, v) for n, p in timings.service.items() if (v := getattr(p, field))]
        for (lower, one), (upper, other) in pairwise(in_order):
            if one > other:
                yield f"service.{lower}.{field}", one, f"at most that of {upper}, {other}"
    yield from _room_faults(timings)


def _room_faults(timings: Timings) -> Iterator[Fault]:
    """The longest request is the longest, and all of them took place in the seconds."""
    longest = _value(timings, "max")
    highs = [p.high for p in timings.service.values() if p.high is not None]
    if longest is not None and highs and max(highs) > longest:
        yield "service.max.value", longest, f"at least {max(highs)}"
    least = _least_busy_ms(timings)
    room = timings.concurrency * timings.seconds * 1e3
    if not 0 < timings.seconds < math.inf or least > room * (1 + SLACK):
        fewest = least / 1e3 / max(timings.concurrency, 1)
        words = f"at least {fewest:.6g}, for {timings.requests} requests of this length"
        yield "seconds", timings.seconds, words


def _least_busy_ms(timings: Timings) -> float:
    """The least that the times of all answers can add up to, by their percentiles."""
    ok = _answered(timings)
    if timings.errors.get(Code.TIMEOUT.word):
        return 0.0
    steps = [
        (rank_of(share, ok), value)
        for name, share in PERCENTILES.items()
        if (value := _value(timings, name)) is not None
    ]
    longest = _value(timings, "max")
    if longest is not None:
        steps.append((ok, longest))
    ends = [rank for rank, _value in steps[1:]] + [ok + 1]
    return sum((end - rank) * value for (rank, value), end in zip(steps, ends, strict=True))


def _round_faults(timings: Timings, plan: ClosedPlan) -> Iterator[Fault]:
    for number, found in enumerate(timings.per_round):
        for name in ("p50", "p95", "throughput"):
            value = getattr(found, name)
            if value is not None and not 0 < value < math.inf:
                yield f"per_round.{number}.{name}", value, "a number above 0"
        if found.p50 is not None and found.p95 is not None and found.p50 > found.p95:
            yield f"per_round.{number}.p50", found.p50, f"at most p95, {found.p95}"
        if found.drift is not None and not math.isfinite(found.drift):
            yield f"per_round.{number}.drift", found.drift, "a finite number"
        if _is_full(timings, plan):
            yield from _full_round_faults(number, found, plan)
    if not _is_full(timings, plan):
        return
    for name in ("p50", "p95"):
        value = _value(timings, name)
        parts = [part for r in timings.per_round if (part := getattr(r, name)) is not None]
        if value is not None and parts and not min(parts) <= value <= max(parts):
            between = f"between those of the rounds, {min(parts)} and {max(parts)}"
            yield f"service.{name}.value", value, between


def _full_round_faults(number: int, found: Round, plan: ClosedPlan) -> Iterator[Fault]:
    """A round that answered everything that the plan asks."""
    for name, least in (
        *((name, smallest_sample(PERCENTILES[name])) for name in ("p50", "p95")),
        ("drift", 3 * LEAST_PER_WINDOW),
    ):
        value = getattr(found, name)
        if (value is None) != (plan.requests < least):
            yield f"per_round.{number}.{name}", value, f"there from {least} answers on"
    if found.p50 is not None and found.throughput is not None:
        late = plan.requests - rank_of(0.5, plan.requests) + 1
        most = 1e3 * plan.concurrency * plan.requests / (late * found.p50)
        if found.throughput > most * (1 + SLACK):
            yield f"per_round.{number}.throughput", found.throughput, f"at most {most:.6g}"


def _signal_faults(timings: Timings) -> Iterator[Fault]:
    names = [signal.name for signal in timings.signals]
    if names != list(SIGNALS):
        yield "signals", names, f"{list(SIGNALS)} in this order"
    for number, signal in enumerate(timings.signals):
        if (signal.value is None) != bool(signal.reason):
            yield f"signals.{number}.reason", signal.reason, "there just where there is no value"
        if signal.value is not None and not 0 <= signal.value < math.inf:
            yield f"signals.{number}.value", signal.value, "0 or more expected"


def _agreement_faults(timings: Timings) -> Iterator[Fault]:
    found = timings.agreement
    if found is None:
        yield "agreement", None, "there: timed answers are compared with those of the quality pass"
        return
    if found.compared != found.answers:
        yield "agreement.compared", found.compared, f"{found.answers}: all could be compared"
    if not 0 <= found.equal <= found.compared:
        yield "agreement.equal", found.equal, f"0 to {found.compared}"
    if not found.compared:
        return
    overlap, least = found.overlap, found.equal / found.compared
    all_equal = found.equal == found.compared
    if overlap is None or not least - SLACK <= overlap <= 1 or (all_equal != (overlap == 1)):
        yield "agreement.overlap", overlap, f"{least:.6g} to 1, and 1 just where all are equal"


def noise_faults(noise: Noise, first: Timings, plan: ClosedPlan) -> Iterator[Fault]:
    """What two measurements of a target cannot differ by; `first` are its own timings."""
    if noise.rounds != first.rounds and not (noise.errors and noise.rounds < first.rounds):
        yield "noise.rounds", noise.rounds, f"{first.rounds}, as the target's own"
    names = [n for n in ("p50", "p95", "throughput") if _is_in_all(n, first)]
    if _is_full(first, plan) and not noise.errors and list(noise.repeats) != names:
        yield "noise.repeats", list(noise.repeats), f"{names}, as the target's rounds have"
    for name, found in noise.repeats.items():
        place = f"noise.repeats.{name}"
        numbers = (found.low, found.ratio, found.high)
        if not all(0 < number < math.inf for number in numbers) or list(numbers) != sorted(numbers):
            yield place, numbers, "low, ratio and high above 0 in this order"
            continue
        floor = max(abs(math.log(found.low)), abs(math.log(found.high)))
        if not math.isclose(found.floor, floor, rel_tol=EXACT, abs_tol=1e-12):
            yield f"{place}.floor", found.floor, f"{floor}, the larger |ln| of low and high"
        middle = (found.low + found.high) / 2
        if noise.rounds == 2 and not math.isclose(found.ratio, middle, rel_tol=EXACT):
            yield f"{place}.ratio", found.ratio, f"{middle}, the median of two rounds"
    for word, count in noise.errors.items():
        if count < 1:
            yield f"noise.errors.{word}", count, "how often it came"


def _is_in_all(name: str, timings: Timings) -> bool:
    return all(getattr(found, name) for found in timings.per_round)


def _is_full(timings: Timings, plan: ClosedPlan) -> bool:
    """Whether every round asked all that the plan asks, and got its answer."""
    return not timings.errors and timings.requests == plan.rounds * plan.requests


def _distinct(timings: Timings, plan: ClosedPlan, questions: Sequence[Hashable]) -> int:
    """How many different questions the plan asks; at most as many where rounds were cut off."""
    orders = (
        query_order(len(questions), plan.requests, plan.seed, number)
        for number in range(len(timings.per_round))
    )
    planned = len({questions[index] for order in orders for index in order})
    if timings.requests == len(timings.per_round) * plan.requests:
        return planned
    return max(1, min(timings.distinct_queries, planned, timings.requests))


def _answered(timings: Timings) -> int:
    return timings.requests - sum(timings.errors.values())


def _value(timings: Timings, name: str) -> float | None:
    found = timings.service.get(name)
    return found.value if found is not None else None


def _seconds(timings: Timings, plan: ClosedPlan) -> float:
    """The rounds' seconds together, where each has as many answers as the plan has requests."""
    rates = [found.throughput for found in timings.per_round]
    if not _is_full(timings, plan) or not all(rates):
        return timings.seconds
    return sum(plan.requests / rate for rate in rates if rate)


def _service(timings: Timings, plan: ClosedPlan) -> dict[str, Percentile]:
    """Which percentiles there are, and which lie among timeouts; their values as told."""
    ok, timeouts = _answered(timings), timings.errors.get(Code.TIMEOUT.word, 0)
    n = ok + timeouts
    service = {}
    for name, found in timings.service.items():
        needed = smallest_sample(PERCENTILES[name]) if name in PERCENTILES else 1
        told = found.value if found.value is not None else math.nan
        service[name] = replace(found, value=told, reason=None, censored=False)
        if name not in PERCENTILES and not ok:
            service[name] = Percentile(None, reason="n=0")
        elif name in PERCENTILES and n < needed:
            service[name] = Percentile(None, reason=f"n={n} < {needed}")
        elif name in PERCENTILES and rank_of(PERCENTILES[name], n) > ok:
            service[name] = Percentile(plan.timeout * 1e3, censored=True)
    return service


def _void(timings: Timings) -> str | None:
    """Why the times mean nothing: by their agreement, or by requests in flight as told."""
    if timings.agreement is not None and not timings.agreement.holds:
        return unlike(timings.agreement)
    told = _IN_FLIGHT.fullmatch(timings.void or "")
    if told is None:
        return None
    in_flight, limit = float(told[1]), LITTLE_LIMIT * timings.concurrency
    beyond = abs(in_flight - timings.concurrency) > limit - 0.005
    return unaccounted(in_flight, timings.concurrency) if beyond else None
