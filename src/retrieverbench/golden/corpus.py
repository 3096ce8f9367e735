"""Reads a corpus: chunks with owners, in our own form or in BEIR's."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import cast

from retrieverbench.errors import TenantError, plural
from retrieverbench.golden.faults import Faults, quote, settle, type_of
from retrieverbench.golden.fields import Record, check_known, spell
from retrieverbench.golden.ids import has_control_character, read_id, warn_twins
from retrieverbench.golden.lines import Line, OnRead, stream_lines
from retrieverbench.golden.text import is_blank
from retrieverbench.model import (
    DEFAULT_TENANT_PATTERN,
    Chunk,
    ChunkStatus,
    Corpus,
    TenantId,
    Value,
    parse_tenant,
)
from retrieverbench.storage import ChunkStore

SINGLE_TENANT = TenantId("all")
"""Who owns everything where no tenant is named anywhere."""

_SPELLINGS = {"id": ("id", "_id")}
_KNOWN = frozenset(
    {
        "id",
        "_id",
        "tenant",
        "text",
        "title",
        "doc_id",
        "heading_path",
        "section",
        "span",
        "status",
        "metadata",
    }
)
_OWNERLESS = "a chunk without owner would be visible to everyone or to no one"


UNREAD = ("G01", "G03", "G04")
"""Faults of lines that are no UTF-8 or no object: what they hold is not known."""


@dataclass(frozen=True, slots=True)
class CorpusDraft:
    """What could be read. `suspects` are ids of lines whose owner could not be.

    `has_gaps` says whether there are lines of which nothing could.
    """

    corpus: Corpus
    suspects: frozenset[str]
    has_gaps: bool = False


def load_corpus(path: Path, *, tenant_pattern: str = DEFAULT_TENANT_PATTERN) -> Corpus:
    """Read a JSONL file of chunks (`id, tenant, text, …`, or BEIR's `_id, title, text, metadata`).

    Where no chunk names a tenant, all belong to the one tenant `all`. `tenant_pattern` is
    the regular expression a tenant's name must match. Raises InputError with every fault of
    the file, each with its line; what is only odd stands in `warnings` of the result.
    """
    faults = Faults(str(path))
    draft = read_corpus(path, faults, tenant_pattern=tenant_pattern)
    return replace(draft.corpus, warnings=settle([faults]))


def read_corpus(
    path: Path,
    faults: Faults,
    *,
    tenant_pattern: str,
    ignore_tenants: bool = False,
    on_read: OnRead | None = None,
) -> CorpusDraft:
    """As `load_corpus`, but the faults are collected and the readable chunks given back.

    With `ignore_tenants` everything belongs to the tenant `all`, whatever the file says.
    """
    before = len(faults.found)
    owners = _Owners(faults, tenant_pattern, ignore=ignore_tenants)
    left_out: dict[str, int] = {}
    digest = hashlib.sha256()
    lines = stream_lines(path, faults, digest, on_read=on_read)
    store = ChunkStore(_read_chunks(lines, faults, owners, left_out))
    if not store and len(faults.found) == before:
        faults.error("G06", "no chunk found; an empty corpus cannot answer anything")
    for key, count in left_out.items():
        faults.warn(
            "G50",
            f"metadata.{key}: left out of {plural(count, 'chunk')}; "
            "a filter needs text, a number, or true or false",
        )
    doubtful = owners.refuse_orphans()
    suspects = frozenset(store.take_out(doubtful) if doubtful else ())
    _check_ids(store, faults)
    has_gaps = any(faults.count(code)[0] for code in UNREAD)
    return CorpusDraft(Corpus(path.stem, store, digest.hexdigest()), suspects, has_gaps)


class _Owners:
    """Decides who owns a chunk; whether a missing owner is wrong is known only at the end."""

    def __init__(self, faults: Faults, pattern: str, *, ignore: bool) -> None:
        self._faults = faults
        self._pattern = pattern
        self._ignore = ignore
        self._known: dict[str, TenantId] = {}
        self._missing = array("I")
        self._refused = array("I")

    def owner(self, record: Record, metadata: dict[str, object]) -> TenantId:
        """The tenant of a line, `metadata.tenant` lifted; SINGLE_TENANT where there is none."""
        lifted = metadata.pop("tenant", None) if "tenant" not in record.data else None
        if self._ignore:
            return SINGLE_TENANT
        if "tenant" not in record.data and lifted is None:
            self._missing.append(record.line)
            return SINGLE_TENANT
        raw = record.get("tenant") if lifted is None else lifted
        if isinstance(raw, str) and raw in self._known:
            return self._known[raw]
        if not isinstance(raw, str) or not raw:
            record.error("G40", f"tenant: {_what_it_is(raw)}; {_OWNERLESS}")
        else:
            try:
                return self._known.setdefault(raw, parse_tenant(raw, self._pattern))
            except TenantError as error:
                record.error("G40", str(error))
        self._refused.append(record.line)
        return SINGLE_TENANT

    def refuse_orphans(self) -> array[int]:
        """The lines whose owner is not known.

        Chunks without owner are wrong as soon as any chunk has one.
        """
        if not self._known and not self._refused:
            return array("I")
        for line in self._missing:
            self._faults.error("G40", f"tenant: missing; {_OWNERLESS}", line)
        return self._missing + self._refused


def _read_chunks(
    lines: Iterable[Line], faults: Faults, owners: _Owners, left_out: dict[str, int]
) -> Iterator[tuple[Chunk, int]]:
    """Each chunk that has an id, with its line."""
    for line in lines:
        chunk = _read_chunk(line, faults, owners, left_out)
        if chunk is not None:
            yield chunk, line.number


def _read_chunk(
    line: Line, faults: Faults, owners: _Owners, left_out: dict[str, int]
) -> Chunk | None:
    record = spell(line.data, line.number, faults, _SPELLINGS)
    check_known(record, _KNOWN, "metadata")
    chunk_id = read_id(record, "id", "give every chunk a stable string id")
    text = record.text("text") or ""
    title = record.text("title") or ""
    if is_blank(text) and is_blank(title):
        record.error("G39", "text: blank; a chunk without text cannot be found")
    metadata = dict(record.mapping("metadata"))
    doc_id = record.text("doc_id")
    if doc_id is None and isinstance(metadata.get("doc_id"), str):
        doc_id = cast("str", metadata.pop("doc_id"))
    if doc_id is not None:
        has_control_character(record, "doc_id", doc_id)
    heading_path = record.strings("heading_path", "G46") or ()
    section = record.whole("section", least=1)
    span = _read_span(record)
    status = record.word("status", ("current", "superseded"))
    owner = owners.owner(record, metadata)
    if chunk_id is None:
        return None
    return Chunk(
        id=chunk_id,
        tenant=owner,
        text=text,
        title=title,
        doc_id=doc_id,
        heading_path=heading_path,
        section=section,
        span=span,
        status=cast("ChunkStatus", status or "current"),
        metadata=_filterable(metadata, left_out),
    )


def _what_it_is(owner: object) -> str:
    if owner is None or owner == "":
        return "null" if owner is None else "empty"
    return f"{quote(owner)} is {type_of(owner)}"


def _read_span(record: Record) -> tuple[int, int] | None:
    value = record.get("span")
    if value is None:
        return None
    if isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value):
        start, end = value
        if 0 <= start < end:
            return start, end
    record.error(
        "G46", f"span: {quote(value)} is not [start, end) in characters; write two whole numbers"
    )
    return None


def _filterable(metadata: Mapping[str, object], left_out: dict[str, int]) -> dict[str, Value]:
    kept: dict[str, Value] = {}
    for key, value in metadata.items():
        if isinstance(value, (str, int, float, bool)):
            kept[key] = value
        else:
            left_out[key] = left_out.get(key, 0) + 1
    return kept


def _check_ids(store: ChunkStore, faults: Faults) -> None:
    for (tenant, chunk_id, line), earlier in store.repeated_ids():
        faults.error(
            "G38",
            f"id: {quote(chunk_id)} of tenant {quote(tenant.value)} "
            f"is already in line {earlier}; ids are unique within a tenant",
            line,
        )
    for _, twins in groupby(store.twins(), key=itemgetter(0)):
        warn_twins(((chunk_id, line) for _, chunk_id, line in twins), faults)
    warn_twins(((tenant.value, store.first_line(tenant)) for tenant in store.per_tenant), faults)
