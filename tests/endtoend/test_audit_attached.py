"""`retrieverbench leaks` on an index of the user's own: asked, judged, and never written to."""

from __future__ import annotations

import os
import runpy
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from attached_support import entry, with_vectors
from bench_support import Bench, Done, write_example
from engine_support import need_engine
from retrieverbench.run import Engines, TargetEntry, connect

INDEXES = Path(__file__).parents[1] / "contract" / "indexes"
NAMES = ("pgvector", "qdrant")
ASKED = frozenset(
    "P01 P03 P04 P12 P14 P21 P22 P23 P27 P31 P32 P33 P35 P39 P40".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Attached:
    """An index that holds the example's chunks, as a [[targets]] entry with its secrets."""

    entry: str
    environ: Mapping[str, str]

    def audit(self, bench: Bench, *more: str) -> Done:
        return bench.run("leaks", bench.suite(self.entry), *more, env=self.environ)


@pytest.fixture(scope="module", params=NAMES)
async def attached(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    engines: Engines,
    anyio_backend: str,  # so that tests that are no coroutines may ask for it
) -> AsyncIterator[Attached]:
    name: str = request.param
    need_engine(name)
    chunks = await with_vectors(write_example(tmp_path_factory.mktemp("example")))
    async with AsyncExitStack() as stack:
        target = TargetEntry(adapter=name, name=name, engine="embedded")
        server = await connect(target, os.environ, engines)
        make = runpy.run_path(str(INDEXES / f"{name}.py"))["make"]
        index = await stack.enter_async_context(make(server, chunks))
        environ = {f"USERS_{key}": value.reveal() for key, value in index.secrets.items()}
        yield Attached(entry(name, server.endpoint, index), environ)


def outcomes(bench: Bench) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for target in bench.artifact()["targets"]:
        for probe in target["probes"]:
            found.setdefault(probe["outcome"], set()).add(probe["probe"])
    return found


def test_a_clean_index_passes_and_says_what_was_not_probed(
    attached: Attached, bench: Bench
) -> None:
    done = attached.audit(bench)
    assert done.returncode == 0, done.stdout + done.stderr
    found = outcomes(bench)
    assert found["pass"] >= ASKED
    assert "fail" not in found
    assert "inconclusive" not in found
    said = " ".join(done.stdout.split())
    assert "Not probed" in said
    assert "read-only: it needs chunks of the audit's own" in said


def test_an_index_that_holds_more_than_is_asked_about_is_opened_again(
    attached: Attached, bench: Bench
) -> None:
    """The questions find two of the four chunks of each tenant."""
    lexical = replace(attached, entry=attached.entry.replace('"dense", ', ""))
    done = lexical.audit(bench, "--probe", "P32", "--probe", "P33")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(bench) == {"pass": {"P32", "P33"}}
