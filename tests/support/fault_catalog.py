"""Faults of the real adapters, and the probe that must find each on the adapter's own engine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench_support import Bench
from faulty_support import faults_undone
from retrieverbench.engines import engine_names
from retrieverbench.leaks import crowds
from retrieverbench.run import Engines, TargetEntry, connect

FAULTY = Path(__file__).parents[1] / "endtoend" / "faulty"
ROWS = 1_000
"""Chunks of the crowds, instead of 10,000: these faults would be seen no better."""


@dataclass(frozen=True)
class Fault:
    """A class of `faulty/<adapter>.py`, what it does, and who finds it in which mode."""

    cls: str
    told: str
    probe: str
    mode: str = "dense"
    layout: str = "filter"


_LUCENE = (
    Fault("LegWithoutFilter", "filter dropped in the lexical leg of hybrid", "P04", "hybrid"),
    Fault("FilterOutside", "post_filter instead of the filter inside kNN", "P07"),
    Fault("AnalysedTenant", "tenant field mapped as text instead of keyword", "P17"),
    Fault("ShouldForMust", "tenant condition moved from filter to should", "P01", "lexical"),
    Fault("WrittenLiteral", "tenant's name written into a query_string", "P12"),
)
FAULTS: Mapping[str, tuple[Fault, ...]] = {
    "pgvector": (
        Fault("LegWithoutCondition", "condition dropped in the lexical leg", "P04", "hybrid"),
        Fault("FilterOutside", "condition outside the LIMIT", "P07"),
        Fault("WrittenLiteral", "tenant's name written into the statement, not bound", "P12"),
        Fault("UserOrTenant", "user's condition joined by OR", "P05"),
        Fault(
            "SetForSession", "SET instead of SET LOCAL, and nobody is not refused", "P32",
            layout="rls",
        ),
    ),
    "qdrant": (
        Fault("LegWithoutFilter", "filter dropped in the lexical prefetch", "P04", "hybrid"),
        Fault("FilterAfterwards", "no filter, foreign hits removed from the answer", "P07"),
        Fault("MisspeltKey", "`filters` for `filter`, which the server ignores", "P01"),
        Fault("EmptyFilter", "an empty must, which matches all", "P01"),
        Fault("ShouldForMust", "tenant condition moved from must to should", "P05"),
    ),
    "elasticsearch": _LUCENE,
    # Its kNN keeps k of each segment, so that a small crowd hides nothing.
    "opensearch": tuple(replace(f, probe="P08") if f.probe == "P07" else f for f in _LUCENE),
    "azure_search": (
        Fault("DefaultDelimiters", "search.in with its default delimiters", "P13"),
        Fault("WrittenLiteral", "quotes in a literal not doubled", "P12"),
        Fault("FilterAfterwards", "postFilter instead of preFilter", "P08"),
        Fault("OrBetween", "user's condition joined by or, without parentheses", "P05"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Server:
    """A started engine, as the fields of a [[targets]] entry and the secrets it names."""

    name: str
    endpoint: str
    environ: Mapping[str, str]

    def entry(
        self, *modes: str, adapter: str = "", name: str = "right", layout: str = "filter"
    ) -> str:
        """A target in these modes, all of them if none is named."""
        secrets = ", ".join(
            f'{key[len(self.name) + 1 :].lower()} = "{key}"' for key in self.environ
        )
        return (
            f'adapter = "{adapter or self.name}"\nname = "{name}"\nlayout = "{layout}"\n'
            + (
                f'endpoint = "{self.endpoint}"\nsecrets = {{ {secrets} }}\n'
                if self.endpoint
                else ""
            )
            + (f"modes = {json.dumps(modes)}\n" if modes else "")
        )


async def server_of(name: str, engines: Engines) -> Server:
    """The adapter's engine; one without an engine needs no address."""
    engine = "embedded" if name in engine_names() else ""
    target = TargetEntry(adapter=name, name=name, engine=engine)
    found = await connect(target, os.environ, engines)
    environ = {f"{name}_{key}".upper(): s.reveal() for key, s in found.secrets.items()}
    return Server(name, found.endpoint, environ)


def found_by(bench: Bench, server: Server, fault: Fault, probes: Sequence[str]) -> list[str]:
    """Those of the probes that find the fault."""
    entry = server.entry(
        fault.mode,
        adapter=f"{FAULTY / server.name}.py:{fault.cls}",
        name=fault.cls,
        layout=fault.layout,
    )
    with faults_undone():
        done = bench.run("leaks", bench.suite(entry), *wanted(probes), env=server.environ)
    (target,) = bench.artifact()["targets"]
    found = [probe["probe"] for probe in target["probes"] if probe["outcome"] == "fail"]
    assert done.returncode in ({1, 4} if found else {0}), done.stdout + done.stderr
    return list(dict.fromkeys(found))


def wanted(probes: Iterable[str]) -> list[str]:
    """As arguments of the command."""
    return [word for probe in sorted(set(probes)) for word in ("--probe", probe)]


@contextmanager
def small_crowds() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowds, "ROWS", ROWS)  # the command runs in this process
        yield
