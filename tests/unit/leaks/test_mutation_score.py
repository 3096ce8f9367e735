"""The audit's own proof: it passes a clean adapter and catches every fault of the leaky one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from apart_support import run_apart
from retrieverbench.leaks import ARMS, CATALOG, crowds
from retrieverbench.leaks.probe import BELOW
from retrieverbench.model import MODES, Mode, ProbeResult
from retrieverbench.testing import FAULTS, audit_leaky, caught_by
from summary_support import TOLD

LEAST = 44
FAMILIES = {
    "a leg without condition", "combination", "after the fact", "literals", "matching",
    "fail-open", "identity", "state", "statistics", "by id", "against the audit itself",
}  # fmt: skip
HYBRID: tuple[Mode, ...] = ("hybrid",)
"""Both legs at once."""
SLOW = {"P30", "P31", "P33", "P36", "P37", "P38", "P41"}
QUICK = [p for p in CATALOG if p.leak_class != "starvation" and p.id not in SLOW]
"""Put to the clean adapter with other seeds; the others take too long for that."""
ORDERED = {"fail-open", "state"}
NOT_APPLICABLE = {
    "P43": "layout 'filter' claims no rule of the server: whatever its credential may read, a "
    "question without a condition finds; what is known to weaken it, if anything, stands under "
    '"Validity"',
    "P45": "stages after the search, if there are any, lie within the adapter: what comes out of "
    "them is judged as its answers, what goes in cannot be seen",
    "P46": "no server answers (fidelity unknown): times say nothing of one",
    "P47": "the adapter does not declare credentials",
}
pytestmark = pytest.mark.timeout(900)  # one fixture puts every fault to the test

OTHER_SEEDS = (1, 2**40)
Caught = Mapping[str, tuple[str, ...]]


@pytest.fixture(scope="module", autouse=True)
def small_crowds() -> Iterator[None]:
    """1,000 chunks instead of 10,000: the faults would be seen no better."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowds, "ROWS", 1_000)
        yield


@pytest.fixture(scope="module")
def caught(small_crowds: None) -> Caught:
    """Fault → the probes that caught it, of those that it names."""
    return {fault: probed(fault) for fault in FAULTS}


@pytest.fixture(scope="module")
def clean(small_crowds: None) -> list[ProbeResult]:
    return run_apart(audit_leaky)


def probed(fault: str, *width: int) -> tuple[str, ...]:
    """Each fault meets other names, ids and texts: the score is that of any seed."""
    seed = list(FAULTS).index(fault)
    named = [probe for probe in CATALOG if probe.id in FAULTS[fault].probes]
    return caught_by(fault, run_apart(audit_leaky, fault, named, MODES, ARMS, seed, *width))


def test_the_clean_adapter_passes_every_probe_in_every_mode(clean: list[ProbeResult]) -> None:
    results = clean
    assert {result.probe for result in results} == {probe.id for probe in CATALOG}
    left_out = {r.probe: r.reason for r in results if r.outcome == "not applicable"}
    assert left_out == NOT_APPLICABLE
    bad = [r for r in results if r.outcome not in {"pass", "not applicable"}]
    assert not bad, [(r.probe, r.mode, r.arm, r.outcome, r.reason) for r in bad]
    assert not any(result.findings or result.risks for result in results)
    assert all(result.control for result in results if result.outcome == "pass")
    for seed in OTHER_SEEDS:
        quick = run_apart(audit_leaky, "", QUICK, HYBRID, BELOW, seed)
        assert {result.outcome for result in quick} <= {"pass", "not applicable"}, seed


def test_there_are_faults_of_every_kind() -> None:
    assert len(FAULTS) >= LEAST
    assert {fault.family for fault in FAULTS.values()} == FAMILIES
    known = {probe.id for probe in CATALOG}
    for fault in FAULTS.values():
        assert fault.probes, fault.name
        assert set(fault.probes) <= known, f"{fault.name} waits for a probe that is not there"
        assert fault.tells
        assert "\n" not in fault.tells


def test_every_fault_is_caught(
    caught: Caught, record_property: Callable[[str, object], None]
) -> None:
    """A fault that survives is a missing probe, not a tolerated gap."""
    found = {fault for fault, probes in caught.items() if probes}
    alone = [fault for fault, probes in caught.items() if len(probes) == 1]
    lines = [
        f"mutation score of the leak audit: {len(found)} / {len(caught)} caught",
        *(f"  {fault:28} {' '.join(probes) or 'SURVIVES'}" for fault, probes in caught.items()),
        f"  {len(alone)} caught by exactly one of the probes that were put to them",
    ]
    for line in lines:
        record_property(TOLD, line)
    assert found == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_probes_that_a_fault_names_catch_it(caught: Caught, fault: str) -> None:
    assert set(FAULTS[fault].probes) <= set(caught[fault])


def test_every_probe_has_caught_a_fault(caught: Caught) -> None:
    """What never failed may be unable to."""
    seen = {probe for probes in caught.values() for probe in probes}
    assert {probe.id for probe in CATALOG} - seen == set(NOT_APPLICABLE)


@pytest.mark.parametrize("fault", [name for name, f in FAULTS.items() if f.family in ORDERED])
def test_faults_of_order_are_caught_by_one_question_at_a_time(fault: str) -> None:
    """As users' own retrievers are asked."""
    assert set(FAULTS[fault].probes) <= set(probed(fault, 1))


def test_a_change_without_effect_is_not_caught(clean: list[ProbeResult]) -> None:
    """The score would fall: the clean adapter, called by a fault's name, survives."""
    assert caught_by("prefix", clean) == ()
    # "always_empty" is caught where nothing could be judged.
    assert caught_by("always_empty", clean) == ()
