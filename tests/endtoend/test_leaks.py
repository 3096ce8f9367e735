"""A dropped tenant condition in any adapter must end in exit 4; the clean one must not."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

from bench_support import Bench
from retrieverbench.engines import engine_names, load_engine

MUTANTS = Path(__file__).with_name("mutants")
NAMES = sorted(
    {
        point.name
        for point in metadata.entry_points(group="retrieverbench.adapters")
        if point.dist is not None and point.dist.name == "retrieverbench"
    }
)


LAYOUTS = {"pgvector": ("filter", "partition", "index", "rls")}
"""Layouts whose own barrier a mutant drops, where there are more than `filter`."""


def entry(name: str, adapter: str, layout: str = "filter") -> str:
    """A [[targets]] entry on the adapter's engine, where it has one."""
    engine = f'engine = "{name}"' if name in engine_names() else ""
    named = name if layout == "filter" else f"{name}_{layout}"
    return (
        f'adapter = "{adapter}"\nname = "{named}"\nlayout = "{layout}"\nrequired = true\n{engine}'
    )


def need_engine(name: str) -> None:
    """Skip, or fail where the engine is required, when it cannot be started here."""
    reason = load_engine(name).missing() if name in engine_names() else None
    if reason is None:
        return
    if name in os.environ.get("RETRIEVERBENCH_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required: {reason}")
    pytest.skip(reason)


def test_every_adapter_has_a_mutant() -> None:
    assert sorted(path.stem for path in MUTANTS.glob("*.py")) == NAMES


def test_clean_adapters_pass(bench: Bench) -> None:
    for name in NAMES:
        need_engine(name)
    suite = bench.suite(*(entry(name, name) for name in NAMES))
    done = bench.run("run", suite)
    assert done.returncode == 0, done.stdout + done.stderr
    proofs = {t["target"]["name"]: t["leaks"]["proof"] for t in bench.artifact()["targets"]}
    assert proofs == dict.fromkeys(NAMES, "clean")


@pytest.mark.parametrize("name", NAMES)
def test_dropped_filter_is_exit_4(bench: Bench, name: str) -> None:
    need_engine(name)
    leaky = f"{MUTANTS / name}.py:Leaky"
    layouts = LAYOUTS.get(name, ("filter",))
    suite = bench.suite(*(entry(name, leaky, layout) for layout in layouts))
    done = bench.run("run", suite)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "LEAK (exit 4)" in done.stdout
    targets = bench.artifact()["targets"]
    assert {target["target"]["layout"] for target in targets} == set(layouts)
    for target in targets:
        seen = {finding["seen_in"] for finding in target["leaks"]["findings"]}
        assert target["leaks"]["proof"] == "leak", target["target"]
        assert seen == {"quality", "timed", "canary"}, target["target"]


def test_a_service_that_leaks_by_itself_is_exit_4(bench: Bench) -> None:
    """The adapter is right, its filter sent; the store does not obey it in one leg of hybrid."""
    need_engine("azure_search")
    broken = 'engine_options = { BROKEN_ON_PURPOSE = "text_leg_unfiltered" }'
    done = bench.run("run", bench.suite(f"{entry('azure_search', 'azure_search')}\n{broken}"))
    assert done.returncode == 4, done.stdout + done.stderr
    assert "broken on purpose (text_leg_unfiltered)" in done.stdout
    proofs = {t["target"]["mode"]: t["leaks"]["proof"] for t in bench.artifact()["targets"]}
    assert proofs == {"dense": "clean", "lexical": "clean", "hybrid": "leak"}
