"""An index of the user's own: read, judged by the user's record of owners, never written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench_support import Bench

# A table that lies in a file; the search is right but for what each test changes in the table.
TABLE = """
import json
from pathlib import Path
from retrieverbench.adapter import Description
from retrieverbench.model import Hit, Plan, Response

ROWS = json.loads(Path(__file__).with_name("table.json").read_text())


class Table:
    capabilities = frozenset({"lexical", "dense", "filter", "attach", "put", "explain", "get"})

    @classmethod
    async def open(cls, settings):
        assert settings.place == "" and settings.attached.name == "docs"
        adapter = cls()
        adapter.fields = settings.attached
        return adapter

    async def put(self, chunks):
        raise AssertionError("an attached index was written to")

    settle = put

    async def search(self, query):
        own = [row for row in ROWS if row[self.fields.tenant] == query.tenant.value]
        if query.mode == "dense":
            return Response([])
        words = set(query.text.lower().split())
        scored = [(-len(words & set(r["body"].lower().split())), r["pk"], r["body"]) for r in own]
        whole = "text" in query.want
        return Response([Hit(str(pk), -score, text=text if whole else None)
                         for score, pk, text in sorted(scored)[: query.k] if score])

    async def get(self, tenant, uids):
        own = [row for row in ROWS if row[self.fields.tenant] == tenant.value]
        return [Hit(str(row["pk"]), 1.0, row["owner"], row["body"]) for row in own
                if str(row["pk"]) in uids]

    async def explain(self, query):
        return Plan(("scan of docs",), vector_index="", filtered="before")

    async def describe(self):
        counts = {}
        for row in ROWS:
            owner = row["owner"] or ""
            counts[owner] = counts.get(owner, 0) + 1
        return Description("table", "1", "none", "1", {"rows": len(ROWS)}, counts,
                           weaknesses=("anybody may read the file; lock it",))

    async def close(self):
        pass
