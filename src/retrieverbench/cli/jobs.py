"""What the commands that run a suite share: options, the loop, the report."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retrieverbench.cli.added import adapter_name, added_target, by_name
from retrieverbench.cli.crash import defect, foreign_end
from retrieverbench.cli.formats import (
    Formats,
    annotation_lines,
    check_files,
    fault_of_writing,
    nearest,
    wanted,
    write_formats,
)
from retrieverbench.cli.output import is_terminal, tell, unbroken
from retrieverbench.cli.streams import kept_streams
from retrieverbench.cli.supervised import Supervision
from retrieverbench.cli.surroundings import kept_surroundings
from retrieverbench.errors import InputError, plural
from retrieverbench.files import whole_path, write_whole

if TYPE_CHECKING:
    import anyio

    from retrieverbench.engines.compose import Compose
    from retrieverbench.job import Prepared, Progress
    from retrieverbench.model import Artifact, CommandLine
    from retrieverbench.run import Suite

    Work = Callable[[Progress, anyio.Event], Awaitable[Artifact]]

NEEDED_LATER = ("numpy.random", "rich.console", "rich.table")
NEEDED_FOR_TIMES = (*NEEDED_LATER, "scipy.stats")
"""Modules; the second ones take half a second to import."""
NOTHING_KEPT = 5
PIPE_WIDTH = 200
WARNINGS = 5
"""Warnings of corpus and golden set that are printed before a run; the report holds all."""


@dataclass(frozen=True)
class Chosen:
    """What the options of every command that runs a suite say; see `suite_options`."""

    suite_file: Path
    only: tuple[str, ...]
    require: tuple[str, ...]
    extra: tuple[str, ...]
    results: Path | None
    compose: bool
    compose_file: Path
    plain: bool
    junit: Path | None
    annotations: str | None


@dataclass(frozen=True)
class Ready:
    """A checked suite, where its results go, in which formats, and the servers to start for it."""

    prepared: Prepared
    folder: Path
    formats: Formats
    services: Compose | None


def suite_options(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the suite's argument and options, which reach it as one `Chosen`.

    The command runs in a process of its own where its context holds a Supervision.
    """

    @functools.wraps(function)
    def command(**values: Any) -> int:
        supervision = click.get_current_context().find_object(Supervision)
        code = supervision.begin() if supervision is not None else None
        if code is not None:
            return code
        names = [field.name for field in fields(Chosen)]
        chosen = Chosen(**{name: values.pop(name) for name in names})
        only, require = (by_name(given, chosen.extra) for given in (chosen.only, chosen.require))
        chosen = replace(chosen, only=only, require=require)
        with _ended_by_us_alone():
            return function(chosen, **values)

    for decorate in reversed(_OPTIONS):
        command = decorate(command)
    return command


_OPTIONS = (
    click.argument(
        "suite_file", metavar="SUITE.toml", type=click.Path(path_type=Path, readable=False)
    ),
    click.option(
        "--target", "only", multiple=True, metavar="NAME", help="Only this entry (repeatable)."
    ),
    click.option(
        "--require",
        multiple=True,
        metavar="NAME",
        help="This entry must be measured: otherwise exit 3 (repeatable).",
    ),
    click.option(
        "--adapter",
        "extra",
        multiple=True,
        metavar="FILE.py:CLASS",
        help="Run your own retriever beside the suite's targets (repeatable).",
    ),
    click.option(
        "--results", type=click.Path(path_type=Path, readable=False), help="Folder for results."
    ),
    click.option("--compose", is_flag=True, help="Start the servers it needs with docker compose."),
    click.option(
        "--compose-file",
        metavar="FILE",
        type=click.Path(path_type=Path, readable=False),
        default=Path("docker/compose.yaml"),
        show_default=True,
        help="Their compose file.",
    ),
    click.option("--plain", is_flag=True, help="Plain lines instead of bars, also on a terminal."),
    click.option(
        "--junit",
        metavar="FILE",
        type=click.Path(path_type=Path, readable=False),
        help="Also write a test report (JUnit XML).",
    ),
    click.option(
        "--annotations",
        type=click.Choice(["github", "azure", "none"]),
        help="Print what did not pass as annotations of a CI service; default: those of the one "
        "that runs this (GITHUB_ACTIONS, TF_BUILD).",
    ),
)


