"""One test per way in which the command can end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest

from bench_support import COMMAND, Bench

MEMORY = 'adapter = "memory"\nmodes = ["lexical"]'

SILENT = """
from retrieverbench_adapters.memory import Memory

class Silent(Memory):
    async def search(self, query):
        response = await super().search(query)
        response.hits = []
        return response
"""

CRASHING = """
class Crashing:
    capabilities = frozenset({"lexical", "filter"})

    @classmethod
    async def open(cls, settings):
        return cls()

    async def search(self, query):
        raise ZeroDivisionError("my own mistake")

    async def describe(self):
        raise KeyError("nothing")

    async def close(self):
        pass
"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def test_example_passes_with_0(bench: Bench) -> None:
    done = bench.process("run", "suite.toml")
    assert done.returncode == 0, done.stderr
    assert "PASS (exit 0)" in done.stdout


def test_failed_rule_is_1(bench: Bench) -> None:
    rule = '[[rules]]\nkind = "maximum"\nmetric = "Recall@10"\nvalue = 0.1'
    options = ("--junit", "junit.xml", "--annotations", "azure")
    done = bench.run("run", bench.suite(MEMORY, more=rule), *options)
    assert done.returncode == 1, done.stderr
    assert "maximum Recall@10 on memory/lexical/filter" in done.stdout
    assert "\n##vso[task.logissue type=error;sourcepath=test.toml;linenumber=" in done.stdout
    junit = (bench.folder / "junit.xml").read_text(encoding="utf-8")
    assert junit.count("<failure") == 2, "the rule and the verdict"


@pytest.mark.parametrize(
    ("kind", "subject", "value", "fault"),
    [
        ("minimum", 'metric = "nDCG@10"', 0.0, "cannot fail: nDCG@10 is never below 0"),
        ("minimum", 'metric = "P@5"', 0.99, "cannot be met: P@5 is never above 0."),
        ("counter", 'counter = "errors"', 1e18, "cannot fail: errors is never above "),
    ],
)
def test_rule_that_no_outcome_can_break_or_keep_is_2(
    bench: Bench, kind: str, subject: str, value: float, fault: str
) -> None:
    rule = f'[[rules]]\nkind = "{kind}"\n{subject}\nvalue = {value}'
    done = bench.run("run", bench.suite(MEMORY, more=rule))
    assert done.returncode == 2, done.stdout
    assert f"rules.0.value: {value:g} {fault}" in done.stderr
    assert "loading" not in done.stderr


def test_wrong_input_is_2_and_touches_nothing(bench: Bench) -> None:
    done = bench.run("run", bench.suite('adapter = "memroy"\nmodes = ["lexical"]'))
    assert done.returncode == 2
    assert "test.toml:7: targets.0.adapter: no adapter named 'memroy'; did you mean 'memory'?" in (
        done.stderr
    )
    assert not list(bench.folder.glob("results/runs/*/*"))


def test_an_option_that_the_adapter_refuses_is_2_with_its_line(bench: Bench) -> None:
    done = bench.run("run", bench.suite(f"{MEMORY}\nsearch = {{ exakt = true }}"))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "test.toml:10: targets.0.search.exakt: unknown key" in done.stderr
    assert "did you mean 'exact'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_dead_backend_is_3_and_the_others_finish(bench: Bench) -> None:
    dead = f'adapter = "qdrant"\nmodes = ["lexical"]\nendpoint = "http://127.0.0.1:{free_port()}"'
    done = bench.run("run", bench.suite(MEMORY, dead))
    assert done.returncode == 3, done.stdout + done.stderr
    finished, failed = bench.artifact()["targets"]
    assert finished["scores"] is not None
    assert failed["failure_kind"] == "failed"
    assert (failed["scores"], failed["timings"], failed["leaks"]) == (None, None, None)


def test_absent_backend_is_a_row_and_0(bench: Bench) -> None:
    absent = 'adapter = "qdrant"\nmodes = ["lexical"]\nendpoint_env = "NOWHERE_URL"'
    done = bench.run("run", bench.suite(MEMORY, absent))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "environment variable NOWHERE_URL is not set" in done.stdout
    assert "export NOWHERE_URL=" in done.stdout


