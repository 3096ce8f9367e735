"""What the passes saw becomes one judgement, with every reason for doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrieverbench.leaks import CanaryResult, ControlResult, leak_columns
from retrieverbench.model import CaseResult, LeakCheck, LeakFinding, Run, Target

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
) -> LeakCheck:
    return leak_columns(
        run,
        found,
        timed_answers=10,
        canaries=canaries,
        control=control,
        tenants=tenants,
        stopped=stopped,
    )


def test_clean_with_both_controls() -> None:
    check = columns()
    assert (check.proof, check.reason) == ("clean", None)
    assert check.answers == 2 + 10 + 4
    assert check.hits == 2 + 5
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
    assert (check.proof, check.foreign, check.findings) == ("leak", 1, (finding,))
    assert check.upper_bound is None


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
        ({"canaries": replace(CANARIES, failed=1)}, "1 canary searches failed"),
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
    assert (check.answers, check.hits, check.trials) == (2 + 10, 2, 2)
