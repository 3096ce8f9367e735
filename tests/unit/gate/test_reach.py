"""What metrics and counters can come to."""

from __future__ import annotations

import math

import pytest

from retrieverbench.gate.reach import ENDLESS, OF_CASES, OF_DEPTH, OF_HITS, loss_fault, reach
from retrieverbench.metrics import COUNTERS
from retrieverbench.model import Rule


@pytest.mark.parametrize("name", COUNTERS)
def test_every_counter_is_a_share_or_says_what_it_counts(name: str) -> None:
    is_share = reach(name, None, 12, 10) in {(0.0, 1.0), (-1.0, 1.0)}
    words = ("share", "probability", "mean", "1 - ", "smallest tenant")
    assert is_share == COUNTERS[name].meaning.startswith(words)
    kinds = [name in names for names in (OF_CASES, OF_DEPTH, OF_HITS, ENDLESS)]
    assert sum(kinds) == (0 if is_share else 1)
    assert reach(name)[1] == (1.0 if is_share else math.inf)


@pytest.mark.parametrize(
    ("then", "tolerance", "lower", "fault"),
    [
        (0.6, 0.9999, False, "never worse than 0; tolerate less than 0.6"),
        (0.6, 0.6, False, "never worse than 0; tolerate less than 0.6"),
        (0.6, 0.59, False, None),
        (0.0, 0.0, False, "never worse than 0; remove the rule"),
        (0.9, 0.1, True, "never worse than 1; tolerate less than 0.1"),
        (0.0, 0.9, True, None),
    ],
)
def test_more_tolerated_than_can_be_lost(
    then: float, tolerance: float, *, lower: bool, fault: str | None
) -> None:
    rule = Rule("tolerance", "r", metric="m", tolerance=tolerance)
    found = loss_fault(rule, then, 0.0, 1.0, lower=lower)
    assert (found is None) == (fault is None)
    assert fault is None or fault in str(found)
