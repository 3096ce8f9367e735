"""Reads a suite file: every fault of it at once, each with its line."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import replace
from pathlib import Path

from retrieverbench.errors import InputError
from retrieverbench.files import read_whole
from retrieverbench.options import parse_options
from retrieverbench.run.registry import is_file
from retrieverbench.run.suite import Suite
from retrieverbench.run.suite_checks import suite_faults
from retrieverbench.run.toml_lines import key_lines

FILLED_IN = frozenset({"path", "sha256", "lines"})
"""Fields of a suite that no file may set."""


def load_suite(path: Path) -> Suite:
    """Read and check a suite file.

    Raises InputError with every fault of the file at once: broken TOML, unknown keys (with
    the nearest valid name), wrong types, no target, two targets of one name.
    """
    data, text = _read(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(_syntax_fault(path, text, error)) from None
    except RecursionError:
        raise InputError(f"{path}:1: nested too deeply; no key of a suite needs that") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise InputError(f"{path}:1: {str(error).partition(';')[0]}; shorten it") from None
    lines = key_lines(text)
    suite = parse_options(Suite, raw, str(path), lines, internal=FILLED_IN)
    suite = replace(
        suite,
        name=suite.name or re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-.") or "suite",
        targets=tuple(replace(t, name=t.name or _default_name(t.adapter)) for t in suite.targets),
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        lines=lines,
    )
    faults = list(suite_faults(suite))
    if faults:
        raise InputError(*faults)
    return suite


def _read(path: Path) -> tuple[bytes, str]:
    try:
        data = read_whole(path)
        return data, data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}; name a suite file, "
            "or write one with 'retrieverbench init'"
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{path}:{line}: byte 0x{data[error.start]:02X} at column {column} is not UTF-8; "
            "save the file as UTF-8"
        ) from None


def _syntax_fault(path: Path, text: str, error: tomllib.TOMLDecodeError) -> str:
    """What the parser says, with its line where every message has it."""
    message = str(error)
    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    line, column = (place[1], place[2]) if place else (None, None)
    where = f" at column {column}" if column else " at the end of the file"
    plain = message[: place.start()] if place else message
    last = text.rstrip("\n").count("\n") + 1
    return f"{path}:{line or last}: not valid TOML: {plain}{where}; see toml.io for the syntax"


def _default_name(adapter: str) -> str:
    """The entry point's name; of a file its class, as `--adapter` names it."""
    return adapter.rpartition(":")[2].lower() if is_file(adapter) else adapter
