"""`retrieverbench baseline accept`: the only command that writes a baseline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieverbench.cli.output import tell
from retrieverbench.errors import InputError

if TYPE_CHECKING:
    from retrieverbench.model import Artifact
    from retrieverbench.run import Suite


@click.group()
def baseline() -> None:
    """Baselines: what later runs are compared with."""


@baseline.command()
@click.argument(
    "paths", metavar="ARTIFACT", type=click.Path(path_type=Path, readable=False), nargs=-1
)
@click.option("--because", default="", metavar="TEXT", help="Why; kept in the baseline.")
@click.option("--allow-dirty", is_flag=True, help="Accept a run of an uncommitted tree.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, readable=False),
    help="Folder that holds baselines/.",
)
@click.option(
    "--suite",
    "suite_file",
    metavar="SUITE.toml",
    type=click.Path(path_type=Path, readable=False),
    help="The run's suite, where it does not lie as it did then.",
)
def accept(
    paths: tuple[Path, ...],
    because: str,
    results: Path | None,
    suite_file: Path | None,
    *,
    allow_dirty: bool,
) -> None:
    """Make the run in ARTIFACT the baseline of its suite, target by target.

    ARTIFACT is one .json file of a run, or the folder of a suite's runs, of which the newest
    is taken. Everything in it is computed again or checked against the suite, the golden set
    and the corpus: what differs is refused, and so is a run with a leak, errors, an
    unversioned golden set or an uncommitted tree. Prints how each mean differs from the
    baseline before.

    Nothing can tell whether these are true: the ids and scores of the answers, times within
    what stands beside them, what the backend says of itself, versions, machine, date, commit.
    """
    from retrieverbench.job import verify
    from retrieverbench.report import (
        accept_baseline,
        check_acceptable,
        load_baselines,
        newest_artifact,
        other_baselines,
        read_artifact,
        results_of,
    )

    path = _only(paths)
    if path.is_dir():
        path = newest_artifact(path)
        click.echo(f"newest artifact: {path}")
    artifact = read_artifact(path)
    check_acceptable(artifact, because=because, allow_dirty=allow_dirty)
    folder = results or results_of(path)
    suite = _suite_of(artifact, folder, suite_file)
    labels = [result.target.label for result in artifact.targets]
    before, _unreadable = load_baselines(folder / "baselines", artifact.suite, labels)
    gone, _unreadable = other_baselines(folder / "baselines", artifact.suite, labels)
    artifact = verify(artifact, suite, {**before, **gone})
    for line in accept_baseline(
        artifact, folder / "baselines", because=because, allow_dirty=allow_dirty
    ):
        click.echo(line)


def _only(paths: tuple[Path, ...]) -> Path:
    """The one artifact: a baseline is one run's, and a pattern of the shell may match more."""
    if not paths:
        raise InputError("ARTIFACT: none given; name one .json file, or the folder of the runs")
    if len(paths) > 1:
        raise InputError(
            f"ARTIFACT: {len(paths)} given ({paths[0]} and more) and one run is accepted at a "
            f"time; name one of them, or their folder {paths[0].parent} for the newest"
        )
    return paths[0]


def _suite_of(artifact: Artifact, folder: Path, named: Path | None) -> Suite:
    """The suite that the run was of, which says where golden set and corpus are."""
    from retrieverbench.run import load_suite

    need = "its golden set and corpus are needed to compute the scores again"
    if named is None and not artifact.suite_file:
        raise InputError(
            f"the artifact does not tell where its suite lies, and {need}; "
            "name it with --suite SUITE.toml"
        )
    path = named or Path(os.path.normpath(folder / artifact.suite_file))
    if named is None and not path.is_file():
        raise InputError(
            f"{path}: the suite of this run is not there, and {need}; "
            "name it with --suite SUITE.toml"
        )
    suite = load_suite(path)
    if suite.name != artifact.suite:
        raise InputError(
            f"{path}: is suite {suite.name!r}, the run is of suite {artifact.suite!r}; "
            "name that one with --suite SUITE.toml"
        )
    if suite.sha256 != artifact.suite_sha256:
        tell(f"note: {path} has changed since this run; its rules as they are now judged it")
    return suite
