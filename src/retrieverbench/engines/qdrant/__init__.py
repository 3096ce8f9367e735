"""Qdrant's engine (`qdrant-edge-py`) behind a loopback front that speaks Qdrant's REST API.

The official client's own code path runs against it: bodies, filters, pools, time-outs,
errors. What the front cannot show is listed in `LACKS` and goes into every artifact.
"""

from __future__ import annotations

import json
import re
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
from retrieverbench.errors import InputError, MissingClient
from retrieverbench.model import Fidelity
from retrieverbench.options import parse_options

FIDELITY: Fidelity = "engine"
LACKS = (
    "the server's must_not fault (filters that repeat an indexed condition)",
    "booleans and texts in filters, groups, recommend, gRPC, a search over several shards",
    "strict mode, rate limits, tokens with roles",
    "a cluster: each custom shard is a shard of the engine in this one process",
    "searches during optimisation, which starts when the collection's state is asked for",
    "the server's latency",
)
_READY_WITHIN = 60.0
_PREFIX = re.compile(r"(/[A-Za-z0-9_-]+)*")


@dataclass(frozen=True, slots=True)
class Options:
    """What a suite may choose.

    `refuse_unknown_keys` answers 400 where the server ignores a key without a word;
    without `shard_keys` there are no custom shards, as on a server that is no cluster;
    `prefix` is the path under which everything lies; `faults` lets tests arm faults.
    """

    refuse_unknown_keys: bool = False
    shard_keys: bool = True
    prefix: str = ""
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
    if _PREFIX.fullmatch(chosen.prefix) is None:
        raise InputError(
            f"engine qdrant: prefix: {chosen.prefix!r:.80} is no path; write it as '/part/part'"
        )
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

    flags = {
        "--refuse-unknown-keys": chosen.refuse_unknown_keys,
        "--shard-keys": chosen.shard_keys,
        "--faults": chosen.faults,
    }
    return [
        *(sys.executable, "-m", __name__, "--ready-file", str(ready), "--prefix", chosen.prefix),
        *(flag for flag, chosen_too in flags.items() if chosen_too),
    ]


def _started(told: Mapping[str, Any], seconds: float, process: Supervised) -> Started:
    from importlib.metadata import version

    from retrieverbench.engines.qdrant.server import SERVER_VERSION

    return Started(
        endpoint=told["url"],
        fidelity=FIDELITY,
        version=SERVER_VERSION,
        secrets={key: Secret(told[key]) for key in ("api_key", "read_only_api_key")},
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
    request = f"GET {told['prefix']}/collections HTTP/1.0\r\napi-key: {told['api_key']}\r\n\r\n"
    try:
        async with await anyio.connect_tcp("127.0.0.1", told["port"]) as stream:
            await stream.send(request.encode())
            return b" 200 " in (await stream.receive()).partition(b"\r\n")[0]
    except (OSError, anyio.EndOfStream, anyio.BrokenResourceError):
        return False
