"""The distribution as its users get it: a wheel, a plain and an editable installation.

Environments are bare: what they hold, pip has resolved for them. The packages come from one
wheelhouse, filled once, so that only its filling waits for the network. Versions are those
of the lock file, so that another's release of today cannot turn a test red.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest

from bench_support import Bench

REPOSITORY = Path(__file__).parents[2]
PLUGIN = REPOSITORY / "tests" / "plugins" / "retrieverbench-echo"
ECHO = 'adapter = "echo"\nmodes = ["lexical"]\nrequired = true'
ROOTS = ("src", "adapters")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")

pytestmark = pytest.mark.timeout(900)


def call(*command: str | Path, **variables: str) -> str:
    """Run a command; its standard output, or a failure with all that it said."""
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Bare:
    """An environment with nothing in it, and the wheelhouse that it is filled from."""

    folder: Path
    house: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def pip(self, *arguments: str | Path) -> str:
        """Run pip on this environment, without the network, build environments included."""
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.house), "PIP_NO_COMPILE": "1"}
        return call(*PIP, "--python", self.python, *arguments, **offline)

    def module(self, name: str) -> Path:
        """Where a module of this environment lies."""
        program = f"import {name}; print({name}.__file__)"
        return Path(call(self.python, "-I", "-c", program).strip())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our wheel, those that it depends on, and those that it is built with."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    pins = folder / "pins.txt"
    locked = (REPOSITORY / "requirements" / "run.txt").read_text(encoding="utf-8")
    pins.write_text("\n".join(re.findall(r"^[\w.-]+==[^ \\]+", locked, re.MULTILINE)), "utf-8")
    build = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["build-system"]
    call(
        *(*PIP, "wheel", "-q", "--no-build-isolation", "--constraint", pins, "-w", folder),
        *(REPOSITORY, *build["requires"], "editables"),
    )
    return folder


@pytest.fixture(scope="module")
def wheel(house: Path) -> Path:
    (path,) = house.glob("retrieverbench-*.whl")
    return path


def bare(house: Path, folder: Path) -> Bare:
    venv.create(folder, with_pip=False, symlinks=True)
    return Bare(folder, house)


@pytest.fixture(scope="module")
def installed(house: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """The wheel, without any extra."""
    made = bare(house, tmp_path_factory.mktemp("installed"))
    made.pip("install", "-q", wheel)
    return made


@pytest.fixture
def command(installed: Bare, tmp_path: Path) -> Bench:
    """The installed command, in a fresh folder."""
    return Bench(tmp_path, installed.folder / "bin" / "retrieverbench")


def our_adapters() -> set[str]:
    points = metadata.distribution("retrieverbench").entry_points
    return {point.name for point in points if point.group == "retrieverbench.adapters"}


def test_what_is_tested_here_is_what_is_installed() -> None:
    """The other tests must not see the source tree where they claim to test a wheel."""
    found = metadata.distribution("retrieverbench").read_text("direct_url.json") or "{}"
    if json.loads(found).get("dir_info", {}).get("editable"):
        pytest.skip("an editable installation is tested; run: make test")
    for name in ("retrieverbench", "retrieverbench_adapters"):
        lies = __import__(name).__file__
        assert lies is not None
        assert "site-packages" in Path(lies).parts


def test_the_wheel_holds_the_sources_and_nothing_else(wheel: Path) -> None:
    listed = call("git", "-C", REPOSITORY, "ls-files", "-co", "--exclude-standard", *ROOTS)
    paths = [PurePosixPath(line) for line in listed.splitlines() if (REPOSITORY / line).is_file()]
    expected = {str(PurePosixPath(*path.parts[1:])) for path in paths}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert names >= {
        "retrieverbench/py.typed",
        "retrieverbench_adapters/py.typed",
        "retrieverbench/cli/example/suite.toml",
        "retrieverbench/cli/example/golden.v1.manifest.json",
        *(
            f"retrieverbench/engines/{engine}/{file}"
            for engine in ("elasticsearch", "opensearch")
            for file in ("jars.tsv", "java/retrieverbench/Launcher.java")
        ),
    }


def test_every_adapter_and_all_are_extras_by_their_pip_names(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (n for n in opened.namelist() if n.endswith(".dist-info/METADATA"))
        text = opened.read(name).decode()
    extras = set(re.findall(r"^Provides-Extra: (\S+)$", text, re.MULTILINE))
    assert extras >= {a.replace("_", "-") for a in our_adapters() - {"memory"}} | {"all"}
    assert "License-File: LICENSE" in text


def test_the_bare_command_runs_the_whole_line(command: Bench) -> None:
    version = command.run("--version")
    assert version.stdout.strip().endswith(metadata.version("retrieverbench"))
    assert command.run("init", ".").returncode == 0
    done = command.run("run", "suite.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert command.artifact()["complete"] is True
    assert command.run("engines").returncode == 0


def test_the_bare_command_says_what_each_adapter_needs(command: Bench) -> None:
    done = command.run("adapters", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["adapter"]: row for row in json.loads(done.stdout)}
    assert rows.keys() == our_adapters()
    assert "lexical" in rows.pop("memory")["capabilities"]
    for name, row in rows.items():
        extra = name.replace("_", "-")
        assert row["missing"].endswith(f"run: pip install 'retrieverbench[{extra}]'"), row
    told = command.run("adapters").stdout
    assert told.count("pip install") == len(rows)


def test_an_absent_client_is_3_with_the_pip_line(command: Bench) -> None:
    assert command.run("init", ".").returncode == 0
    suite = command.suite('adapter = "qdrant"\nendpoint = "http://127.0.0.1:1"\nrequired = true')
    done = command.run("run", suite)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "pip install 'retrieverbench[qdrant]'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_an_editable_installation_works(house: Path, types: Path, tmp_path: Path) -> None:
    """Built apart, with what the project says that it is built with and nothing else."""
    made = bare(house, tmp_path / "editable")
    bench = Bench(tmp_path, made.folder / "bin" / "retrieverbench")
    made.pip("install", "-q", "-e", REPOSITORY)
    assert made.module("retrieverbench").is_relative_to(REPOSITORY / "src")
    assert made.module("retrieverbench_adapters").is_relative_to(REPOSITORY / "adapters")
    assert bench.run("init", "set").returncode == 0
    assert bench.run("run", "set/suite.toml").returncode == 0
    check_types(made, types)


def test_types_of_the_installed_wheel_are_seen(installed: Bare, types: Path) -> None:
    check_types(installed, types)


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the repository, in which mypy keeps what it found of others' types."""
    return tmp_path_factory.mktemp("types")


