"""The manifest of a golden set: read, compared with the files, made."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from retrieverbench.errors import InputError
from retrieverbench.files import read_whole
from retrieverbench.golden.faults import Faults, quote
from retrieverbench.golden.lines import read_lines
from retrieverbench.golden.text import is_blank
from retrieverbench.model import Corpus, GoldenCase
from retrieverbench.options import parse_options

IdScheme = Literal["structural", "hash", "positional"]
_VERSIONED = re.compile(r"(?P<name>.+)\.v(?P<version>[1-9][0-9]*)")
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Previous:
    """The version before this one."""

    version: int
    sha256: str


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """The corpus that the labels point at. `sha256` is over the bytes of its file."""

    file: str
    sha256: str
    chunks: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Cases in all, without needs-review, needing review, unanswerable, derived from others."""

    cases: int
    active: int
    needs_review: int
    unanswerable: int
    derived: int


@dataclass(frozen=True, slots=True)
class Grades:
    """The highest grade of the set, and the grade from which a chunk counts as relevant."""

    max: int = 3
    relevance_level: int = 1


@dataclass(frozen=True, slots=True)
class Retired:
    """A case of an earlier version that was taken out, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is promised of exactly one file. `sha256` is over the bytes of that file."""

    name: str
    version: int
    file: str
    sha256: str
    corpus: CorpusEntry
    counts: Counts
    date: str = ""
    rebuilt_by: str = ""
    reason: str = ""
    previous: Previous | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    grades: Grades = Grades()
    id_scheme: IdScheme = "structural"
    default_tenant: str | None = None
    retired: tuple[Retired, ...] = ()
    licence: str | None = None


def split_name(path: Path) -> tuple[str, int | None]:
    """`support.v3.jsonl` is ("support", 3); without a version in the name, None."""
    stem = path.name.removesuffix(".jsonl")
    match = _VERSIONED.fullmatch(stem)
    return (match["name"], int(match["version"])) if match else (stem, None)


def manifest_path(path: Path) -> Path:
    """Where the manifest of a set lies: beside it, with the same name."""
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.manifest.json")


def bump_command(path: Path, corpus: Path) -> str:
    """What writes the first manifest of a set, to be typed as it stands here."""
    words = ["retrieverbench", "golden", "bump", _typed(path), "--corpus", _typed(corpus)]
    return shlex.join([*words, "--reason", "first version"])


