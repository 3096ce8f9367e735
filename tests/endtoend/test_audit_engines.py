"""`retrieverbench leaks` on each engine: green on the right adapter, red on each faulty one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench_support import Bench, write_example
from engine_support import need_engine
from fault_catalog import FAULTS, Server, found_by, server_of, small_crowds, wanted
from retrieverbench.leaks import CATALOG
from retrieverbench.run import Engines, load_adapter

LAYOUTS = {
    "pgvector": ("filter", "partition", "index", "rls"),
    "qdrant": ("filter",),
    "azure_search": ("filter",),
}
"""Where every critical probe is asked; elsewhere those that some fault needs."""
CRITICAL = {probe.id for probe in CATALOG if probe.severity == "critical"}


@pytest.fixture(scope="module", autouse=True)
def _small_crowds() -> Iterator[None]:
    with small_crowds():
        yield


@pytest.fixture(scope="module", params=FAULTS)
async def server(
    request: pytest.FixtureRequest,
    engines: Engines,
    anyio_backend: str,  # so that tests that are no coroutines may ask for it
) -> Server:
    need_engine(request.param)
    return await server_of(request.param, engines)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A folder of the example set, for the whole module."""
    return Bench(write_example(Path(tmp_path_factory.mktemp("audit"))))


def test_the_right_adapter_passes(bench: Bench, server: Server) -> None:
    """Hybrid mode has the legs of both others. What was judged was really sent."""
    layouts = LAYOUTS.get(server.name, ("filter",))
    entries = [server.entry("hybrid", name=layout, layout=layout) for layout in layouts]
    asked = ["--fast"] if server.name in LAYOUTS else wanted({"P04", *needed(server)})
    done = bench.run("leaks", bench.suite(*entries), *asked, env=server.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    results = bench.artifact()["targets"]
    probes = [probe for target in results for probe in target["probes"]]
    assert {probe["outcome"] for probe in probes} <= {"pass", "not applicable"}
    legs = [probe for probe in probes if probe["probe"] == "P04"]
    assert len(legs) == 2 * len(results), "once per target and arm"
    assert all(probe["outcome"] == "pass" and probe["requests"] for probe in legs)
    explains = "explain" in load_adapter(server.name).cls.capabilities
    assert [each["plan"] is not None for each in results] == [explains] * len(results)
    if server.name not in LAYOUTS:
        return
    bounds = [bound["upper_bound"] for each in results for bound in each["bounds"]]
    assert all(0 < bound < 0.05 for bound in bounds)


def test_a_filter_mode_that_the_target_does_not_use_is_told_and_not_judged(
    bench: Bench, server: Server
) -> None:
    """What it hides, and by which plan, beside what the target's own plan searched."""
    cls = load_adapter(server.name).cls
    names: dict[str, object] = getattr(cls, "filter_modes", {})
    if not names or "explain" not in cls.capabilities:
        return
    done = bench.run(
        "leaks", bench.suite(server.entry("dense")), *wanted(["P08", "P10"]), env=server.environ
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (target,) = bench.artifact()["targets"]
    own, *modes = next(each["filter_modes"] for each in target["probes"] if each["filter_modes"])
    assert (own["name"], own["plan"]["vector_index"]) == ("", target["plan"]["vector_index"])
    others = [name for name, set_by in names.items() if set_by != own["options"]]
    assert others
    assert [mode["name"] for mode in modes] == others
    assert all(mode["facts"] and mode["plan"] and not mode["note"] for mode in modes)
    after = [mode for mode in modes if mode["plan"]["filtered"] == "after"]
    assert all(mode["facts"]["own shuffled"] < 1.0 for mode in after), "it hides own chunks"
    assert own["facts"]["own shuffled"] == 1.0
    assert own["plan"]["filtered"] != "after"
    assert all(mode["plan"]["vector_index"] for mode in modes), "each of them uses it"
    is_told = "what it hides is told, not judged" in words(done.stdout)
    assert is_told == (own["plan"]["vector_index"] == ""), "of targets searched exactly alone"


def test_each_fault_is_found_by_its_probe(bench: Bench, server: Server) -> None:
    """And the probes that are not among the critical ones pass the right adapter."""
    for fault in FAULTS[server.name]:
        assert found_by(bench, server, fault, [fault.probe]) == [fault.probe], fault
        right = server.entry(fault.mode, layout=fault.layout)
        if fault.probe not in CRITICAL:
            done = bench.run(
                "leaks", bench.suite(right), *wanted([fault.probe]), env=server.environ
            )
            assert done.returncode == 0, done.stdout + done.stderr


def words(text: str) -> str:
    """As one line, however it was broken."""
    return " ".join(text.split())


def needed(server: Server) -> set[str]:
    """The critical probes that some fault needs."""
    return CRITICAL & {fault.probe for fault in FAULTS[server.name]}
