"""`retrieverbench leftovers`: what killed runs left at servers, and its removal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieverbench.cli.output import tell
from retrieverbench.errors import BackendError, InputError

if TYPE_CHECKING:
    from retrieverbench.run import Leftover


@click.command()
@click.argument(
    "suite_file",
    metavar="[SUITE.toml]",
    required=False,
    type=click.Path(path_type=Path, readable=False),
)
@click.option("--remove", is_flag=True, help="Remove them from the servers of the suite.")
@click.option(
    "--place", "named", multiple=True, metavar="NAME", help="With --remove: only this (repeatable)."
)
def leftovers(suite_file: Path | None, named: tuple[str, ...], *, remove: bool) -> int:
    """Show the places that runs which were killed left at servers, and remove them.

    Known are those of runs of this user on this machine, by the name that the run drew for
    itself; never one of a run that lives. Without SUITE.toml they are only shown. What a run
    with load.resume can go on with is removed only if --place names it. Exit 3 where a server
    could not be asked or a place not be removed.
    """
    from retrieverbench.run import all_left

    if named and not remove:
        raise InputError("--place: it says what --remove removes; write --remove, too")
    if suite_file is None:
        if remove:
            raise InputError("--remove: name the suite whose servers it may be removed from")
        _show(list(all_left()))
        return 0
    found, faults = _at_servers_of(suite_file, named, remove=remove)
    if found or not faults:  # of a server that was not asked nobody knows
        _show(found)
    for fault in faults:
        tell(f"error: {fault}")
    return BackendError.exit_code if faults else 0


def _at_servers_of(
    suite_file: Path, named: Sequence[str], *, remove: bool
) -> tuple[list[Leftover], list[str]]:
    import anyio

    from retrieverbench.run import left_at, load_suite

    suite = load_suite(suite_file)

    async def work() -> tuple[list[Leftover], list[str]]:
        return await left_at(suite, os.environ, remove=remove, named=frozenset(named))

    return anyio.run(work)


def _show(found: Sequence[Leftover]) -> None:
    if not found:
        click.echo("nothing is left")
    width = max((len(each.begun.place) for each in found), default=0)
    for each in found:
        begun = each.begun
        click.echo(
            f"{begun.place:<{width}}  {each.state:<11}  {begun.adapter} at {begun.server}, "
            f"begun on {begun.since}"
        )
