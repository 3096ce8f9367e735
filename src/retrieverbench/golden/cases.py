"""Makes a golden case of one line, in the canonical form or one of the accepted spellings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from retrieverbench.errors import TenantError, plural
from retrieverbench.golden.corpus import SINGLE_TENANT
from retrieverbench.golden.faults import Faults, quote, type_of
from retrieverbench.golden.fields import Record, check_known, spell, string_list
from retrieverbench.golden.ids import Names, read_id
from retrieverbench.golden.index import CorpusIndex
from retrieverbench.golden.kinds import derive_kind
from retrieverbench.golden.labels import (
    Asker,
    Labels,
    Scale,
    check_answerability,
    read_labels,
)
from retrieverbench.golden.lines import Line
from retrieverbench.golden.overlap import check_anchors
from retrieverbench.golden.text import is_blank
from retrieverbench.model import CaseKind, GoldenCase, TenantId, parse_tenant

SPELLINGS = {
    "query": ("query", "question"),
    "relevant_chunk_ids": ("relevant_chunk_ids", "relevant", "expectedChunkIds"),
    "tenant": ("tenant", "tenant_id"),
    "forbidden_docs": ("forbidden_docs", "trap_docs"),
}
_PLAIN_FIELDS = frozenset(
    {
        "relevance",
        "forbidden",
        "unanswerable",
        "answer",
        "category",
        "kind",
        "source",
        "parent",
        "variant",
        "must_pass",
        "needs_review",
        "review",
        "anchors",
        "lang",
        "notes",
        "meta",
    }
)
_KNOWN = _PLAIN_FIELDS | {"id"} | {name for names in SPELLINGS.values() for name in names}
KINDS = ("fact", "identifier", "multi_chunk", "unanswerable")
VARIANTS = (
    "typo",
    "paraphrase",
    "shorthand",
    "mixed_script",
    "translation",
    "identifier_swap",
)


@dataclass(frozen=True, slots=True)
class Context:
    """What a line is checked against."""

    index: CorpusIndex
    tenant_pattern: str
    default_tenant: str | None = None
    scale: Scale = field(default_factory=Scale)


def read_case(line: Line, faults: Faults, context: Context) -> GoldenCase | None:
    """One case; None when it has no usable id, query or tenant, with the faults noted."""
    record = spell(line.data, line.number, faults, SPELLINGS)
    check_known(record, _KNOWN, "meta")
    case_id = read_id(record, "id", "give every case a stable string id")
    query = read_query(record)
    tenant = read_tenant(record, context)
    lost = read_review(record)
    asker = Asker(context.index, tenant, lost)
    labels = read_labels(record, asker, context.scale)
    _check_lost(record, labels, asker)
    return build_case(record, case_id, query, asker, labels, context.scale.level)


def build_case(
    record: Record,
    case_id: str | None,
    query: str | None,
    asker: Asker,
    labels: Labels,
    level: int,
) -> GoldenCase | None:
    """Read what is left of a line and put the case together."""
    unanswerable = check_answerability(record, labels, level)
    kind = record.word("kind", KINDS)
    variant = record.word("variant", VARIANTS)
    answer, category, source = (record.text(n) for n in ("answer", "category", "source"))
    parent, lang, notes = (record.text(n) for n in ("parent", "lang", "notes"))
    must_pass, needs_review = record.flag("must_pass"), record.flag("needs_review")
    review, meta = record.mapping("review"), record.mapping("meta")
    anchors = check_anchors(record, asker.index, asker.tenant)
    if case_id is None or query is None or asker.tenant is None:
        return None
    if kind is None:
        positive = (asker.index.own(asker.tenant, i) for i in labels.positive(level))
        chunks = [chunk for chunk in positive if chunk is not None]
        kind = derive_kind(query, chunks, unanswerable=unanswerable)
    return GoldenCase(
        id=case_id,
        query=query,
        tenant=asker.tenant,
        relevant=labels.relevant,
        grades=labels.grades,
        forbidden=labels.forbidden,
        unanswerable=unanswerable,
        answer=answer,
        category=category,
        kind=cast("CaseKind", kind),
        source=source,
        parent=parent,
        variant=variant,
        must_pass=must_pass or False,
        needs_review=needs_review or False,
        lost=asker.lost,
        lang=lang,
        meta=meta,
        line=record.line,
        notes=notes,
        forbidden_foreign=labels.foreign,
        forbidden_docs=labels.docs,
        anchors=anchors,
        review=review,
    )


def read_query(record: Record) -> str | None:
    """The question as it was asked: a string that is not blank."""
    name, value = record.name("query"), record.get("query")
    if isinstance(value, str) and not is_blank(value):
        return value
    what = "missing" if value is None else "blank"
    if value is not None and not isinstance(value, str):
        what = f"{quote(value)} is {type_of(value)}"
    record.error("G11", f"{name}: {what}; write the question as it was asked")
    return None


def read_tenant(record: Record, context: Context) -> TenantId | None:
    """Who asks: the line's tenant, else the set's default, else the corpus' only one."""
    tenants = context.index.tenants
    name, raw = record.name("tenant"), record.get("tenant")
    if raw is None:
        raw = context.default_tenant
    if raw is None:
        if set(tenants) <= {SINGLE_TENANT}:
            return SINGLE_TENANT
        record.error(
            "G23",
            f"{name}: missing, the corpus has {plural(len(tenants), 'tenant')}; "
            "name the asking tenant or set default_tenant in the manifest",
        )
        return None
    try:
        tenant = parse_tenant(raw, context.tenant_pattern)
    except TenantError as error:
        record.error("G24", str(error))
        return None
    if tenant in tenants or context.index.has_gaps:
        return tenant
    record.error(
        "G24", f"{name}: {quote(tenant.value)} is not in the corpus; {_known(tenant, tenants)}"
    )
    return None


def _known(tenant: TenantId, tenants: Mapping[TenantId, object]) -> str:
    names = sorted(t.value for t in tenants)
    close = Names(names).closest(tenant.value)
    if close is not None:
        return f"did you mean {quote(close)}?"
    shown = ", ".join(quote(n) for n in names[:5])
    return f"its tenants are {shown}{', …' if len(names) > 5 else ''}"


def read_review(record: Record) -> tuple[str, ...]:
    """The labels that may be absent because the case needs review."""
    review = record.get("review")
    needs_review = record.flag("needs_review")
    if not needs_review:
        return ()
    reason = review.get("reason") if isinstance(review, dict) else None
    if not isinstance(reason, str) or is_blank(reason):
        record.error("G37", 'review.reason: missing; write "review": {"reason": "…"}')
    lost = review.get("lost") if isinstance(review, dict) else None
    return string_list(record, "review.lost", lost, "G37") or ()


def _check_lost(record: Record, labels: Labels, asker: Asker) -> None:
    forbidden = record.get("forbidden")
    named: set[object] = {*(labels.relevant or ()), *(labels.grades or {}), *labels.docs}
    named |= set(map(str, forbidden)) if isinstance(forbidden, list) else set()
    for i, chunk_id in enumerate(asker.lost):
        place = f"review.lost[{i}]: {quote(chunk_id)}"
        if asker.tenant is not None and asker.index.own(asker.tenant, chunk_id) is not None:
            record.error("G37", f"{place} is in the corpus; the case does not need review for it")
        elif chunk_id not in named:
            record.error(
                "G37",
                f"{place} is no label of this case; keep lost labels listed, "
                "so that they stay in the denominators",
            )