def check_types(environment: Bare, folder: Path) -> None:
    """Mypy, run on a program outside the repository, sees the types of both roots."""
    program = folder / "program.py"
    program.write_text(
        "from retrieverbench.adapter import OWN_PREFIX\n"
        "from retrieverbench_adapters.memory.options import Options\n"
        "reveal_type(OWN_PREFIX)\nreveal_type(Options)\n",
        encoding="utf-8",
    )
    mypy = (sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir")
    told = call(*mypy, folder / "cache", "--python-executable", environment.python, program)
    assert 'Revealed type is "str"' in told.replace("builtins.", "")
    assert "retrieverbench_adapters.memory.options.Options" in told


@pytest.fixture(scope="module")
def plugin(installed: Bare, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed plugin."""
    folder = tmp_path_factory.mktemp("plugin")
    installed.pip("install", "-q", "--no-deps", "--target", folder, PLUGIN)
    return folder


def test_a_foreign_plugin_is_listed_and_run(plugin: Path, command: Bench) -> None:
    path = {"PYTHONPATH": str(plugin)}
    done = command.run("adapters", "--json", env=path)
    rows = {row["adapter"]: row for row in json.loads(done.stdout)}
    assert rows.keys() == our_adapters() | {"echo"}
    assert rows["echo"]["distribution"] == "retrieverbench-echo 0.0.1"
    assert command.run("init", ".").returncode == 0
    done = command.run("run", command.suite(ECHO), env=path)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = command.artifact()["targets"]
    assert row["target"]["adapter"] == "echo"
    assert "retrieverbench-echo" in json.dumps(row)


def test_a_foreign_plugin_is_under_contract_once_it_is_installed(plugin: Path) -> None:
    """The contract's tests ask for installed adapters; nobody tells them of this one."""
    contract = REPOSITORY / "tests" / "contract" / "test_contract.py"
    pytest_ = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "echo and leak",
    )
    told = call(*pytest_, contract, PYTHONPATH=str(plugin))
    assert re.search(r"^\d+ passed", told, re.MULTILINE), told
