"""Reads a corpus: chunks with owners, in our own form or in BEIR's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from retrieverbench.errors import TenantError
from retrieverbench.golden.faults import Faults, plural, quote, settle, type_of
from retrieverbench.golden.fields import Record, check_known, spell
from retrieverbench.golden.ids import has_control_character, read_id, warn_twins
from retrieverbench.golden.lines import Line, read_file, read_lines
from retrieverbench.model import (
    DEFAULT_TENANT_PATTERN,
    Chunk,
    ChunkStatus,
    Corpus,
    TenantId,
    Value,
    parse_tenant,
)

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


@dataclass(frozen=True, slots=True)
class CorpusDraft:
    """What could be read. `suspects` are ids of lines whose owner could not be."""

    corpus: Corpus
    suspects: frozenset[str]


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
    path: Path, faults: Faults, *, tenant_pattern: str, ignore_tenants: bool = False
) -> CorpusDraft:
    """As `load_corpus`, but the faults are collected and the readable chunks given back.

    With `ignore_tenants` everything belongs to the tenant `all`, whatever the file says.
    """
    raw = read_file(path)
    before = len(faults.found)
    lines = read_lines(raw, faults)
    if not lines and len(faults.found) == before:
        faults.error("G06", "no chunk found; an empty corpus cannot answer anything")
    owners = _Owners(faults, tenant_pattern, ignore=ignore_tenants)
    left_out: dict[str, int] = {}
    chunks = [_read_chunk(line, faults, owners, left_out) for line in lines]
    orphans = owners.refuse_orphans()
    for key, count in left_out.items():
        faults.warn(
            "G50",
            f"metadata.{key}: left out of {plural(count, 'chunk')}; "
            "a filter needs text, a number, or true or false",
        )
    owned = [(c, line.number) for c, line in zip(chunks, lines, strict=True) if c is not None]
    _check_ids(owned, faults)
    suspects = orphans | owners.refused
    kept = tuple(c for c, _ in owned if c.id not in suspects or c.tenant != SINGLE_TENANT)
    digest = hashlib.sha256(raw).hexdigest()
    return CorpusDraft(Corpus(path.stem, kept, digest), frozenset(suspects))


class _Owners:
    """Decides who owns a chunk; whether a missing owner is wrong is known only at the end."""

    def __init__(self, faults: Faults, pattern: str, *, ignore: bool) -> None:
        self._faults = faults
        self._pattern = pattern
        self._ignore = ignore
        self._known: dict[str, TenantId] = {}
        self._missing: dict[str, int] = {}
        self.refused: set[str] = set()

    def owner(self, record: Record, chunk_id: str, metadata: dict[str, object]) -> TenantId:
        """The tenant of a line, `metadata.tenant` lifted; SINGLE_TENANT where there is none."""
        lifted = metadata.pop("tenant", None) if "tenant" not in record.data else None
        if self._ignore:
            return SINGLE_TENANT
        if "tenant" not in record.data and lifted is None:
            self._missing[chunk_id] = record.line
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
        self.refused.add(chunk_id)
        return SINGLE_TENANT

    def refuse_orphans(self) -> set[str]:
        """Chunks without owner are wrong as soon as any chunk has one."""
        if not self._known and not self.refused:
            return set()
        for line in self._missing.values():
            self._faults.error("G40", f"tenant: missing; {_OWNERLESS}", line)
        return set(self._missing)


def _read_chunk(
    line: Line, faults: Faults, owners: _Owners, left_out: dict[str, int]
) -> Chunk | None:
    record = spell(line.data, line.number, faults, _SPELLINGS)
    check_known(record, _KNOWN, "metadata")
    chunk_id = read_id(record, "id", "give every chunk a stable string id")
    text = record.text("text") or ""
    title = record.text("title") or ""
    if not text.strip() and not title.strip():
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
    owner = owners.owner(record, chunk_id or "", metadata)
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


def _check_ids(chunks: Iterable[tuple[Chunk, int]], faults: Faults) -> None:
    by_tenant: dict[TenantId, dict[str, int]] = {}
    first_of_tenant: dict[str, int] = {}
    for chunk, line in chunks:
        first_of_tenant.setdefault(chunk.tenant.value, line)
        seen = by_tenant.setdefault(chunk.tenant, {})
        earlier = seen.setdefault(chunk.id, line)
        if earlier != line:
            faults.error(
                "G38",
                f"id: {quote(chunk.id)} of tenant {quote(chunk.tenant.value)} "
                f"is already in line {earlier}; ids are unique within a tenant",
                line,
            )
    for seen in by_tenant.values():
        warn_twins(seen.items(), faults)
    warn_twins(first_of_tenant.items(), faults)
