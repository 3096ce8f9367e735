"""Where temporary files lie that may be larger than memory, and what is told when one is full."""

from __future__ import annotations

import os
import tempfile

from retrieverbench.errors import InputError

_COMMON = "/tmp"  # noqa: S108 - compared with, never written to by name
_LARGE = "/var/tmp"  # noqa: S108 - a folder for TemporaryFile, which picks the name


def large_files() -> str:
    """The folder that TMPDIR names, else /var/tmp as SQLite does: /tmp may lie in memory."""
    chosen = tempfile.gettempdir()
    return _LARGE if chosen == _COMMON and os.access(_LARGE, os.W_OK | os.X_OK) else chosen


def no_room(error: Exception) -> InputError:
    """A temporary file could not be written."""
    return InputError(
        f"{large_files()}: the corpus cannot be kept there: {error}; "
        "make room, or name another folder: export TMPDIR=<folder>"
    )
