"""`retrieverbench run`: the main job, its report and its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieverbench.cli.output import is_terminal, reason, tell, unbroken
from retrieverbench.errors import InputError

if TYPE_CHECKING:
    from retrieverbench.engines.compose import Compose
    from retrieverbench.job import Prepared, Progress
    from retrieverbench.model import Artifact
    from retrieverbench.run import Suite, TargetEntry

NOTHING_KEPT = 5
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
@click.option("--compose", is_flag=True, help="Start the servers it needs with docker compose.")
@click.option(
    "--compose-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=Path("docker/compose.yaml"),
    show_default=True,
    help="Their compose file.",
)
@click.option("--plain", is_flag=True, help="Plain lines instead of bars, also on a terminal.")
def run(
    suite_file: Path,
    only: tuple[str, ...],
    require: tuple[str, ...],
    extra: tuple[str, ...],
    results: Path | None,
    *,
    no_timing: bool,
    compose: bool,
    compose_file: Path,
    plain: bool,
) -> int:
    """Run a suite: load, ask, time, look for leaks, judge, report.

    Writes results/runs/<suite>/<time>-<id>.json and .md and prints the same tables.
    """
    from retrieverbench.gate import judge
    from retrieverbench.job import prepare
    from retrieverbench.report import load_baselines
    from retrieverbench.run import load_suite

    suite = _with_options(load_suite(suite_file), extra, no_timing=no_timing)
    folder = results or suite.resolve(suite.results)
    _check_writable(folder, suite.name)
    services = _services(suite, compose_file) if compose else None
    prepared = prepare(suite, only=frozenset(only), required=frozenset(require))
    baselines, refusals = load_baselines(folder / "baselines", suite.name, prepared.labels)
    from retrieverbench.cli.progress import show_progress

    with show_progress(plain=plain or not is_terminal(sys.stderr)) as progress:
        artifact = _measure(prepared, progress, services)
    verdict = judge(
        artifact,
        prepared.rules,
        baselines,
        inconclusive_leaks=suite.leaks.inconclusive,
        refusals=refusals,
    )
    artifact = replace(artifact, verdict=verdict, suite_file=_seen_from(folder, suite.path))
    return _report(artifact, verdict.exit_code, folder)


def _seen_from(folder: Path, file: Path) -> str:
    """The file's path from the folder, for `baseline accept`; "" where no folder holds both.

    Two such folders tell nothing that lasts, and their whole paths are nobody's business.
    """
    folder, file = folder.resolve(), file.resolve()
    if os.path.commonpath([folder, file]) == file.anchor:
        return ""
    return Path(os.path.relpath(file, folder)).as_posix()


def _with_options(suite: Suite, extra: tuple[str, ...], *, no_timing: bool) -> Suite:
    """The suite with what the command line adds and leaves out; InputError where they clash."""
    from retrieverbench.run import suite_faults

    own = len(suite.targets)
    suite = replace(suite, targets=(*suite.targets, *(_entry(word) for word in extra)))
    words = {own + number: f"--adapter {word}" for number, word in enumerate(extra)}
    faults = list(suite_faults(suite, words))
    if faults:
        raise InputError(*faults)
    if no_timing:
        suite = replace(suite, timing=replace(suite.timing, enabled=False))
    return suite


def _entry(word: str) -> TargetEntry:
    """The target that `--adapter` adds: every mode that the class can do."""
    from retrieverbench.model import MODES
    from retrieverbench.run import LAYOUTS, TargetEntry, load_adapter

    path, _, cls = word.rpartition(":")
    absolute = f"{Path(path).resolve()}:{cls}" if path.endswith(".py") else word
    capabilities = load_adapter(absolute).cls.capabilities
    modes = tuple(mode for mode in MODES if mode in capabilities)
    layouts = tuple(layout for layout in LAYOUTS if layout in capabilities)
    for what, found, known in (("mode", modes, MODES), ("layout", layouts, LAYOUTS)):
        if not found:
            raise InputError(
                f"--adapter {word}: no {what} among its capabilities "
                f"({', '.join(sorted(capabilities)) or 'none'}); declare {' or '.join(known)}"
            )
    return TargetEntry(adapter=absolute, name=cls.lower(), modes=modes, layout=layouts[0])


def _check_writable(folder: Path, suite: str) -> None:
    """An InputError now rather than after the run; nothing is made, for the input may be wrong."""
    import tempfile

    runs = folder / "runs" / suite
    try:
        tempfile.TemporaryFile(dir=_nearest(runs)).close()
    except OSError as error:
        raise InputError(
            f"{folder}: results cannot be written here: {error.strerror}; "
            "name another folder with --results"
        ) from None


def _nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that is there; OSError if none can ever be."""
    for part in (path, *path.parents):
        with suppress(FileNotFoundError):
            part.lstat()
            return part
    return Path()


def _services(suite: Suite, file: Path) -> Compose:
    """The servers of a compose file, of which the suite needs at least one."""
    from retrieverbench.engines.compose import read_compose

    found = read_compose(file)
    if not any(entry.service in found.services for entry in suite.targets):
        raise InputError(
            f"--compose: no target of {suite.path} is a service of {file} "
            f"({', '.join(sorted(found.services))}); run it without --compose"
        )
    return found


def _measure(prepared: Prepared, progress: Progress, services: Compose | None) -> Artifact:
    from retrieverbench.cli.loop import run_in_loop

    async def main(on_signal: Callable[[Callable[[], None]], None]) -> Artifact:
        import anyio

        from retrieverbench.job import run_suite

        interrupt = anyio.Event()

        def ask() -> None:
            interrupt.set()
            progress.note("interrupted: closing what was opened; once more to end at once")

        on_signal(ask)
        return await run_suite(prepared, os.environ, progress, interrupt, services)

    try:
        return run_in_loop(main, progress.note)
    except (BrokenPipeError, SystemExit) as error:
        # Of an adapter or an engine; `main` would take it for a reader of our output that left.
        raise RuntimeError(f"the run was ended from inside by {error!r}") from error


def _report(artifact: Artifact, exit_code: int, folder: Path) -> int:
    """Write and print what was judged; the exit code, which no fault of the output lowers."""
    from rich.console import Console

    from retrieverbench.report import print_report, run_path

    path = run_path(artifact, folder)
    fault = _fault_of_keeping(artifact, path)
    width = None if is_terminal(sys.stdout) else PIPE_WIDTH
    with unbroken(sys.stdout):
        print_report(artifact, Console(width=width), None if fault else path)
        if sys.stdout is not None:
            sys.stdout.flush()
    if fault is None:
        return exit_code
    tell(f"error: {fault}")
    if exit_code == 0:
        tell(f"error: it passed, but nothing valid was kept: exit {NOTHING_KEPT}")
        return NOTHING_KEPT
    return exit_code


def _fault_of_keeping(artifact: Artifact, path: Path) -> str | None:
    """Write the artifact and its rendering; why that could not be done."""
    from retrieverbench.files import write_whole
    from retrieverbench.report import dump_artifact, render_markdown

    try:
        write_whole(path, dump_artifact(artifact))
        write_whole(path.with_suffix(".md"), render_markdown(artifact).encode())
    except InputError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a defect of ours does not unsay the verdict
        return f"{path}: cannot be written: {type(error).__name__}: {reason(error)}"
    return None
