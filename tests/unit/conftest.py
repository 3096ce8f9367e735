"""A whole artifact, made by the real scoring of a small set; code that cannot be cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from retrieverbench.metrics import score_run
from retrieverbench.model import (
    SCHEMA,
    Artifact,
    BackendRecord,
    CaseResult,
    GoldenCase,
    GoldenRecord,
    GoldenSet,
    LeakCheck,
    Run,
    Target,
    TargetResult,
    TenantId,
    make_uid,
)
from retrieverbench.run import foreign
from stubborn_support import Stubborn

DEPTH = 3
CASES = 12
UNANSWERABLE = "c11"
MakeResult = Callable[..., TargetResult]
MakeArtifact = Callable[..., Artifact]


def golden_set(must_pass: Collection[str] = ()) -> GoldenSet:
    """Twelve cases, six of either tenant; the last cannot be answered."""
    cases = []
    for number in range(CASES):
        case_id = f"c{number}"
        answerable = case_id != UNANSWERABLE
        cases.append(
            GoldenCase(
                id=case_id,
                query=f"question {number}",
                tenant=TenantId("acme" if number < 6 else "globex"),
                relevant=(f"d{number}",) if answerable else (),
                unanswerable=not answerable,
                must_pass=case_id in must_pass,
            )
        )
    return GoldenSet("small", 1, "a" * 64, tuple(cases))


def answers(
    golden: GoldenSet,
    lists: Mapping[str, Sequence[str]] | None = None,
    broken: Mapping[str, CaseResult] | None = None,
) -> tuple[CaseResult, ...]:
    """Every case finds its chunk first, but for those given; chunk ids are the tenant's own."""
    results = []
    for case in golden.cases:
        own = [] if case.unanswerable else [*(case.relevant or ()), "x1", "x2"]
        ids = (lists or {}).get(case.id, own)
        hits = tuple((make_uid(case.tenant, id_), 1.0 - n / 10) for n, id_ in enumerate(ids))
        results.append((broken or {}).get(case.id, CaseResult(case.id, "ok", hits)))
    return tuple(results)


def clean() -> LeakCheck:
    """The leak columns of a target that was proven not to leak."""
    return LeakCheck(30, 60, 0, 0, 2, 2, 2, 9, "clean", None, (), 0.2, 13)


@pytest.fixture
def make_result() -> MakeResult:
    """A measured target: `lists` and `broken` by case id, other keywords replace fields."""

    def make(
        lists: Mapping[str, Sequence[str]] | None = None,
        broken: Mapping[str, CaseResult] | None = None,
        *,
        golden: GoldenSet | None = None,
        name: str = "fake",
        **fields: Any,
    ) -> TargetResult:
        golden = golden or golden_set()
        target = Target(name, "fake", "lexical")
        results = answers(golden, lists, broken)
        run = Run(target, DEPTH, results, "engine")
        metrics = ["ndcg@3", "recall@3", "hit@3"]
        made = TargetResult(
            target=target,
            fidelity="engine",
            required=False,
            depth=DEPTH,
            backend=BackendRecord(
                "dist", "1", "fake", "2.0", "client", "1", {"a": 1}, ("exact",), (), {}
            ),
            load_seconds=0.5,
            settle_seconds=0.25,
            results=results,
            scores=score_run(run, golden, metrics, visible={"acme": 8, "globex": 8}),
            leaks=clean(),
        )
        return replace(made, **fields)

    return make


@pytest.fixture
def make_artifact(make_result: MakeResult) -> MakeArtifact:
    """An artifact of the targets given (one good one if none); keywords replace fields."""

    def make(*targets: TargetResult, must_pass: Sequence[str] = (), **fields: Any) -> Artifact:
        made = Artifact(
            schema=SCHEMA,
            run_id="0badcafe",
            suite="small",
            suite_sha256="b" * 64,
            started="20300102T030405Z",
            complete=True,
            harness={"python": "3.11"},
            machine={"cores": 2},
            commit="c" * 40,
            dirty=False,
            seeds={"suite": 0},
            cache="off",
            embedding={},
            golden=GoldenRecord(
                name="small",
                version=1,
                sha256="a" * 64,
                corpus="small",
                corpus_sha256="d" * 64,
                cases=CASES,
                chunks=16,
                tenants=2,
                unanswerable=1,
                needs_review=0,
                relevance_level=1,
                must_pass=tuple(must_pass),
            ),
            targets=targets or (make_result(),),
        )
        return replace(made, **fields)

    return make


@pytest.fixture
async def stubborn(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stubborn]:
    """Code that cannot be cancelled; the time to clean up is short, and it ends with the test."""
    monkeypatch.setattr(foreign, "CANCEL_SECONDS", 0.04)
    made = Stubborn()
    yield made
    await made.let_go()
