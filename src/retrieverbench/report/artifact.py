"""The artifact on disk: written whole or not at all, read back as what it was."""

from __future__ import annotations

from pathlib import Path

from retrieverbench.errors import InputError
from retrieverbench.model import SCHEMA, Artifact


def run_path(artifact: Artifact, results: Path) -> Path:
    """Where the artifact of a run lies: `runs/<suite>/<UTC>-<run id>.json`."""
    return results / "runs" / artifact.suite / f"{artifact.started}-{artifact.run_id}.json"


def dump_artifact(artifact: Artifact) -> bytes:
    """The artifact as JSON; equal artifacts give equal bytes."""
    from pydantic import TypeAdapter

    return TypeAdapter(Artifact).dump_json(artifact, indent=1) + b"\n"


def read_artifact(path: Path) -> Artifact:
    """Read an artifact; InputError for a file that is none, or of another schema."""
    import json

    from pydantic import TypeAdapter, ValidationError

    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; name an artifact") from None
    try:
        raw = json.loads(data)
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON: {error}; name an artifact (.json)") from None
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"{path}: schema: {schema!r} is not {SCHEMA}; name an artifact of this version"
        )
    try:
        return TypeAdapter(Artifact).validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}; the artifact was altered") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".tmp")
    partial.write_bytes(data)
    partial.replace(path)