def _typed(path: Path) -> str:
    """A path as one types it here: relative to the folder one is in, if it lies below that."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it is gone
        return str(path)
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def read_manifest(
    path: Path, corpus: Path, set_faults: Faults, faults: Faults, *, optional: bool = False
) -> Manifest | None:
    """The manifest beside a set, or None with the faults noted; `optional` only warns of none.

    `corpus` is the file that the set is read with, for the command that makes a manifest.
    `set_faults` take what is wrong with the set (a version in its name, but no manifest),
    `faults` what is wrong with the manifest itself.
    """
    where = manifest_path(path)
    if not where.is_file():
        if split_name(path)[1] is not None:
            note = set_faults.warn if optional else set_faults.error
            note(
                "G33", f"no manifest beside the set; once it is right: {bump_command(path, corpus)}"
            )
        else:
            first = path.with_name(f"{path.name.removesuffix('.jsonl')}.v1.jsonl")
            set_faults.warn(
                "G48",
                "no version in the name and no manifest; a run on this set can neither become "
                f"a baseline nor be compared with one; give it a version: "
                f"{shlex.join(['cp', _typed(path), _typed(first)])} && "
                f"{bump_command(first, corpus)}",
            )
        return None
    try:
        raw: object = json.loads(read_whole(where))
    except (OSError, ValueError) as error:
        faults.error("G33", f"unreadable: {error}; restore it, or remove it and write it anew")
        return None
    if not isinstance(raw, dict):
        faults.error(
            "G33", "unreadable: not a JSON object; restore it, or remove it and write it anew"
        )
        return None
    try:
        return parse_options(Manifest, raw, "manifest")
    except InputError as error:
        for fault in error.faults:
            faults.error("G33", fault.removeprefix("manifest: "))
        return None


def check_bytes(manifest: Manifest, path: Path, raw: bytes, faults: Faults) -> None:
    """The manifest belongs to exactly this file."""
    digest = hashlib.sha256(raw).hexdigest()
    if digest != manifest.sha256:
        unix = hashlib.sha256(raw.replace(b"\r\n", b"\n")).hexdigest()
        reason = (
            "only the line endings differ (CRLF)"
            if unix == manifest.sha256
            else "the file was changed after the bump"
        )
        faults.error(
            "G32",
            f"sha256 is {_short(digest)}, the manifest says {_short(manifest.sha256)}; {reason}; "
            f"{_next_version(path)}",
        )
    name, version = split_name(path)
    for key, promised, found in (
        ("file", manifest.file, path.name),
        ("name", manifest.name, name),
        ("version", manifest.version, version),
    ):
        if promised != found:
            faults.error("G33", f"{key}: manifest {quote(promised)}, file {quote(found)}")


def _next_version(path: Path) -> str:
    """What to do with a set that was changed on purpose, or not."""
    name, version = split_name(path)
    newer = f"{name}.v{(version or 0) + 1}.jsonl"
    return f"restore it, or save it as {newer}, bump that and name it in the suite"


def check_counts(manifest: Manifest, cases: Sequence[GoldenCase], faults: Faults) -> None:
    """The counts of the manifest are those of the file."""
    found = count_cases(cases)
    for name in Counts.__slots__:
        promised, real = getattr(manifest.counts, name), getattr(found, name)
        if promised != real:
            faults.error("G33", f"counts.{name}: manifest {promised}, file {real}")


def check_corpus(manifest: Manifest, corpus: Corpus, faults: Faults) -> None:
    """The corpus is the one that the labels were made for."""
    if corpus.sha256 != manifest.corpus.sha256:
        faults.error(
            "G41",
            "the corpus was changed after the bump (corpus.sha256 of the manifest differs); "
            "restore it, or save the set as its next version and bump that with this corpus",
        )
    if len(corpus.chunks) != manifest.corpus.chunks:
        faults.error(
            "G41", f"corpus.chunks: manifest {manifest.corpus.chunks}, file {len(corpus.chunks)}"
        )


def check_previous(manifest: Manifest, path: Path, ids: Collection[str], faults: Faults) -> None:
    """Every case of the version before is still there, or retired with a reason."""
    for i, retired in enumerate(manifest.retired):
        if is_blank(retired.reason):
            faults.error(
                "G34", f"retired[{i}].reason: blank; say why {quote(retired.id)} was taken out"
            )
    previous = manifest.previous
    if previous is None:
        return
    old = path.with_name(f"{manifest.name}.v{previous.version}.jsonl")
    raw = read_whole(old) if old.is_file() else b""
    if hashlib.sha256(raw).hexdigest() != previous.sha256:
        faults.error(
            "G35",
            f"{old} (sha256 {_short(previous.sha256)}) is not there; old versions are kept",
        )
        return
    kept = set(ids) | {r.id for r in manifest.retired}
    for line in read_lines(raw, Faults(str(old))):
        case_id = line.data.get("id")
        if isinstance(case_id, str) and case_id not in kept:
            faults.error(
                "G34",
                f"{quote(case_id)} of version {previous.version} is missing; keep it "
                "(needs_review) or list it under 'retired' with a reason",
            )


def count_cases(cases: Sequence[GoldenCase]) -> Counts:
    """The counts that a manifest holds."""
    review = sum(c.needs_review for c in cases)
    return Counts(
        cases=len(cases),
        active=len(cases) - review,
        needs_review=review,
        unanswerable=sum(c.unanswerable for c in cases),
        derived=sum(c.parent is not None for c in cases),
    )


def _short(digest: str) -> str:
    return f"{digest[:_SHOWN]}…"
