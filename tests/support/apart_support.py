"""Loops of one's own in tests that are no coroutines.

An asynchronous fixture of a module or session leaves its library's name in the context until
it ends, and then no loop may be started there, though none is running.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import ParamSpec, TypeVar

import anyio

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def small_heap() -> Iterator[None]:
    """Nothing of before is looked through for garbage, as in a process that has just begun.

    A timed pass collects first, and what pytest holds takes longer than a short pass.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def apart(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that starts a loop, in a context in which nothing is set."""
    with small_heap():
        return Context().run(function, *args, **kwargs)


def run_apart(function: Callable[..., Awaitable[T]], *args: object) -> T:
    """`anyio.run` in such a context."""
    return apart(anyio.run, function, *args)
