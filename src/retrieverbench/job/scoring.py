"""Scores and the record of the golden set: computed after a run, and again to check one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from retrieverbench.metrics import parse_metric, parts_of, score_run
from retrieverbench.model import (
    CaseResult,
    Corpus,
    GoldenCase,
    GoldenRecord,
    GoldenSet,
    Run,
    Scores,
    Target,
    make_uid,
)
from retrieverbench.storage import stored


def chunks_per_tenant(corpus: Corpus) -> Mapping[str, int]:
    """How many chunks each tenant may see."""
    return {tenant.value: count for tenant, count in stored(corpus.chunks).per_tenant.items()}


def score_target(run: Run, golden: GoldenSet, corpus: Corpus, metrics: Sequence[str]) -> Scores:
    """The scores of one target: the metrics asked for, and `hit` at the depth for must_pass.

    Raises InputError as `score_run` does.
    """
    return score_run(
        run,
        golden,
        tuple(dict.fromkeys([*metrics, f"hit@{run.depth}"])),
        visible=chunks_per_tenant(corpus),
        superseded=stored(corpus.chunks).superseded_among(
            uid for result in run.results for uid, _ in result.hits
        ),
    )


def golden_record(golden: GoldenSet, corpus: Corpus, metrics: Sequence[str]) -> GoldenRecord:
    """Which questions were asked of which corpus, for the artifact."""
    cases = golden.cases
    return GoldenRecord(
        name=golden.name,
        version=golden.version,
        sha256=golden.sha256,
        corpus=corpus.name,
        corpus_sha256=corpus.sha256,
        cases=len(cases),
        chunks=len(corpus.chunks),
        tenants=len(chunks_per_tenant(corpus)),
        unanswerable=sum(case.unanswerable for case in cases),
        needs_review=sum(case.needs_review for case in cases),
        relevance_level=golden.relevance_level,
        versions=golden.versions,
        must_pass=tuple(case.id for case in cases if case.must_pass),
        ceilings=_ceilings(golden, corpus, metrics),
        superseded=stored(corpus.chunks).superseded,
        forbidding=sum(bool(case.forbidden or case.forbidden_foreign) for case in cases),
        no_relevant=sum(_has_none(case, golden.relevance_level) for case in cases),
    )


def slice_records(
    golden: GoldenSet, corpus: Corpus, metrics: Sequence[str]
) -> Iterator[tuple[str, str, GoldenRecord]]:
    """Field, value and record of each slice, in which chunks of its own tenants alone count."""
    for field, value, places in parts_of(golden.cases):
        cases = tuple(golden.cases[place] for place in places)
        record = golden_record(replace(golden, cases=cases), corpus, metrics)
        superseded = stored(corpus.chunks).superseded_of({case.tenant for case in cases})
        yield field, value, replace(record, superseded=superseded)


def _has_none(case: GoldenCase, level: int) -> bool:
    """Whether an answerable case has no relevant chunk, by list or by grade."""
    if case.relevant is None:
        found = any(grade >= level for grade in (case.grades or {}).values())
    else:
        found = bool(case.relevant)
    return not case.unanswerable and not found


def _ceilings(golden: GoldenSet, corpus: Corpus, metrics: Sequence[str]) -> dict[str, float]:
    """The means of answers that hold every relevant chunk first and nothing else.

    For precision@k that is the mean over the cases of min(k, relevant chunks) / k. Metrics
    that such answers bring to 1 are left out.
    """
    asked = [name for name in metrics if parse_metric(name).base == "precision"]
    if not asked:
        return {}
    best = tuple(CaseResult(case.id, "ok", _all_relevant(case)) for case in golden.cases)
    depth = max(parse_metric(name).k or 1 for name in asked)
    run = Run(Target("ideal", "ideal", "lexical"), depth, best, "engine")
    means = score_target(run, golden, corpus, asked).means
    return {
        name: mean.value
        for name, mean in means.items()
        if name.startswith("precision") and mean.value is not None and mean.value < 1
    }


def _all_relevant(case: GoldenCase) -> tuple[tuple[str, float], ...]:
    """Uids with falling scores, the highest grade first."""
    grades = dict.fromkeys(case.relevant or (), math.inf) | dict(case.grades or {})
    ids = sorted((id_ for id_, grade in grades.items() if grade > 0), key=lambda i: -grades[i])
    return tuple((make_uid(case.tenant, id_), -float(rank)) for rank, id_ in enumerate(ids))
