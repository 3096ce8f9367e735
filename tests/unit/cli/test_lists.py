"""Every adapter has a row, whatever one of them raises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from retrieverbench.cli.lists import adapters, engines, keys, probes
from retrieverbench.errors import InputError
from retrieverbench.leaks import CATALOG
from retrieverbench.run import adapter_names, load_adapter, load_suite

VERSION = "7.0.0.dev20261130+of.a.branch"
ADAPTER = "retrieverbench_adapters.elasticsearch"
BODIES = {
    "absent": "import nothing_at_all",
    "wrong": "raise RuntimeError('on\\npurpose')",
    "exits": "raise SystemExit(0)",
    "protocol": "class Mine: pass",
    "fine": (
        "class Mine:\n"
        "    capabilities = frozenset({'lexical', 'filter'})\n"
        "    async def open(cls): pass\n"
        "    search = describe = close = open\n"
        "    open = classmethod(open)"
    ),
    "meta": (
        "class Meta(type):\n"
        "    def __getattr__(cls, name): raise ZeroDivisionError(name)\n"
        "class Mine(metaclass=Meta): pass"
    ),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One plugin that is broken in each way."""
    for name, body in BODIES.items():
        (tmp_path / f"listed_{name}.py").write_text(body, encoding="utf-8")
    info = tmp_path / "listed_plugin-7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: listed-plugin\nVersion: {VERSION}\n"
        "Requires-Dist: client-of-absent; extra == 'absent'\n",
        encoding="utf-8",
    )
    points = "\n".join(f"{name} = listed_{name}:Mine" for name in BODIES)
    (info / "entry_points.txt").write_text(f"[retrieverbench.adapters]\n{points}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def test_every_adapter_is_listed_with_its_reason(site: None) -> None:
    done = CliRunner().invoke(adapters, ["--json"], catch_exceptions=False)
    rows: dict[str, dict[str, Any]] = {row["adapter"]: row for row in json.loads(done.stdout)}
    assert rows.keys() >= BODIES.keys() | {"memory"}
    assert "lexical" in rows["memory"]["capabilities"]
    assert rows["absent"]["missing"] == (
        "adapter 'absent' needs client-of-absent; run: pip install 'listed-plugin[absent]'"
    )
    for name, text in (
        ("wrong", "RuntimeError: on purpose"),
        ("exits", "SystemExit"),
        ("protocol", "lacks capabilities"),
        ("meta", "ZeroDivisionError"),
    ):
        assert text in rows[name]["broken"]


def test_the_plain_list_says_the_same_a_line_each(site: None) -> None:
    done = CliRunner().invoke(adapters, catch_exceptions=False)
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert lines.keys() >= BODIES.keys() | {"memory"}
    assert f"  listed-plugin {VERSION}  filter lexical" in lines["fine"]
    for name in BODIES.keys() - {"fine"}:
        assert "not usable" in lines[name]
    assert "needs client-of-absent" in lines["absent"]
    assert "RuntimeError: on purpose" in lines["wrong"]


def test_engines_tell_their_limits() -> None:
    done = CliRunner().invoke(engines, ["--json"], catch_exceptions=False)
    rows = {row["engine"]: row for row in json.loads(done.stdout)}
    notes = rows["azure_search"]["notes"]
    assert any("say nothing about the service" in note for note in notes)
    assert rows["pgvector"]["bytes_to_fetch"] == 0
    assert rows["pgvector"]["adapter_missing"] is None
    plain = CliRunner().invoke(engines, catch_exceptions=False).stdout
    assert all(f"- {note}" in plain for note in notes)


def test_engines_tell_what_is_not_here_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache folder means a fetch; an adapter without its client names both extras."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    for name in [name for name in sys.modules if name.startswith(ADAPTER)]:
        monkeypatch.delitem(sys.modules, name)
    distribution = metadata.distribution

    def without_client(name: str) -> metadata.Distribution:
        if name == "elasticsearch":
            raise metadata.PackageNotFoundError(name)
        return distribution(name)

    monkeypatch.setattr(metadata, "distribution", without_client)
    plain = CliRunner().invoke(engines, catch_exceptions=False).stdout
    assert re.search(r"fetches \d+ MB, once; beforehand: .* engine fetch elasticsearch", plain)
    assert "pip install 'retrieverbench[elasticsearch,engines]'" in plain


def test_every_adapter_of_ours_tells_its_options() -> None:
    for name in adapter_names():
        done = CliRunner().invoke(adapters, [name], catch_exceptions=False)
        assert done.exit_code == 0
        groups = [line for line in done.stdout.splitlines() if line.endswith(":")]
        if load_adapter(name).distribution == "retrieverbench":
            assert groups == ["connect:", "place:", "search:"], name


def test_options_come_with_type_and_default() -> None:
    lines = CliRunner().invoke(adapters, ["memory"], catch_exceptions=False).stdout.splitlines()
    assert '  analyzer = "english"  # "english" | "standard"' in lines
    assert "  b = 0.75  # number, >= 0, <= 1" in lines
    assert "  rrf_k = 60  # whole number, >= 1" in lines


CLASS = """
from dataclasses import dataclass, field
TYPES, DEFAULTS = {"__annotations__": {"a": int}}, {"a": field(default_factory=lambda: 1 / 0)}
class Exits(type):
    def __getattribute__(cls, name): raise SystemExit(0)
class Mine:
    capabilities = frozenset({"lexical", "filter"})
    async def open(cls): pass
    search = describe = close = open
    open = classmethod(open)
    OPTIONS
"""


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("class options: pass", "TypeError: must be called with a dataclass"),
        ("options = dataclass(type('o', (), {'__annotations__': {'a': 'Nope'}}))", "NameError"),
        ("class options(metaclass=Exits): pass", "SystemExit: 0"),
        ("options = dataclass(type('o', (), TYPES | DEFAULTS))", "ZeroDivisionError: division"),
    ],
)
def test_options_that_cannot_be_read_are_the_fault_of_their_file(
    tmp_path: Path, options: str, fault: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CLASS.replace("OPTIONS", options), encoding="utf-8")
    with pytest.raises(InputError, match=f"its `options` cannot be shown: {fault}"):
        CliRunner().invoke(adapters, [f"{file}:Mine"], catch_exceptions=False)


