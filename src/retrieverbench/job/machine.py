"""Where a run was made: harness, machine, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from retrieverbench.files import whole_path

WRITTEN = ("runs", "audits", "baselines")
"""What the harness itself makes in a folder of results."""
LIBRARIES = ("retrieverbench", "anyio", "numpy")
"""The harness and the libraries that could change a number."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a run was made; `commit` and `dirty` as `commit_of` tells them."""

    harness: Mapping[str, str]
    machine: Mapping[str, object]
    commit: str | None
    dirty: bool | None


def origin_of(folder: Path, results: Path) -> Origin:
    """Asked before an adapter runs, which can make packages and programs be not found."""
    return Origin(harness_versions(), machine(), *commit_of(folder, results))


def harness_versions() -> dict[str, str]:
    """The versions of Python and of LIBRARIES."""
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    return {"python": platform.python_version(), **libraries}


def machine() -> dict[str, object]:
    """Processor, cores, memory in MiB, kernel; no host name and no user."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
    }


def commit_of(folder: Path, results: Path) -> tuple[str | None, bool | None]:
    """Commit and dirty flag of the repository that the suite lies in; None without one.

    What earlier runs wrote into their folder of results makes no tree dirty: it changes no number.
    """
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        top = whole_path(Path(_git(folder, "rev-parse", "--show-toplevel")))
        written = [path for part in WRITTEN if (path := whole_path(results / part)) != top]
        outside = [
            f":(top,exclude,literal){path.relative_to(top).as_posix()}"
            for path in written
            if path.is_relative_to(top)
        ]
        return commit, bool(_git(folder, "status", "--porcelain", "--", ":/", *outside))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(folder: Path, *arguments: str) -> str:
    """What git printed; it takes no lock that a command of the user's would wait for."""
    done = subprocess.run(  # noqa: S603 - fixed words, no shell
        ["git", "--no-optional-locks", "-C", str(folder), *arguments],  # noqa: S607 - the user's
        capture_output=True,
        check=True,
        timeout=10,
    )
    return os.fsdecode(done.stdout).strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
