"""Makes the manifest of a golden set that passes every check."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from retrieverbench.errors import InputError
from retrieverbench.files import write_whole
from retrieverbench.golden.faults import Faults, settle
from retrieverbench.golden.lines import OnRead, read_file
from retrieverbench.golden.manifest import (
    CorpusEntry,
    Grades,
    IdScheme,
    Manifest,
    Previous,
    Retired,
    check_previous,
    count_cases,
    manifest_path,
    read_manifest,
    split_name,
)
from retrieverbench.golden.sets import Terms, read_corpus_and_cases
from retrieverbench.model import DEFAULT_TENANT_PATTERN


def make_manifest(
    path: Path,
    corpus_path: Path,
    *,
    date: str,
    reason: str,
    rebuilt_by: str,
    versions: Mapping[str, str],
    grades: Grades | None = None,
    id_scheme: IdScheme = "structural",
    default_tenant: str | None = None,
    retired: tuple[Retired, ...] = (),
    licence: str | None = None,
    tenant_pattern: str = DEFAULT_TENANT_PATTERN,
    on_read: OnRead | None = None,
) -> Manifest:
    """The manifest of the set at `path` (`<name>.v<N>.jsonl`) and its corpus.

    The same files and arguments give the same manifest; nothing is written. `date` is
    ISO 8601. `versions.golden_set` is filled in. From version 2 on the file of the version
    before must lie beside the set, and none of its cases may be gone without standing in
    `retired`. Raises InputError with every fault of both files.
    """
    name, version = split_name(path)
    if version is None:
        raise InputError(f"{path}: no version in the name; call the file {name}.v1.jsonl")
    raw = read_file(path)
    grades = grades or Grades()
    terms = Terms(tenant_pattern, default_tenant, grades)
    faults, corpus_faults = Faults(str(path)), Faults(str(corpus_path))
    corpus, cases = read_corpus_and_cases(raw, corpus_path, terms, faults, corpus_faults, on_read)
    manifest = Manifest(
        name=name,
        version=version,
        file=path.name,
        sha256=hashlib.sha256(raw).hexdigest(),
        corpus=CorpusEntry(corpus_path.name, corpus.sha256, len(corpus.chunks)),
        counts=count_cases(cases),
        date=date,
        rebuilt_by=rebuilt_by,
        reason=reason,
        previous=_previous(path, name, version),
        versions={**versions, "golden_set": f"{name}.v{version}"},
        grades=grades,
        id_scheme=id_scheme,
        default_tenant=default_tenant,
        retired=retired,
        licence=licence,
    )
    check_previous(manifest, path, {c.id for c in cases}, faults)
    settle([corpus_faults, faults])
    return manifest


def manifest_before(path: Path, corpus_path: Path) -> Manifest | None:
    """The manifest of the version before the set at `path`; None where there is none to read."""
    name, version = split_name(path)
    old = path.with_name(f"{name}.v{(version or 0) - 1}.jsonl")
    return read_manifest(old, corpus_path, Faults(""), Faults(""), optional=True)


def write_manifest(path: Path, manifest: Manifest) -> Path:
    """Write the manifest beside the set at `path`, UTF-8 and LF, and return where it lies.

    Raises InputError where it cannot be written.
    """
    where = manifest_path(path)
    text = json.dumps(asdict(manifest), ensure_ascii=False, indent=2)
    write_whole(where, f"{text}\n".encode())
    return where


def _previous(path: Path, name: str, version: int) -> Previous | None:
    if version == 1:
        return None
    old = path.with_name(f"{name}.v{version - 1}.jsonl")
    return Previous(version - 1, hashlib.sha256(read_file(old)).hexdigest())
