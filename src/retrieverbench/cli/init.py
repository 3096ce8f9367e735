"""`retrieverbench init`: a commented suite with a tiny set, ready to run and to edit."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

import click

from retrieverbench.errors import InputError

FILES = ("suite.toml", "corpus.jsonl", "golden.v1.jsonl", "golden.v1.manifest.json")


IGNORE = ".gitignore"
RUNS = ("results/runs/", "results/audits/")
"""What every run writes anew; baselines are for git."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, readable=False), default=Path())
def init(folder: Path) -> None:
    """Write a commented suite and a tiny golden set into FOLDER; nothing is overwritten."""
    from importlib import resources  # slow to import, and only needed here

    there = [name for name in FILES if os.path.lexists(folder / name)]
    if there:
        raise InputError(f"{folder / there[0]}: is already there; name another folder")
    example = resources.files("retrieverbench.cli") / "example"
    texts = {name: (example / name).read_bytes() for name in FILES}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_bytes(text)
        wrote = _write_ignore(folder / IGNORE)
    except OSError as error:
        for name in FILES:  # half a suite would be in the way of the next attempt
            with suppress(OSError):
                (folder / name).unlink()
        raise InputError(
            f"{folder}: cannot be written: {error.strerror}; name another folder"
        ) from None
    click.echo(f"wrote {', '.join((*FILES, IGNORE) if wrote else FILES)}")
    if not wrote:
        click.echo(f"{folder / IGNORE} is already there; {' and '.join(RUNS)} belong in it")
    click.echo(f"next: {shlex.join(['retrieverbench', 'run', str(folder / 'suite.toml')])}")


def _write_ignore(path: Path) -> bool:
    """Keep what every run writes out of git; False where the user has such a file."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in (*RUNS, "__pycache__/")))
    except FileExistsError:
        return False
    return True
