"""What can be started on this machine, without docker or with it, and how faithful it is.

Each engine is a module or folder of the adapter's name with three things:

    FIDELITY: Fidelity
    def missing() -> str | None: why it cannot be started here, with the remedy; None if it can
    @asynccontextmanager
    async def start(options: Mapping[str, object]) -> AsyncIterator[Started]: ...

and perhaps `QUICK_START`, options for a job that is short and times no answer.

No engine imports a client library. `start` yields when a query is answered, not when a port
is open, and leaves no process, port or folder behind, whatever ends it.
"""

from __future__ import annotations

from retrieverbench.engines.base import (
    Engine,
    Started,
    engine_names,
    load_engine,
    quick_start,
)

__all__ = ["Engine", "Started", "engine_names", "load_engine", "quick_start"]
