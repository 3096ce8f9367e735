"""Whether an artifact says what its own answers give: computed again from golden set and corpus.

Computed again are the record of the golden set, every score, the leak findings of the
quality pass and the verdict. What no file can tell again (the answers themselves, times, the
timed pass's and the probes' findings, fidelity, versions) rests on the artifact's checksum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from retrieverbench.errors import InputError
from retrieverbench.gate import judge
from retrieverbench.job.machine import harness_versions
from retrieverbench.job.prepare import load_questions
from retrieverbench.job.scoring import golden_record, score_target
from retrieverbench.leaks import MAX_KEPT_FINDINGS, check_result, make_ledger
from retrieverbench.model import (
    Artifact,
    Baseline,
    Corpus,
    GoldenSet,
    LeakFinding,
    Run,
    Scores,
    TargetResult,
    Verdict,
)
from retrieverbench.run import Suite

EQUAL = 1e-9
"""Numbers that differ by less are equal: logarithms differ in their last digit by machine."""
_WITH_BASELINE = frozenset({"baseline", "tolerance"})


def verify(artifact: Artifact, suite: Suite, baselines: Mapping[str, Baseline]) -> Artifact:
    """The artifact with a verdict made now, of the suite's rules and these baselines.

    Raises InputError with the first difference of each part that is not what its answers
    give, as printed and as computed again; and what is wrong with golden set and corpus.
    """
    corpus, golden = load_questions(suite)
    faults = list(_other_set(artifact, golden, corpus))
    if faults:
        raise InputError(*faults)
    for result in artifact.targets:
        faults += _target_faults(result, artifact, golden, corpus)
    verdict = judge(
        replace(artifact, verdict=None),
        suite.gate_rules(),
        baselines,
        inconclusive_leaks=suite.leaks.inconclusive,
    )
    if artifact.verdict is not None and suite.sha256 == artifact.suite_sha256:
        faults += _verdict_faults(artifact.verdict, verdict)
    if faults:
        remedy = f"{_other_version(artifact)}run the suite again"
        raise InputError(*(f"{fault}; {remedy}" for fault in faults))
    return replace(artifact, verdict=verdict if artifact.verdict else None)


def _other_set(artifact: Artifact, golden: GoldenSet, corpus: Corpus) -> Iterator[str]:
    """The first way in which the files here are not those of the run."""
    here = golden_record(golden, corpus, artifact.metrics)
    found = _difference("", _plain(artifact.golden), _plain(here))
    if found is not None:
        place, then, now = found
        yield (
            f"golden set {golden.name!r}: {place}: {then} in the run, {now} in the files here; "
            "bring back the files that were asked, or run the suite again"
        )


def _target_faults(
    result: TargetResult, artifact: Artifact, golden: GoldenSet, corpus: Corpus
) -> Iterator[str]:
    if result.scores is None:
        return
    label = result.target.label
    run = Run(result.target, result.depth, result.results, result.fidelity or "engine")
    asked = {case.id for case in golden.cases}
    foreign = sorted({case.case_id for case in result.results} - asked)
    if foreign:
        yield f"{label}: results: case {foreign[0]!r:.80} is not among those that were asked"
        return
    try:
        again = score_target(run, golden, corpus, artifact.metrics)
    except InputError as error:
        yield from (f"{label}: {fault}" for fault in error.faults)
        return
    found = _difference("", _by_slice(result.scores), _by_slice(again))
    if found is not None:
        place, then, now = found
        yield f"{label}: {place}: {then} in the artifact, {now} scored again from its answers"
    yield from _leak_faults(result, golden, corpus)


def _leak_faults(result: TargetResult, golden: GoldenSet, corpus: Corpus) -> Iterator[str]:
    """Findings that the answers of the quality pass hold and the record does not, or reverse."""
    leaks = result.leaks
    if leaks is None:
        return
    label = result.target.label
    counted = leaks.foreign + leaks.unknown + leaks.control_findings
    if counted != len(leaks.findings) < MAX_KEPT_FINDINGS:
        yield (
            f"{label}: leaks.findings: {len(leaks.findings)} in the artifact, which counts "
            f"{leaks.foreign} foreign and {leaks.unknown} unknown chunks and "
            f"{leaks.control_findings} of the control arm"
        )
    own = leaks.canaries_found_by_owner
    if leaks.proof == "clean" and not (
        own and own == leaks.canaries_owned and leaks.control_foreign
    ):
        yield f"{label}: leaks.proof: 'clean' in the artifact, without both controls"
    ledger, tenants = make_ledger(corpus.chunks), {c.id: c.tenant for c in golden.cases}
    seen = {
        finding
        for case in result.results
        for finding in check_result(case, tenants[case.case_id], ledger, label)
    }
    told = {finding for finding in leaks.findings if finding.seen_in == "quality"}
    if told - seen or (seen - told and len(leaks.findings) < MAX_KEPT_FINDINGS):
        first = min(told ^ seen, key=_order)
        where = "in its answers and not in leaks.findings"
        if first in told:
            where = "in leaks.findings and not in its answers"
        yield f"{label}: case {first.case_id!r:.80}: {first.uid!r:.80} is {where}"


def _order(finding: LeakFinding) -> tuple[str, int, str]:
    return finding.case_id, finding.rank, finding.uid


def _verdict_faults(printed: Verdict, again: Verdict) -> Iterator[str]:
    """The first rule, of those that no baseline decides, that ends otherwise than printed."""
    then, now = _words(printed), _words(again)
    for key in sorted(then.keys() | now.keys()):
        if then.get(key) != now.get(key):
            rule, target = key
            yield (
                f"{target}: rule {rule!r:.80}: {then.get(key, 'absent')!r} in the artifact, "
                f"{now.get(key, 'absent')!r} judged again"
            )
            return


def _words(verdict: Verdict) -> dict[tuple[str, str], str]:
    return {
        (rule.rule, rule.target): rule.word
        for rule in verdict.rules
        if rule.kind not in _WITH_BASELINE
    }


def _difference(place: str, then: object, now: object) -> tuple[str, object, object] | None:
    """The first innermost values that differ, with their path."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in [*now, *(key for key in then if key not in now)]:
            inner = f"{place}.{key}" if place else str(key)
            found = _difference(inner, then.get(key, "absent"), now.get(key, "absent"))
            if found is not None:
                return found
        return None
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        inner_ones = (_difference(f"{place}.{n}", left, right) for n, (left, right) in pairs)
        return next((found for found in inner_ones if found is not None), None)
    if isinstance(then, int | float) and isinstance(now, int | float):
        equal = math.isclose(then, now, rel_tol=0, abs_tol=EQUAL)
    else:
        equal = then == now
    return None if equal else (place, then, now)


def _by_slice(scores: Scores) -> dict[str, object]:
    """Scores as JSON holds them, slices by what they are of."""
    plain = _plain(scores)
    slices = [_plain(part) for part in scores.slices]
    plain["slices"] = {f"{part['field']}={part['value']}": part for part in slices}
    return plain


def _plain(record: object) -> dict[str, object]:
    from pydantic import TypeAdapter

    plain = TypeAdapter(type(record)).dump_python(record, mode="json")
    assert isinstance(plain, dict)
    return plain


def _other_version(artifact: Artifact) -> str:
    """What may explain a difference that nobody made by hand."""
    here = harness_versions()["retrieverbench"]
    made = artifact.harness.get("retrieverbench", "an unknown version")
    return "" if made == here else f"it was made by retrieverbench {made}, this is {here}; "