@contextmanager
def _ended_by_us_alone() -> Iterator[None]:
    """AdapterError for what ends the job and is of an adapter's or an engine's making.

    The command would take it for a reader of our output that left, or for a defect of ours.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if (foreign := foreign_end(error)) is None or foreign is error:
            raise
        raise foreign from error


def make_ready(chosen: Chosen, *, no_timing: bool = False, sarif: Path | None = None) -> Ready:
    """Everything that can be found wrong before a backend is touched; InputError if any is."""
    with kept_streams(), kept_surroundings():  # adapters' files are executed
        return _ready(chosen, no_timing=no_timing, sarif=sarif)


def _ready(chosen: Chosen, *, no_timing: bool, sarif: Path | None) -> Ready:
    tell(f"{chosen.suite_file}: reading")  # libraries take seconds to load, in which nothing moves
    from retrieverbench.cli.progress import shown_progress
    from retrieverbench.job import prepare
    from retrieverbench.run import load_suite

    suite = _with_options(load_suite(chosen.suite_file), chosen.extra, no_timing=no_timing)
    folder = chosen.results or suite.resolve(suite.results)
    suite = replace(suite, results=str(whole_path(folder)))
    _check_writable(folder, suite.name)
    formats = Formats(chosen.junit, sarif, wanted(chosen.annotations))
    check_files(formats)
    services = _services(suite, chosen.compose_file) if chosen.compose else None
    with shown_progress(plain=chosen.plain) as progress:
        prepared = prepare(
            suite,
            only=frozenset(chosen.only),
            required=frozenset(chosen.require),
            progress=progress,
            environ=os.environ,
            served=services.services if services else (),
        )
    _warn(prepared)
    return Ready(prepared, folder, formats, services)


def _warn(prepared: Prepared) -> None:
    """What the readers of corpus and golden set found odd, before a backend is touched."""
    warnings = (*prepared.corpus.warnings, *prepared.golden.warnings)
    for warning in warnings[:WARNINGS]:
        tell(f"warning: {warning}")
    if len(warnings) > WARNINGS:
        more = plural(len(warnings) - WARNINGS, "more warning")
        tell(f"and {more}; see retrieverbench golden check")


def command_line(chosen: Chosen, *, timing: bool, changing: tuple[str, ...]) -> CommandLine:
    """What the options changed of the suite, for the artifact."""
    from retrieverbench.model import CommandLine

    return CommandLine(
        only=chosen.only,
        require=chosen.require,
        adapters=tuple(adapter_name(word) for word in chosen.extra),
        timing=timing,
        compose=chosen.compose,
        changing=changing,
    )


def _with_options(suite: Suite, extra: tuple[str, ...], *, no_timing: bool) -> Suite:
    """The suite with what the command line adds and leaves out; InputError where they clash."""
    from retrieverbench.run import suite_faults

    own = len(suite.targets)
    suite = replace(suite, targets=(*suite.targets, *(added_target(word) for word in extra)))
    words = {own + number: f"--adapter {word}" for number, word in enumerate(extra)}
    faults = list(suite_faults(suite, words))
    if faults:
        raise InputError(*faults)
    if no_timing:
        suite = replace(suite, timing=replace(suite.timing, enabled=False))
    return suite


def _check_writable(folder: Path, suite: str) -> None:
    """An InputError now rather than after the run; nothing is made, for the input may be wrong."""
    import tempfile

    runs = folder / "runs" / suite
    try:
        tempfile.TemporaryFile(dir=nearest(runs)).close()
    except OSError as error:
        raise InputError(
            f"{folder}: results cannot be written here: {error.strerror}; "
            "name another folder with --results"
        ) from None
    for other in sorted(folder.glob("*/*")):
        if other.name != suite and other.name.casefold() == suite.casefold() and other.is_dir():
            raise InputError(
                f"{other}: holds results of a suite whose name differs from {suite!r} only in "
                "case, which other systems take for one; rename the suite or use --results"
            )


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


def measure(work: Work, *, plain: bool, needed: Sequence[str] = NEEDED_LATER) -> Artifact:
    """Run a job that ends early, keeping what it has, once the event is set by a signal.

    `needed` modules are imported before, those of extras where they are installed: adapters can
    make every later import fail.
    """
    from retrieverbench.cli.progress import shown_progress

    for module in needed:
        with suppress(ModuleNotFoundError):
            importlib.import_module(module)
    with kept_streams(), shown_progress(plain=plain) as progress, kept_surroundings():
        return _measured(work, progress)


def _measured(work: Work, progress: Progress) -> Artifact:
    from retrieverbench.cli.loop import run_in_loop

    async def main(on_signal: Callable[[Callable[[], None]], None]) -> Artifact:
        import anyio

        interrupt = anyio.Event()

        def ask() -> None:
            interrupt.set()
            progress.note(
                "interrupted: closing what was opened, then the report of what was measured; once "
                "more to end at once"
            )

        on_signal(ask)
        return await work(progress, interrupt)

    return run_in_loop(main, progress.note)


def report(artifact: Artifact, ready: Ready) -> int:
    """Write and print what was judged; the exit code, which no fault of the output lowers."""
    assert artifact.verdict is not None
    exit_code = artifact.verdict.exit_code
    from rich.console import Console

    from retrieverbench.report import print_report, run_path

    suite_file = ready.prepared.suite.path
    path, faults = _keep(artifact, run_path(artifact, ready.folder))
    faults += write_formats(artifact, ready.formats, suite_file)
    width = None if is_terminal(sys.stdout) else PIPE_WIDTH
    with unbroken(sys.stdout) as unprinted, _no_defect_of_reports(faults):
        print_report(artifact, Console(width=width), path)
        for line in annotation_lines(artifact, ready.formats, suite_file):
            click.echo(line)
        if sys.stdout is not None:
            sys.stdout.flush()
    if not faults and not unprinted:
        return exit_code
    for told in faults:
        tell(f"error: {told}")
    if exit_code == 0:
        what = "nothing valid was kept" if path is None else f"a report is missing ({path} is kept)"
        tell(f"error: it passed, but {what}: exit {NOTHING_KEPT}")
        return NOTHING_KEPT
    return exit_code


@contextmanager
def _no_defect_of_reports(faults: list[str]) -> Iterator[None]:
    """A defect in what is printed does not unsay the verdict."""
    from retrieverbench.run import log_frames

    try:
        yield
    except (OSError, ValueError):  # of the stream
        raise
    except Exception as error:  # noqa: BLE001 - the verdict stands whatever a report does
        log_frames(error)
        faults.append(f"the report cannot be printed: {defect(error)}")


def _keep(artifact: Artifact, path: Path) -> tuple[Path | None, list[str]]:
    """Write the artifact, and once it is there its rendering.

    Where the artifact lies, None if nowhere, and what could not be written. A run may have taken
    hours: where it cannot be written at its path, the system's folder for such files is tried.
    """
    from retrieverbench.report import dump_artifact, render_markdown

    fault = fault_of_writing(path, lambda: write_whole(path, dump_artifact(artifact)))
    faults = [] if fault is None else [fault]
    if fault is not None:
        kept = _elsewhere(path.name, artifact)
        if kept is None:
            return None, faults
        path = kept
        faults.append(f"what was measured is kept in {path} instead")
    shown = path.with_suffix(".md")
    unshown = fault_of_writing(
        shown, lambda: write_whole(shown, render_markdown(artifact).encode())
    )
    return path, faults if unshown is None else [*faults, unshown]


def _elsewhere(name: str, artifact: Artifact) -> Path | None:
    """The artifact in the system's folder for temporary files; None where that fails, too."""
    import tempfile

    from retrieverbench.report import dump_artifact

    with suppress(Exception):  # why it could not be written where it belongs is told
        folder = Path(tempfile.mkdtemp(prefix="retrieverbench-"))
        try:
            write_whole(folder / name, dump_artifact(artifact))
        except BaseException:
            folder.rmdir()
            raise
        return folder / name
    return None
