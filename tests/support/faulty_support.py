"""Real adapters with one fault each, several of which can live in one process.

A fault replaces functions of an adapter's modules, but only while a method of the faulty class
runs: every other adapter of the process, the right one included, sees them as they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import ModuleType
from typing import Any

Function = Callable[..., Any]
Faults = Mapping[tuple[ModuleType, str], Function]

METHODS = ("put", "settle", "search", "get", "delete", "move", "describe", "close")
_NONE: Faults = {}
_at_work: ContextVar[Faults] = ContextVar("faults", default=_NONE)
_originals: dict[tuple[ModuleType, str], Function] = {}


def faulty(adapter: type[Any], faults: Faults, **members: object) -> type[Any]:
    """The adapter with these functions replaced; `members` are of the class itself."""
    for module, name in faults:
        _make_replaceable(module, name)
    base = type(f"Faulty{adapter.__name__}", (adapter,), dict(members))
    methods: dict[str, object] = {
        name: _with_faults(getattr(base, name), faults) for name in METHODS
    }
    methods["open"] = classmethod(_with_faults(vars(adapter)["open"].__func__, faults))
    return type(base.__name__, (base,), methods)


def _with_faults(method: Function, faults: Faults) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def call(*arguments: Any, **more: Any) -> Any:
        token = _at_work.set(faults)
        try:
            return await method(*arguments, **more)
        finally:
            _at_work.reset(token)

    return call


def original(module: ModuleType, name: str) -> Any:
    """The function as the module has it when no fault is at work."""
    return _originals.get((module, name), getattr(module, name))


@contextmanager
def faults_undone() -> Iterator[None]:
    """Afterwards every module is as it was."""
    try:
        yield
    finally:
        for (module, name), function in _originals.items():
            setattr(module, name, function)
        _originals.clear()


def _make_replaceable(module: ModuleType, name: str) -> None:
    """Once per function: it looks for a fault at work, and else does what it always did."""
    if (module, name) in _originals:
        return
    function = _originals[module, name] = getattr(module, name)

    @wraps(function)
    def call(*arguments: Any, **more: Any) -> Any:
        return _at_work.get().get((module, name), function)(*arguments, **more)

    setattr(module, name, call)
