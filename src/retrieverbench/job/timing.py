"""One target is timed twice, so that a run says itself how far equal things differ here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieverbench.load import (
    NOISE_ROUNDS,
    ClosedPlan,
    Subject,
    TimedResult,
    largest,
    noise_between,
    with_steadiness,
)
from retrieverbench.model import Fidelity, Noise
from retrieverbench.run import Suite

_AGAIN = " (again)"


def closed_plan(suite: Suite) -> ClosedPlan:
    """What the timed pass of a suite asks."""
    timing = suite.timing
    return ClosedPlan(
        concurrency=timing.concurrency,
        rounds=timing.rounds,
        requests=timing.requests,
        warmup=timing.warmup,
        seconds=timing.seconds,
        timeout=suite.timeout,
        seed=suite.seed,
        min_overlap=timing.min_overlap,
    )


def repeated(subjects: Sequence[Subject], fidelities: Sequence[Fidelity]) -> Subject:
    """The subject that is measured a second time, under a name of its own.

    The first whose times may be compared with others', else the first. It goes behind all
    others, so that its two measurements are as far apart as any two.
    """
    chosen = subjects[to_repeat(fidelities)]
    return replace(chosen, label=chosen.label + _AGAIN)


def to_repeat(fidelities: Sequence[Fidelity]) -> int:
    """The place of the target that is measured a second time."""
    comparable = (place for place, fidelity in enumerate(fidelities) if _counts(fidelity))
    return next(comparable, 0)


def is_repeatable(suite: Suite) -> bool:
    """Whether a suite asks for a noise floor and has rounds enough for one."""
    return suite.timing.noise_floor and suite.timing.rounds >= NOISE_ROUNDS


def take_noise(results: dict[str, TimedResult]) -> Noise | None:
    """Take the second measurement out of the results and judge the others by it.

    What it saw of other tenants, and that it could not be ended, goes to the first one. None
    where there is no such pair.
    """
    noise = None
    for label in [label for label in results if label.endswith(_AGAIN)]:
        again = results.pop(label)
        target = label.removesuffix(_AGAIN)
        first = results[target]
        seen = dict.fromkeys((*first.violations, *again.violations))
        results[target] = replace(
            first,
            violations=tuple(seen),
            abandoned=first.abandoned or again.abandoned,
            totals=largest(first.totals, again.totals),
        )
        if first.timings is not None and again.timings is not None:
            noise = noise_between(target, first.timings, again.timings)
    for label, result in results.items():
        if result.timings is not None:
            steady = with_steadiness(result.timings, noise)
            results[label] = replace(result, timings=steady)
    return noise


def _counts(fidelity: Fidelity) -> bool:
    return fidelity == "server"
