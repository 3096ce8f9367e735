"""`golden check` and `golden bump` as a user types them."""

from __future__ import annotations

import json
import shutil

from bench_support import Bench


def test_check_passes_the_example(bench: Bench) -> None:
    done = bench.run("golden", "check", "golden.v1.jsonl", "--corpus", "corpus.jsonl")
    assert done.returncode == 0
    assert "5 cases, 8 chunks of 2 tenants: no fault" in done.stdout


def test_check_names_every_fault_with_its_line(bench: Bench) -> None:
    (bench.folder / "own.jsonl").write_text(
        '{"id": "a", "tenant": "birch", "query": "x", "relevant_chunk_ids": ["leave/anual#1"]}\n'
        '{"id": "b", "tenant": "brich", "query": "", "relevant_chunk_ids": []}\n',
        encoding="utf-8",
    )
    done = bench.run("golden", "check", "own.jsonl", "--corpus", "corpus.jsonl")
    assert done.returncode == 2
    for code, line in (("G14", 1), ("G24", 2), ("G11", 2)):
        assert any(
            f"own.jsonl:{line}: " in x and f"[{code}]" in x for x in done.stderr.splitlines()
        )


def test_bump_writes_a_manifest_that_the_run_accepts(bench: Bench) -> None:
    shutil.copy(bench.folder / "golden.v1.jsonl", bench.folder / "own.v1.jsonl")
    done = bench.run(
        "golden", "bump", "own.v1.jsonl", "--corpus", "corpus.jsonl", "--reason", "first",
        "--version-of", "embedding=minilm",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    manifest = json.loads((bench.folder / "own.v1.manifest.json").read_text(encoding="utf-8"))
    assert manifest["versions"]["embedding"] == "minilm"
    suite = bench.folder / "suite.toml"
    text = suite.read_text(encoding="utf-8").replace("golden.v1.jsonl", "own.v1.jsonl")
    suite.write_text(text, encoding="utf-8")
    assert bench.run("run", suite, "--no-timing").returncode == 0


def test_bump_never_rewrites_a_version(bench: Bench) -> None:
    before = (bench.folder / "golden.v1.manifest.json").read_bytes()
    done = bench.run(
        "golden", "bump", "golden.v1.jsonl", "--corpus", "corpus.jsonl", "--reason", "again"
    )
    assert done.returncode == 2
    assert "is already there" in done.stderr
    assert (bench.folder / "golden.v1.manifest.json").read_bytes() == before