"""
ATTACH = """adapter = "table.py:Table"
modes = ["lexical"]
required = true
[targets.attach]
name = "docs"
id = "pk"
tenant = "owner"
text = ["body"]
matches = "metadata.pk"
"""
Row = dict[str, Any]


def attach(bench: Bench, change: Callable[[list[Row]], None] = lambda rows: None) -> Path:
    """The example corpus as a table with numbers for keys, which the corpus file names too."""
    lines = (bench.folder / "corpus.jsonl").read_text().splitlines()
    chunks = [json.loads(line) for line in lines]
    for number, chunk in enumerate(chunks):
        chunk["metadata"] = {**chunk.get("metadata", {}), "pk": number}
    text = "\n".join(json.dumps(chunk) for chunk in chunks) + "\n"
    (bench.folder / "corpus.jsonl").write_text(text)
    options = ("--corpus", "corpus.jsonl", "--reason", "keys of the table")
    (bench.folder / "golden.v1.jsonl").rename(bench.folder / "keyed.v1.jsonl")
    bumped = bench.run("golden", "bump", "keyed.v1.jsonl", *options)
    assert bumped.returncode == 0, bumped.stderr
    rows = [
        {
            "pk": n,
            "owner": c["tenant"],
            "body": f"{c.get('title', '')} {c['text']}",
            "text": c["text"],
        }
        for n, c in enumerate(chunks)
    ]
    change(rows)
    (bench.folder / "table.json").write_text(json.dumps(rows))
    (bench.folder / "table.py").write_text(TABLE)
    suite = bench.suite(ATTACH, head='leaks = { inconclusive = "warn" }')
    suite.write_text(suite.read_text().replace("golden.v1.jsonl", "keyed.v1.jsonl"))
    return suite


def test_an_attached_index_is_measured_and_not_written_to(bench: Bench) -> None:
    done = bench.run("run", attach(bench))
    assert done.returncode == 0, done.stdout + done.stderr
    (target,) = bench.artifact()["targets"]
    assert target["scores"]["means"]["recall@10"]["value"] > 0.5
    assert target["timings"]["errors"] == {}
    assert target["leaks"]["proof"] == "inconclusive"
    assert target["load_seconds"] is None
    assert target["plan"]["filtered"] == "before"
    assert "before the search" in done.stdout
    assert "anybody may read the file" in done.stdout


def test_a_mode_that_finds_nothing_leaves_the_audit_of_the_others_alone(bench: Bench) -> None:
    suite = attach(bench)
    text = suite.read_text().replace('["lexical"]', '["dense", "lexical"]')
    suite.write_text(text.replace('text = ["body"]', 'text = ["body"]\nvector = "v"'))
    done = bench.run("leaks", suite)
    dense, lexical = bench.artifact()["targets"]
    told = {probe["outcome"] for probe in lexical["probes"] if probe["mode"]}
    assert told == {"pass", "not applicable"}, done.stdout + done.stderr
    reasons = {probe["reason"] for probe in dense["probes"] if probe["outcome"] == "inconclusive"}
    assert done.returncode == 0, "the suite lets it pass"
    assert any("its control failed" in reason for reason in reasons)
    assert not any("canary" in reason for reason in reasons), "there is none to be found"


def test_a_row_filed_under_another_owner_is_a_leak(bench: Bench) -> None:
    def swap(rows: list[Row]) -> None:
        first = rows[0]
        other = next(row for row in rows if row["owner"] != first["owner"])
        first["owner"], other["owner"] = other["owner"], first["owner"]

    done = bench.run("run", attach(bench, swap))
    assert done.returncode == 4, done.stdout + done.stderr
    (target,) = bench.artifact()["targets"]
    seen = {finding["seen_in"] for finding in target["leaks"]["findings"]}
    assert {"quality", "timed"} <= seen or seen == {"quality"}
    assert target["leaks"]["foreign"] > 0


def file_under_other(rows: list[Row]) -> None:
    rows[0]["owner"] = next(r["owner"] for r in rows if r["owner"] != rows[0]["owner"])


def file_under_both(rows: list[Row]) -> None:
    rows.append({**rows[0]})
    file_under_other(rows)


@pytest.mark.parametrize(
    ("command", "change", "too"),
    [
        (("run",), file_under_other, ""),
        (("leaks", "--probe", "P27"), file_under_other, ""),
        (("run",), file_under_both, ", too"),
    ],
)
def test_a_row_that_bears_a_wrong_owner_is_named_with_both(
    bench: Bench, command: tuple[str, ...], change: Callable[[list[Row]], None], too: str
) -> None:
    """Counts alone would say that the corpus does not cover the index."""
    suite = attach(bench, change)
    done = bench.run(command[0], suite, *command[1:])
    assert done.returncode == 4, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "'birch/leave/annual#1'" in said
    assert "belongs to 'birch'" in said
    assert f"in the index it bears the owner 'cedar'{too}" in said


def test_a_text_of_another_under_an_own_id_is_a_leak(bench: Bench) -> None:
    def mix_up(rows: list[Row]) -> None:
        other = next(row for row in rows if row["owner"] != rows[0]["owner"])
        rows[0]["body"] = other["text"]

    done = bench.run("run", attach(bench, mix_up))
    assert done.returncode == 4, done.stdout + done.stderr
    (target,) = bench.artifact()["targets"]
    found = target["leaks"]["findings"]
    assert {(f["seen_in"], f["shown"], f["under"]) for f in found} == {
        ("text", "text", "birch/leave/annual#1")
    }
    assert target["leaks"]["leaking_answers"] == len(found)


def test_an_error_that_harmless_questions_get_too_is_no_leak(bench: Bench) -> None:
    suite = attach(bench)
    table = bench.folder / "table.py"
    fails = '        assert any(each[0] for each in scored), "a row has no pk"\n        whole = '
    table.write_text(table.read_text().replace("        whole = ", fails))
    done = bench.run("leaks", suite, "--probe", "P14")
    (target,) = bench.artifact()["targets"]
    (probe,) = (each for each in target["probes"] if each["probe"] == "P14")
    assert (done.returncode, probe["outcome"]) == (0, "inconclusive"), done.stdout + done.stderr
    assert "the harmless question" in probe["reason"]


def test_a_row_that_no_record_holds_is_a_leak(bench: Bench) -> None:
    def rename(rows: list[Row]) -> None:
        rows[0]["pk"] = 10_000

    done = bench.run("run", attach(bench, rename))
    assert done.returncode == 4, done.stdout + done.stderr
    (target,) = bench.artifact()["targets"]
    assert {f["uid"] for f in target["leaks"]["findings"]} == {"not in the corpus: 10000"}
    told = "lacks 1 of 8 chunks of the corpus that were asked for by id"
    assert told in target["backend"]["differs"]


def test_a_record_that_does_not_cover_the_index_judges_nothing(bench: Bench) -> None:
    def more(rows: list[Row]) -> None:
        rows.append({**rows[0], "pk": 10_000})

    done = bench.run("run", attach(bench, more))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "the corpus does not cover the index" in done.stdout
    assert "or chunks of the index bear a wrong owner" in " ".join(done.stdout.split())


def test_owners_of_another_field_are_told_first(bench: Bench) -> None:
    def number(rows: list[Row]) -> None:
        for row in rows:
            row["owner"] = str(len(row["owner"]))

    done = bench.run("run", attach(bench, number))
    said = " ".join(done.stdout.split())
    assert done.returncode == 3, done.stdout + done.stderr
    assert "the index has '5', the corpus 'birch', 'cedar'" in said
    assert "attach.tenant must name the field that holds the owners" in said


def test_what_lacks_and_what_nobody_owns_stands_in_the_first_table(bench: Bench) -> None:
    def change(rows: list[Row]) -> None:
        rows[:] = [*rows[1:], {**rows[0], "owner": None}]

    done = bench.run("leaks", attach(bench, change), "--probe", "P22")
    assert done.returncode == 0, done.stdout + done.stderr
    head = " ".join(done.stdout.partition("Leak audit")[0].split())
    assert "8: 2 tenants with 3 to 4; it lacks 1 chunk" in head
    (target,) = bench.artifact()["targets"]
    assert target["backend"]["differs"] == (
        "it lacks 1 chunk of the corpus (1 of 'birch'), holds 1 chunk without an owner"
    )


@pytest.mark.parametrize("matches", ["id", "metadata.nothing"])
def test_a_field_that_tells_no_chunks_apart_stops_before_the_run(
    bench: Bench, matches: str
) -> None:
    suite = attach(bench)
    suite.write_text(suite.read_text().replace("metadata.pk", matches))
    done = bench.run("run", suite)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "target 'table': attach.matches: " in done.stderr