def test_what_a_file_says_of_its_options_cannot_drive_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    doc = "options = dataclass(type('o', (), {'__doc__': 'one\\x1b[31m\\u202etwo'}))"
    file.write_text(CLASS.replace("OPTIONS", doc), encoding="utf-8")
    done = CliRunner().invoke(adapters, [f"{file}:Mine"], catch_exceptions=False)
    assert done.stdout == "# one\\x1b[31m\\u202etwo\n"


def test_a_file_that_closes_the_output_is_shown_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import os\nos.close(1)\n" + CLASS.replace("OPTIONS", ""), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "retrieverbench", "adapters", f"{file}:Mine"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "its class has no `options`" in done.stdout, done.stderr


def test_the_options_of_one_adapter_are_no_json() -> None:
    with pytest.raises(InputError, match="--json: of one adapter's options there is none"):
        CliRunner().invoke(adapters, ["memory", "--json"], catch_exceptions=False)


def printed_tables() -> dict[str, list[str]]:
    """Of `retrieverbench keys`: the keys of each table that have a default, as TOML lines."""
    tables: dict[str, list[str]] = {"": []}
    path: list[str] = []
    for line in CliRunner().invoke(keys, catch_exceptions=False).stdout.splitlines():
        told = line.strip()
        path = path[: (len(line) - len(told)) // 2]
        if told.startswith("#"):
            continue
        if " = " not in told:
            path.append(told.partition(":")[0])
            tables[".".join(path)] = []
        elif "(required)" not in told and "(not set)" not in told:
            tables[".".join(path)].append(told)
    return tables


def test_the_keys_and_defaults_that_are_printed_are_those_that_a_suite_takes(
    tmp_path: Path,
) -> None:
    tables = printed_tables()
    assert {"rules", "targets.attach"} < tables.keys()
    plain = ['golden = "g.jsonl"', 'corpus = "c.jsonl"', "[[targets]]", 'adapter = "memory"']
    full = [*plain[:2], *tables[""], *plain[2:], *tables["targets"]]
    for name in ("targets.declares", "targets.load", "timing", "leaks", "embedding"):
        full += [f"[{name}]", *tables[name]]
    suites = []
    for name, lines in (("plain", plain), ("full", full)):
        path = tmp_path / name
        path.write_text("\n".join(lines), encoding="utf-8")
        suite = replace(load_suite(path), path=Path(), sha256="", lines={}, embedding={})
        suites.append(replace(suite, name=""))
    assert suites[0] == suites[1]


def test_a_key_that_cannot_be_set_is_not_printed() -> None:
    assert not [line for line in printed_tables()[""] if line.startswith(("path", "sha256"))]


def test_each_probe_is_listed_and_explained() -> None:
    plain = CliRunner().invoke(probes, catch_exceptions=False).stdout
    assert [line.split()[0] for line in plain.splitlines()] == [probe.id for probe in CATALOG]
    rows = json.loads(CliRunner().invoke(probes, ["--json"], catch_exceptions=False).stdout)
    assert all(row["help"] for row in rows)
    one = CliRunner().invoke(probes, ["P07"], catch_exceptions=False).stdout
    assert "if it fails: " in one
    assert "what it cannot see: " in one


def test_an_unknown_probe_is_refused_with_the_range() -> None:
    with pytest.raises(InputError, match=f"P99: no such probe; there are {CATALOG[0].id} to "):
        CliRunner().invoke(probes, ["P99"], catch_exceptions=False)
    with pytest.raises(InputError, match="did you mean 'P07'"):
        CliRunner().invoke(probes, ["p07"], catch_exceptions=False)
