"""BEIR folders: our own small ones, and the public sets beside the repository."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.golden import load_beir
from retrieverbench.model import TenantId

DOCS = [
    {"_id": "d1", "title": "Refund", "text": "30 days", "metadata": {"tenant": "acme"}},
    {"_id": "d2", "title": "", "text": "14 days", "metadata": {"tenant": "acme"}},
    {"_id": "d3", "title": "", "text": "none", "metadata": {"tenant": "globex"}},
]
QUERIES = [
    {"_id": "q1", "text": "How long?", "metadata": {"tenant": "acme", "trap_docs": ["d2"]}},
    {"_id": "q2", "text": "Refund?", "metadata": {"tenant": "globex"}},
    {"_id": "q3", "text": "Never judged", "metadata": {"tenant": "acme"}},
]
QRELS = "q1\td1\t2\nq1\td2\t0\nq2\td3\t1\n"


def folder(
    path: Path,
    docs: list[dict[str, Any]] = DOCS,
    queries: list[dict[str, Any]] = QUERIES,
    qrels: str = QRELS,
) -> Path:
    path.mkdir(exist_ok=True)
    (path / "corpus.jsonl").write_text("\n".join(map(json.dumps, docs)))
    (path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (path / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{qrels}")
    return path


def faults(path: Path, **settings: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_beir(path, **settings)
    return [f.replace(f"{path}/", "") for f in caught.value.faults]


def test_a_folder(tmp_path: Path) -> None:
    path = folder(tmp_path / "small")
    corpus, golden = load_beir(path)
    assert [c.tenant.value for c in corpus.chunks] == ["acme", "acme", "globex"]
    assert (golden.name, golden.version, golden.max_grade) == ("small", None, 2)
    raw = (path / "queries.jsonl").read_bytes() + (path / "qrels.tsv").read_bytes()
    assert golden.sha256 == hashlib.sha256(raw).hexdigest()
    first, second = golden.cases
    assert (first.id, first.query, first.tenant) == ("q1", "How long?", TenantId("acme"))
    assert (first.relevant, first.grades) == (None, {"d1": 2, "d2": 0})
    assert first.forbidden == ("d2",)
    assert second.grades == {"d3": 1}
    assert golden.warnings == (
        (
            f"{path}/queries.jsonl: 2 of 3 queries have a judgement (67%); "
            "the others were left out, first 'q3' [G49]"
        ),
    )


def test_judgements_of_a_split(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "qrels").mkdir()
    (path / "qrels.tsv").rename(path / "qrels" / "dev.tsv")
    assert len(load_beir(path, split="dev")[1].cases) == 2
    with pytest.raises(InputError, match=r"qrels/test\.tsv: cannot be read"):
        load_beir(path)


def test_tenants_can_be_ignored(tmp_path: Path) -> None:
    corpus, golden = load_beir(folder(tmp_path), ignore_tenants=True)
    assert {c.tenant for c in corpus.chunks} == {TenantId("all")}
    assert {c.tenant for c in golden.cases} == {TenantId("all")}
    assert "tenant" not in corpus.chunks[0].metadata


def test_foreign_judgements(tmp_path: Path) -> None:
    path = folder(tmp_path, qrels=f"{QRELS}q1\td3\t1\nq2\td1\t0\n")
    assert faults(path)[0] == (
        "qrels.tsv:5: corpus-id: 'd3' belongs to 'globex', the case asks as 'acme'; "
        "a case may only demand its own tenant's chunks [G25]"
    )
    dropped = load_beir(path, foreign="drop")[1]
    assert dropped.cases[0].grades == {"d1": 2, "d2": 0}
    assert dropped.cases[1].grades == {"d3": 1, "d1": 0}
    assert dropped.warnings[1] == (
        f"{path}/qrels.tsv: 1 judgement left out: relevant document of another tenant "
        "(queries: 1) [G49]"
    )
    kept = load_beir(path, foreign="keep")[1]
    assert kept.cases[0].grades == {"d1": 2, "d2": 0, "d3": 1}


def test_queries_without_any_tenant_are_one_fault(tmp_path: Path) -> None:
    queries = [{"_id": q["_id"], "text": q["text"]} for q in QUERIES]
    assert faults(folder(tmp_path, queries=queries))[0] == (
        "queries.jsonl: tenant: missing in every query, the corpus has 2 tenants; "
        "name the asking tenant in metadata.tenant, or read the folder with ignore_tenants [G23]"
    )


def test_ids_that_do_not_exist(tmp_path: Path) -> None:
    """Anserini's judgements of CACM: ids without their padding zero."""
    docs: list[dict[str, Any]] = [
        {"_id": "CACM-0861", "text": "t"},
        {"_id": "CACM-1000", "text": "u"},
    ]
    queries: list[dict[str, Any]] = [{"_id": "1", "text": "q"}, {"_id": "2", "text": "r"}]
    qrels = "1\tCACM-861\t1\n1\tCACM-1000\t1\n2\tCACM-861\t1\n"
    told = faults(folder(tmp_path, docs, queries, qrels))
    assert told == [
        "qrels.tsv: 2 labels of 2 cases are not in the corpus; see the lines named [G14]",
        (
            "qrels.tsv:2: corpus-id: 'CACM-861' is not in the corpus; did you mean "
            "'CACM-0861'? Correct it, or mark the case needs_review [G14]"
        ),
        (
            "qrels.tsv:4: corpus-id: 'CACM-861' is not in the corpus; did you mean "
            "'CACM-0861'? Correct it, or mark the case needs_review [G14]"
        ),
    ]


