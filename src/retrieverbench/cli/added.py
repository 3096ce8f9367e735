"""Targets that `--adapter` adds to those of the suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from retrieverbench.errors import InputError
from retrieverbench.files import whole_path

if TYPE_CHECKING:
    from retrieverbench.run import TargetEntry


def added_target(word: str) -> TargetEntry:
    """The target that `--adapter` adds: every mode that the class can do."""
    from retrieverbench.model import MODES
    from retrieverbench.run import LAYOUTS, TargetEntry, load_adapter

    path, _, cls = word.rpartition(":")
    absolute = adapter_name(word)
    if path.endswith(".py") and not Path(path).is_file():
        raise InputError(
            f"--adapter {word}: {path} is not there; name a .py file, seen from the folder "
            "that you are in"
        )
    capabilities = load_adapter(absolute).cls.capabilities
    modes = tuple(mode for mode in MODES if mode in capabilities)
    layouts = tuple(layout for layout in LAYOUTS if layout in capabilities)
    for what, found, known in (("mode", modes, MODES), ("layout", layouts, LAYOUTS)):
        if not found:
            raise InputError(
                f"--adapter {word}: no {what} among its capabilities "
                f"({', '.join(sorted(capabilities)) or 'none'}); declare {' or '.join(known)}"
            )
    return TargetEntry(adapter=absolute, name=cls.lower(), modes=modes, layout=layouts[0])


def adapter_name(word: str) -> str:
    """The adapter that `--adapter` names, wherever the suite lies."""
    path, _, cls = word.rpartition(":")
    return f"{whole_path(Path(path))}:{cls}" if path.endswith(".py") else word


def by_name(given: tuple[str, ...], extra: tuple[str, ...]) -> tuple[str, ...]:
    """Names of targets; one of `extra` may be called by its class as that is written."""
    classes = {word.rpartition(":")[2] for word in extra}
    return tuple(name.lower() if name in classes else name for name in given)
