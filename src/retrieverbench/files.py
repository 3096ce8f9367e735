"""Writing files whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from retrieverbench.errors import InputError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of it.

    A link stays a link: what it leads to is written. Raises InputError where it cannot be
    written.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(target.name + ".tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(target)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise InputError(
            f"{path}: cannot be written: {error.strerror}; make room or name another folder"
        ) from None
