"""What a signal stops, and what comes out of it."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from retrieverbench.errors import InputError
from retrieverbench.job.interrupt import stopped_by

pytestmark = pytest.mark.anyio


async def test_the_body_runs_to_its_end_without_a_signal() -> None:
    done = False
    async with stopped_by(anyio.Event().wait):
        await anyio.lowlevel.checkpoint()
        done = True
    assert done


async def test_a_signal_cancels_the_body_and_work_goes_on_behind_it() -> None:
    interrupt = anyio.Event()
    steps: list[str] = []
    async with stopped_by(interrupt.wait):
        interrupt.set()
        try:
            await anyio.sleep(30)
        finally:
            steps.append("cleaned up")
        steps.append("never")
    steps.append("behind")
    assert steps == ["cleaned up", "behind"]


async def test_an_error_comes_out_as_itself() -> None:
    with pytest.raises(InputError, match="mine"):
        async with stopped_by(anyio.Event().wait):
            raise InputError("mine")


async def test_a_defect_is_not_hidden() -> None:
    with pytest.raises((ValueError, ExceptionGroup)):
        async with stopped_by(anyio.Event().wait):
            raise ValueError("a defect")
