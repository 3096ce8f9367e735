"""Whether a run may become a baseline, and what would change if it did."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from retrieverbench.errors import plural
from retrieverbench.gate import differences, leak_of
from retrieverbench.metrics import parse_metric
from retrieverbench.model import Artifact, Baseline, Scores, TargetResult
from retrieverbench.run.suite_checks import is_name

_AGAIN = "the artifact was altered, run the suite again"
ROUNDING = 1e-9
"""By so much a sum of fractions may exceed the 1 that it is."""
_NOTHING = 5
"""The exit code of a run whose clean result is not proven, or that measured nothing."""
LISTED = 10
"""Case ids that a line names before it only counts."""


def objections(artifact: Artifact, because: str, *, allow_dirty: bool) -> Iterator[str]:
    """Everything that keeps a run from becoming a baseline, with what to do about it."""
    if artifact.kind == "audit":
        yield "it is a leak audit, which measures nothing; name the artifact of a run"
        return
    yield from _altered(artifact)
    measured = [result for result in artifact.targets if result.scores is not None]
    if not measured:
        yield "nothing was measured; see the report for what would make it run"
    if not artifact.complete:
        yield "the run was interrupted; run it to its end"
    if artifact.golden.version is None:
        yield "the golden set has no version; give it a manifest"
    if artifact.cache != "off":
        yield f"a cache was on ({artifact.cache}); it would measure the cache, run without it"
    if artifact.dirty and not allow_dirty:
        yield "the tree has uncommitted changes; commit them, or say --allow-dirty"
    for result in artifact.targets:
        leak = leak_of(result)
        if leak is not None:
            yield f"a leak: {leak}; repair it, no baseline holds a leak"
    for result in measured:
        yield from _of_target(result, artifact)
    yield from _of_verdict(artifact, because)


def _altered(artifact: Artifact) -> Iterator[str]:
    """What no run writes: an artifact is a file that anybody may have edited."""
    names = {"suite": artifact.suite, **{r.target.label: r.target.name for r in artifact.targets}}
    for place, name in names.items():
        if not is_name(name):
            yield f"{place!r:.80}: {name!r:.80} is no name that a suite may have; {_AGAIN}"
    labels = [result.target.label for result in artifact.targets]
    for label in sorted({label for label in labels if labels.count(label) > 1}):
        yield f"{label}: stands there twice; {_AGAIN}"
    for result in artifact.targets:
        if result.scores is not None:
            if result.fidelity is None:
                yield f"{result.target.label}: scores without a fidelity; {_AGAIN}"
            for fault in _impossible(result.scores):
                yield f"{result.target.label}: {fault}; {_AGAIN}"


def _impossible(scores: Scores) -> Iterator[str]:
    """Numbers that nothing computes."""
    for place, value in _values(scores):
        if not 0 <= value <= 1 + ROUNDING:
            yield f"{place}: {value} is not between 0 and 1"
    for name, number in scores.counters.items():
        if number is not None and not math.isfinite(number):
            yield f"{name}: {number} is not finite"


def _values(scores: Scores) -> Iterator[tuple[str, float]]:
    """Every mean and every case's value that there is, with its place."""
    for metric, mean in scores.means.items():
        if mean.value is not None:
            yield f"mean {metric}", mean.value
    for metric, by_case in scores.cases.items():
        for case_id, case in by_case.items():
            if case.value is not None:
                yield f"{metric} of {case_id!r:.80}", case.value


def _of_target(result: TargetResult, artifact: Artifact) -> Iterator[str]:
    label = result.target.label
    scores = result.scores
    assert scores is not None
    if result.leaks is None:
        yield f"{label} was not checked for leaks; run the suite again"
    bad = [case.case_id for case in result.results if case.status != "ok"]
    if bad:
        yield f"{label}: {plural(len(bad), 'case')} not answered, first {bad[0]!r}; run it again"
    absent = artifact.golden.cases - len({case.case_id for case in result.results})
    if absent:
        yield f"{label}: missing {plural(absent, 'case')} of the golden set; run it again"
    if all(mean.value is None for mean in scores.means.values()):
        yield f"{label}: nothing valid was measured; no metric has a mean"
    if result.backend is not None and result.backend.settings_changed:
        changed = "; ".join(result.backend.settings_changed)
        yield f"{label}: settings changed during the run ({changed}); run it again"


def _of_verdict(artifact: Artifact, because: str) -> Iterator[str]:
    """A failed rule asks for a reason, also where another finding decided the exit code."""
    verdict = artifact.verdict
    if verdict is None:
        yield "the run was never judged; run the suite again"
        return
    failed = [rule for rule in verdict.rules if rule.word == "fail"]
    if because.strip():
        return
    first = next(iter(verdict.reasons), "no reason given")
    if failed:
        yield f"it fails ({failed[0].rule} on {failed[0].target}); say why with --because"
    elif verdict.word == "fail":
        yield f"it fails ({first}); say why with --because"
    elif verdict.exit_code == _NOTHING:
        yield f"it ended in exit {_NOTHING} ({first}); say why with --because"


def changes(
    before: Baseline | None, after: Baseline, result: TargetResult, artifact: Artifact
) -> Iterator[str]:
    """Indented lines: changed versions, how each mean moved, which cases miss now."""
    if before is None:
        yield "  first baseline of this target"
        return
    yield from (f"  changed: {each.text}" for each in differences(result, artifact, before))
    metrics = {name for base in (before, after) for c in base.cases.values() for name in c.values}
    for metric in sorted(filter(_asked(artifact, result), metrics)):
        then, now = _mean(before, metric), _mean(after, metric)
        moved = f" ({now - then:+.4f})" if then is not None and now is not None else ""
        if then is not None or now is not None:
            yield f"  {parse_metric(metric).label}: {_shown(then)} -> {_shown(now)}{moved}"
    hit = f"hit@{after.depth}"
    yield from _moved_cases("new misses", before, after, hit, 1.0, 0.0)
    yield from _moved_cases("new hits", before, after, hit, 0.0, 1.0)
    differing = [key for key, case in after.cases.items() if before.cases.get(key) != case]
    yield f"  {len(differing)} of {len(after.cases)} cases changed"


def _asked(artifact: Artifact, result: TargetResult) -> Callable[[str], bool]:
    """Whether suite or rules asked for a metric; baselines hold Hit@depth, too."""
    asked = result.scores.asked if result.scores else {}
    wanted = {asked.get(name, name) for name in artifact.metrics}
    return lambda name: not wanted or name in wanted


def _moved_cases(
    words: str, before: Baseline, after: Baseline, metric: str, then: float, now: float
) -> Iterator[str]:
    found = [
        key
        for key, case in sorted(after.cases.items())
        if key in before.cases
        and before.cases[key].values.get(metric) == then
        and case.values.get(metric) == now
    ]
    if found:
        more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
        yield f"  {len(found)} {words} at {metric}: {', '.join(found[:LISTED])}{more}"


def _shown(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.4f}"


def _mean(baseline: Baseline, metric: str) -> float | None:
    values = [v for c in baseline.cases.values() if (v := c.values.get(metric)) is not None]
    return math.fsum(values) / len(values) if values else None
