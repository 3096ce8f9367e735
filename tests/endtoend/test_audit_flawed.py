"""`retrieverbench leaks` on users' indexes with a flaw each: red, refused, or plainly told.

One audit for each engine, whose targets are the flawed indexes beside a right one.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from attached_support import entry, with_vectors
from bench_support import Bench, write_example
from engine_support import need_engine
from retrieverbench.run import Engines, TargetEntry, connect

FLAWED = {
    "pgvector": "flawed_postgres",
    "qdrant": "flawed_qdrant",
    "elasticsearch": "flawed_lucene",
    "azure_search": "flawed_azure",
}
PROBES = ("P01", "P12", "P27", "P43")


def target_of(adapter: str, flaw: Any, text: str) -> str:
    """The [[targets]] entry of one flawed index."""
    layout = getattr(flaw, "layout", "filter")
    name = f'name = "{flaw.name}"\nlayout = "{layout}"\n'
    setting = 'search = { tenant_setting = "app.tenant" }' if layout == "rls" else ""
    text = text.replace('["dense", "lexical"]', '["lexical"]')
    return name + (text.replace("search = {  }", setting) if adapter == "pgvector" else text)


def verdict_of(target: dict[str, Any]) -> tuple[str, str]:
    """The class of what was found, in one word, and all that was said."""
    backend = target["backend"] or {}
    told = [*backend.get("weaknesses", ()), *backend.get("unchecked", ())]
    told.append(backend.get("differs") or "")
    failed = [probe for probe in target["probes"] if probe["outcome"] == "fail"]
    told += [f"{probe['probe']}: {probe['reason']}" for probe in failed]
    classes = {probe["leak_class"] for probe in failed}
    if classes:
        return ("leak" if "leak" in classes else min(classes)), "\n".join(told)
    if target["failure"]:
        return "refused", target["failure"]
    is_told = backend.get("differs") or backend.get("weaknesses")
    inconclusive = [p["probe"] for p in target["probes"] if p["outcome"] == "inconclusive"]
    if inconclusive:
        return "inconclusive", "\n".join([*told, *inconclusive])
    return ("told" if is_told else "clean"), "\n".join(told)


@dataclass(frozen=True)
class Audit:
    """Flawed indexes as entries of one suite, with the secrets of those who read them."""

    flaws: Sequence[Any]
    entries: Sequence[str]
    environ: Mapping[str, str]


@pytest.fixture(scope="module", params=FLAWED)
async def audit(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    engines: Engines,
    anyio_backend: str,  # so that tests that are no coroutines may ask for it
) -> AsyncIterator[Audit]:
    adapter: str = request.param
    need_engine(adapter)
    flawed = importlib.import_module(FLAWED[adapter])
    chunks = await with_vectors(write_example(tmp_path_factory.mktemp("example")))
    target = TargetEntry(adapter=adapter, name="x", engine="embedded")
    server = await connect(target, os.environ, engines)
    entries: list[str] = []
    environ: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        for number, flaw in enumerate(flawed.FLAWS):
            index = await stack.enter_async_context(flawed.flawed(server, chunks, flaw))
            text = entry(adapter, server.endpoint, index).replace("USERS_", f"USERS{number}_")
            entries.append(target_of(adapter, flaw, text))
            for key, secret in (index.secrets or {}).items():
                environ[f"USERS{number}_{key}"] = secret.reveal()
        yield Audit(flawed.FLAWS, entries, environ)


def test_each_flaw_is_found_refused_or_told(audit: Audit, bench: Bench) -> None:
    chosen = [word for probe in PROBES for word in ("--probe", probe)]
    done = bench.run("leaks", bench.suite(*audit.entries), *chosen, env=audit.environ)
    assert done.returncode == 4, done.stdout + done.stderr
    artifact = bench.artifact()
    found = {each["target"]["name"]: verdict_of(each) for each in artifact["targets"]}
    seen = {name: verdict for name, (verdict, _words) in found.items()}
    assert seen == {flaw.name: flaw.seen for flaw in audit.flaws}
    silent = {f.name: found[f.name][1] for f in audit.flaws if f.words not in found[f.name][1]}
    assert not silent
