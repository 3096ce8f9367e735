"""The times of a target and the noise of the run, beside the suite's own plan of them."""

from __future__ import annotations

from collections.abc import Iterator

from retrieverbench import load
from retrieverbench.job.timing import closed_plan, is_repeatable, to_repeat
from retrieverbench.job.verification.differences import Fault, compare
from retrieverbench.model import Artifact, GoldenSet, TargetResult
from retrieverbench.run import Suite


def timing_faults(
    result: TargetResult, artifact: Artifact, suite: Suite, golden: GoldenSet
) -> Iterator[Fault]:
    """Times that are there although none were asked for, or lack, or cannot be."""
    timings = result.timings
    asked = suite.timing.enabled and artifact.command.timing
    if timings is None:
        if asked and result.late_failure is None:
            yield Fault("timings", None, "there, as the suite asks for them")
        return
    if not asked:
        yield Fault("timings", "there", "None: no timed pass was asked for")
        return
    plan = closed_plan(suite)
    impossible = list(load.impossible(timings, plan))
    for place, found, expected in impossible:
        yield Fault(f"timings.{place}", found, expected)
    if not impossible:
        questions = [(case.query, case.tenant) for case in golden.cases]
        again = load.derived(timings, plan, questions, artifact.noise)
        yield from compare("timings", timings, again, "by the numbers beside it and the suite")


def noise_faults(artifact: Artifact, suite: Suite) -> Iterator[Fault]:
    """A noise floor of another target than the repeated one, or one that cannot be."""
    timed = [result for result in artifact.targets if result.timings and result.fidelity]
    noise = artifact.noise
    wanted = bool(timed) and is_repeatable(suite)
    is_lost = any(result.late_failure for result in artifact.targets)
    if noise is None:
        if wanted and not is_lost:
            yield Fault("noise", None, "there, as the suite asks for it")
        return
    if not wanted:
        yield Fault("noise", "there", "None: no target was to be timed twice")
        return
    if not is_lost:
        chosen = timed[to_repeat([r.fidelity for r in timed if r.fidelity])]
        yield from compare(
            "noise.target", noise.target, chosen.target.label, "is the target that is timed twice"
        )
    for result in timed:
        if result.timings and result.target.label == noise.target:
            for found in load.noise_faults(noise, result.timings, closed_plan(suite)):
                yield Fault(*found)
