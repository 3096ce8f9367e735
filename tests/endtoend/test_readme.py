"""Every code block of the README is executed, in the order in which it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from bench_support import COMMAND, Bench
from retrieverbench.engines import engine_names
from retrieverbench.run import load_adapter, load_suite

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
ELSEWHERE = ("make ", "pip install ")
"""Commands that make environments: `.ci/run` and test_install.py run them."""

RUN = "leave-001 Q0 leave/annual#1 1 2.0 mine\nleave-001 Q0 leave/sick#1 2 1.0 mine\n"
QRELS = "leave-001 0 leave/annual#1 1\n"


def of(language: str) -> list[str]:
    return [body for word, body in BLOCKS if word == language]


def test_every_block_has_a_language_that_is_executed() -> None:
    """`text` is output; test_demo.py holds it against a run."""
    assert {word for word, _body in BLOCKS} == {"sh", "json", "toml", "python", "text"}


def test_shell_blocks_run_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(of("python")[0], encoding="utf-8")
    (tmp_path / "run.trec").write_text(RUN, encoding="utf-8")
    (tmp_path / "qrels.trec").write_text(QRELS, encoding="utf-8")
    own = tmp_path / "mybench" / "own.v1.jsonl"
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    executed = 0
    for line in "".join(of("sh")).splitlines():
        command = line.partition("#")[0].strip()
        if not command or command.startswith(ELSEWHERE):
            continue
        if "own.v1" in command:
            own.write_text(of("json")[0], encoding="utf-8")
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        executed += 1
    assert executed == 9


def test_leaking_variant_of_the_readmes_retriever_is_exit_4(bench: Bench) -> None:
    clean = of("python")[0]
    leaky = clean.replace(" if chunk.tenant == query.tenant", "")
    assert leaky != clean
    (bench.folder / "mine.py").write_text(leaky, encoding="utf-8")
    done = bench.run("run", "suite.toml", "--adapter", "mine.py:Mine", "--target", "Mine")
    assert done.returncode == 4, done.stdout + done.stderr


def test_read_only_example_is_unproven_and_not_clean(bench: Bench) -> None:
    (bench.folder / "read_only.py").write_text(of("python")[1], encoding="utf-8")
    target = 'adapter = "./read_only.py:ReadOnly"\nmodes = ["lexical"]'
    done = bench.run("run", bench.suite(target))
    assert done.returncode == 5, done.stdout + done.stderr
    warned = bench.run("run", bench.suite(target, head='leaks = { inconclusive = "warn" }'))
    assert warned.returncode == 0, warned.stdout + warned.stderr
    assert "INCONCLUSIVE" in warned.stdout
    rows = [line.split() for line in warned.stdout.splitlines()]
    assert {row[1] for row in rows if row[:1] == ["readonly/lexical/filter"]} >= {"server"}


def test_json_lines_are_cases_of_the_example(bench: Bench) -> None:
    for name in ("golden.v1.jsonl", "golden.v1.manifest.json"):
        (bench.folder / name).unlink()
    (bench.folder / "own.jsonl").write_text(of("json")[0], encoding="utf-8")
    suite = bench.folder / "suite.toml"
    text = suite.read_text(encoding="utf-8").replace("golden.v1.jsonl", "own.jsonl")
    suite.write_text(text, encoding="utf-8")
    done = bench.run("run", suite, "--no-timing")
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    before = done.stderr.partition("loading")[0]
    assert before.count("[G48]") == 1, "told once, before a backend is touched"


def test_files_of_the_documentation_are_a_suite(tmp_path: Path) -> None:
    """Shipped vectors; the command of the warning, typed as it stands there, ends the warning."""
    text = (README.parent / "docs" / "files.md").read_text(encoding="utf-8")
    files = re.findall(r"^`(\S+)`:\n\n```\w+\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    folder = tmp_path / "my files"
    folder.mkdir()
    for name, body in files:
        (folder / name).write_text(body, encoding="utf-8")
    assert len(files) == 5
    shutil.copytree(folder, tmp_path / "again")
    bump, again = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"

    def typed(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path},
            capture_output=True, text=True, timeout=150, check=False,
        )  # fmt: skip

    bumped = typed(f"set -e; cd again; {bump}")
    assert bumped.returncode == 0, bumped.stderr
    rebumped = typed(f"set -e; cd again; cp corpus.jsonl smaller.jsonl; {again.partition('#')[0]}")
    assert rebumped.returncode == 0, rebumped.stderr
    done = typed("retrieverbench run 'my files/suite.toml' --no-timing")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "memory/hybrid/filter" in done.stdout
    found = re.search(r"give it a version: (.*) \[G48\]", done.stderr)
    assert found is not None, done.stderr
    made = typed(found[1])
    assert made.returncode == 0, made.stderr
    suite = folder / "suite.toml"
    suite.write_text(suite.read_text("utf-8").replace("golden.jsonl", "golden.v1.jsonl"), "utf-8")
    assert "warning" not in typed("retrieverbench run 'my files/suite.toml' --no-timing").stderr
    wrong = suite.read_text("utf-8").replace("queries =", 'vectors = "x"\nqueries =')
    suite.write_text(wrong, "utf-8")
    assert "at the top of the suite" in typed("retrieverbench run 'my files/suite.toml'").stderr


@pytest.mark.parametrize("block", of("toml"))
def test_toml_blocks_are_parts_of_a_suite(bench: Bench, block: str) -> None:
    parsed = tomllib.loads(block)
    suite = bench.folder / "suite.toml"
    text = suite.read_text(encoding="utf-8")
    if "targets" in parsed:
        head = text.partition("[[targets]]")[0]
        suite.write_text(head + block, encoding="utf-8")
        assert len(load_suite(suite).targets) == len(parsed["targets"])
    else:
        entry = '\n[[targets]]\nadapter = "pgvector"\nendpoint_env = "NOWHERE"\n'
        suite.write_text(text + entry + block, encoding="utf-8")
        done = bench.run("run", suite, "--no-timing", "--target", "memory")
        assert done.returncode == 0, done.stderr


def test_table_says_what_the_adapters_say() -> None:
    rows = {
        cells[1].strip().strip("`"): [cell.strip() for cell in cells[2:]]
        for line in TEXT.splitlines()
        if len(cells := line.split("|")) == 8 and cells[1].strip().startswith("`")
    }
    points = metadata.entry_points(group="retrieverbench.adapters")
    own = {p.name for p in points if p.dist is not None and p.dist.name == "retrieverbench"}
    assert rows.keys() == own
    for name, (modes, layouts, _starts, fidelity, *_rest) in rows.items():
        capabilities = load_adapter(name).cls.capabilities
        known = {"filter", "partition", "index", "rls"}
        assert set(modes.split(", ")) == capabilities & {"dense", "lexical", "hybrid"}, name
        assert set(layouts.split(", ")) == capabilities & known, name
        if name in engine_names():
            from retrieverbench.engines import load_engine

            assert fidelity == load_engine(name).FIDELITY, name
