"""`retrieverbench leaks` on a clean adapter and on one without a tenant condition."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_support import Bench
from retrieverbench.leaks import crowds

MUTANT = Path(__file__).with_name("mutants") / "memory.py"


def test_a_clean_target_passes_every_probe(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "ROWS", 1_000)  # the command runs in this process
    done = bench.run("leaks", bench.suite('adapter = "memory"'))
    assert done.returncode == 0, done.stdout + done.stderr
    probes = [probe for target in bench.artifact()["targets"] for probe in target["probes"]]
    assert {probe["outcome"] for probe in probes} <= {"pass", "not applicable"}
    assert all(probe["control"] for probe in probes if probe["outcome"] == "pass")


def test_a_dropped_tenant_condition_is_exit_4(bench: Bench) -> None:
    suite = bench.suite(f'adapter = "{MUTANT}:Leaky"\nname = "leaky"')
    done = bench.process("leaks", suite, "--fast")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "LEAK (exit 4)" in done.stdout
    caught = {
        probe["probe"]
        for target in bench.artifact()["targets"]
        for probe in target["probes"]
        if probe["outcome"] == "fail"
    }
    assert {"P01", "P02", "P03"} <= caught


def test_an_unknown_probe_is_told_with_the_nearest(bench: Bench) -> None:
    done = bench.run("leaks", bench.suite('adapter = "memory"'), "--probe", "P001")
    assert done.returncode == 2
    assert "--probe: 'P001' is unknown; did you mean 'P01'?" in done.stderr


READ_ONLY = """
from retrieverbench.adapter import Description
from retrieverbench.model import Response


class ReadOnly:
    capabilities = frozenset({"lexical", "filter"})

    @classmethod
    async def open(cls, settings):
        return cls()

    async def search(self, query):
        return Response([])

    async def describe(self):
        return Description("mine", "1", "none", "1", {}, {})

    async def close(self):
        pass
"""


def test_what_cannot_be_loaded_is_not_accused(bench: Bench) -> None:
    (bench.folder / "mine.py").write_text(READ_ONLY)
    done = bench.run("leaks", bench.suite('adapter = "mine.py:ReadOnly"\nmodes = ["lexical"]'))
    assert done.returncode == 5, done.stdout + done.stderr
    assert "this adapter cannot be loaded; give it put and settle" in done.stdout


def test_an_audit_never_becomes_a_baseline(bench: Bench) -> None:
    bench.run("leaks", bench.suite('adapter = "memory"'), "--probe", "P22")
    (audit,) = bench.folder.glob("results/audits/*/*.json")
    done = bench.run("baseline", "accept", audit)
    assert done.returncode == 2
    assert "it is a leak audit, which measures nothing; name the artifact of a run" in done.stderr
