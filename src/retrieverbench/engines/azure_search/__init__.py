"""A stand-in for Azure AI Search on loopback: the protocol and the scoring rules, ours.

Started as a process of its own (`start`, or `python -m retrieverbench.engines.azure_search
--ready-file F`), or served in this process by `server.serving`. It is a supported part of the
project: a person without a subscription tries the adapter, the leak columns and the gate with
it. Exact are the rules that recordings of the service pin: BM25 per shard over one-byte
lengths, reciprocal rank fusion in single precision, cosine; and the texts and statuses of the
conformance table (`tests/contract/azure_search`), which also runs against a real service.

Whatever it does not implement is answered by 501 with its name; it never guesses. What it
ignores and lacks is in NOTES. Nobody could check, without the service: whether it still scores
as recorded in 2022, the order of ties, its approximate search, how long a write takes to be
seen, when it throttles, and every text marked as believed in the table. Nothing about the
stand-in's speed says anything about the service.
"""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import anyio.to_thread

from retrieverbench.adapter import Secret
from retrieverbench.engines.azure_search.mutants import BREAKS
from retrieverbench.engines.azure_search.store import Options
from retrieverbench.engines.base import Started
from retrieverbench.engines.processes import private_folder, running, wait_until_ready
from retrieverbench.errors import InputError
from retrieverbench.model import Fidelity
from retrieverbench.options import parse_options

FIDELITY: Fidelity = "stand-in"
NOTES = (
    "Azure AI Search stand-in: latency and absolute scores say nothing about the service",
    "accepted and ignored: HNSW parameters, compressions, exhaustive, sessionId, minimumCoverage",
    "every vector search is exact; a write is seen at once unless `lag` is set; ties keep order",
    "answers 501: semantic ranking, vectorizers, orderby, highlights, scoring profiles, indexers",
    "answers 501: full query syntax, other metrics than cosine, complex types, normalizers",
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

    `options` are those of `store.Options`; others are an InputError. The endpoint is on
    loopback, plain HTTP unless a certificate is given. The secrets are the keys `api_key`
    (admin) and `query_key` (reads only) and the bearer tokens `token` (what the adapter needs)
    and `reader_token` (reads only).
    """
    checked = parse_options(Options, options, "engine azure_search")
    if bool(checked.certificate) != bool(checked.certificate_key):
        raise InputError("engine azure_search: give certificate and certificate_key, or neither")
    async with private_folder("azure_search") as folder:
        ready = folder / "ready.json"
        (folder / "options.json").write_text(json.dumps(dict(options)), "utf-8")
        module = "retrieverbench.engines.azure_search"
        command = [sys.executable, "-m", module, "--ready-file", str(ready)]
        command += ["--options-file", str(folder / "options.json")]
        async with running([command], folder=folder, name="azure_search", grace=3) as process:

            async def probe() -> bool:
                return await anyio.to_thread.run_sync(_answers, ready, checked.certificate)

            seconds = await wait_until_ready(process, probe, timeout=_READY_SECONDS)
            told = json.loads(ready.read_text("utf-8"))
            yield Started(
                endpoint=f"{'https' if checked.certificate else 'http'}://127.0.0.1:{told['port']}",
                fidelity=FIDELITY,
                version=version("retrieverbench"),
                secrets={
                    "api_key": Secret(told["admin_key"]),
                    "query_key": Secret(told["query_key"]),
                    "token": Secret(told["owner_token"]),
                    "reader_token": Secret(told["reader_token"]),
                },
                details={
                    "pid": told["pid"],
                    "seconds_to_ready": round(seconds, 3),
                    "options": dict(options),
                    "notes": [*_broken(checked), *NOTES],
                },
                process=process,
            )


def _broken(options: Options) -> list[str]:
    mutant = options.BROKEN_ON_PURPOSE
    return [] if mutant is None else [f"BROKEN ON PURPOSE: {mutant}: {BREAKS[mutant]}"]


def _answers(ready: Path, certificate: str) -> bool:
    """Whether the process that wrote the ready file answers a request on its port."""
    try:
        told = json.loads(ready.read_text("utf-8"))
    except OSError:
        return False
    connection = _connection(told["port"], certificate)
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


def _connection(port: int, certificate: str) -> HTTPConnection:
    """To the port on loopback; over TLS only with exactly this certificate."""
    if not certificate:
        return HTTPConnection("127.0.0.1", port, timeout=5)
    context = ssl.create_default_context(cafile=certificate)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # it need not be its own issuer
    context.check_hostname = False  # it may be made for a name of the user's
    return HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
