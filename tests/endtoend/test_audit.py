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
