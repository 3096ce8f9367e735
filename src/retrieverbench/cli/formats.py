"""Reports for other programs: test reports, security alerts, annotations of a CI service."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from retrieverbench.cli.output import reason
from retrieverbench.errors import InputError
from retrieverbench.files import holds_other, whole_path, write_whole

if TYPE_CHECKING:
    from retrieverbench.model import Artifact

_MARKS = {"--junit": b"<testsuite", "--sarif": b"sarif"}
_SERVICES = {"GITHUB_ACTIONS": "github", "TF_BUILD": "azure"}


@dataclass(frozen=True)
class Formats:
    """Files to write beside the artifact, and the service whose annotations are printed."""

    junit: Path | None = None
    sarif: Path | None = None
    annotations: str = "none"

    @property
    def files(self) -> dict[str, Path]:
        """Option → file, of those asked for."""
        named = {"--junit": self.junit, "--sarif": self.sarif}
        return {option: path for option, path in named.items() if path is not None}


def wanted(named: str | None) -> str:
    """The service that was named, or the one that runs this process, or `none`."""
    runs_here = (
        service
        for variable, service in _SERVICES.items()
        if os.environ.get(variable, "").lower() == "true"
    )
    return named or next(runs_here, "none")


def check_files(formats: Formats) -> None:
    """An InputError now rather than after the run; nothing is made, for the input may be wrong."""
    faults = [
        f"{option} {path}: cannot be written: {why}; name another file"
        for option, path in formats.files.items()
        if (why := _unwritable(path, _MARKS[option])) is not None
    ]
    whole = [whole_path(path) for path in formats.files.values()]
    if len(set(whole)) < len(whole):
        faults.append(f"{' and '.join(formats.files)} name one file; name two")
    if faults:
        raise InputError(*faults)


def _unwritable(path: Path, mark: bytes) -> str | None:
    """Why a report cannot be written there; `mark` is in the beginning of those of its kind."""
    import tempfile

    target = whole_path(path)
    if target.exists() and not target.is_file():
        return "it is a folder" if target.is_dir() else "it is no regular file"
    try:
        if holds_other(target, mark):  # a suite or a golden set that was named by mistake
            return "it holds something else"
        tempfile.TemporaryFile(dir=nearest(target.parent)).close()
    except OSError as error:
        return reason(error)
    return None


def nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that is there; OSError if none can ever be."""
    for part in (path, *path.parents):
        with suppress(FileNotFoundError):
            part.lstat()
            return part
    return Path()


def write_formats(artifact: Artifact, formats: Formats, suite_file: Path) -> list[str]:
    """Write the files asked for, each whole or not at all; why any could not be written."""
    from retrieverbench.report import render_junit, render_sarif

    shown = shown_path(suite_file)
    renderings = {"--junit": render_junit, "--sarif": render_sarif}
    faults = []
    for option, path in formats.files.items():
        write = partial(_write, path, renderings[option], artifact, shown)
        fault = fault_of_writing(path, write)
        faults += [fault] if fault else []
    return faults


def _write(
    path: Path, render: Callable[[Artifact, str], bytes], artifact: Artifact, shown: str
) -> None:
    write_whole(path, render(artifact, shown))


def annotation_lines(artifact: Artifact, formats: Formats, suite_file: Path) -> list[str]:
    """The lines to print for the CI service; none without one."""
    from retrieverbench.report import azure_annotations, github_annotations

    services = {"github": github_annotations, "azure": azure_annotations}
    if formats.annotations not in services:
        return []
    return services[formats.annotations](artifact, shown_path(suite_file))


def shown_path(file: Path) -> str:
    """The suite's path as CI services know it: from the root of its repository.

    Outside of any it is seen from the folder that the command runs in, and by its name alone
    where it does not lie below that: whole paths of a machine are nobody's business.
    """
    try:
        whole, here = whole_path(file), Path.cwd()
    except (InputError, OSError):  # the folder that the command runs in is gone
        return file.name
    roots = [folder for folder in whole.parents if (folder / ".git").exists()]
    root = roots[0] if roots else here
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else whole.name


def fault_of_writing(path: Path, write: Callable[[], None]) -> str | None:
    """Why something could not be written; None if it could."""
    from retrieverbench.run import log_frames

    try:
        write()
    except InputError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a defect of ours does not unsay the verdict
        log_frames(error)
        return f"{path}: cannot be written: {type(error).__name__}: {reason(error)}"
    return None
