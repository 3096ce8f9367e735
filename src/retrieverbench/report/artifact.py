"""The artifact on disk: written whole or not at all, read back as what it was."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from retrieverbench.errors import InputError
from retrieverbench.model import SCHEMA, Artifact

T = TypeVar("T")
_NAME = re.compile(r"\d{8}T\d{6}Z-[^/]+\.json")


def run_path(artifact: Artifact, results: Path) -> Path:
    """Where the artifact of a run lies: `runs/<suite>/<UTC>-<run id>.json`."""
    return results / "runs" / artifact.suite / f"{artifact.started}-{artifact.run_id}.json"


def newest_artifact(folder: Path) -> Path:
    """The newest of the artifacts that lie in a folder, by the time in their names.

    Raises InputError for a folder without any.
    """
    found = [path for path in folder.glob("*.json") if _NAME.fullmatch(path.name)]
    if not found:
        raise InputError(
            f"{folder}: holds no artifact; name a folder results/runs/<suite> or a file in it"
        )
    return max(found, key=lambda path: (path.name.partition("-")[0], path.stat().st_mtime_ns))


def results_of(path: Path) -> Path:
    """The results folder of an artifact that lies where `run_path` puts it; else InputError."""
    parents = path.resolve().parents
    if len(parents) < 3 or parents[1].name != "runs":
        raise InputError(
            f"{path}: lies in no runs/<suite>/ of a results folder; "
            "name the folder that holds baselines/ with --results"
        )
    return parents[2]


def dump_artifact(artifact: Artifact) -> bytes:
    """The artifact as JSON in one line; equal artifacts give equal bytes.

    What was measured is never lost to one value that JSON cannot hold, such as half of a
    surrogate pair in an id that a backend sent: that value is written escaped.
    """
    from pydantic import TypeAdapter
    from pydantic_core import PydanticSerializationError

    adapter = TypeAdapter(Artifact)
    try:
        return adapter.dump_json(artifact) + b"\n"
    except PydanticSerializationError:
        plain = json.dumps(_writable(adapter.dump_python(artifact)))
        return adapter.dump_json(adapter.validate_json(plain)) + b"\n"


def _writable(value: object) -> object:
    """The same value in what JSON knows; other objects as their text."""
    if isinstance(value, Mapping):
        return {str(_writable(str(key))): _writable(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_writable(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value).encode(errors="backslashreplace").decode()


def read_artifact(path: Path) -> Artifact:
    """Read an artifact; InputError for a file that is none, or of another schema."""
    return read_record(path, Artifact, SCHEMA, "run the suite again")


def read_record(path: Path, cls: type[T], schema: int, remedy: str) -> T:
    """A dataclass from its JSON file; InputError for a file that is none, or another schema."""
    from pydantic import TypeAdapter, ValidationError

    try:
        data = path.read_bytes()
        raw = json.loads(data)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; name a .json file") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON: {error}; {remedy}") from None
    found = raw.get("schema") if isinstance(raw, dict) else None
    if type(found) is not int or found != schema:
        raise InputError(
            f"{path}: schema: {found!r:.80} is not {schema}; name another file, or {remedy}"
        )
    try:
        return TypeAdapter(cls).validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}; it was altered, {remedy}") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of it.

    Raises InputError where it cannot be written.
    """
    partial = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise InputError(
            f"{path}: cannot be written: {error.strerror}; make room or name another folder"
        ) from None
