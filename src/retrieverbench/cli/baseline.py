"""`retrieverbench baseline accept`: the only command that writes a baseline."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def baseline() -> None:
    """Baselines: what later runs are compared with."""


@baseline.command()
@click.argument("artifact_file", metavar="ARTIFACT", type=click.Path(path_type=Path))
@click.option("--because", default="", metavar="TEXT", help="Why; kept in the baseline.")
@click.option("--allow-dirty", is_flag=True, help="Accept a run of an uncommitted tree.")
@click.option("--results", type=click.Path(path_type=Path), help="Folder that holds baselines/.")
def accept(artifact_file: Path, because: str, results: Path | None, *, allow_dirty: bool) -> None:
    """Make the run in ARTIFACT the baseline of its suite, target by target.

    Refuses a run with a leak, errors, an unversioned golden set or an uncommitted tree.
    Prints how each mean differs from the baseline before.
    """
    from retrieverbench.report import accept_baseline, read_artifact

    artifact = read_artifact(artifact_file)
    folder = results or artifact_file.resolve().parent.parent.parent
    for line in accept_baseline(
        artifact, folder / "baselines", because=because, allow_dirty=allow_dirty
    ):
        click.echo(line)
