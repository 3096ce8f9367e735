"""`retrieverbench leaks` on what is only read asks every question, and every tenant asks."""

from __future__ import annotations

import json

import pytest

from bench_support import Bench, Done

TENANTS = [f"t{number}" for number in range(1, 10)]
QUESTIONS = 12
"""Of the first tenant, of which the last has no answer; the others have one each."""
ADAPTER = """
from pathlib import Path
import json

from retrieverbench.adapter import Description
from retrieverbench.model import Hit, Response

CHUNKS = [json.loads(line) for line in Path("corpus.jsonl").read_text("utf-8").splitlines()]


class Service:
    capabilities = frozenset({"lexical", "filter"})

    @classmethod
    async def open(cls, settings):
        return cls()

    async def search(self, query):
        tenant, words = query.tenant, set(query.text.split())
        everything = FAULT
        hits = []
        for chunk in CHUNKS:
            found = words & set(chunk["text"].split())
            if found and (everything or chunk["tenant"] == tenant.value):
                uid = f"{chunk['tenant']}/{chunk['id']}"
                hits.append(Hit(uid, float(len(found)), chunk["tenant"], chunk["text"]))
        return Response(sorted(hits, key=lambda hit: -hit.score)[: query.k])

    async def describe(self):
        return Description("service", "1", "service", "1", {}, {})

    async def close(self):
        pass
"""


@pytest.fixture
def nine(bench: Bench) -> Bench:
    """Nine tenants with 14 chunks each, alike but for the tenant's name."""
    chunks = [
        {"id": f"c{number}", "tenant": tenant, "text": f"common topic{number} of {tenant}"}
        for tenant in TENANTS
        for number in range(QUESTIONS + 2)
    ]
    cases = [
        {
            "id": f"{tenant}-{n}",
            "tenant": tenant,
            "query": f"topic{n}",
            "unanswerable": n == QUESTIONS - 1,
            "relevant_chunk_ids": [f"c{n}"] if n < QUESTIONS - 1 else [],
        }
        for tenant in TENANTS
        for n in range(QUESTIONS if tenant == "t1" else 1)
    ]
    (bench.folder / "golden.v1.manifest.json").unlink()
    for name, records in (("corpus.jsonl", chunks), ("golden.v1.jsonl", cases)):
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (bench.folder / name).write_text(lines, "utf-8")
    more = ("--corpus", "corpus.jsonl", "--reason", "first version")
    done = bench.run("golden", "bump", "golden.v1.jsonl", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return bench


def audit(bench: Bench, fault: str, *more: str) -> Done:
    (bench.folder / "service.py").write_text(ADAPTER.replace("FAULT", fault), "utf-8")
    suite = bench.suite('adapter = "./service.py:Service"\nname = "service"\nmodes = ["lexical"]')
    return bench.run("leaks", suite, "--probe", "P01", *more)


@pytest.mark.parametrize(
    ("fault", "tenant"),
    [
        ('tenant.value == "t9"', "t9"),
        ('tenant.value == "t1" and query.text == "topic10"', "t1"),
        ('tenant.value == "t1" and query.text == "topic11"', "t1"),
    ],
    ids=["last tenant", "eleventh question", "question without an answer"],
)
def test_a_leak_to_any_tenant_by_any_of_its_questions_is_exit_4(
    nine: Bench, fault: str, tenant: str
) -> None:
    done = audit(nine, fault)
    assert done.returncode == 4, done.stdout + done.stderr
    found = nine.artifact()["targets"][0]["probes"]
    assert {finding["tenant"] for probe in found for finding in probe["findings"]} == {tenant}


def test_what_is_left_out_is_told_with_its_numbers(nine: Bench) -> None:
    done = audit(nine, "False", "--probe", "P22")
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    limits = {probe["probe"]: probe["limit"] for probe in nine.artifact()["targets"][0]["probes"]}
    assert limits["P01"].startswith("88 of 160 pairs of a tenant and a question of another")
    assert "3 of 9 tenants and 7 of 20 questions of the golden set were left out" in limits["P22"]
    for words in ("88 of 160 pairs", "3 of 9 tenants"):
        assert words in said.partition("Not probed")[2]


def test_a_tenant_that_finds_nothing_proves_nothing(nine: Bench) -> None:
    done = audit(nine, 'tenant.value == "t9" and words.clear()')
    assert done.returncode == 5, done.stdout + done.stderr
    (reason,) = {probe["reason"] for probe in nine.artifact()["targets"][0]["probes"]}
    assert "but 1 find nothing by any of them; one is 't9'" in reason


def test_a_question_without_an_answer_proves_nothing(nine: Bench) -> None:
    done = audit(nine, 'query.text == "topic11" and 1 / 0')
    assert done.returncode == 5, done.stdout + done.stderr
    (reason,) = {probe["reason"] for probe in nine.artifact()["targets"][0]["probes"]}
    assert "got none; the first as 't1'" in reason
