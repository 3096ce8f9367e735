"""A stand-in for Azure AI Search on loopback: the protocol and the scoring rules, ours.

Started as a process of its own (`start`, or `python -m retrieverbench.engines.azure_search
--ready-file F`), or served in this process by `server.serving`. Whatever it does not
implement is answered by 501 with its name; it never guesses. Nothing about its speed says
anything about the service.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.client import HTTPConnection, HTTPException
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import anyio.to_thread

from retrieverbench.adapter import Secret
from retrieverbench.engines.azure_search.store import Options
from retrieverbench.engines.base import Started
from retrieverbench.engines.processes import private_folder, running, wait_until_ready
from retrieverbench.model import Fidelity
from retrieverbench.options import parse_options

FIDELITY: Fidelity = "stand-in"
NOTES = (
    "accepted and ignored: HNSW parameters, compressions, exhaustive, sessionId, minimumCoverage",
    "every vector search is exact",
)
_NEEDED = ("starlette", "uvicorn")
_READY_SECONDS = 30.0


def missing() -> str | None:
    """Why it cannot be started here, with the remedy; None if it can."""
    absent = [name for name in _NEEDED if find_spec(name) is None]
    if not absent:
        return None
    return f"{', '.join(absent)} not installed; run: pip install 'retrieverbench[engines]'"


@asynccontextmanager
async def start(options: Mapping[str, object]) -> AsyncIterator[Started]:
    """Start it as a process of its own with keys made for this start.

    `options` are those of `store.Options`; others are an InputError. The endpoint is plain
    HTTP on loopback; the admin key is `secrets["api_key"]`, a read-only one
    `secrets["query_key"]`.
    """
    parse_options(Options, options, "engine azure_search")
    async with private_folder("azure_search") as folder:
        ready = folder / "ready.json"
        (folder / "options.json").write_text(json.dumps(dict(options)), "utf-8")
        module = "retrieverbench.engines.azure_search"
        command = [sys.executable, "-m", module, "--ready-file", str(ready)]
        command += ["--options-file", str(folder / "options.json")]
        async with running([command], folder=folder, name="azure_search", grace=3) as process:

            async def probe() -> bool:
                return await anyio.to_thread.run_sync(_answers, ready)

            seconds = await wait_until_ready(process, probe, timeout=_READY_SECONDS)
            told = json.loads(ready.read_text("utf-8"))
            yield Started(
                endpoint=f"http://127.0.0.1:{told['port']}",
                fidelity=FIDELITY,
                version=version("retrieverbench"),
                secrets={
                    "api_key": Secret(told["admin_key"]),
                    "query_key": Secret(told["query_key"]),
                },
                details={
                    "pid": told["pid"],
                    "seconds_to_ready": round(seconds, 3),
                    "options": dict(options),
                    "notes": list(NOTES),
                },
                process=process,
            )


def _answers(ready: Path) -> bool:
    """Whether the process that wrote the ready file answers a request on its port."""
    try:
        told = json.loads(ready.read_text("utf-8"))
    except OSError:
        return False
    connection = HTTPConnection("127.0.0.1", told["port"], timeout=5)
    try:
        connection.request("GET", "/healthz")
        if json.loads(connection.getresponse().read())["token"] != told["token"]:
            return False
        connection.request(
            "GET", "/indexes?api-version=2026-04-01", headers={"api-key": told["admin_key"]}
        )
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
