"""What the passes saw becomes one judgement, with every reason for doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrieverbench.leaks import (
    CanaryResult,
    ControlResult,
    TimedCounts,
    leak_columns,
)
from retrieverbench.model import (
    CaseResult,
    LeakCheck,
    LeakFinding,
    Run,
    Target,
)

RUN = Run(
    Target("fake", "fake", "dense"),
    3,
    (
        CaseResult("a", "ok", (("acme/1", 1.0), ("acme/2", 0.5))),
        CaseResult("b", "ok", ()),
        CaseResult("c", "error", (), "timeout", "late"),
    ),
    "engine",
)
CANARIES = CanaryResult(
    planned=2, asked=2, answered=2, owned=2, found_by_owner=2, answers=4, hits=5
)
CONTROL = ControlResult(asked=3, foreign=7)
FINDING = LeakFinding("t", "c", "acme", "globex/1", 1, "globex", "quality")


def columns(
    found: tuple[LeakFinding, ...] = (),
    *,
    run: Run = RUN,
    canaries: CanaryResult | None = CANARIES,
    control: ControlResult | None = CONTROL,
    tenants: int = 2,
    stopped: str | None = None,
    totals: tuple[LeakFinding, ...] = (),
    side_channel: str = "",
) -> LeakCheck:
    return leak_columns(
        run,
        found,
        timed=TimedCounts(10, 30, 1 if found else 0),
        canaries=canaries,
        control=control,
        tenants=tenants,
        distinct=sum(result.status == "ok" for result in run.results),
        stopped=stopped,
        totals=totals,
        side_channel=side_channel,
    )


def test_clean_with_both_controls() -> None:
    check = columns()
    assert (check.proof, check.reason) == ("clean", None)
    assert check.answers == 2 + 10 + 4
    assert check.hits == 2 + 30 + 5
    assert (check.leaking_answers, check.control_findings) == (0, 0)
    assert check.trials == 4
    assert check.upper_bound == pytest.approx(1 - 0.05 ** (1 / 4))
    assert check.control_foreign == 7


@pytest.mark.parametrize("seen_in", ["quality", "timed", "canary", "control"])
def test_one_finding_anywhere_is_a_leak(seen_in: str) -> None:
    finding = replace(FINDING, seen_in=seen_in)
    check = columns(
        (finding,) if seen_in in {"quality", "timed"} else (),
        canaries=replace(CANARIES, findings=[finding] if seen_in == "canary" else []),
        control=replace(CONTROL, findings=[finding] if seen_in == "control" else []),
    )
    assert (check.proof, check.findings) == ("leak", (finding,))
    assert (check.foreign, check.control_findings) == ((0, 1) if seen_in == "control" else (1, 0))
    assert check.upper_bound is None


def test_a_total_that_counts_others_is_kept_and_no_leak() -> None:
    check = columns(side_channel="told a total of 4")
    assert (check.proof, check.side_channel) == ("clean", "told a total of 4")


def test_what_stands_beside_a_total_is_a_leak() -> None:
    check = columns(totals=(replace(FINDING, seen_in="total"),))
    assert (check.proof, check.foreign, check.unknown) == ("leak", 1, 0)
    assert check.leaking_answers == 0, "it is not among the answers that are counted"


def test_leaking_answers_are_counted_once_whatever_they_held() -> None:
    twice = (FINDING, replace(FINDING, uid="globex/2", rank=2), replace(FINDING, case_id="d"))
    assert columns(twice).leaking_answers == 2 + 1
    assert columns(twice).foreign == 3


def test_refused_answers_were_checked_too() -> None:
    refused = CaseResult("d", "error", (), "bad_answer", "x", ("globex/1", "acme/1"))
    check = columns(run=replace(RUN, results=(*RUN.results, refused)))
    assert (check.answers, check.hits) == (3 + 10 + 4, 4 + 30 + 5)
    assert check.trials == 4


def test_a_read_only_target_is_not_told_of_settings() -> None:
    check = leak_columns(
        RUN,
        (),
        timed=TimedCounts(),
        canaries=None,
        control=None,
        tenants=2,
        distinct=2,
        read_only=True,
    )
    assert check.reason
    assert check.reason.startswith("no canaries were put: nothing can be written to this target; ")
    assert "`retrieverbench leaks`" in check.reason, "the proof is named before any way round it"


def test_a_leak_outweighs_every_doubt() -> None:
    check = columns((FINDING,), canaries=None, control=None, tenants=1, stopped="broke off")
    assert (check.proof, check.reason) == ("leak", None)


def test_counts_are_complete_though_findings_are_cut() -> None:
    many = tuple(replace(FINDING, owner=None if n % 3 == 0 else "globex") for n in range(300))
    check = columns(many)
    assert (check.foreign, check.unknown, len(check.findings)) == (200, 100, 200)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"run": replace(RUN, results=(CaseResult("a", "ok"),))}, "no answer held a chunk"),
        ({"canaries": None}, "no canaries were put"),
        ({"canaries": replace(CANARIES, failed=1)}, "1 canary search failed"),
        ({"canaries": replace(CANARIES, found_by_owner=1)}, "only 1 of 2 owners found their own"),
        ({"canaries": replace(CANARIES, planned=5)}, "only 2 of 5 canaries were asked for"),
        ({"canaries": CanaryResult()}, "only 0 of 0 canaries"),
        ({"control": None}, "control arm did not run"),
        ({"control": ControlResult(asked=3)}, "showed no foreign chunk: nothing could be stolen"),
        ({"control": ControlResult(asked=3, failed=3)}, "3 of 3 searches of the unfiltered"),
        ({"stopped": "leak probes stopped: down"}, "leak probes stopped: down"),
    ],
)
def test_every_reason_for_inconclusive(changes: dict[str, object], reason: str) -> None:
    check = columns(**changes)  # type: ignore[arg-type]
    assert check.proof == "inconclusive"
    assert reason in (check.reason or "")
    assert check.upper_bound is None


def test_one_tenant_has_nobody_to_leak_to() -> None:
    check = columns(tenants=1, canaries=None, control=None)
    assert check.proof == "not applicable"
    assert "one tenant" in (check.reason or "")
    assert check.upper_bound is None
    assert columns((FINDING,), tenants=1).proof == "leak"


def test_what_was_not_looked_at_has_no_number() -> None:
    check = columns(canaries=None, control=None)
    assert check.canaries_asked is None
    assert check.canaries_owned is None
    assert check.canaries_found_by_owner is None
    assert check.control_foreign is None
    assert (check.answers, check.hits, check.trials) == (2 + 10, 2 + 30, 2)