def test_absent_but_required_is_3(bench: Bench) -> None:
    absent = 'adapter = "qdrant"\nmodes = ["lexical"]\nendpoint_env = "NOWHERE_URL"'
    done = bench.run("run", bench.suite(MEMORY, absent), "--require", "qdrant")
    assert done.returncode == 3, done.stdout + done.stderr


def test_retriever_that_returns_nothing_is_5_not_0(bench: Bench) -> None:
    (bench.folder / "silent.py").write_text(SILENT, encoding="utf-8")
    silent = 'adapter = "./silent.py:Silent"\nmodes = ["lexical"]'
    done = bench.run("run", bench.suite(silent))
    assert done.returncode == 5, done.stdout + done.stderr
    assert "a clean result is not proven" in done.stdout
    assert '[leaks] inconclusive = "warn" lets it pass' in done.stdout


def test_own_retriever_that_raises_is_3_and_no_traceback(bench: Bench) -> None:
    (bench.folder / "crashing.py").write_text(CRASHING, encoding="utf-8")
    done = bench.run("run", "suite.toml", "--adapter", "crashing.py:Crashing")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    line = CRASHING.splitlines().index('        raise KeyError("nothing")') + 1
    assert f"describe raised KeyError (crashing.py:{line}): 'nothing'" in done.stdout


def test_debug_shows_once_where_a_retriever_of_ones_own_raised(bench: Bench) -> None:
    broken = CRASHING.replace(
        'raise KeyError("nothing")',
        "from retrieverbench.adapter import Description\n"
        '        return Description("a", "1", "b", "1", {}, {})',
    )
    (bench.folder / "broken.py").write_text(broken, encoding="utf-8")
    done = bench.process("--debug", "run", "suite.toml", "--adapter", "broken.py:Crashing")
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stderr.count("ZeroDivisionError was raised here") == 1
    assert 'raise ZeroDivisionError("my own mistake")' in done.stderr
    assert "search raised ZeroDivisionError (broken.py:" in done.stdout


def test_an_adapter_of_the_command_line_is_looked_for_here_and_can_be_called_otherwise(
    bench: Bench,
) -> None:
    (bench.folder / "own.py").write_text(CRASHING.replace("Crashing", "Memory"), encoding="utf-8")
    done = bench.run("run", "suite.toml", "--adapter", "nowhere.py:Mine")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere.py is not there; name a .py file, seen from the folder that you are in" in (
        done.stderr
    )
    done = bench.run("run", "suite.toml", "--adapter", "own.py:Memory")
    assert done.returncode == 2
    assert "call the class otherwise, or write it into the suite with a name" in done.stderr


@pytest.mark.parametrize(
    "signals",
    [
        (signal.SIGINT, signal.SIGTERM),  # at once, as `timeout` does: no second request
        (signal.SIGHUP,),  # the terminal was closed
    ],
)
def test_interrupt_is_130_and_leaves_an_artifact(
    bench: Bench, signals: tuple[signal.Signals, ...]
) -> None:
    slow = "timing = { rounds = 50, requests = 4000, seconds = 60.0, warmup = 1 }"
    suite = bench.suite(MEMORY)
    text = suite.read_text(encoding="utf-8").replace(
        "timing = { rounds = 1, requests = 20, warmup = 1 }", slow
    )
    suite.write_text(text, encoding="utf-8")
    with bench.started("run", suite, until="timed pass") as process:
        for number in signals:
            process.send_signal(number)
        out, _err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "INTERRUPTED (exit 130)" in out
    artifact = bench.artifact()
    assert artifact["complete"] is False
    assert artifact["verdict"]["exit_code"] == 130
    assert artifact["targets"][0]["scores"] is not None


FORGETFUL = """
from dataclasses import replace
from retrieverbench_adapters.memory import Memory

class Forgetful(Memory):
    asked = 0

    async def search(self, query):
        self.asked += 1
        return await super().search(query)

    async def describe(self):
        found = await super().describe()
        return found if self.asked == 0 else replace(found, chunks={**found.chunks, "cedar": 1})
"""


