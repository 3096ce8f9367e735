"""The page on writing an adapter is executed, block by block."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bench_support import COMMAND, Bench, write_example
from retrieverbench.adapter import CAPABILITIES
from retrieverbench.job import prepare
from retrieverbench.run import LoadedAdapter, load_suite

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "write-an-adapter.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
ADAPTER, CONTRACT = (body for word, body in BLOCKS if word == "python")
TOML = [body for word, body in BLOCKS if word == "toml"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader has after section 3."""
    made = tmp_path_factory.mktemp("page")
    (made / "mine.py").write_text(ADAPTER, encoding="utf-8")
    (made / "test_mine.py").write_text(CONTRACT, encoding="utf-8")
    return made


def test_commands_run_in_their_order(folder: Path) -> None:
    """The contract's closing line says that nothing failed, and that leak tests ran."""
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    lines = "".join(body for word, body in BLOCKS if word == "sh").splitlines()
    said = ""
    for line in lines:
        if line.startswith("pip install"):  # test_install.py makes environments
            assert line.removeprefix("pip install ").strip("'") == "retrieverbench[testing]"
            continue
        done = subprocess.run(
            line,
            shell=True,
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        said = done.stdout
    assert re.search(r"^\d\d passed, \d+ skipped", said, re.MULTILINE), said


README = re.findall(
    r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
SHORT = next(body for body in README if "class Mine:" in body)


@pytest.mark.parametrize("adapter", [ADAPTER, SHORT], ids=["page", "README"])
def test_the_audit_passes_the_examples(bench: Bench, adapter: str) -> None:
    (bench.folder / "mine.py").write_text(adapter, encoding="utf-8")
    audit = ("leaks", "suite.toml", "--fast", "--adapter", "./mine.py:Mine", "--target", "mine")
    done = bench.run(*audit)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_leaking_variant_fails_both(folder: Path, bench: Bench) -> None:
    leaky = ADAPTER.replace(" if chunk.tenant == tenant", "")
    assert leaky != ADAPTER
    (bench.folder / "mine.py").write_text(leaky, encoding="utf-8")
    (bench.folder / "test_mine.py").write_text(CONTRACT, encoding="utf-8")
    done = bench.run("run", "suite.toml", "--adapter", "./mine.py:Mine")
    assert done.returncode == 4, done.stdout + done.stderr
    contract = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-k", "foreign_text", "test_mine.py"],
        cwd=bench.folder,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert contract.returncode == 1
    assert "LEAK: lexical search for" in contract.stdout


def test_every_capability_is_named() -> None:
    missing = [word for word in CAPABILITIES if f"`{word}`" not in TEXT]
    assert missing == []


def test_the_plugin_is_declared_as_the_example_of_this_project_is() -> None:
    _, block = TOML
    example = ROOT / "tests" / "plugins" / "retrieverbench-echo" / "pyproject.toml"
    own = tomllib.loads(example.read_text(encoding="utf-8"))
    assert tomllib.loads(block).keys() == own.keys()


def test_the_target_of_the_page_is_one_of_a_suite(folder: Path) -> None:
    suites = write_example(folder / "suites")
    text = f'golden = "golden.v1.jsonl"\ncorpus = "corpus.jsonl"\n{TOML[0]}'
    (suites / "suite.toml").write_text(text, encoding="utf-8")
    (loaded,) = prepare(load_suite(suites / "suite.toml")).adapters
    assert isinstance(loaded, LoadedAdapter)
    assert loaded.cls.__name__ == "Mine"


def test_the_readme_leads_to_it() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(docs/write-an-adapter.md)" in readme
