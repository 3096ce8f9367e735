"""Reads a golden set: the file, its manifest, and the corpus it points at."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from retrieverbench.errors import InputError, plural
from retrieverbench.golden.cases import Context, read_case
from retrieverbench.golden.checks import check_set
from retrieverbench.golden.corpus import CorpusDraft, read_corpus
from retrieverbench.golden.faults import Faults, quote, settle
from retrieverbench.golden.index import index_corpus
from retrieverbench.golden.labels import Scale
from retrieverbench.golden.lines import Line, OnRead, check_readable, read_file, read_lines
from retrieverbench.golden.manifest import (
    Grades,
    Manifest,
    check_bytes,
    check_corpus,
    check_counts,
    check_previous,
    manifest_path,
    read_manifest,
    split_name,
)
from retrieverbench.model import DEFAULT_TENANT_PATTERN, Corpus, GoldenCase, GoldenSet

_PLURALS = {"category": "categories", "kind": "kinds", "tenant": "tenants", "source": "sources"}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a set is read under, beside its own lines."""

    tenant_pattern: str = DEFAULT_TENANT_PATTERN
    default_tenant: str | None = None
    grades: Grades = field(default_factory=Grades)


def load_golden(
    path: Path,
    corpus: Corpus,
    *,
    tenant_pattern: str = DEFAULT_TENANT_PATTERN,
    default_tenant: str | None = None,
) -> GoldenSet:
    """Read and check a golden set against its corpus and the manifest beside it.

    `default_tenant` asks where neither a case nor the manifest names a tenant. Raises
    InputError with every fault of set and manifest, each with file and line; what is only
    odd stands in `warnings` of the result.
    """
    faults = Faults(str(path))
    draft = CorpusDraft(corpus, frozenset())
    named = path.with_name(f"{corpus.name}.jsonl")
    golden, others = _read_golden(path, named, draft, faults, tenant_pattern, default_tenant)
    return replace(golden, warnings=settle([faults, *others]))


def load_set(
    path: Path,
    corpus_path: Path,
    *,
    tenant_pattern: str = DEFAULT_TENANT_PATTERN,
    default_tenant: str | None = None,
    manifest_optional: bool = False,
    on_read: OnRead | None = None,
) -> tuple[Corpus, GoldenSet]:
    """Read corpus and golden set, and report the faults of all their files at once.

    With `manifest_optional` a version without its manifest is a warning: it is being made.
    `on_read` watches the reading of the corpus.
    """
    _refuse_unreadable(corpus_path, path)
    corpus_faults, faults = Faults(str(corpus_path)), Faults(str(path))
    draft = read_corpus(corpus_path, corpus_faults, tenant_pattern=tenant_pattern, on_read=on_read)
    if not draft.corpus.chunks:
        # Every label would be blamed for what is wrong with the corpus.
        read_lines(read_file(path), faults)
        settle([corpus_faults, faults])
    golden, others = _read_golden(
        path,
        corpus_path,
        draft,
        faults,
        tenant_pattern,
        default_tenant,
        manifest_optional=manifest_optional,
    )
    settle([corpus_faults, faults, *others])
    corpus = replace(draft.corpus, warnings=settle([corpus_faults]))
    return corpus, replace(golden, warnings=settle([faults, *others]))


def read_corpus_and_cases(
    raw: bytes,
    corpus_path: Path,
    terms: Terms,
    faults: Faults,
    corpus_faults: Faults,
    on_read: OnRead | None = None,
) -> tuple[Corpus, tuple[GoldenCase, ...]]:
    """Both files without the manifest, the faults collected; `raw` is the set."""
    draft = read_corpus(
        corpus_path, corpus_faults, tenant_pattern=terms.tenant_pattern, on_read=on_read
    )
    return draft.corpus, _read_cases(raw, draft, terms, faults).cases


