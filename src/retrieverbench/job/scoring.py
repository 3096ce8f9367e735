"""Scores and the record of the golden set: computed after a run, and again to check one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from retrieverbench.metrics import score_run
from retrieverbench.model import Corpus, GoldenRecord, GoldenSet, Run, Scores


def chunks_per_tenant(corpus: Corpus) -> Mapping[str, int]:
    """How many chunks each tenant may see."""
    return Counter(chunk.tenant.value for chunk in corpus.chunks)


def score_target(run: Run, golden: GoldenSet, corpus: Corpus, metrics: Sequence[str]) -> Scores:
    """The scores of one target: the metrics asked for, and `hit` at the depth for must_pass.

    Raises InputError as `score_run` does.
    """
    return score_run(
        run,
        golden,
        tuple(dict.fromkeys([*metrics, f"hit@{run.depth}"])),
        visible=chunks_per_tenant(corpus),
        superseded=frozenset(c.uid for c in corpus.chunks if c.status == "superseded"),
    )


def golden_record(golden: GoldenSet, corpus: Corpus) -> GoldenRecord:
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
    )
