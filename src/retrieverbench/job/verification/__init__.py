"""Whether an artifact says what its own answers, its suite and the files of that give.

Every field of an artifact is one of three. It is computed again and compared: golden set,
scores, leak columns, verdict, and of the times all that follows from others. Or it is bounded
by what else stands there: counts, percentiles, formats. Or nothing that is kept can tell
whether it is so; what these are, tests/unit/job/verification/test_every_field.py lists and checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from retrieverbench.errors import InputError
from retrieverbench.gate import judge
from retrieverbench.job.machine import harness_versions
from retrieverbench.job.prepare import load_questions
from retrieverbench.job.scoring import golden_record, score_target
from retrieverbench.job.verification.differences import Fault, by_name, compare, fields_of
from retrieverbench.job.verification.header import header_faults
from retrieverbench.job.verification.leakage import leak_faults
from retrieverbench.job.verification.targets import (
    Expected,
    case_faults,
    expected_targets,
    measured_faults,
    selection_faults,
    target_faults,
)
from retrieverbench.job.verification.times import noise_faults, timing_faults
from retrieverbench.job.verification.verdicts import verdict_faults
from retrieverbench.model import Artifact, Baseline, Corpus, GoldenSet, Run, Scores, TargetResult
from retrieverbench.run import Suite


def verify(artifact: Artifact, suite: Suite, baselines: Mapping[str, Baseline]) -> Artifact:
    """The artifact with a verdict made now, of the suite's rules and these baselines.

    Raises InputError with the first difference of each part that is not what its answers, the
    suite and the files give, as printed and as expected; and what is wrong with those files.
    """
    corpus, golden = load_questions(suite)
    _raise(_other_set(artifact, golden, corpus))
    of_run = [
        *header_faults(artifact, suite, corpus, golden),
        *selection_faults(artifact, suite),
    ]
    _raise(f"{fault}; {_remedy(artifact)}" for fault in of_run)
    expected = expected_targets(artifact, suite)
    faults = [
        f"{result.target.label}: {fault}"
        for result, wanted in zip(artifact.targets, expected, strict=True)
        for fault in _target_faults(result, wanted, artifact, suite, golden, corpus)
    ]
    faults += map(str, noise_faults(artifact, suite))
    if not faults and artifact.verdict is not None and artifact.suite_sha256 == suite.sha256:
        faults += map(str, verdict_faults(artifact, artifact.verdict, suite, baselines))
    _raise(f"{fault}; {_remedy(artifact)}" for fault in faults)
    verdict = judge(
        replace(artifact, verdict=None),
        suite.gate_rules(),
        baselines,
        inconclusive_leaks=suite.leaks.inconclusive,
    )
    return replace(artifact, verdict=verdict if artifact.verdict else None)


def _raise(faults: Iterator[str]) -> None:
    told = list(faults)
    if told:
        raise InputError(*told)


def _other_set(artifact: Artifact, golden: GoldenSet, corpus: Corpus) -> Iterator[str]:
    """The first way in which the files here are not those of the run."""
    here = golden_record(golden, corpus, artifact.metrics)
    if artifact.golden.forbidding is None:
        here = replace(here, forbidding=None)
    if artifact.golden.no_relevant is None:
        here = replace(here, no_relevant=None)
    for fault in compare("golden", artifact.golden, here, "by the files here"):
        yield f"{fault}; bring back the files that were asked, or run the suite again"


def _target_faults(
    result: TargetResult,
    expected: Expected,
    artifact: Artifact,
    suite: Suite,
    golden: GoldenSet,
    corpus: Corpus,
) -> Iterator[Fault]:
    yield from target_faults(result, expected, suite, artifact)
    if result.scores is None:
        return
    yield from measured_faults(result, expected, corpus, compose=artifact.command.compose)
    other_cases = list(case_faults(result, golden))
    yield from other_cases
    if other_cases:
        return
    run = Run(result.target, result.depth, result.results, result.fidelity or "engine")
    again = score_target(run, golden, corpus, artifact.metrics)
    yield from compare(
        "scores", _by_slice(result.scores), _by_slice(again), "scored again from its answers"
    )
    yield from leak_faults(result, run, suite, golden, corpus)
    yield from timing_faults(result, artifact, suite, golden)


def _by_slice(scores: Scores) -> dict[str, object]:
    """Scores as JSON holds them, slices by what they are of."""
    told = fields_of(scores)
    slices = [fields_of(part) for part in scores.slices]
    told["slices"] = by_name(slices, ["field", "value"])
    return told


def _remedy(artifact: Artifact) -> str:
    """What to do, and what may explain a difference that nobody made by hand."""
    here = harness_versions()["retrieverbench"]
    made = artifact.harness.get("retrieverbench", "an unknown version")
    why = "" if made == here else f"it was made by retrieverbench {made}, this is {here}; "
    return f"{why}run the suite again"
