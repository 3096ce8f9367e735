"""Which engines there are, and what a started one tells of itself."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, cast

from retrieverbench import engines
from retrieverbench.adapter import Secret
from retrieverbench.errors import InputError
from retrieverbench.model import Fidelity
from retrieverbench.options import nearest

if TYPE_CHECKING:
    from retrieverbench.engines.processes import Supervised

_SHARED = frozenset({"base", "compose", "fetch", "java_node", "processes"})


@dataclass(frozen=True, slots=True)
class Started:
    """A running engine. `endpoint` and `secrets` go to the adapter as they are.

    `details` are JSON values for the artifact: settings that matter for the numbers
    (`fsync = off`), pid, seconds to ready, what the vendor's server has and this lacks.
    `process` is what answers at `endpoint`, None if it is none of ours.
    """

    endpoint: str
    fidelity: Fidelity
    version: str
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)
    process: Supervised | None = None


class Engine(Protocol):
    """The public page of an engine's module."""

    FIDELITY: Fidelity

    def missing(self) -> str | None:
        """Why it cannot be started here, with the remedy; None if it can."""
        ...

    def start(self, options: Mapping[str, object]) -> AbstractAsyncContextManager[Started]:
        """Start it, wait until it answers, yield, and remove every trace of it."""
        ...


def engine_names() -> list[str]:
    """All engines of this distribution, whether or not they can be started here."""
    return sorted(m.name for m in iter_modules(engines.__path__) if m.name not in _SHARED)


def load_engine(name: str) -> Engine:
    """The engine of that name; InputError with the nearest name if there is none."""
    if name not in engine_names():
        raise InputError(f"engine: no engine named {name!r}; {nearest(name, engine_names())}")
    return cast("Engine", import_module(f"{engines.__name__}.{name}"))


def quick_start(name: str) -> Mapping[str, object]:
    """The options by which that engine takes least processor time for a short job, if it has any.

    For jobs that time no answer: what is asked long enough may be answered more slowly.
    """
    options: Mapping[str, object] = getattr(load_engine(name), "QUICK_START", {})
    return options
