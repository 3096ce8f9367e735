"""Qdrant's engine (`qdrant-edge-py`) behind a loopback front that speaks Qdrant's REST API.

The official client's own code path runs against it: bodies, filters, pools, time-outs,
errors. What the front cannot show is listed in `LACKS` and goes into every artifact.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieverbench.adapter import Secret
from retrieverbench.engines.base import Started
from retrieverbench.engines.processes import (
    Supervised,
    private_folder,
    running,
    wait_until_ready,
)
from retrieverbench.errors import MissingClient
from retrieverbench.model import Fidelity
from retrieverbench.options import parse_options

FIDELITY: Fidelity = "engine"
LACKS = (
    "the server's must_not fault (filters that repeat an indexed condition)",
    "booleans and texts in filters, groups, recommend, gRPC, several shards",
    "strict mode, rate limits, roles of keys",
    "searches during optimisation, which starts when the collection's state is asked for",
    "the server's latency",
)
_READY_WITHIN = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """What a suite may choose. `unknown_keys = "ignore"` copies the server's silence."""

    ignore_unknown_keys: bool = False
    faults: bool = False


def missing() -> str | None:
    """Why it cannot be started here, with the remedy; None if it can."""
    from importlib.util import find_spec

    for module in ("qdrant_edge", "starlette", "uvicorn"):
        if find_spec(module) is None:
            return f"package {module} is missing; run: pip install 'retrieverbench[engines]'"
    return None


@asynccontextmanager
async def start(options: Mapping[str, object]) -> AsyncIterator[Started]:
    """Start the front in a process of its own; stop it and remove its data on leaving."""
    chosen = parse_options(Options, options, "engine qdrant")
    reason = missing()
    if reason is not None:
        raise MissingClient(f"engine qdrant: {reason}")
    async with private_folder("qdrant") as folder:
        ready = folder / "ready.json"
        command = _command(ready, chosen)
        async with running([command], folder=folder, name="qdrant", grace=3.0) as process:

            async def probe() -> bool:
                return await _answers(ready)

            seconds = await wait_until_ready(process, probe, timeout=_READY_WITHIN)
            yield _started(_read(ready), seconds, process)


def _command(ready: Path, chosen: Options) -> list[str]:
    import sys

    command = [sys.executable, "-m", __name__, "--ready-file", str(ready)]
    if chosen.ignore_unknown_keys:
        command.append("--ignore-unknown-keys")
    if chosen.faults:
        command.append("--faults")
    return command


def _started(told: Mapping[str, Any], seconds: float, process: Supervised) -> Started:
    from importlib.metadata import version

    from retrieverbench.engines.qdrant.server import SERVER_VERSION

    return Started(
        endpoint=told["url"],
        fidelity=FIDELITY,
        version=SERVER_VERSION,
        secrets={"api_key": Secret(told["api_key"])},
        details={
            "engine": f"qdrant-edge-py {version('qdrant-edge-py')}",
            "pid": told["pid"],
            "seconds_to_ready": round(seconds, 3),
            "lacks": list(LACKS),
        },
        process=process,
    )


def _read(ready: Path) -> Any:
    """What the front told of itself; None as long as it has not."""
    try:
        return json.loads(ready.read_text("utf-8"))
    except FileNotFoundError:
        return None


async def _answers(ready: Path) -> bool:
    """True when the front answers a request that needs its own key: ours, not another's."""
    import anyio
    import anyio.to_thread

    told = await anyio.to_thread.run_sync(_read, ready)
    if told is None:
        return False
    request = f"GET /collections HTTP/1.0\r\napi-key: {told['api_key']}\r\n\r\n"
    try:
        async with await anyio.connect_tcp("127.0.0.1", told["port"]) as stream:
            await stream.send(request.encode())
            return b" 200 " in (await stream.receive()).partition(b"\r\n")[0]
    except (OSError, anyio.EndOfStream, anyio.BrokenResourceError):
        return False