def test_coded_grades_and_unmatched_query_ids(tmp_path: Path) -> None:
    """Cranfield: -1 is a code, query numbers differ between the files, a document is empty."""
    docs: list[dict[str, Any]] = [
        {"_id": "1", "text": "t"},
        {"_id": "471", "text": "", "title": ""},
    ]
    queries: list[dict[str, Any]] = [{"_id": "001", "text": "q"}, {"_id": "002", "text": "r"}]
    qrels = "1\t1\t2\n2\t1\t-1\n3\t1\t3\n4\t1\t3\n5\t1\t1"
    told = faults(folder(tmp_path, docs, queries, qrels))
    assert told == [
        "corpus.jsonl:2: text: blank; a chunk without text cannot be found [G39]",
        (
            "qrels.tsv: 4 query ids of the judgements not in the query file "
            "('1', '3', '4', …); the two files do not belong together [G14]"
        ),
        (
            "qrels.tsv:3: score: -1 is below 0; use 0 for 'judged, not relevant' "
            "and leave unjudged chunks out [G19]"
        ),
        (
            "warning: queries.jsonl: 0 of 2 queries have a judgement (0%); "
            "the others were left out, first '001' [G49]"
        ),
    ]


def test_an_exponential_scale_is_told(tmp_path: Path) -> None:
    docs: list[dict[str, Any]] = [{"_id": f"d{i}", "text": "t"} for i in range(5)]
    queries: list[dict[str, Any]] = [{"_id": "q", "text": "q"}]
    qrels = "".join(f"q\td{i}\t{g}\n" for i, g in enumerate((0, 2, 4, 8, 16)))
    golden = load_beir(folder(tmp_path, docs, queries, qrels))[1]
    assert golden.max_grade == 16
    assert golden.warnings == (
        (
            f"{tmp_path}/qrels.tsv: grades are 0, 2, 4, 8, 16: already exponential; "
            "with gain 2^g\u22121 they are counted twice, declare scale [G45]"
        ),
    )


def test_all_queries_on_one_line(tmp_path: Path) -> None:
    """A published folder: 253 queries without line breaks, judged by names of none of them."""
    path = folder(tmp_path, [{"_id": "d", "text": "t"}], [], "0\td\t1\n1\td\t1\n2\td\t1\n")
    (path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": f"q{i}", "text": "t"}) for i in range(253))
    )
    assert [f[-4:-1] for f in faults(path)] == ["G04", "G14"]


