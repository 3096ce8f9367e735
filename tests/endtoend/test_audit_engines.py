"""`retrieverbench leaks --fast` on clean engines: green, and by judging what was really sent.

Hybrid mode has the legs of both others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_support import Bench, write_example
from engine_support import need_engine

LAYOUTS = ("filter", "partition", "index", "rls")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A folder of the example set, for the whole module."""
    return Bench(write_example(Path(tmp_path_factory.mktemp("audit"))))


def audited(bench: Bench, *targets: str) -> None:
    """All probes pass on these targets, which share an engine; the recorder saw each leg."""
    done = bench.run("leaks", bench.suite(*targets), "--fast")
    assert done.returncode == 0, done.stdout + done.stderr
    results = bench.artifact()["targets"]
    probes = [probe for target in results for probe in target["probes"]]
    assert {probe["outcome"] for probe in probes} <= {"pass", "not applicable"}
    legs = [probe for probe in probes if probe["probe"] == "P04"]
    assert len(legs) == 2 * len(results), "once per target and arm"
    assert all(probe["outcome"] == "pass" and probe["requests"] for probe in legs)
    bounds = [bound["upper_bound"] for each in results for bound in each["bounds"]]
    assert all(0 < bound < 0.05 for bound in bounds)


def test_clean_pgvector_passes_in_every_layout(bench: Bench) -> None:
    need_engine("pgvector")
    audited(
        bench,
        *(
            f'adapter = "pgvector"\nengine = "embedded"\nname = "{layout}"\nlayout = "{layout}"\n'
            'modes = ["hybrid"]'
            for layout in LAYOUTS
        ),
    )


def test_clean_qdrant_passes(bench: Bench) -> None:
    need_engine("qdrant")
    audited(bench, 'adapter = "qdrant"\nengine = "embedded"\nmodes = ["hybrid"]')
