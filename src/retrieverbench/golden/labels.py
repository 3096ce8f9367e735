"""Checks a case's labels against the corpus: relevant, graded and forbidden chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from retrieverbench.errors import plural
from retrieverbench.golden.faults import quote
from retrieverbench.golden.fields import Record
from retrieverbench.golden.ids import edge_fault, is_placeholder, trimmed
from retrieverbench.golden.index import CorpusIndex
from retrieverbench.model import TenantId, make_uid


@dataclass(frozen=True, slots=True)
class Scale:
    """The set's grades: whole numbers 0..max; from `level` on a chunk counts as relevant."""

    max: int = 3
    level: int = 1


@dataclass(frozen=True, slots=True)
class Labels:
    """What a case says of chunks. Ids are the tenant's own, `foreign` and `docs` hold uids.

    Every other tenant's chunk among the forbidden ones is in `foreign`; `docs` keeps what
    each forbidden document stood for.
    """

    relevant: tuple[str, ...] | None = None
    grades: Mapping[str, int] | None = None
    forbidden: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    docs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def positive(self, level: int) -> tuple[str, ...]:
        """The binary view: the list, or the chunks graded `level` or more."""
        if self.relevant is not None:
            return self.relevant
        return tuple(i for i, grade in (self.grades or {}).items() if grade >= level)


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose labels are checked against what. `tenant` is None where it could not be read.

    `lost` are labels that need review and may be absent. With `foreign_allowed` a label may
    name another tenant's chunk; it then counts as never found.
    """

    index: CorpusIndex
    tenant: TenantId | None
    lost: tuple[str, ...] = ()
    foreign_allowed: bool = False


def read_labels(record: Record, asker: Asker, scale: Scale) -> Labels:
    """Read and check all label fields of a canonical line."""
    listed = record.strings("relevant_chunk_ids", "G16")
    grades = _read_grades(record, asker, scale)
    name = record.name("relevant_chunk_ids")
    if record.get("relevant_chunk_ids") is None and record.get("relevance") is None:
        record.error(
            "G15",
            "relevant_chunk_ids: missing; list the relevant chunks, "
            'or [] where none answers it, best with "unanswerable": true',
        )
    for place, chunk_id in _each_once(record, name, listed or ()):
        check_label(record, place, chunk_id, asker)
        if grades is not None:
            _check_agreement(record, place, chunk_id, grades)
    labels = Labels(listed, grades)
    return read_forbidden(record, asker, labels, scale.level)


def check_label(record: Record, place: str, chunk_id: str, asker: Asker) -> None:
    """Check that the asking tenant owns the chunk that a label demands."""
    index, tenant = asker.index, asker.tenant
    if chunk_id in asker.lost or chunk_id in index.suspects:
        return
    owners = index.owners(chunk_id)
    if tenant is None and owners:
        return
    if tenant is not None and index.own(tenant, chunk_id) is not None:
        fault = edge_fault(chunk_id)
        if fault is not None:
            record.warn("G30", f"{place}: {quote(chunk_id)} {fault}")
        return
    if index.has_gaps:
        return
    if not owners:
        _note_unknown(record, place, chunk_id, asker)
    elif not asker.foreign_allowed:
        record.error(
            "G25",
            f"{place}: {quote(chunk_id)} belongs to {quote(owners[0].value)}, "
            f"the case asks as {quote(str(tenant))}; "
            "a case may only demand its own tenant's chunks",
        )


def check_grade(record: Record, place: str, grade: object, top: int | None) -> int | None:
    """A whole number 0..top (None: no upper limit), or None with the fault noted."""
    limit = "from 0 on" if top is None else f"0..{top}"
    if type(grade) is not int:
        record.error(
            "G18",
            f"{place}: {quote(grade)} is not an integer {limit}; "
            "grades are whole numbers, 0 for 'not relevant'",
        )
        return None
    if grade < 0:
        record.error(
            "G19",
            f"{place}: {grade} is below 0; "
            "use 0 for 'judged, not relevant' and leave unjudged chunks out",
        )
        return None
    if top is not None and grade > top:
        record.error(
            "G19",
            f"{place}: {grade} is above the set's maximum {top} (grades.max, or 3)",
        )
        return None
    return grade


def _read_grades(record: Record, asker: Asker, scale: Scale) -> dict[str, int] | None:
    given = record.mapping("relevance")
    if not isinstance(record.get("relevance"), dict):
        return None
    grades: dict[str, int] = {}
    for chunk_id, raw in given.items():
        place = f"relevance[{quote(chunk_id)}]"
        grade = check_grade(record, place, raw, scale.max)
        if grade is None:
            continue
        grades[chunk_id] = grade
        # A grade of 0 demands nothing, so it may be another tenant's chunk.
        if grade > 0 or not asker.index.owners(chunk_id):
            check_label(record, place, chunk_id, asker)
    return grades


def _check_agreement(record: Record, place: str, chunk_id: str, grades: Mapping[str, int]) -> None:
    if grades.get(chunk_id, 0) > 0 or _has_faulty_grade(record, chunk_id, grades):
        return
    grade = "has grade 0" if chunk_id in grades else "has no grade"
    remedy = "remove it from one of the two" if chunk_id in grades else "grade it in 'relevance'"
    record.error("G20", f"{place}: {quote(chunk_id)} is listed as relevant but {grade}; {remedy}")


def _has_faulty_grade(record: Record, chunk_id: str, grades: Mapping[str, int]) -> bool:
    return chunk_id not in grades and chunk_id in record.mapping("relevance")


def _each_once(record: Record, name: str, ids: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each id with its place in the list; repeated ones are refused."""
    first: dict[str, int] = {}
    for i, chunk_id in enumerate(ids):
        earlier = first.setdefault(chunk_id, i)
        if earlier != i:
            record.error(
                "G17",
                f"{name}[{i}]: {quote(chunk_id)} is already listed at [{earlier}]; "
                "list each chunk once",
            )
    return [(f"{name}[{i}]", chunk_id) for chunk_id, i in first.items()]


