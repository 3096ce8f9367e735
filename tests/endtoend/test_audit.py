"""`retrieverbench leaks` on a clean adapter and on one without a tenant condition."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench_support import Bench
from retrieverbench.leaks import Draw, crowds

MUTANT = Path(__file__).with_name("mutants") / "memory.py"


def test_a_clean_target_passes_every_probe(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "ROWS", 1_000)  # the command runs in this process
    done = bench.run("leaks", bench.suite('adapter = "memory"'))
    assert done.returncode == 0, done.stdout + done.stderr
    probes = [probe for target in bench.artifact()["targets"] for probe in target["probes"]]
    assert {probe["outcome"] for probe in probes} <= {"pass", "not applicable"}
    assert all(probe["control"] for probe in probes if probe["outcome"] == "pass")


def test_a_dropped_tenant_condition_is_exit_4_in_every_format(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crowds, "ROWS", 1_000)
    tokens: list[str] = []

    made = Draw.new_token

    def new_token(draw: Draw) -> str:
        tokens.append(made(draw))
        return tokens[-1]

    monkeypatch.setattr(Draw, "new_token", new_token)
    suite = bench.suite(f'adapter = "{MUTANT}:Leaky"\nname = "leaky"\nmodes = ["hybrid"]')
    files = ("--junit", "out/junit.xml", "--sarif", "out/leaks.sarif")
    done = bench.run("leaks", suite, "--fast", *files, env={"GITHUB_ACTIONS": "true"})
    assert done.returncode == 4, done.stdout + done.stderr
    assert "LEAK (exit 4)" in done.stdout
    failed = [
        probe["probe"]
        for target in bench.artifact()["targets"]
        for probe in target["probes"]
        if probe["outcome"] == "fail"
    ]
    assert {"P01", "P02", "P03"} <= set(failed)
    left_out = {each["probe"]: each["severity"] for each in bench.artifact()["unchosen"]}
    assert (left_out["P13"], left_out["P39"]) == ("high", "medium")
    assert "leak, high: P13, P26, P30, P33" in " ".join(done.stdout.split())
    junit = (bench.folder / "out/junit.xml").read_text(encoding="utf-8")
    assert junit.count("<failure") == len(failed) + 1  # and the verdict
    sarif = (bench.folder / "out/leaks.sarif").read_text(encoding="utf-8")
    (run,) = json.loads(sarif)["runs"]
    alerts = [alert for alert in run["results"] if alert["kind"] == "fail"]
    assert sorted(alert["ruleId"] for alert in alerts) == sorted(failed)
    place = alerts[0]["locations"][0]["physicalLocation"]
    line = suite.read_text(encoding="utf-8").splitlines().index("[[targets]]") + 1
    assert (place["artifactLocation"]["uri"], place["region"]) == ("test.toml", {"startLine": line})
    assert f"\n::error file=test.toml,line={line}," in done.stdout
    artifact = json.dumps(bench.artifact())
    for text in (junit, sarif, done.stdout, artifact):
        assert not any(token in text for token in tokens), "a canary's token left the run"
    assert len(tokens) > 50


def test_a_file_that_cannot_be_written_is_2_before_anything_is_asked(bench: Bench) -> None:
    (bench.folder / "blocked").touch()
    suite = bench.suite('adapter = "memory"')
    done = bench.run("leaks", suite, "--sarif", "blocked/leaks.sarif")
    assert done.returncode == 2
    assert "--sarif blocked/leaks.sarif: cannot be written: Not a directory" in done.stderr
    assert not (bench.folder / "results").exists()


def test_a_seed_draws_the_same_audit_again_and_each_run_another(bench: Bench) -> None:
    """The questions of one probe by what its failure names."""

    def asked(*options: str) -> tuple[int, list[str]]:
        suite = bench.suite(f'adapter = "{MUTANT}:Leaky"\nname = "leaky"\nmodes = ["dense"]')
        assert bench.run("leaks", suite, "--probe", "P01", *options).returncode == 4
        artifact = bench.artifact()
        shutil.rmtree(bench.folder / "results")
        (target,) = artifact["targets"]
        uids = [found["uid"] for probe in target["probes"] for found in probe["findings"]]
        return artifact["seeds"]["audit"], uids

    seed, first = asked()
    assert asked("--seed", str(seed)) == (seed, first)
    other, second = asked()
    assert other != seed
    assert not set(first) & set(second)


def test_an_unknown_probe_is_told_with_those_that_there_are(bench: Bench) -> None:
    done = bench.run("leaks", bench.suite('adapter = "memory"'), "--probe", "P99")
    assert done.returncode == 2
    assert "--probe: 'P99' is unknown; there are P01 to P" in done.stderr


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


def test_what_is_only_read_and_answers_nothing_is_not_accused(bench: Bench) -> None:
    (bench.folder / "mine.py").write_text(READ_ONLY)
    suite = bench.suite('adapter = "mine.py:ReadOnly"\nmodes = ["lexical"]')
    done = bench.run("leaks", suite)
    assert done.returncode == 5, done.stdout + done.stderr
    (target,) = bench.artifact()["targets"]
    told = {probe["outcome"] for probe in target["probes"]}
    assert told == {"inconclusive", "not applicable", "not probed"}
    said = " ".join(done.stdout.split())
    assert "its control failed: expected that 'birch' finds its own chunk 'birch/" in said
    assert ", but the answer was no chunk" in said


def test_one_tenant_has_nobody_to_leak_to_where_nothing_can_be_written(bench: Bench) -> None:
    corpus = bench.folder / "corpus.jsonl"
    own = [line for line in corpus.read_text().splitlines() if '"birch"' in line]
    corpus.write_text("\n".join(own) + "\n")
    cases = [
        line
        for line in (bench.folder / "golden.v1.jsonl").read_text().splitlines()
        if '"birch"' in line
    ]
    (bench.folder / "golden.v1.manifest.json").unlink()
    (bench.folder / "golden.v1.jsonl").unlink()
    (bench.folder / "alone.jsonl").write_text("\n".join(cases) + "\n")
    (bench.folder / "mine.py").write_text(READ_ONLY)
    suite = bench.suite('adapter = "mine.py:ReadOnly"\nmodes = ["lexical"]')
    suite.write_text(suite.read_text().replace("golden.v1.jsonl", "alone.jsonl"))
    done = bench.run("leaks", suite)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "the corpus has one tenant: there is nobody to leak to" in " ".join(done.stdout.split())


def test_an_audit_never_becomes_a_baseline(bench: Bench) -> None:
    bench.run("leaks", bench.suite('adapter = "memory"'), "--probe", "P22")
    (audit,) = bench.folder.glob("results/audits/*/*.json")
    done = bench.run("baseline", "accept", audit)
    assert done.returncode == 2
    assert "it is a leak audit, which measures nothing; name the artifact of a run" in done.stderr
