"""`retrieverbench baseline accept`: the only command that writes a baseline."""

from __future__ import annotations

from pathlib import Path

import click

from retrieverbench.errors import InputError


@click.group()
def baseline() -> None:
    """Baselines: what later runs are compared with."""


@baseline.command()
@click.argument("paths", metavar="ARTIFACT", type=click.Path(path_type=Path), nargs=-1)
@click.option("--because", default="", metavar="TEXT", help="Why; kept in the baseline.")
@click.option("--allow-dirty", is_flag=True, help="Accept a run of an uncommitted tree.")
@click.option("--results", type=click.Path(path_type=Path), help="Folder that holds baselines/.")
def accept(
    paths: tuple[Path, ...], because: str, results: Path | None, *, allow_dirty: bool
) -> None:
    """Make the run in ARTIFACT the baseline of its suite, target by target.

    ARTIFACT is one .json file of a run, or the folder of a suite's runs, of which the newest
    is taken. Refuses a run with a leak, errors, an unversioned golden set or an uncommitted
    tree. Prints how each mean differs from the baseline before.
    """
    from retrieverbench.report import accept_baseline, newest_artifact, read_artifact, results_of

    path = _only(paths)
    if path.is_dir():
        path = newest_artifact(path)
        click.echo(f"newest artifact: {path}")
    artifact = read_artifact(path)
    folder = results or results_of(path)
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
