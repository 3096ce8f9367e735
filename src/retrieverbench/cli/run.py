"""`retrieverbench run`: the main job, its report and its exit code."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieverbench.cli.jobs import (
    NEEDED_FOR_TIMES,
    NEEDED_LATER,
    Chosen,
    command_line,
    make_ready,
    measure,
    report,
    suite_options,
)

if TYPE_CHECKING:
    import anyio

    from retrieverbench.job import Progress
    from retrieverbench.model import Artifact


@click.command(name="run")
@suite_options
@click.option("--no-timing", is_flag=True, help="Leave the timed pass out.")
def run(chosen: Chosen, *, no_timing: bool) -> int:
    """Run a suite: load, ask, time, look for leaks, judge, report.

    Writes results/runs/<suite>/<time>-<id>.json and .md and prints the same tables.
    """
    from retrieverbench.gate import judge
    from retrieverbench.report import load_baselines

    ready = make_ready(chosen, no_timing=no_timing)
    prepared, suite = ready.prepared, ready.prepared.suite
    baselines, refusals = load_baselines(ready.folder / "baselines", suite.name, prepared.labels)

    async def work(progress: Progress, interrupt: anyio.Event) -> Artifact:
        from retrieverbench.job import run_suite

        return await run_suite(prepared, os.environ, progress, interrupt, ready.services)

    needed = NEEDED_FOR_TIMES if suite.timing.enabled else NEEDED_LATER
    artifact = measure(work, plain=chosen.plain, needed=needed)
    verdict = judge(
        artifact,
        prepared.rules,
        baselines,
        inconclusive_leaks=suite.leaks.inconclusive,
        refusals=refusals,
    )
    file = _seen_from(ready.folder, suite.path)
    command = command_line(chosen, timing=not no_timing)
    return report(replace(artifact, verdict=verdict, suite_file=file, command=command), ready)


def _seen_from(folder: Path, file: Path) -> str:
    """The file's path from the folder, for `baseline accept`; "" where no folder holds both.

    Two such folders tell nothing that lasts, and their whole paths are nobody's business.
    """
    folder, file = folder.resolve(), file.resolve()
    if os.path.commonpath([folder, file]) == file.anchor:
        return ""
    return Path(os.path.relpath(file, folder)).as_posix()
