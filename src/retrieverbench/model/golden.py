"""What is asked, and what would be a right answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retrieverbench.model.tenant import TenantId

CaseKind = Literal["fact", "identifier", "multi_chunk", "unanswerable"]


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """One real question of one tenant, with the chunks that answer it.

    Chunk references are the tenant's own chunk ids (not uids), in file order.
    `relevant` is the binary view, None where the file gave none; `grades` the graded view
    (id → 0..G, an explicit 0 meaning judged and not relevant), None where none was given.
    `forbidden` holds chunk ids only: `forbidden_docs` of the file are resolved on loading.
    `forbidden_foreign` holds uids of other tenants' chunks that are forbidden by name, and
    `forbidden_docs` keeps which uids each forbidden document stood for. `review` says why a
    case needs review, `lost` which of its labels are no longer in the corpus. `anchors` say
    where a labelled chunk lay. `line` is the line in the file, for messages.
    """

    id: str
    query: str
    tenant: TenantId
    relevant: tuple[str, ...] | None = None
    grades: Mapping[str, int] | None = None
    forbidden: tuple[str, ...] = ()
    unanswerable: bool = False
    answer: str | None = None
    category: str | None = None
    kind: CaseKind = "fact"
    source: str | None = None
    parent: str | None = None
    variant: str | None = None
    must_pass: bool = False
    needs_review: bool = False
    lost: tuple[str, ...] = ()
    lang: str | None = None
    meta: Mapping[str, object] = field(default_factory=dict)
    line: int = 0
    notes: str | None = None
    forbidden_foreign: tuple[str, ...] = ()
    forbidden_docs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    anchors: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    review: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """The cases of one file and what its manifest says of them.

    `version` is None for a file without manifest: a run on it can neither become a
    baseline nor be compared with one. `sha256` is over the bytes of the file.
    """

    name: str
    version: int | None
    sha256: str
    cases: tuple[GoldenCase, ...]
    relevance_level: int = 1
    max_grade: int = 3
    versions: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
