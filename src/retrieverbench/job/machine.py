"""Where a run was made: harness, machine, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from retrieverbench.files import holds_other, whole_path

WRITTEN = ("runs", "audits", "baselines")
"""What the harness itself makes in a folder of results."""
_STATUS = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
"""Each file by itself and by its bare name, whatever the user has configured."""
_OWN_MARKS = (
    (b'<testsuites name="retrieverbench"',),
    (b"sarif", b'"retrieverbench"'),
    (b'"endpoint"', b'"fidelity"', b'"pid"'),
)
"""What stands in test reports, alerts and the ready files of engines."""
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

    What the harness wrote itself, into its folder of results or as a report or ready file, makes
    no tree dirty, nor does what Python keeps of modules: it changes no number.
    """
    try:
        commit = os.fsdecode(_git(folder, "rev-parse", "HEAD"))
        root = whole_path(Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel"))))
        changed = _git(folder, *_STATUS).split(b"\0")
    except (OSError, subprocess.SubprocessError):
        return None, None
    own = [whole_path(results / part) for part in WRITTEN]
    return commit, any(_is_change(entry, root, own) for entry in changed if entry)


def _is_change(entry: bytes, root: Path, own: Collection[Path]) -> bool:
    """Whether an entry of the status, `XY path`, is of something that the harness did not write."""
    path = root / os.fsdecode(entry[3:])
    if "__pycache__" in path.parts or any(path.is_relative_to(folder) for folder in own):
        return False
    return not (entry.startswith(b"??") and any(_holds(path, marks) for marks in _OWN_MARKS))


def _holds(path: Path, marks: Sequence[bytes]) -> bool:
    try:
        return path.stat().st_size > 0 and not holds_other(path, *marks)
    except OSError:
        return False


def _git(folder: Path, *arguments: str) -> bytes:
    """What git printed; it takes no lock that a command of the user's would wait for."""
    done = subprocess.run(  # noqa: S603 - fixed words, no shell
        ["git", "--no-optional-locks", "-C", str(folder), *arguments],  # noqa: S607 - the git of the user
        capture_output=True,
        check=True,
        timeout=10,
    )
    return done.stdout.removesuffix(b"\n")


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
