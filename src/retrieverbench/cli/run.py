"""`retrieverbench run`: the main job, its report and its exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieverbench.errors import InputError

if TYPE_CHECKING:
    from retrieverbench.job import Prepared, Progress
    from retrieverbench.model import Artifact, Baseline
    from retrieverbench.run import Suite

INTERRUPTED = 130
PIPE_WIDTH = 200


@click.command(name="run")
@click.argument("suite_file", metavar="SUITE.toml", type=click.Path(path_type=Path))
@click.option(
    "--target", "only", multiple=True, metavar="NAME", help="Only this entry (repeatable)."
)
@click.option(
    "--require",
    multiple=True,
    metavar="NAME",
    help="This entry must be measured: otherwise exit 3 (repeatable).",
)
@click.option(
    "--adapter",
    "extra",
    multiple=True,
    metavar="FILE.py:CLASS",
    help="Run your own retriever beside the suite's targets (repeatable).",
)
@click.option("--results", type=click.Path(path_type=Path), help="Folder for results.")
@click.option("--no-timing", is_flag=True, help="Leave the timed pass out.")
@click.option("--plain", is_flag=True, help="Plain lines instead of bars, also on a terminal.")
def run(
    suite_file: Path,
    only: tuple[str, ...],
    require: tuple[str, ...],
    extra: tuple[str, ...],
    results: Path | None,
    *,
    no_timing: bool,
    plain: bool,
) -> int:
    """Run a suite: load, ask, time, look for leaks, judge, report.

    Writes results/runs/<suite>/<time>-<id>.json and .md and prints the same tables.
    """
    from retrieverbench.job import prepare
    from retrieverbench.report import load_baselines
    from retrieverbench.run import load_suite

    suite = _with_options(load_suite(suite_file), extra, no_timing=no_timing)
    folder = _writable(results or suite.resolve(suite.results))
    prepared = prepare(suite, only=frozenset(only), required=frozenset(require))
    baselines = load_baselines(folder / "baselines", suite.name, prepared.labels)
    from retrieverbench.cli.progress import show_progress

    with show_progress(plain=plain or not sys.stderr.isatty()) as progress:
        artifact = _measure(prepared, progress)
    return _finish(prepared, artifact, baselines, folder)


def _with_options(suite: Suite, extra: tuple[str, ...], *, no_timing: bool) -> Suite:
    """The suite with what the command line adds and leaves out."""
    from dataclasses import replace

    from retrieverbench.model import MODES
    from retrieverbench.run import TargetEntry, load_adapter

    targets = suite.targets
    for word in extra:
        path, _, cls = word.rpartition(":")
        absolute = f"{Path(path).resolve()}:{cls}" if path.endswith(".py") else word
        loaded = load_adapter(absolute)
        modes = tuple(mode for mode in MODES if mode in loaded.cls.capabilities)
        targets += (TargetEntry(adapter=absolute, name=cls.lower(), modes=modes),)
    if no_timing:
        suite = replace(suite, timing=replace(suite.timing, enabled=False))
    return replace(suite, targets=targets)


def _writable(folder: Path) -> Path:
    """The results folder, made if need be; an InputError now rather than after the run."""
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        probe = folder / "runs" / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"{folder}: results cannot be written here: {error.strerror}; "
            "name another folder with --results"
        ) from None
    return folder


def _measure(prepared: Prepared, progress: Progress) -> Artifact:
    import asyncio

    import anyio

    from retrieverbench.job import run_suite

    async def main() -> Artifact:
        interrupt = anyio.Event()
        watch = asyncio.create_task(_watch_signals(interrupt, progress))
        try:
            return await run_suite(prepared, os.environ, progress, interrupt)
        finally:
            watch.cancel()

    return anyio.run(main)


async def _watch_signals(interrupt: object, progress: Progress) -> None:
    """The first SIGINT or SIGTERM asks the job to stop; the second ends the process."""
    import anyio

    assert isinstance(interrupt, anyio.Event)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            if interrupt.is_set():
                os._exit(INTERRUPTED)
            interrupt.set()
            progress.note("interrupted: closing what was opened; once more to end at once")


def _finish(
    prepared: Prepared, artifact: Artifact, baselines: Mapping[str, Baseline], folder: Path
) -> int:
    """Judge, write, print; the verdict's exit code."""
    from dataclasses import replace

    from rich.console import Console

    from retrieverbench.gate import judge
    from retrieverbench.report import (
        dump_artifact,
        print_report,
        render_markdown,
        run_path,
        write_whole,
    )

    verdict = judge(
        artifact,
        prepared.rules,
        baselines,
        inconclusive_leaks=prepared.suite.leaks.inconclusive,
    )
    artifact = replace(artifact, verdict=verdict)
    path = run_path(artifact, folder)
    write_whole(path, dump_artifact(artifact))
    write_whole(path.with_suffix(".md"), render_markdown(artifact).encode())
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    print_report(artifact, Console(width=width), path)
    return verdict.exit_code