def test_chunks_that_vanish_during_the_run_are_3(bench: Bench) -> None:
    (bench.folder / "forgetful.py").write_text(FORGETFUL, encoding="utf-8")
    done = bench.run("run", bench.suite('adapter = "./forgetful.py:Forgetful"'))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "chunks of 'cedar': 4 before, 1 after" in done.stdout


def test_one_tenant_has_nobody_to_leak_to_and_passes(bench: Bench) -> None:
    for name in ("corpus.jsonl", "golden.v1.jsonl"):
        lines = (bench.folder / name).read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if '"tenant": "birch"' in line]
        (bench.folder / f"one-{name}").write_text("\n".join(kept) + "\n", encoding="utf-8")
    (bench.folder / "one-golden.v1.jsonl").rename(bench.folder / "one.jsonl")
    suite = bench.suite(MEMORY)
    text = suite.read_text(encoding="utf-8").replace("golden.v1.jsonl", "one.jsonl")
    suite.write_text(text.replace("corpus.jsonl", "one-corpus.jsonl"), encoding="utf-8")
    done = bench.run("run", suite)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not applicable: the corpus has one tenant" in done.stdout


LEAKING_SLOWLY = """
import asyncio
from retrieverbench.model import Hit, Response
from retrieverbench_adapters.memory import Memory

class Leaking(Memory):
    async def search(self, query):
        await asyncio.sleep(0.05)
        return Response([Hit("cedar/leave/annual#1", 1.0)])
"""


@pytest.mark.parametrize("stage", ["quality", "timed pass"])
def test_a_leak_wins_over_an_interrupt(bench: Bench, stage: str) -> None:
    (bench.folder / "leaking.py").write_text(LEAKING_SLOWLY, encoding="utf-8")
    target = 'adapter = "./leaking.py:Leaking"\nmodes = ["lexical"]'
    suite = bench.suite(target, head="concurrency = 1")
    text = suite.read_text(encoding="utf-8").replace("requests = 20", "requests = 100000")
    suite.write_text(text, encoding="utf-8")
    with bench.started("run", suite, until=stage) as process:
        sleep(0.15)
        process.send_signal(signal.SIGINT)
        out, _err = process.communicate(timeout=60)
    assert process.returncode == 4, out


@pytest.mark.parametrize("option", ["--results", "results"])
def test_unwritable_results_are_2_before_the_run(bench: Bench, option: str) -> None:
    (bench.folder / "blocked").write_text("a file, not a folder", encoding="utf-8")
    if option == "--results":
        done = bench.run("run", "suite.toml", "--results", "blocked")
    else:
        done = bench.run("run", bench.suite(MEMORY, head='results = "blocked"'))
    assert done.returncode == 2, done.stdout
    assert "results cannot be written here" in done.stderr


def test_baseline_is_asked_for_accepted_and_compared(bench: Bench) -> None:
    rule = '[[rules]]\nkind = "tolerance"\nmetric = "nDCG@10"\ntolerance = 0.01'
    suite = bench.suite(MEMORY, more=rule)
    first = bench.run("run", suite)
    assert first.returncode == 2, first.stdout
    assert "no baseline for test/memory/lexical/filter" in first.stdout
    assert "note: no baseline yet" in first.stderr.partition("loading")[0]
    (path,) = bench.folder.glob("results/runs/test/*.json")
    accepted = bench.run("baseline", "accept", path)
    assert accepted.returncode == 0, accepted.stderr
    assert bench.run("run", suite).returncode == 0
    worse = suite.read_text(encoding="utf-8") + "\n"
    worse = worse.replace(MEMORY, MEMORY + '\nplace = { analyzer = "standard" }')
    suite.write_text(worse, encoding="utf-8")
    refused = bench.run("run", suite)
    assert refused.returncode == 2, refused.stdout
    assert "not comparable with the baseline: options.place.analyzer" in refused.stdout
    assert "add --changing settings" in refused.stdout
    judged = bench.run("run", suite, "--changing", "settings")
    assert judged.returncode in {0, 1}, judged.stdout
    assert "declared as changed: options.place.analyzer" in judged.stdout
    _gone_and_left_out(bench, suite)
    unknown = bench.run("run", suite, "--changing", "setting")
    assert unknown.returncode == 2
    assert "did you mean 'settings'?" in unknown.stderr


