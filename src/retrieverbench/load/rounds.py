"""What the rounds of a measurement say beside its percentiles: noise, drift, variation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

from retrieverbench.errors import Code
from retrieverbench.load.judge import JudgedBlock
from retrieverbench.load.percentiles import rank_of, smallest_sample
from retrieverbench.model import Noise, Repeat, Round, Timings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float64]

NOISE_ROUNDS = 2
"""A A' and A' A: below this the two do not have the same place on average."""
DRIFT_LIMIT = math.log(1.10)
DRIFT_ALPHA = 0.01
DRIFT_ROUNDS = 8
"""From this on a sign-flip test can reach DRIFT_ALPHA: with 7 rounds its smallest p is 0.0156."""
WINDOWS = 20
LEAST_PER_WINDOW = 6
_NUMBERS = ("p50", "p95", "throughput")
_EXACT_ROUNDS = 14
_DRAWS = 20_000


def round_of(block: JudgedBlock) -> Round:
    """One block by itself."""
    import numpy as np

    ok = block.code == Code.OK
    in_order = _service(block)
    ordered = np.sort(in_order)
    timeouts = int((block.code == Code.TIMEOUT).sum())
    seconds = float(block.end.max() - block.start.min()) / 1e9
    return Round(
        p50=_observed(ordered, 0.50, timeouts),
        p95=_observed(ordered, 0.95, timeouts),
        throughput=int(ok.sum()) / seconds if seconds else None,
        drift=_drift(in_order),
    )


def variation(rounds: Sequence[Round]) -> float | None:
    """The coefficient of variation of p50 over the rounds; None below two of them."""
    values = [found.p50 for found in rounds if found.p50 is not None]
    return stdev(values) / fmean(values) if len(values) > 1 else None


def noise_between(target: str, first: Timings, again: Timings) -> Noise | None:
    """What two measurements of one target differ by; None where there are too few rounds.

    Round by round, so that what slows the machine down for a while meets both.
    """
    rounds = min(len(first.per_round), len(again.per_round))
    if rounds < NOISE_ROUNDS:
        return None
    repeats = {}
    for name in _NUMBERS:
        pairs = [
            (getattr(one, name), getattr(other, name))
            for one, other in zip(first.per_round, again.per_round, strict=False)
        ]
        if all(one and other for one, other in pairs):
            ratios = [other / one for one, other in pairs]
            floor = max(abs(math.log(ratio)) for ratio in ratios)
            repeats[name] = Repeat(median(ratios), min(ratios), max(ratios), floor)
    return Noise(target, rounds, repeats, again.errors)


def with_steadiness(timings: Timings, noise: Noise | None) -> Timings:
    """The timings with `not-steady`, if they are so by their rounds' drift.

    Each round compares p50 of its first third with that of its last; the median of these
    differences has to exceed both 10 % and the noise floor, and a sign-flip test over the
    rounds has to reject that they go either way. Too few rounds cannot.
    """
    drifts = [found.drift for found in timings.per_round if found.drift is not None]
    floor = noise.repeats["p50"].floor if noise and "p50" in noise.repeats else 0.0
    if len(drifts) < DRIFT_ROUNDS or median(map(abs, drifts)) <= max(DRIFT_LIMIT, floor):
        return timings
    if sign_flip_p(drifts) > DRIFT_ALPHA:
        return timings
    others = tuple(word for word in timings.verdicts if word != "ok")
    return replace(timings, verdicts=(*others, "not-steady"))


def sign_flip_p(values: Sequence[float]) -> float:
    """Two-sided p of a mean of 0 if each value could as well have the other sign.

    Exact up to 14 values; beyond, 20,000 drawn sets of signs, the same ones every time.
    """
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    n = len(data)
    if n <= _EXACT_ROUNDS:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng(0).integers(0, 2, size=(_DRAWS, n))
    sums = np.abs((2 * bits - 1) @ data)
    reached = int((sums >= abs(data.sum()) * (1 - 1e-12)).sum())
    return reached / len(bits) if n <= _EXACT_ROUNDS else (reached + 1) / (len(bits) + 1)


def steadiness_notes(blocks: Sequence[JudgedBlock]) -> Iterator[str]:
    """A warning where few rounds cannot decide and their times trend by more than 10 %.

    No verdict: on a shared machine neighbouring windows resemble each other, and the tests
    assume that they do not.
    """
    import numpy as np

    if len(blocks) >= DRIFT_ROUNDS:
        return
    service = np.concatenate([_service(block) for block in blocks])
    drift = _drift(service)
    windows = min(WINDOWS, len(service) // LEAST_PER_WINDOW)
    if drift is None or windows < WINDOWS // 2 or abs(drift) <= DRIFT_LIMIT:
        return
    medians = [float(np.median(part)) for part in np.array_split(service, windows)]
    if min(_trend_p(medians), _change_p(medians)) <= DRIFT_ALPHA:
        yield (
            f"may not be steady: p50 of the last third of the requests is {math.exp(-drift):.2f} "
            f"times that of the first; rounds = {DRIFT_ROUNDS} or more would decide"
        )


def _service(block: JudgedBlock) -> Samples:
    """The times of complete answers in milliseconds, in the order in which they were asked."""
    import numpy as np

    ok = block.code == Code.OK
    order = np.argsort(block.start[ok], kind="stable")
    times: Samples = ((block.end - block.start)[ok] / 1e6)[order]
    return times


def _observed(ordered: Samples, share: float, timeouts: int) -> float | None:
    """A percentile of ascending samples; None for too few, and where it lies among timeouts."""
    n = len(ordered) + timeouts
    rank = rank_of(share, n)
    if n < smallest_sample(share) or rank > len(ordered):
        return None
    return float(ordered[rank - 1])


def _drift(service: Samples) -> float | None:
    """ln(p50 of the first third / p50 of the last third); None where these are too few."""
    import numpy as np

    third = len(service) // 3
    if third < LEAST_PER_WINDOW:
        return None
    first, last = (float(np.median(part)) for part in (service[:third], service[-third:]))
    return math.log(first / last) if first > 0 and last > 0 else None


def _signs(values: Sequence[float]) -> NDArray[np.float64]:
    """The sign of each later value minus each earlier one, above the diagonal."""
    import numpy as np

    data = np.asarray(values)
    return np.triu(np.sign(data[None, :] - data[:, None]), 1)


def _trend_p(values: Sequence[float]) -> float:
    """Two-sided p of Kendall's trend test (Mann 1945), by its normal approximation."""
    n = len(values)
    score = abs(float(_signs(values).sum()))
    spread = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return math.erfc(max(score - 1, 0) / spread / math.sqrt(2))


def _change_p(values: Sequence[float]) -> float:
    """The approximate p of Pettitt's test (1979) for one change of level."""
    n = len(values)
    signs = _signs(values)
    largest = max(abs(float(signs[:cut, cut:].sum())) for cut in range(1, n))
    return min(2 * math.exp(-6 * largest**2 / (n**3 + n**2)), 1.0)
