"""Reads a BEIR folder: `corpus.jsonl`, `queries.jsonl`, and judgements in a TSV file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from retrieverbench.errors import plural
from retrieverbench.files import whole_path
from retrieverbench.golden.beir_queries import query_record
from retrieverbench.golden.cases import (
    Context,
    build_case,
    read_query,
    read_review,
    read_tenant,
)
from retrieverbench.golden.checks import (
    check_case_ids,
    check_repeated_queries,
    sum_up_unknown,
    warn_scale,
)
from retrieverbench.golden.corpus import SINGLE_TENANT, read_corpus
from retrieverbench.golden.faults import Faults, quote, settle
from retrieverbench.golden.fields import Record
from retrieverbench.golden.ids import read_id, warn_positional
from retrieverbench.golden.index import index_corpus
from retrieverbench.golden.judgements import Judged, read_judgements
from retrieverbench.golden.labels import Asker, Labels, check_label, read_forbidden
from retrieverbench.golden.lines import read_file, read_lines
from retrieverbench.model import DEFAULT_TENANT_PATTERN, Corpus, GoldenCase, GoldenSet

Foreign = Literal["refuse", "drop", "keep"]


def load_beir(
    folder: Path,
    *,
    split: str = "test",
    ignore_tenants: bool = False,
    foreign: Foreign = "refuse",
    tenant_pattern: str = DEFAULT_TENANT_PATTERN,
) -> tuple[Corpus, GoldenSet]:
    """Read `corpus.jsonl`, `queries.jsonl`, and `qrels.tsv` or `qrels/<split>.tsv`.

    `metadata.tenant` of a document is its owner, of a query the asking tenant; where no
    document names one, or with `ignore_tenants`, everything belongs to the tenant `all`.
    A document judged relevant that belongs to another tenant is an error; `drop` leaves
    such judgements out, `keep` leaves them in as chunks that can never be found. The
    highest grade of the set is the highest one seen. Queries without any judgement are
    left out, and the warnings say how many. Other fields of a case are taken from a
    query's metadata by their canonical names, the rest becomes `meta`.

    Raises InputError with the faults of all three files.
    """
    qrels = folder / "qrels.tsv"
    paths = (
        folder / "corpus.jsonl",
        folder / "queries.jsonl",
        qrels if qrels.is_file() else folder / "qrels" / f"{split}.tsv",
    )
    corpus_faults, query_faults, judgement_faults = (Faults(str(p)) for p in paths)
    draft = read_corpus(
        paths[0], corpus_faults, tenant_pattern=tenant_pattern, ignore_tenants=ignore_tenants
    )
    raw_queries, raw_judgements = read_file(paths[1]), read_file(paths[2])
    folder_faults = _Faults(query_faults, judgement_faults)
    records = [
        query_record(line, query_faults, ignore_tenants=ignore_tenants)
        for line in read_lines(raw_queries, query_faults)
    ]
    judged = read_judgements(raw_judgements, judgement_faults)
    context = Context(index_corpus(draft.corpus, draft.suspects), tenant_pattern)
    cases = _read_cases(records, judged, context, folder_faults, foreign)
    _check(cases, records, judged, folder_faults)
    settle([corpus_faults, query_faults, judgement_faults])
    golden = GoldenSet(
        name=whole_path(folder).name,
        version=None,
        sha256=hashlib.sha256(raw_queries + raw_judgements).hexdigest(),
        cases=cases,
        max_grade=max([1, *(g for j in judged.values() for g, _ in j.grades.values())]),
        warnings=settle([query_faults, judgement_faults]),
    )
    return replace(draft.corpus, warnings=settle([corpus_faults])), golden


@dataclass(frozen=True, slots=True)
class _Faults:
    """Where the faults of queries and of judgements go."""

    queries: Faults
    judgements: Faults


def _read_cases(
    records: Sequence[Record],
    judged: Mapping[str, Judged],
    context: Context,
    faults: _Faults,
    foreign: Foreign,
) -> tuple[GoldenCase, ...]:
    if _asks_without_tenant(records, context, faults.queries):
        return ()
    dropped: list[str] = []
    cases: list[GoldenCase] = []
    for record in records:
        case_id = read_id(record, "id", "give every query a stable string id")
        query = read_query(record)
        if case_id is None or case_id not in judged:
            continue
        tenant = read_tenant(record, context)
        asker = Asker(context.index, tenant, read_review(record), foreign_allowed=foreign == "keep")
        grades = _read_grades(
            judged[case_id], asker, faults.judgements, dropped if foreign == "drop" else None
        )
        labels = read_forbidden(record, asker, Labels(grades=grades), 1)
        case = build_case(record, case_id, query, asker, labels, 1)
        cases += [] if case is None else [case]
    if dropped:
        faults.judgements.warn(
            "G49",
            f"{plural(len(dropped), 'judgement')} left out: relevant document of another tenant "
            f"(queries: {len(set(dropped))})",
        )
    return tuple(cases)


def _asks_without_tenant(records: Sequence[Record], context: Context, faults: Faults) -> bool:
    """Whether no query names a tenant though the corpus has some: one fault, not hundreds."""
    tenants = context.index.tenants
    if (
        not records
        or set(tenants) <= {SINGLE_TENANT}
        or any(r.get("tenant") is not None for r in records)
    ):
        return False
    faults.error(
        "G23",
        f"tenant: missing in every query, the corpus has {plural(len(tenants), 'tenant')}; "
        "name the asking tenant in metadata.tenant, or read the folder with ignore_tenants",
    )
    return True


def _read_grades(
    judged: Judged, asker: Asker, faults: Faults, dropped: list[str] | None
) -> dict[str, int]:
    """The grades of a query's own documents; foreign ones go to `dropped` if it is given."""
    grades: dict[str, int] = {}
    for chunk_id, (grade, line) in judged.grades.items():
        owners = asker.index.owners(chunk_id)
        if dropped is not None and grade > 0 and owners and asker.tenant not in owners:
            dropped.append(judged.query_id)
            continue
        grades[chunk_id] = grade
        # A grade of 0 demands nothing, so it may be another tenant's document.
        if grade > 0 or not owners:
            check_label(Record({}, line, faults), "corpus-id", chunk_id, asker)
    return grades


def _check(
    cases: Sequence[GoldenCase],
    records: Sequence[Record],
    judged: Mapping[str, Judged],
    faults: _Faults,
) -> None:
    check_case_ids(cases, faults.queries)
    # Published sets hold a few; refusing them would refuse the set.
    check_repeated_queries(cases, faults.queries.warn, faults.queries)
    warn_scale(cases, faults.judgements)
    warn_positional(sorted({i for c in cases for i in c.grades or ()}), faults.judgements)
    sum_up_unknown(faults.judgements)
    asked = {r.get("id") for r in records}
    unknown = [query_id for query_id in judged if query_id not in asked]
    if unknown:
        shown = ", ".join(map(quote, unknown[:3])) + (", …" if len(unknown) > 3 else "")
        faults.judgements.error(
            "G14",
            f"{plural(len(unknown), 'query id')} of the judgements not in the query file "
            f"({shown}); the two files do not belong together",
        )
    left_out = [r.get("id") for r in records if r.get("id") not in judged]
    if left_out:
        count = len(records) - len(left_out)
        faults.queries.warn(
            "G49",
            f"{count} of {len(records)} queries have a judgement ({count / len(records):.0%}); "
            f"the others were left out, first {quote(left_out[0])}",
        )
    if not records and not faults.queries.found:
        faults.queries.error("G06", "no case found; an empty set cannot pass")
