"""`retrieverbench run`: the main job, its report and its exit code."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieverbench.cli.crash import REMEDY, whole_or_cut_off, why_it_ended
from retrieverbench.cli.ending import told_to_its_end
from retrieverbench.cli.jobs import (
    NEEDED_FOR_TIMES,
    NEEDED_LATER,
    Chosen,
    Ready,
    command_line,
    make_ready,
    measure,
    report,
    suite_options,
)
from retrieverbench.cli.output import tell
from retrieverbench.errors import InputError
from retrieverbench.files import seen_from_here, whole_path

if TYPE_CHECKING:
    import anyio

    from retrieverbench.job import Prepared, Progress
    from retrieverbench.model import Artifact, Baseline, Verdict


@click.command(name="run")
@suite_options
@click.option("--no-timing", is_flag=True, help="Leave the timed pass out.")
@click.option(
    "--changing",
    multiple=True,
    metavar="WHAT",
    help="Compare with baselines although this differs: settings, server, adapter, embedding, "
    "index, chunking or prompt (repeatable).",
)
def run(chosen: Chosen, *, no_timing: bool, changing: tuple[str, ...]) -> int:
    """Run a suite: load, ask, time, look for leaks, judge, report.

    Writes results/runs/<suite>/<time>-<id>.json and .md and prints the same tables.
    """
    from retrieverbench.gate import CHANGES
    from retrieverbench.options import nearest

    for word in changing:
        if word not in CHANGES:
            raise InputError(f"--changing {word}: {nearest(word, CHANGES)}")
    ready = make_ready(chosen, no_timing=no_timing)
    prepared, suite = ready.prepared, ready.prepared.suite
    baselines, refusals = _baselines(prepared, ready.folder / "baselines", chosen.only)
    file = _seen_from(ready.folder, suite.path)
    command = command_line(chosen, timing=not no_timing, changing=changing)
    artifact, crash = _measured(ready, plain=chosen.plain)
    with told_to_its_end():
        artifact = replace(artifact, suite_file=file, command=command)
        verdict = _judged(artifact, ready, baselines, refusals, crash)
        return report(replace(artifact, verdict=verdict), ready)


def _baselines(
    prepared: Prepared, folder: Path, only: Sequence[str]
) -> tuple[dict[str, Baseline], list[str]]:
    """By label, those of targets that the suite has no more among them, and the unreadable ones.

    Says which are missing, and which of the others no rule looks at.
    """
    from retrieverbench.gate import comparing, is_left_out
    from retrieverbench.report import load_baselines, other_baselines

    suite = prepared.suite.name
    baselines, refusals = load_baselines(folder, suite, prepared.labels)
    others, unreadable = other_baselines(folder, suite, prepared.labels)
    first = [
        target.label
        for entry in prepared.suite.targets
        for target in entry.targets()
        if target.label not in baselines and comparing(prepared.rules, target) is not None
    ]
    if first and not refusals:
        tell(
            f"note: no baseline yet: {', '.join(first)}; rules that compare with one will end this "
            "run with exit 2, and then it can be accepted"
        )
    left_out = [label for label, other in others.items() if is_left_out(other.target, only)]
    unjudged = [
        label
        for label, other in others.items()
        if label not in left_out and comparing(prepared.rules, other.target) is None
    ]
    if left_out:
        tell(f"note: have a baseline, but --target leaves them out: {', '.join(left_out)}")
    if unjudged:
        tell(f"note: have a baseline, but are no targets any more: {', '.join(unjudged)}")
    unused = [
        label for label, known in baselines.items() if not comparing(prepared.rules, known.target)
    ]
    if unused:
        tell(f"note: have a baseline, but no rule compares with it: {', '.join(unused)}")
    return {**baselines, **others}, [*refusals, *unreadable]


def _measured(ready: Ready, *, plain: bool) -> tuple[Artifact, str]:
    """What was measured, and how the harness crashed, "" if it did not."""
    from retrieverbench.job import Begun, begin_suite, cut_off, run_suite

    begun: list[Begun] = []

    async def work(progress: Progress, interrupt: anyio.Event) -> Artifact:
        begun.append(begin_suite(ready.prepared, os.environ, progress))
        return await run_suite(begun[0], interrupt, ready.services)

    needed = NEEDED_FOR_TIMES if ready.prepared.suite.timing.enabled else NEEDED_LATER
    return whole_or_cut_off(
        lambda: measure(work, plain=plain, needed=needed),
        lambda why: cut_off(begun[0], why) if begun else None,
    )


def _judged(
    artifact: Artifact,
    ready: Ready,
    baselines: Mapping[str, Baseline],
    refusals: Sequence[str],
    crash: str,
) -> Verdict:
    """The verdict; that of a crash where there was one, also here."""
    from retrieverbench.gate import crashed, judge
    from retrieverbench.run import log_frames

    suite = ready.prepared.suite
    try:
        if not crash:
            return judge(
                artifact,
                ready.prepared.rules,
                baselines,
                inconclusive_leaks=suite.leaks.inconclusive,
                refusals=refusals,
                folder=seen_from_here(ready.folder / "baselines"),
            )
    except Exception as error:  # noqa: BLE001 - what was measured is kept all the same
        crash = why_it_ended(error).reason
        log_frames(error)
        tell(f"error: {crash}; {REMEDY}")
    return crashed(artifact, crash)


def _seen_from(folder: Path, file: Path) -> str:
    """The file's path from the folder, for `baseline accept`; "" where no folder holds both.

    Two such folders tell nothing that lasts, and their whole paths are nobody's business.
    """
    folder, file = whole_path(folder), whole_path(file)
    if os.path.commonpath([folder, file]) == file.anchor:
        return ""
    return Path(os.path.relpath(file, folder)).as_posix()
