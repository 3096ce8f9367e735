"""What is searched: chunks, each owned by one tenant."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from retrieverbench.model.tenant import TenantId

ChunkStatus = Literal["current", "superseded"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One retrievable piece of text.

    `id` is unique within its tenant only; `uid` (see `make_uid`) over all tenants.
    `vector` is float32 and None until an embedder has run.
    """

    id: str
    tenant: TenantId
    text: str
    title: str = ""
    doc_id: str | None = None
    heading_path: tuple[str, ...] = ()
    section: int | None = None
    span: tuple[int, int] | None = None
    status: ChunkStatus = "current"
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    vector: array[float] | None = None

    @property
    def uid(self) -> str:
        """The chunk's name over all tenants, as every adapter stores and returns it."""
        return make_uid(self.tenant, self.id)

    @property
    def searchable_text(self) -> str:
        """What lexical search indexes and embedders read: title, newline, text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Corpus:
    """All chunks of a set, in file order. `sha256` is over the bytes of the file.

    `chunks` may lie on disk: go through them, and keep none. `warnings` are what the reader
    of the file should know, one line each.
    """

    name: str
    chunks: Sequence[Chunk]
    sha256: str
    warnings: tuple[str, ...] = ()


def make_uid(tenant: TenantId, chunk_id: str) -> str:
    """An injective function of (tenant, chunk id): `tenant/id`.

    A slash inside a tenant is written %2F and a percent sign %25, so that the first slash
    always ends the tenant and no two pairs share a uid.
    """
    escaped = tenant.value.replace("%", "%25").replace("/", "%2F")
    return f"{escaped}/{chunk_id}"