def test_no_query_at_all(tmp_path: Path) -> None:
    told = faults(folder(tmp_path, queries=[]))
    assert told[0] == "queries.jsonl: no case found; an empty set cannot pass [G06]"


def test_a_query_without_usable_tenant_is_refused(tmp_path: Path) -> None:
    queries = [{**QUERIES[0], "metadata": {"tenant": "zz"}}, *QUERIES[1:]]
    told = faults(folder(tmp_path, queries=queries))
    assert told[0] == (
        "queries.jsonl:1: tenant: 'zz' is not in the corpus; its tenants are 'acme', 'globex' [G24]"
    )


def test_one_question_with_two_answers_is_only_told(tmp_path: Path) -> None:
    queries: list[dict[str, Any]] = [{"_id": "q1", "text": "q"}, {"_id": "q2", "text": "q"}]
    docs: list[dict[str, Any]] = [{"_id": "d1", "text": "t"}, {"_id": "d2", "text": "u"}]
    path = folder(tmp_path, docs, queries, "q1\td1\t1\nq2\td2\t1\n")
    assert [w[-4:-1] for w in load_beir(path)[1].warnings] == ["G28"]


IGNORE = {"ignore_tenants": True}
OWN = {"foreign": "drop", "tenant_pattern": r".+"}


@pytest.mark.parametrize(
    ("name", "settings", "chunks", "cases", "labels", "tenants"),
    [
        ("nagisa-ja", IGNORE, 15, 29, 48, 1),
        ("claude-docs", {}, 232, 100, 192, 1),
        ("codebase-chunks", {}, 737, 248, 306, 1),
        ("chunk-eval", {}, 1305, 472, 582, 5),
        ("chunk-eval", IGNORE, 1305, 472, 582, 1),
        ("covid-faq", IGNORE, 971, 480, 504, 1),
        ("covid-faq", OWN, 971, 480, 504 - 24, 20),
        ("covid-faq", {**OWN, "foreign": "keep"}, 971, 480, 504, 20),
        ("clapnq-dev", {}, 597, 600, 600, 1),
        ("chorus-ecommerce", IGNORE, 19406, 135, 3668, 1),
        ("xquad-6lang", OWN, 1440, 7140, 42840 - 35700, 6),
        ("jsquad-ja", {}, 1145, 4442, 4442, 1),
    ],
)
def test_public_sets(
    shared: Path,
    name: str,
    settings: dict[str, Any],
    chunks: int,
    cases: int,
    labels: int,
    tenants: int,
) -> None:
    corpus, golden = load_beir(shared / "data" / name, **settings)
    assert (len(corpus.chunks), len(golden.cases)) == (chunks, cases)
    assert sum(len(c.grades or {}) for c in golden.cases) == labels
    assert len({c.tenant for c in corpus.chunks}) == tenants


def test_public_set_with_traps(shared: Path) -> None:
    """The one query without judgement has no trap either, so all 18 are kept."""
    golden = load_beir(shared / "data" / "nagisa-ja", ignore_tenants=True)[1]
    assert sum(bool(c.forbidden) for c in golden.cases) == 18
    assert sum(max((c.grades or {"": 0}).values()) == 0 for c in golden.cases) == 3


def test_public_set_with_unanswerable_questions(shared: Path) -> None:
    golden = load_beir(shared / "data" / "clapnq-dev")[1]
    assert Counter(c.unanswerable for c in golden.cases) == {True: 300, False: 300}


def test_public_set_with_foreign_labels(shared: Path) -> None:
    told = faults(shared / "data" / "covid-faq", tenant_pattern=r".+")
    assert sum("[G25]" in line for line in told) == 24


def test_public_set_whose_queries_name_no_tenant(shared: Path) -> None:
    told = faults(shared / "data" / "chorus-ecommerce")
    assert "the corpus has 161 tenants" in told[0]
