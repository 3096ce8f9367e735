"""The loop of a run is nobody's but the run's."""

from __future__ import annotations

import os
from collections.abc import Callable

from retrieverbench.cli.loop import CHILD_CODE, run_in_loop
from retrieverbench.run import foreign

GOES_ON = 77


def test_a_forked_child_that_comes_back_to_the_loop_ends() -> None:
    async def fork() -> int:
        child = os.fork()
        if child == 0:
            raise SystemExit(0)  # which is taken for an error of the adapter's
        return child

    async def main(_on_signal: Callable[[Callable[[], None]], None]) -> int:
        outcome = await foreign.call(fork, seconds=5.0, name="fork")
        assert outcome is not None
        return outcome.value or os._exit(GOES_ON)

    child = run_in_loop(main, lambda _text: None)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == CHILD_CODE
