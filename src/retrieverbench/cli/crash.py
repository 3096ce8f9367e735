"""What ended a command that should have gone on: foreign code, or a defect of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from retrieverbench.cli.output import tell

if TYPE_CHECKING:
    from retrieverbench.errors import AdapterError, BackendError
    from retrieverbench.model import Artifact

PACKAGE = Path(__file__).parents[1]


def whole_or_cut_off(
    work: Callable[[], Artifact], cut_off: Callable[[BackendError], Artifact | None]
) -> tuple[Artifact, str]:
    """What `work` returns or is left of it, and how the harness crashed, "" if it did not.

    What foreign code broke off is told by the targets. Raises what ended the work where `cut_off`
    says that nothing is left.
    """
    from retrieverbench.errors import AdapterError
    from retrieverbench.run import log_frames

    try:
        return work(), ""
    except (Exception, SystemExit) as error:
        why = why_it_ended(error)
        log_frames(error)
        artifact = cut_off(why)
        if artifact is None:
            raise
        tell(f"error: {why}")
        return artifact, "" if isinstance(why, AdapterError) else why.reason


def foreign_end(error: BaseException) -> AdapterError | None:
    """What to raise in the place of an error that foreign code raised into ours; None if of ours.

    An end of the process, a reader of our output that left, or what a user's own file raises.
    """
    from retrieverbench.errors import AdapterError, RetrieverBenchError
    from retrieverbench.run import one_line, place_in_file

    place = place_in_file(error)
    if isinstance(error, AdapterError):
        return error
    if isinstance(error, RetrieverBenchError) or not (
        place or isinstance(error, BrokenPipeError | SystemExit)
    ):
        return None
    told = f"{type(error).__name__}({one_line(error)!r})"
    return AdapterError(
        f"the run was ended from inside by {told}{place}; look for it in the adapters and their "
        "clients"
    )


def why_it_ended(error: BaseException) -> BackendError:
    """Why a job was broken off, for its targets; only an AdapterError is of foreign making."""
    from retrieverbench.errors import BackendError

    foreign = foreign_end(error)
    if foreign is not None:
        return foreign
    if isinstance(error, BackendError):
        return error
    return BackendError(f"a defect of retrieverbench: {defect(error)}", remedy=REMEDY)


REMEDY = "report this defect with what --debug, before the command, shows of it"


def defect(error: BaseException) -> str:
    """An error and where in our code it was raised, in one line: `KeyError: 'a' (judge.py:12)`."""
    from retrieverbench.run.text import one_line

    ours = [
        step
        for step in extract_tb(error.__traceback__)
        if Path(step.filename).is_relative_to(PACKAGE)
    ]
    place = f" ({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""
    return f"{type(error).__name__}: {one_line(error)}{place}"
