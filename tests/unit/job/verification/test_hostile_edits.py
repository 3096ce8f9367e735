"""Edits of several fields that agree with one another, and what each is refused for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from retrieverbench.model import Artifact
from retrieverbench.run import Suite

Accept = Callable[[Any], Artifact | tuple[str, ...]]
LABEL = "memory/dense/filter"


def first(raw: Any) -> Any:
    return raw["targets"][0]


def timings(raw: Any) -> Any:
    return first(raw)["timings"]


def without_the_failed_target(raw: Any) -> None:
    raw["targets"].pop()
    rules = raw["verdict"]["rules"]
    raw["verdict"]["rules"] = [rule for rule in rules if rule["target"] == LABEL]


def under_another_adapter(raw: Any) -> None:
    first(raw)["target"]["adapter"] = "pgvector"


def with_options(raw: Any) -> None:
    first(raw)["target"]["options"]["search"] = {"exact": True}


def failed_and_measured(raw: Any) -> None:
    first(raw).update(failure="down", failure_kind="failed", failure_code="connect")


def with_a_passing_verdict(raw: Any) -> None:
    raw["verdict"].update(word="pass", exit_code=0, reasons=[], kinds=[])


def with_rules_that_pass(raw: Any) -> None:
    with_a_passing_verdict(raw)
    for rule in raw["verdict"]["rules"]:
        if rule["word"] == "refused":
            rule.update(word="pass", reason="", baseline=0.999, limit=0.969)


def twice_as_fast(raw: Any) -> None:
    found = timings(raw)
    found["seconds"] /= 2
    found["throughput"] *= 2


def too_fast_in_every_number(raw: Any) -> None:
    """All that is computed from another number agrees; the requests had no time to happen."""
    found = timings(raw)
    found["seconds"] /= 1000
    found["throughput"] = 200 / found["seconds"]
    for each in found["per_round"]:
        each["throughput"] *= 1000


def p50_above_p95(raw: Any) -> None:
    service = timings(raw)["service"]
    service["p50"], service["p95"] = service["p95"], service["p50"]


def negative_times(raw: Any) -> None:
    timings(raw)["service"]["p50"].update(value=-1.0, low=-2.0, high=-0.5)


def with_more_canaries(raw: Any) -> None:
    leaks = first(raw)["leaks"]
    leaks.update(canaries_asked=20, trials=25, answers=leaks["answers"] + 18)


def with_a_better_bound(raw: Any) -> None:
    first(raw)["leaks"]["upper_bound"] = 0.001


def with_probes_of_an_audit(raw: Any) -> None:
    first(raw)["bounds"] = [{"arm": "guarded", "trials": 3, "upper_bound": 0.63}]


def without_a_backend(raw: Any) -> None:
    first(raw)["backend"] = None


def with_another_count(raw: Any) -> None:
    first(raw)["backend"]["chunks"]["birch"] += 1


def in_the_future(raw: Any) -> None:
    raw["started"] = "29991231T235959Z"


def on_no_day(raw: Any) -> None:
    raw["started"] = "20260230T000000Z"


def with_another_suite_and_targets(raw: Any) -> None:
    """A suite that has changed since is told and no fault: what it says of targets holds."""
    raw["suite_sha256"] = "0" * 64
    first(raw)["target"]["layout"] = "partition"


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (without_the_failed_target, "targets: ['memory/dense/filter'] in the artifact, ["),
        (under_another_adapter, "target.adapter: 'pgvector' in the artifact, 'memory' by the"),
        (with_options, "target.options.search.exact: True in the artifact, absent by the suite"),
        (failed_and_measured, "scores: "),
        (with_a_passing_verdict, "verdict.word: 'pass' in the artifact, 'refused' judged again"),
        (with_rules_that_pass, "verdict.word: 'pass' in the artifact, 'not measured' judged"),
        (twice_as_fast, "timings.seconds: "),
        (too_fast_in_every_number, "timings.seconds: "),
        (p50_above_p95, "timings.service.p50.value: "),
        (negative_times, "timings.service.p50: [-2.0, -1.0, -0.5] in the artifact"),
        (with_more_canaries, "leaks.canaries_asked: 20 in the artifact, 2 with the tenants of"),
        (with_a_better_bound, "leaks.upper_bound: 0.001 in the artifact, 0.3"),
        (with_probes_of_an_audit, "bounds: "),
        (without_a_backend, "backend: None in the artifact, there beside scores"),
        (with_another_count, "backend.chunks.birch: 5 in the artifact, 4 in the corpus here"),
        (in_the_future, "started: '29991231T235959Z' in the artifact, a time that has been"),
        (on_no_day, "started: '20260230T000000Z' in the artifact, a time such as"),
        (with_another_suite_and_targets, "targets.0: 'memory/dense/partition' in the artifact"),
    ],
)
def test_an_edit_is_refused_with_its_place_and_both_values(
    made: tuple[Suite, Any], accept: Accept, edit: Callable[[Any], None], text: str
) -> None:
    raw = copy.deepcopy(made[1])
    edit(raw)
    found = accept(raw)
    assert isinstance(found, tuple)
    assert any(text in fault for fault in found), found
    assert all(fault.endswith("run the suite again") and "\n" not in fault for fault in found)


def test_the_baseline_that_a_run_met_may_be_another_now(
    made: tuple[Suite, Any], accept: Accept
) -> None:
    """What follows from its mean must still follow."""
    raw = copy.deepcopy(made[1])
    (rule,) = [
        r
        for r in raw["verdict"]["rules"]
        if r["rule"].startswith("tolerance nDCG") and r["target"] == LABEL
    ]
    then = rule["observed"] - 0.01
    rule.update(word="pass", reason="", baseline=then, limit=then - 0.03)
    others = [text for text in raw["verdict"]["reasons"] if LABEL not in text]
    raw["verdict"].update(reasons=others, word="not measured", exit_code=3, kinds=["not measured"])
    assert isinstance(accept(raw), Artifact)
