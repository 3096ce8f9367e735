"""The artifact on disk: written whole or not at all, read back as what it was."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from retrieverbench.errors import InputError
from retrieverbench.files import read_whole, whole_path
from retrieverbench.model import SCHEMA, Artifact

T = TypeVar("T")
_NAME = re.compile(r"\d{8}T\d{6}Z-[^/]+\.json")


def run_path(artifact: Artifact, results: Path) -> Path:
    """Where it lies: `runs/<suite>/<UTC>-<run id>.json`, an audit in `audits/<suite>/`."""
    folder = results / f"{artifact.kind}s" / artifact.suite
    return folder / f"{artifact.started}-{artifact.run_id}.json"


def newest_artifact(folder: Path) -> Path:
    """The newest of the artifacts that lie in a folder, by the time in their names.

    Raises InputError for a folder without any, or one that cannot be read.
    """
    try:
        found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}; name a folder") from None
    if not found:
        raise InputError(
            f"{folder}: holds no artifact; name a folder results/runs/<suite> or a file in it"
        )
    return max(found, key=lambda path: (path.name.partition("-")[0], path.stat().st_mtime_ns))


def results_of(path: Path) -> Path:
    """The results folder of an artifact that lies where `run_path` puts it; else InputError."""
    parents = whole_path(path).parents
    if len(parents) < 3 or parents[1].name != "runs":
        raise InputError(
            f"{path}: lies in no runs/<suite>/ of a results folder; "
            "name the folder that holds baselines/ with --results"
        )
    return parents[2]


def dump_artifact(artifact: Artifact) -> bytes:
    """The artifact with its checksum as JSON in one line; equal artifacts give equal bytes.

    What was measured is never lost to one value that JSON cannot hold, such as half of a
    surrogate pair in an id that a backend sent: that value is written escaped.
    """
    from pydantic import TypeAdapter
    from pydantic_core import PydanticSerializationError

    adapter = TypeAdapter(Artifact)
    try:
        data = adapter.dump_json(artifact)
    except PydanticSerializationError:
        artifact = adapter.validate_json(json.dumps(_writable(adapter.dump_python(artifact))))
        data = adapter.dump_json(artifact)
    return adapter.dump_json(replace(artifact, sha256=checksum(json.loads(data)))) + b"\n"


def checksum(record: Mapping[str, object]) -> str:
    """The SHA-256 of everything but `sha256` itself, whatever the layout of the file.

    It shows damage and careless edits. Whoever means to deceive can compute it anew.
    """
    plain = {key: value for key, value in record.items() if key != "sha256"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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
    """Read an artifact; InputError for a file that is none, of another schema, or altered."""
    return read_record(path, Artifact, SCHEMA, "run the suite again")


def read_record(path: Path, cls: type[T], schema: int, remedy: str) -> T:
    """A dataclass from its JSON file, whose own checksum must agree.

    Raises InputError for a file that is none, of another schema, or altered.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        data = read_whole(path)
        raw = json.loads(data)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; name a .json file") from None
    except (ValueError, RecursionError) as error:
        if path.suffix != ".json":
            raise InputError(
                f"{path}: is no artifact; name the .json file that lies beside the report"
            ) from None
        raise InputError(f"{path}: not valid JSON: {error}; {remedy}") from None
    found = raw.get("schema") if isinstance(raw, dict) else None
    if type(found) is not int or found != schema:
        raise InputError(
            f"{path}: schema: {found!r:.80} is not {schema}; name another file, or {remedy}"
        )
    try:
        record = TypeAdapter(cls).validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}; it was altered, {remedy}") from None
    if raw.get("sha256") != checksum(raw):
        raise InputError(
            f"{path}: sha256: does not fit the rest of the file, which was altered or damaged; "
            f"restore it, or {remedy}"
        )
    return record
