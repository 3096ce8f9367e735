"""A credential that a backend sends back, whatever it calls it, is shown nowhere."""

from __future__ import annotations

import pytest

from bench_support import Bench
from fault_catalog import small_crowds

SECRET = "s3cret-that-must-not-appear"
ECHO = f"""
from dataclasses import replace

from retrieverbench.model import Hit, Plan
from retrieverbench_adapters.memory import Memory


class Echo(Memory):
    capabilities = Memory.capabilities | {{"explain"}}
    filter_modes = {{"its own": {{}}}}

    async def explain(self, query):
        return Plan(("scan by {SECRET}",), "index of {SECRET}", "after", "as {SECRET} sees it")

    @classmethod
    async def open(cls, settings):
        return await super().open(replace(settings, secrets={{}}))

    async def search(self, query):
        found = await super().search(query)
        if query.k < 2:
            return found
        echoed = Hit("birch/{SECRET}", -1.0, "{SECRET}", "the key is {SECRET}")
        return replace(found, hits=[*found.hits[: query.k - 1], echoed])
"""


@pytest.mark.parametrize("command", ["run", "leaks"])
def test_an_id_a_label_or_a_text_that_is_a_credential(bench: Bench, command: str) -> None:
    (bench.folder / "echo.py").write_text(ECHO, encoding="utf-8")
    suite = bench.suite('adapter = "echo.py:Echo"\nsecrets = { api_key = "MY_KEY" }')
    with small_crowds():
        done = bench.run(command, suite, env={"MY_KEY": SECRET})
    assert done.returncode == 4, done.stdout + done.stderr
    shown = {"terminal": done.stdout + done.stderr}
    for path in (bench.folder / "results").rglob("*"):
        if path.is_file():
            shown[path.suffix] = path.read_text(encoding="utf-8")
    assert set(shown) >= {"terminal", ".md", ".json"}
    assert [name for name, text in shown.items() if SECRET in text] == []
    assert "birch/***" in shown[".json"]
    assert "index of ***" in shown[".json"]


@pytest.mark.parametrize("word", ["Birch", "echo", "filter", "test"])
def test_a_credential_that_is_a_word_of_every_report_is_refused(bench: Bench, word: str) -> None:
    (bench.folder / "echo.py").write_text(ECHO, encoding="utf-8")
    target = 'adapter = "echo.py:Echo"\nmodes = ["lexical"]\nsecrets = { api_key = "MY_KEY" }'
    memory = 'adapter = "memory"\nmodes = ["lexical"]'
    done = bench.run("run", bench.suite(target, memory), env={"MY_KEY": word})
    assert done.returncode == 3, done.stdout + done.stderr
    failed, finished = bench.artifact()["targets"]
    assert "secret 'api_key' is a word that reports need" in failed["failure"]
    assert failed["remedy"].startswith(
        "set another one (they come from environment variable MY_KEY"
    )
    assert finished["scores"] is not None
