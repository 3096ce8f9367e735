"""`retrieverbench leaks` on targets that cannot be judged: none is accused, none is passed."""

from __future__ import annotations

from typing import Any

import pytest

from bench_support import Bench, Done
from retrieverbench.run import quality

MINE = """
import anyio
from retrieverbench.errors import InputError
from retrieverbench.model import Response
from retrieverbench_adapters.memory import Memory


class Silent(Memory):
    async def search(self, query):
        await anyio.sleep_forever()


class Raises(Memory):
    async def search(self, query):
        raise ValueError("out of order")


class Slow(Memory):
    async def search(self, query):
        await anyio.sleep(0.01)
        return await super().search(query)


class Leaks(Memory):
    seen = []

    async def search(self, query):
        answer = await super().search(query)
        self.seen.append(answer.hits)
        return Response([hit for hits in self.seen[-2:] for hit in hits][: query.k])


class Refuses(Memory):
    @classmethod
    async def open(cls, settings):
        raise InputError("options.search.b: 2 is too large")


class OpensOnce(Memory):
    opened = []

    @classmethod
    async def open(cls, settings):
        if cls.opened:
            raise InputError("options.search: exact and fast are both set; keep one")
        cls.opened.append(1)
        return await super().open(settings)
"""


def audit(bench: Bench, name: str, *more: str, timeout: float = 20.0) -> Done:
    (bench.folder / "mine.py").write_text(MINE)
    suite = bench.suite(f'adapter = "mine.py:{name}"\nmodes = ["lexical"]')
    suite.write_text(suite.read_text().replace("timeout = 20.0", f"timeout = {timeout}"))
    return bench.run("leaks", suite, *more)


def outcomes(bench: Bench) -> set[str]:
    probes: list[dict[str, Any]] = bench.artifact()["targets"][0]["probes"]
    return {probe["outcome"] for probe in probes}


def test_a_target_that_never_answers_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "GRACE_SECONDS", 0.05)  # the command runs in this process
    done = audit(bench, "Silent", "--fast", timeout=0.05)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "10 questions in a row were not answered" in " ".join(done.stdout.split())
    assert "fail" not in outcomes(bench)


def test_a_target_that_raises_proves_nothing(bench: Bench) -> None:
    done = audit(bench, "Raises", "--fast")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "fail" not in outcomes(bench)


def test_a_slow_target_is_waited_for(bench: Bench) -> None:
    done = audit(bench, "Slow", "--probe", "P01", "--probe", "P22")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(bench) == {"pass"}


def test_options_that_a_probe_cannot_set_leave_that_probe_without_a_conclusion(
    bench: Bench,
) -> None:
    done = audit(bench, "OpensOnce", "--probe", "P01", "--probe", "P36")
    assert done.returncode == 5, done.stdout + done.stderr
    assert outcomes(bench) == {"pass", "inconclusive"}
    assert "the target's options forbid it" in " ".join(done.stdout.split())
    assert done.stdout.count("exact and fast are both set") <= 3, "a line each, told once"


@pytest.mark.parametrize("names", [("Leaks", "Refuses"), ("Refuses", "Leaks")], ids="-".join)
def test_a_leak_outweighs_a_target_that_is_refused(bench: Bench, names: tuple[str, str]) -> None:
    (bench.folder / "mine.py").write_text(MINE)
    suite = bench.suite(f'adapter = "mine.py:{names[0]}"\nmodes = ["lexical"]')
    more = f'[[targets]]\nadapter = "mine.py:{names[1]}"\nmodes = ["lexical"]\n'
    suite.write_text(f"{suite.read_text()}\n{more}")
    done = bench.run("leaks", suite, "--probe", "P01")
    assert done.returncode == 4, done.stdout + done.stderr
    refused = bench.artifact()["targets"][names.index("Refuses")]
    assert "2 is too large" in str(refused["failure"])
    alone = bench.run("leaks", suite, "--probe", "P01", "--target", "refuses")
    assert alone.returncode == 2, alone.stdout + alone.stderr


@pytest.mark.parametrize("probe", ["P01", "P16"])
def test_a_corpus_of_one_tenant_does_not_keep_the_audit_from_its_own(
    bench: Bench, probe: str
) -> None:
    corpus = bench.folder / "corpus.jsonl"
    own = [line for line in corpus.read_text().splitlines() if '"birch"' in line]
    corpus.write_text("\n".join(own) + "\n")
    golden = bench.folder / "golden.v1.jsonl"
    cases = [line for line in golden.read_text().splitlines() if '"birch"' in line]
    (bench.folder / "alone.jsonl").write_text("\n".join(cases) + "\n")
    suite = bench.suite('adapter = "memory"\nmodes = ["lexical"]')
    suite.write_text(suite.read_text().replace("golden.v1.jsonl", "alone.jsonl"))
    done = bench.run("leaks", suite, "--probe", probe)
    assert done.returncode == 0, done.stdout + done.stderr
