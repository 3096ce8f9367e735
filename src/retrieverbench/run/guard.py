"""One call of an adapter, guarded: it ends in time, and what it raises is an error of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio

from retrieverbench.errors import AdapterError, RetrieverBenchError, TimedOut
from retrieverbench.run.text import hide_in, one_line


@dataclass(frozen=True, slots=True)
class Step:
    """What is called, for messages; its limit in seconds; what no text may show."""

    adapter: str
    word: str
    seconds: float
    hidden: tuple[str, ...] = ()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn whatever the adapter raises, beyond the errors it promised, into AdapterError."""
        try:
            with anyio.move_on_after(self.seconds) as scope:
                yield
        except RetrieverBenchError as error:
            hide_in(error, self.hidden)
            raise
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            raise self._fault(error) from error
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an adapter may raise anything
            fault = self._fault(error)
            fault.__cause__ = error
            hide_in(fault, self.hidden)
            raise fault from fault.__cause__
        if scope.cancelled_caught:
            raise TimedOut(
                f"adapter {self.adapter!r}: {self.word} did not end within {self.seconds:g} s; "
                "raise the suite's timeout or see what the backend is doing"
            )

    def _fault(self, error: BaseException) -> AdapterError:
        name = type(error).__name__
        return AdapterError(
            f"adapter {self.adapter!r}: {self.word} raised {name}: {one_line(error)}"
        )


def is_being_cancelled() -> bool:
    """Whether somebody asked for the cancellation of this task.

    A client that cancels a task of its own and lets the exception out looks the same from
    above. Passing that on would end a worker, and its cases would be missing without a word.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