def _gone_and_left_out(bench: Bench, suite: Path) -> None:
    """The target that has a baseline is taken out of the suite, then only out of a run."""
    other = f'{MEMORY}\nname = "other"'
    entry = suite.read_text(encoding="utf-8")
    suite.write_text(entry.replace(MEMORY, other), encoding="utf-8")
    gone = bench.run("run", suite, "--junit", "junit.xml")
    assert "remove results/baselines/test/memory-lexical-filter.json" in gone.stdout
    assert 'name="memory/lexical/filter"' in (bench.folder / "junit.xml").read_text()
    path = max(bench.folder.glob("results/runs/test/*.json"), key=lambda p: p.stat().st_mtime_ns)
    because = bench.run("baseline", "accept", path)
    assert "it fails (target of a baseline on memory/lexical/filter)" in because.stderr
    accepted = bench.run("baseline", "accept", path, "--because", "renamed")
    assert accepted.returncode == 0, accepted.stderr
    suite.write_text(f"{entry}\n[[targets]]\n{other}\n", encoding="utf-8")
    partial = bench.run("run", suite, "--target", "other")
    assert "memory/lexical/filter" not in partial.stdout
    assert "note: have a baseline, but --target leaves them out: memory/lexical" in partial.stderr


def test_artifact_is_json_with_a_schema_number(bench: Bench) -> None:
    bench.run("run", "suite.toml")
    artifact = bench.artifact()
    assert artifact["schema"] == 1
    assert artifact["complete"] is True
    assert json.dumps(artifact, allow_nan=False)


def test_output_never_reads_the_environment_aloud(bench: Bench) -> None:
    secret = "s3cret-that-must-not-appear"
    target = (
        f'adapter = "qdrant"\nmodes = ["lexical"]\nendpoint = "http://127.0.0.1:{free_port()}"\n'
        'secrets = { api_key = "MY_KEY" }'
    )
    done = bench.run("run", bench.suite(target), env={"MY_KEY": secret})
    everything = done.stdout + done.stderr
    for path in bench.folder.rglob("*"):
        everything += path.read_text(encoding="utf-8") if path.is_file() else ""
    assert done.returncode == 3
    assert secret not in everything


def test_nothing_is_left_running(bench: Bench) -> None:
    """After a killed run its engines are gone within seconds."""
    suite = bench.suite('adapter = "pgvector"\nengine = "embedded"')
    text = suite.read_text(encoding="utf-8").replace("requests = 20", "requests = 200000")
    suite.write_text(text, encoding="utf-8")
    with bench.started("run", suite, until="timed pass") as process:
        children = _descendants(process.pid)
        assert children
    deadline = monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in children) and monotonic() < deadline:
        sleep(0.1)
    assert [pid for pid in children if Path(f"/proc/{pid}").exists()] == []


def _descendants(pid: int) -> list[int]:
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def test_version_and_help_are_quick_to_ask() -> None:
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(
        [COMMAND, "--help"], capture_output=True, text=True, check=True, env=environment
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert imported & {"click"}
    heavy = {"numpy", "pydantic", "rich", "anyio", "psycopg", "qdrant_client", "elasticsearch"}
    assert imported & heavy == set()


def test_a_question_asked_many_times_is_one_trial(bench: Bench) -> None:
    """A bound that rests on copies of one question would be a lie."""
    case = json.loads((bench.folder / "golden.v1.jsonl").read_text().splitlines()[0])
    copies = "\n".join(json.dumps({**case, "id": f"copy-{n}"}) for n in range(30))
    (bench.folder / "copies.jsonl").write_text(copies + "\n")
    suite = bench.suite('adapter = "memory"\nmodes = ["lexical"]')
    suite.write_text(suite.read_text().replace("golden.v1.jsonl", "copies.jsonl"))
    done = bench.run("run", suite)
    assert done.returncode == 0, done.stdout + done.stderr
    (target,) = bench.artifact()["targets"]
    assert target["leaks"]["trials"] == 1 + target["leaks"]["canaries_asked"]
    assert target["timings"]["distinct_queries"] == 1
