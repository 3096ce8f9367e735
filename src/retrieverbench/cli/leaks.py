"""`retrieverbench leaks`: the audit of a suite's targets, its report and its exit code."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieverbench.cli.crash import whole_or_cut_off
from retrieverbench.cli.ending import told_to_its_end
from retrieverbench.cli.jobs import Chosen, Ready, make_ready, measure, report, suite_options
from retrieverbench.cli.lists import nearest_probe
from retrieverbench.errors import InputError

if TYPE_CHECKING:
    import anyio

    from retrieverbench.job import Progress
    from retrieverbench.leaks import Probe
    from retrieverbench.model import Artifact
    from retrieverbench.run import Suite


@click.command(name="leaks")
@suite_options
@click.option("--fast", is_flag=True, help="Critical probes only; the report names the others.")
@click.option("--probe", "wanted", multiple=True, metavar="P01", help="Only this (repeatable).")
@click.option(
    "--sarif",
    metavar="FILE",
    type=click.Path(path_type=Path, readable=False),
    help="Also write what was found as security alerts (SARIF 2.1.0).",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw tenants, ids and texts as in the audit that named this seed; new ones otherwise.",
)
def leaks(
    chosen: Chosen, *, fast: bool, wanted: tuple[str, ...], sarif: Path | None, seed: int | None
) -> int:
    """Audit the targets of a suite for cross-tenant leaks.

    Every probe of the catalog, in every mode, on chunks that the audit makes itself, new ones in
    every run; through the tenant guard and below it. Exit 4 for a leak, 5 where a clean result
    is not proven.
    """
    from retrieverbench.gate import judge_audit
    from retrieverbench.leaks import CATALOG

    probes = _chosen(CATALOG, wanted, fast=fast)
    ready = make_ready(chosen, sarif=sarif)
    suite = ready.prepared.suite
    _check_accepted(suite, {probe.id for probe in CATALOG})

    artifact = _found(ready, probes, seed, plain=chosen.plain)
    with told_to_its_end():
        verdict = judge_audit(
            artifact,
            fail_on=suite.leaks.fail_on,
            inconclusive=suite.leaks.inconclusive,
            accepted=suite.leaks.accept_inconclusive,
        )
        return report(replace(artifact, verdict=verdict), ready)


def _found(ready: Ready, probes: Sequence[Probe], seed: int | None, *, plain: bool) -> Artifact:
    """The audit; of one that was broken off what was found until then, which is never a pass."""
    from retrieverbench.job import BegunAudit, begin_audit, cut_off_audit, run_audit

    begun: list[BegunAudit] = []

    async def work(progress: Progress, interrupt: anyio.Event) -> Artifact:
        prepared = ready.prepared
        begun.append(begin_audit(prepared, os.environ, progress, probes=probes, seed=seed))
        return await run_audit(begun[0], interrupt, ready.services)

    artifact, _ = whole_or_cut_off(
        lambda: measure(work, plain=plain),
        lambda why: cut_off_audit(begun[0], why) if begun else None,
    )
    return artifact


def _check_accepted(suite: Suite, known: Collection[str]) -> None:
    """InputError for a reason given for a probe that does not exist."""
    from retrieverbench.options import nearest

    faults = [
        f"{suite.place('leaks', 'accept_inconclusive', name)}: no such probe; "
        f"{nearest(name, known)}"
        for name in suite.leaks.accept_inconclusive
        if name not in known
    ]
    if faults:
        raise InputError(*faults)


def _chosen(catalog: Sequence[Probe], wanted: Sequence[str], *, fast: bool) -> Sequence[Probe]:
    known = [probe.id for probe in catalog]
    faults = [
        f"--probe: {name!r} is unknown; {nearest_probe(name, catalog)}"
        for name in wanted
        if name not in known
    ]
    if faults:
        raise InputError(*faults)
    return [
        probe
        for probe in catalog
        if (not wanted or probe.id in wanted) and (not fast or probe.severity == "critical")
    ]
