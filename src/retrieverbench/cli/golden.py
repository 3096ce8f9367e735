"""`retrieverbench golden`: check a set without any backend, and write its manifest."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import click

from retrieverbench.errors import InputError
from retrieverbench.model.tenant import DEFAULT_TENANT_PATTERN

VERSION_WORDS = ("index", "embedding", "prompt", "chunking")


def _pattern(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """The option's value, once it is a regular expression."""
    try:
        re.compile(value)
    except re.error as error:
        raise InputError(
            f"--tenant-pattern: {value!r} is no regular expression: {error}; write it as the "
            "suite's tenant_pattern"
        ) from None
    return value


tenant_pattern = click.option(
    "--tenant-pattern",
    default=DEFAULT_TENANT_PATTERN,
    metavar="REGEX",
    callback=_pattern,
    help="What tenants' names match, as tenant_pattern of the suite.",
)


@click.group()
def golden() -> None:
    """Golden sets: check one, or write the manifest of a new version."""


@golden.command()
@click.argument("set_file", metavar="SET.jsonl", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--corpus",
    required=True,
    metavar="CORPUS.jsonl",
    type=click.Path(path_type=Path, readable=False),
)
@tenant_pattern
def check(set_file: Path, corpus: Path, tenant_pattern: str) -> None:
    """Read a golden set and its corpus; every fault and warning, a line each.

    A new version is checked before it is bumped: its manifest may be missing.
    """
    from retrieverbench.cli.progress import shown_progress
    from retrieverbench.errors import plural
    from retrieverbench.golden import coverage_warnings, load_set
    from retrieverbench.job import reading
    from retrieverbench.storage import stored

    with shown_progress() as progress:
        chunks, cases = load_set(
            set_file,
            corpus,
            tenant_pattern=tenant_pattern,
            manifest_optional=True,
            on_read=reading(progress),
        )
    for warning in (*chunks.warnings, *cases.warnings, *coverage_warnings(cases, chunks)):
        click.echo(f"warning: {warning}", err=True)
    tenants = len(stored(chunks.chunks).per_tenant)
    click.echo(
        f"{cases.name}: {plural(len(cases.cases), 'case')}, "
        f"{plural(len(chunks.chunks), 'chunk')} of {plural(tenants, 'tenant')}: no fault"
    )


@golden.command()
@click.argument(
    "set_file", metavar="NAME.vN.jsonl", type=click.Path(path_type=Path, readable=False)
)
@click.option(
    "--corpus",
    required=True,
    metavar="CORPUS.jsonl",
    type=click.Path(path_type=Path, readable=False),
)
@click.option("--reason", required=True, help="Why this version exists; kept in the manifest.")
@click.option("--by", "rebuilt_by", default="", help="Who made it; kept in the manifest.")
@click.option(
    "--version-of",
    "versions",
    multiple=True,
    metavar="WORD=VALUE",
    help=f"Version of one of {', '.join(VERSION_WORDS)} (repeatable).",
)
@tenant_pattern
def bump(
    set_file: Path,
    corpus: Path,
    reason: str,
    rebuilt_by: str,
    versions: tuple[str, ...],
    tenant_pattern: str,
) -> None:
    """Write the manifest of a new version: checksums, counts, versions.

    A version that has a manifest is never rewritten: save the changed set as the next
    version (NAME.v2.jsonl beside NAME.v1.jsonl) and bump that. Versions that are not given,
    grades, default tenant, scheme of ids and licence are those of the version before.
    """
    from datetime import UTC, datetime

    from retrieverbench.cli.progress import shown_progress
    from retrieverbench.golden import make_manifest, manifest_before, write_manifest
    from retrieverbench.job import reading

    path = set_file.with_suffix(".manifest.json")
    if os.path.lexists(path) and not path.exists():
        raise InputError(
            f"{path}: is a link that leads to no file; remove it, or bring back what it led to"
        )
    if path.exists():
        raise InputError(
            f"{path}: is already there, and versions are never rewritten; save the changed set "
            "as the next version and bump that"
        )
    before = manifest_before(set_file, corpus)
    with shown_progress() as progress:
        manifest = make_manifest(
            set_file,
            corpus,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            reason=reason,
            rebuilt_by=rebuilt_by or "unnamed",
            versions=_versions(versions, before.versions if before else {}),
            grades=before.grades if before else None,
            id_scheme=before.id_scheme if before else "structural",
            default_tenant=before.default_tenant if before else None,
            licence=before.licence if before else None,
            tenant_pattern=tenant_pattern,
            on_read=reading(progress),
        )
    click.echo(f"wrote {write_manifest(set_file, manifest)}")


def _versions(words: tuple[str, ...], before: Mapping[str, str]) -> dict[str, str]:
    """The four versions beside the set's own; one never given is `unversioned`."""
    from retrieverbench.options import nearest

    found = {word: before.get(word, "unversioned") for word in VERSION_WORDS}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in found or not equals or not value:
            hint = nearest(key, VERSION_WORDS)
            raise InputError(f"--version-of: {word!r} is not WORD=VALUE; {hint}")
        found[key] = value
    return found