def _note_unknown(record: Record, place: str, chunk_id: str, asker: Asker) -> None:
    if is_placeholder(chunk_id):
        record.error(
            "G26", f"{place}: {quote(chunk_id)} is a template placeholder; put the real id"
        )
        return
    bare = trimmed(chunk_id)
    if bare != chunk_id and asker.index.owners(bare):
        record.error(
            "G30", f"{place}: {quote(chunk_id)} {edge_fault(chunk_id)}; write {quote(bare)}"
        )
        return
    known = None if asker.tenant is None else asker.index.closest(asker.tenant, chunk_id)
    remedy = "orrect it, or mark the case needs_review"
    advice = f"c{remedy}" if known is None else f"did you mean {quote(known)}? C{remedy}"
    record.error("G14", f"{place}: {quote(chunk_id)} is not in the corpus; {advice}")


def read_forbidden(record: Record, asker: Asker, labels: Labels, level: int) -> Labels:
    """Add to the labels the chunks that must not be returned."""
    relevant = set(labels.positive(level))
    docs = _read_documents(record, asker, relevant)
    by_document = {uid for uids in docs.values() for uid in uids}
    uids: list[str] = []
    name = record.name("forbidden")
    for place, chunk_id in _each_once(record, name, record.strings("forbidden", "G16") or ()):
        if chunk_id in relevant:
            record.error(
                "G22", f"{place}: {quote(chunk_id)} is also relevant; a chunk is one or the other"
            )
        owners = _forbidden_owners(chunk_id, asker)
        if not owners:
            _check_forbidden(record, place, chunk_id, asker)
        uids += [make_uid(owner, chunk_id) for owner in owners]
    explicit = [uid for uid in uids if uid not in by_document]
    every = dict.fromkeys([*explicit, *(uid for uids in docs.values() for uid in uids)])
    return _divide(labels, list(every), docs, asker)


def _read_documents(record: Record, asker: Asker, relevant: set[str]) -> dict[str, tuple[str, ...]]:
    docs: dict[str, tuple[str, ...]] = {}
    name = record.name("forbidden_docs")
    listed = record.strings("forbidden_docs", "G16") or ()
    for place, doc_id in _each_once(record, name, listed):
        chunks = asker.index.of_document(asker.tenant, doc_id)
        if not chunks and doc_id not in asker.lost:
            _check_forbidden(record, place, doc_id, asker)
        both = [c.id for c in chunks if c.id in relevant and c.tenant == asker.tenant]
        for chunk_id in both:
            record.error(
                "G22",
                f"{place}: {quote(doc_id)} holds {quote(chunk_id)}, which is also relevant; "
                "a chunk is one or the other",
            )
        docs[doc_id] = tuple(c.uid for c in chunks)
    return docs


def _forbidden_owners(chunk_id: str, asker: Asker) -> list[TenantId]:
    """The asking tenant if it has such a chunk, else every tenant that has one."""
    if asker.tenant is not None and asker.index.own(asker.tenant, chunk_id) is not None:
        return [asker.tenant]
    return asker.index.owners(chunk_id)


def _check_forbidden(record: Record, place: str, name: str, asker: Asker) -> None:
    index = asker.index
    if name not in asker.lost and name not in index.suspects and not index.has_gaps:
        _note_unknown(record, place, name, asker)


def _divide(
    labels: Labels, uids: list[str], docs: dict[str, tuple[str, ...]], asker: Asker
) -> Labels:
    """Own forbidden chunks as ids, other tenants' as uids."""
    if asker.tenant is None:
        return replace(labels, docs=docs)
    prefix = make_uid(asker.tenant, "")
    own = tuple(uid.removeprefix(prefix) for uid in uids if uid.startswith(prefix))
    foreign = tuple(uid for uid in uids if not uid.startswith(prefix))
    return replace(labels, forbidden=own, foreign=foreign, docs=docs)


def check_answerability(record: Record, labels: Labels, level: int) -> bool:
    """Whether the case is unanswerable; refuse what says both."""
    flag = record.flag("unanswerable")
    empty = labels.relevant == ()
    graded = sum(grade >= level for grade in (labels.grades or {}).values())
    count = max(len(labels.relevant or ()), graded)
    remedy = "remove one of the two"
    are = f"{plural(count, 'chunk')} {'is' if count == 1 else 'are'} relevant"
    if flag is True and count:
        record.error("G21", f"unanswerable: true, but {are}; {remedy}")
    elif empty and count:
        name = record.name("relevant_chunk_ids")
        record.error("G21", f"{name}: [] means unanswerable, but {are}; {remedy}")
    elif empty and flag is False:
        record.error("G21", f"unanswerable: false, but no chunk is relevant; {remedy}")
    return flag is True or (empty and not count)
