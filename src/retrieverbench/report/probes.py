"""The leak audit as tables: what was probed, what did not pass, what could not be probed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from retrieverbench.errors import plural
from retrieverbench.gate import alike, names_of
from retrieverbench.leaks import CATALOG, Probe
from retrieverbench.leaks.probe import UNSEEN
from retrieverbench.leaks.probes.starvation import BY_PLAN, remedy_by
from retrieverbench.model import (
    SEVERITIES,
    Arm,
    Artifact,
    Outcome,
    ProbeResult,
    Risk,
    TargetResult,
)
from retrieverbench.report.cells import DASH, above
from retrieverbench.report.facts import exact_probes, fact_tables
from retrieverbench.report.table import Table

_BY_ID = {probe.id: probe for probe in CATALOG}
OUTCOMES: tuple[Outcome, ...] = ("pass", "fail", "inconclusive", "not applicable")


def probe_tables(artifact: Artifact) -> Iterator[Table]:
    """Empty tables where nothing was audited."""
    yield Table("Leak audit", _SUMMARY, tuple(_summary(artifact)), (_NOTE,), keys=("target", "arm"))
    yield Table(
        "What was asked", _ASKED, tuple(_asked(artifact)), (_seed_note(artifact),), keys=_ASKED[:1]
    )
    failed, remedies = tuple(_not_passed(artifact)), (*_remedy(artifact), *_by_plan(artifact))
    yield Table("Probes that did not pass", _DETAILS, failed, remedies, keys=_PROBE)
    yield Table(
        "Labels that disagree", _LABELS, tuple(_labels(artifact)), (_LABEL_NOTE,), keys=_LABELS[:3]
    )
    yield Table("Accepted risks", _RISKS, tuple(_risks(artifact)), keys=("target", "property"))
    yield Table("Stale declarations", _RISKS, tuple(_stale(artifact)), keys=("target", "property"))
    yield from fact_tables(artifact)
    yield Table("Not probed", ("reason", "probes", "target"), tuple(_not_probed(artifact)))


_SUMMARY = ("target", "fidelity", "arm", *OUTCOMES, "trials", "95 % bound")
_ASKED = ("probe", "class", "severity", "asked", "passed", "at most")
_DETAILS = ("target", "arm", "probe", "outcome", "class", "severity", "what was seen")
_PROBE = ("target", "arm", "probe")
_RISKS = ("target", "property", "declared", "probe", "what was seen")
_LABELS = ("target", "arm", "probe", "hits", "first: chunk", "its label", "its owner")
_LABEL_NOTE = (
    "The tenant that the backend itself names on a hit is not the owner by our record. This judges "
    "nothing: a label can be copied from the request. Where nothing else failed, it is stale."
)
_ONE_WAY = "asked once: it looks at the place and not at answers to a tenant"
_VALID = (
    "not asked in arm {arm!r}: it asks as valid names only, which the guard hands on unchanged, "
    "so that both arms would ask the same"
)
_CUT_OFF = "not asked in arm {arm!r}: the audit of the target ended before its turn there"
_NOTE = (
    "Every answer is judged by our own record of owners and searched for other tenants' tokens. "
    "A probe passes only if its positive control found what it should. 'guarded' is what an "
    "application reaches; 'below the guard' is the adapter alone, as users' own retrievers are. "
    "Where both were asked their counts differ: what asks as valid names only is asked in one of "
    "the two, and what looks at the place is asked once; 'Not probed' names them. "
    "The bound is on the share of leaking answers among questions like these, and speaks of "
    "this fidelity alone; there is none where a probe of the arm failed or had no conclusion."
)


def _summary(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    for result in artifact.targets:
        for arm in dict.fromkeys(probe.arm for probe in result.probes):
            yield _summary_row(result, arm)


def _summary_row(result: TargetResult, arm: Arm) -> tuple[str, ...]:
    probes = [probe for probe in result.probes if probe.arm == arm]
    counts = Counter(probe.outcome for probe in probes)
    bound = next((bound for bound in result.bounds if bound.arm == arm), None)
    return (
        result.target.label,
        result.fidelity or DASH,
        arm,
        *(str(counts[outcome]) for outcome in OUTCOMES),
        str(sum(probe.trials for probe in probes)),
        above(bound.upper_bound, bound.trials or None) if bound else DASH,
    )


def _not_passed(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    """The gravest first; several that had no conclusion for one reason are one row."""
    found = [
        (result, probes)
        for result in artifact.targets
        for probes in alike(result.probes)
        if probes[0].outcome in {"fail", "inconclusive"}
    ]
    found.sort(key=lambda pair: (pair[1][0].outcome, min(map(_gravity, pair[1]))))
    for result, probes in found:
        first = min(probes, key=_gravity)
        classes = dict.fromkeys(probe.leak_class for probe in sorted(probes, key=_gravity))
        yield (
            result.target.label,
            first.arm,
            names_of(probes),
            first.outcome,
            ", ".join(classes),
            first.severity,
            first.reason,
        )


def _remedy(artifact: Artifact) -> tuple[str, ...]:
    """Where to read what the gravest failure means; nothing where no known probe failed."""
    failed = [
        probe
        for result in artifact.targets
        for probe in result.probes
        if probe.outcome == "fail" and probe.probe in _BY_ID
    ]
    if not failed:
        return ()
    first = min(failed, key=_gravity)
    return (f"`retrieverbench probes {first.probe}` says what its failure means and what to do.",)


def _by_plan(artifact: Artifact) -> Iterator[str]:
    """Per target and mode the remedy that its own plan calls for, where starvation failed."""
    for result in artifact.targets:
        plan = result.plan
        starved = [
            probe
            for probe in result.probes
            if probe.probe in BY_PLAN
            and (probe.outcome, probe.leak_class) == ("fail", "starvation")
        ]
        if plan is None or not starved or not (remedy := remedy_by(plan)):
            continue
        caveat = f" ({plan.caveat})" if plan.caveat else ""
        yield (
            f"{result.target.label}, {names_of(starved)}: its plan{caveat} applies the tenant "
            f"condition {plan.filtered} the search: {remedy}."
        )


def _gravity(probe: ProbeResult) -> int:
    return SEVERITIES.index(probe.severity)


def _risks(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    for result, probe, risk in _declared(artifact):
        if risk.found:
            place = (result.target.label, risk.name, risk.place)
            yield *place, f"{probe.probe} ({probe.arm})", risk.effect


def _stale(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    """What a target declares and no probe of it found, in any mode."""
    declared = list(_declared(artifact))
    seen = {(result.target.name, risk.name) for result, _probe, risk in declared if risk.found}
    for result, probe, risk in declared:
        if (result.target.name, risk.name) not in seen:
            place = (result.target.label, risk.name, risk.place)
            yield *place, f"{probe.probe} ({probe.arm})", risk.effect


def _declared(artifact: Artifact) -> Iterator[tuple[TargetResult, ProbeResult, Risk]]:
    for result in artifact.targets:
        for probe in result.probes:
            for risk in probe.risks:
                yield result, probe, risk


def _asked(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    """One row per probe, over all targets, modes and arms."""
    groups: dict[str, list[ProbeResult]] = {}
    for result in artifact.targets:
        for probe in result.probes:
            if probe.outcome not in {"not applicable", "not probed"}:
                groups.setdefault(probe.probe, []).append(probe)
    for number, probes in sorted(groups.items()):
        passed = sum(probe.outcome == "pass" for probe in probes)
        known: Probe | ProbeResult = _BY_ID.get(number, probes[0])
        place = (f"{number} {probes[0].title}", known.leak_class, known.severity)
        yield *place, str(len(probes)), str(passed), _at_most(probes)


def _at_most(probes: Sequence[ProbeResult]) -> str:
    """How far any of them went: `k 1000, 5 tenants, 9 texts`."""
    most = {
        name: max(probe.tried.get(name, 0) for probe in probes)
        for name in ("k", "tenants", "texts")
    }
    if not most["k"]:
        return DASH
    return f"k {most['k']}, {plural(most['tenants'], 'tenant')}, {plural(most['texts'], 'text')}"


def _seed_note(artifact: Artifact) -> str:
    asked = {probe.probe for result in artifact.targets for probe in result.probes}
    counted = (
        "Class and severity are those of the probe's own failures: a foreign chunk or token in any "
        "answer is a leak and critical, and a failure by missing own chunks alone starvation. "
        "Asked and passed count each target, mode and arm once. "
        "'At most' is how far any of these went: hits asked for, tenants (or what stood for one) "
        "that asked, and texts that were asked; what shows itself beyond is not seen. Neither are "
        "parts of a text of another tenant's, nor paraphrases. "
        f"{len(asked)} of the {len(CATALOG)} probes that there are were chosen{_others(artifact)}."
    )
    if "audit" not in artifact.seeds:
        return counted
    seed = artifact.seeds["audit"]
    return (
        f"{counted} For targets that it loads the audit drew tenants, ids, texts and vectors for "
        "this run; for those that are only read, which tenant asks which questions of others. "
        f"--seed {seed} draws the same again, but for the canaries' secret tokens."
    )


def _others(artifact: Artifact) -> str:
    if not artifact.unchosen:
        return ""
    critical = sum(probe.severity == "critical" for probe in CATALOG)
    return f" (--fast chooses the {critical} critical ones; 'Not probed' names the others)"


def _labels(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    for result in artifact.targets:
        for probe in result.probes:
            if probe.labels:
                first = probe.labels[0]
                place = (result.target.label, probe.arm, f"{probe.probe} {probe.title}")
                yield *place, str(len(probe.labels)), first.uid, first.label, first.owner


def _limits(result: TargetResult) -> Iterator[tuple[ProbeResult, str]]:
    """What a probe that was asked cannot see."""
    for probe in result.probes:
        own = "; ".join(part for part in probe.limit.split("; ") if part != UNSEEN)
        if own and probe.outcome not in {"not applicable", "not probed"}:
            yield probe, own
    exact, told = exact_probes(result)
    yield from ((probe, told) for probe in exact)


def _in_one_arm(result: TargetResult) -> Iterator[tuple[ProbeResult, str]]:
    """What was asked in one of the arms that others were asked in, and why."""
    arms = {probe.arm for probe in result.probes}
    asked = {(probe.probe, probe.arm) for probe in result.probes}
    for probe in result.probes:
        if probe.outcome in {"not applicable", "not probed"}:
            continue
        for arm in sorted(arms):
            if (probe.probe, arm) not in asked:
                yield probe, _why_not(probe, arm)


def _why_not(probe: ProbeResult, arm: Arm) -> str:
    """Why one that was asked was not asked in that arm."""
    known = _BY_ID.get(probe.probe)
    if known is not None and known.modes and arm in known.arms:
        return _CUT_OFF.format(arm=arm)
    return _ONE_WAY if probe.mode is None else _VALID.format(arm=arm)


def _not_chosen(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    """One row for what the command line left out, the gravest first."""
    if not artifact.unchosen:
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for each in sorted(artifact.unchosen, key=lambda one: SEVERITIES.index(one.severity)):
        groups.setdefault((each.leak_class, each.severity), []).append(each.probe)
    told = "; ".join(f"{kind}, {grave}: {', '.join(ids)}" for (kind, grave), ids in groups.items())
    first = next(iter(groups.values()))[0]
    reason = (
        f"not chosen: {told} (class and severity of its own failures); `retrieverbench leaks "
        f"SUITE.toml --probe {first}` asks one, without --probe and --fast all are asked"
    )
    names = dict.fromkeys(result.target.name for result in artifact.targets)
    yield reason, f"{len(artifact.unchosen)} of {len(CATALOG)}", ", ".join(names)


def _not_probed(artifact: Artifact) -> Iterator[tuple[str, ...]]:
    yield from _not_chosen(artifact)
    groups: dict[tuple[str, str], list[ProbeResult]] = {}
    for result in artifact.targets:
        for probe in result.probes:
            if probe.outcome in {"not applicable", "not probed"}:
                groups.setdefault((probe.reason, result.target.name), []).append(probe)
        for probe, reason in (*_in_one_arm(result), *_limits(result)):
            groups.setdefault((reason, result.target.name), []).append(probe)
    alike: dict[tuple[str, str], list[str]] = {}
    for (reason, name), probes in groups.items():
        numbers = ", ".join(sorted({probe.probe for probe in probes}))
        alike.setdefault((reason, numbers), []).append(name)
    for (reason, numbers), names in alike.items():
        yield reason, numbers, ", ".join(names)
