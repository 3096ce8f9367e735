"""How strong a clean result is."""

from __future__ import annotations

import pytest

from probe_support import Toy, audit
from retrieverbench.leaks.bound import bounds_of, upper_bound
from retrieverbench.model import Arm, LeakBound, Outcome, ProbeResult


def result(outcome: Outcome, arm: Arm = "guarded", trials: int = 30) -> ProbeResult:
    return ProbeResult(
        "P01", "canary", "toy", "dense", arm, outcome, "leak", "critical", trials=trials
    )


@pytest.mark.parametrize(("trials", "bound"), [(1, 0.95), (59, 0.0495), (3000, 0.000998)])
def test_it_is_just_below_three_over_n(trials: int, bound: float) -> None:
    assert upper_bound(trials) == pytest.approx(bound, rel=1e-3)
    assert (upper_bound(trials) or 1) < 3 / trials
    assert upper_bound(0) is None


def test_only_an_arm_in_which_everything_passed_has_one() -> None:
    probes = [
        *(result("pass"), result("pass"), result("not applicable", trials=0)),
        *(result("pass", "below the guard"), result("inconclusive", "below the guard")),
    ]
    guarded, below = bounds_of(probes)
    assert guarded == LeakBound("guarded", 60, upper_bound(60))
    assert below == LeakBound("below the guard", 30, None)


@pytest.mark.anyio
async def test_a_question_that_was_asked_before_is_no_trial() -> None:
    """P31 asks four tenants a hundred times, P33 two of them again with the same question."""
    trials = {r.probe: r.trials for r in await audit(Toy, "P31", "P33", modes=("dense",))}
    assert trials == {"P31": 4, "P33": 0}