def select_cases(golden: GoldenSet, conditions: Mapping[str, str]) -> GoldenSet:
    """The cases whose fields have these values, e.g. {"category": "contract"}.

    Any text field of a case may be named, `tenant` and `kind` too. Raises InputError when
    no case is left, with the values that there are.
    """
    cases = golden.cases
    for name, wanted in conditions.items():
        values = sorted({str(v) for c in cases if (v := getattr(c, name, None)) is not None})
        cases = tuple(c for c in cases if str(getattr(c, name, None)) == wanted)
        if not cases:
            shown = ", ".join(values[:10]) + (", …" if len(values) > 10 else "")
            raise InputError(
                f"{golden.name}: {name} = {quote(wanted)} selects no case; "
                f"{_PLURALS.get(name, f'values of {name}')}: {shown or 'none'} [G43]"
            )
    return replace(golden, cases=cases)


def _refuse_unreadable(*paths: Path) -> None:
    messages: list[str] = []
    for path in paths:
        try:
            check_readable(path)
        except InputError as error:
            messages += error.faults
    if messages:
        raise InputError(*messages)


@dataclass(frozen=True, slots=True)
class _Read:
    """The cases, the ids of all lines, and whether every line gave a case."""

    cases: tuple[GoldenCase, ...]
    ids: frozenset[str]
    complete: bool


def _read_golden(
    path: Path,
    corpus_path: Path,
    draft: CorpusDraft,
    faults: Faults,
    tenant_pattern: str,
    default_tenant: str | None,
    *,
    manifest_optional: bool = False,
) -> tuple[GoldenSet, list[Faults]]:
    raw = read_file(path)
    others = [Faults(str(manifest_path(path)))]
    manifest = read_manifest(path, corpus_path, faults, others[0], optional=manifest_optional)
    terms = Terms(tenant_pattern, default_tenant)
    if manifest is not None:
        terms = Terms(tenant_pattern, manifest.default_tenant or default_tenant, manifest.grades)
        check_bytes(manifest, path, raw, faults)
    read = _read_cases(raw, draft, terms, faults)
    if manifest is not None:
        others.append(_check_against(manifest, path, corpus_path, draft.corpus, read, faults))
    golden = GoldenSet(
        name=split_name(path)[0] if manifest is None else manifest.name,
        version=None if manifest is None else manifest.version,
        sha256=hashlib.sha256(raw).hexdigest(),
        cases=read.cases,
        relevance_level=terms.grades.relevance_level,
        max_grade=terms.grades.max,
        versions={} if manifest is None else manifest.versions,
    )
    return golden, others


def _check_against(
    manifest: Manifest, path: Path, corpus_path: Path, corpus: Corpus, read: _Read, faults: Faults
) -> Faults:
    corpus_faults = Faults(str(corpus_path))
    check_corpus(manifest, corpus, corpus_faults)
    if read.complete:
        check_counts(manifest, read.cases, faults)
    check_previous(manifest, path, read.ids, faults)
    return corpus_faults


def _read_cases(raw: bytes, draft: CorpusDraft, terms: Terms, faults: Faults) -> _Read:
    before = faults.total(warnings=False)
    lines = read_lines(raw, faults)
    unread = faults.total(warnings=False) > before
    if not lines and not unread:
        faults.error("G06", "no case found; an empty set cannot pass")
    context = Context(
        index_corpus(draft.corpus, draft.suspects, has_gaps=draft.has_gaps),
        terms.tenant_pattern,
        terms.default_tenant,
        Scale(terms.grades.max, terms.grades.relevance_level),
    )
    read = [read_case(line, faults, context) for line in lines]
    cases = tuple(case for case in read if case is not None)
    ids = frozenset(i for line in lines if isinstance(i := line.data.get("id"), str))
    check_set(cases, ids, faults)
    _note_unanswerable(lines, cases, faults)
    return _Read(cases, ids, complete=bool(lines) and not unread and len(cases) == len(lines))


def _note_unanswerable(lines: list[Line], cases: tuple[GoldenCase, ...], faults: Faults) -> None:
    flagged = {line.number for line in lines if line.data.get("unanswerable") is not None}
    silent = [c.id for c in cases if c.unanswerable and c.line not in flagged]
    if silent:
        shown = ", ".join(map(quote, silent[:10])) + (", …" if len(silent) > 10 else "")
        faults.warn(
            "G47",
            f"{plural(len(silent), 'case')} with an empty list of relevant chunks "
            f'read as unanswerable ({shown}); write "unanswerable": true',
        )
