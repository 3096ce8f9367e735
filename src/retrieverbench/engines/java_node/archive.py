"""The classes of a node as its JVM holds them in memory, kept in a file: its ahead-of-time cache.

A start with it needs less than half of the processor time. It costs a start and some ten
seconds of processor time to make, so `engine fetch` makes it and a run only uses it. It belongs
to one JVM and to one class path, file by file; with another one, or damaged, it is not used.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from retrieverbench.engines.fetch import locked
from retrieverbench.engines.java_node import JavaNode
from retrieverbench.engines.java_node.jvm import Java
from retrieverbench.errors import BackendError

_OLDEST_JAVA = 25  # the first that makes such a file by one option
_KEPT = 3  # files of one node: environments beside each other have JVMs of their own


@dataclass(frozen=True, slots=True)
class Archive:
    """Where the file lies, or would lie, for one JVM and one class path."""

    path: Path

    async def is_whole(self) -> bool:
        """Whether it is there and as it was made: all of it is read, every time."""
        return await anyio.to_thread.run_sync(self._is_whole)

    def _is_whole(self) -> bool:
        try:
            return self._sum_file.read_text("ascii") == _sha256(self.path)
        except OSError:
            return False

    @property
    def _sum_file(self) -> Path:
        return self.path.with_suffix(".sha256")

    def put_in_place(self, partial: Path) -> None:
        """The new file under its name, then its sum: a file without its sum is not used."""
        self._sum_file.unlink(missing_ok=True)
        sha256 = _sha256(partial)
        partial.replace(self.path)
        self._sum_file.write_text(sha256, "ascii")


def archive_for(node: JavaNode, java: Java, class_path: Sequence[Path], folder: Path) -> Archive:
    """The archive of these very files: another size or time of one makes it another archive."""
    home = java.command.parents[1]
    digest = hashlib.sha256(java.version.encode())
    for file in (java.command, home / "lib" / "modules", *class_path):
        try:
            found = file.stat()
        except OSError:
            continue
        digest.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\0".encode())
    return Archive(folder / f"{node.name}-classes-{digest.hexdigest()[:16]}.aot")


def can_be_made(java: Java) -> bool:
    """Whether this JVM knows how to make one."""
    major = java.version.partition(".")[0]
    return major.isdigit() and int(major) >= _OLDEST_JAVA


async def make(node: JavaNode, archive: Archive, command: Sequence[str], private: Path) -> None:
    """Start a node by `command`, which names `private` as its folder, end it, keep its classes.

    A second process waits for the first and then finds the work done. Raises BackendError with
    the end of the JVM's log when nothing came of it.
    """
    from retrieverbench.engines import processes
    from retrieverbench.engines.java_node import probe

    async with locked(archive.path.parent):
        if await archive.is_whole():
            return
        partial = private / "classes.aot"
        java, *rest, home, name = command
        trained = [java, f"-XX:AOTCacheOutput={partial}", *rest, home, name]
        async with processes.running([trained], folder=private, name=node.name, grace=300) as jvm:
            answers = probe.Probe(Path(home), name)
            await processes.wait_until_ready(jvm, answers, timeout=300)
        if not partial.is_file():
            raise BackendError(
                f"engine {node.name}: no class-data archive was made; the log of its JVM ends:\n"
                f"{jvm.log_tail()}"
            )
        await anyio.to_thread.run_sync(_keep, node, archive, partial)


def _keep(node: JavaNode, archive: Archive, partial: Path) -> None:
    """Move it into the cache folder, and remove the oldest ones there."""
    import shutil

    folder = archive.path.parent
    near = archive.path.with_suffix(".partial")
    try:
        shutil.move(partial, near)
        archive.put_in_place(near)
        others = sorted(folder.glob(f"{node.name}-classes-*.aot"), key=os.path.getmtime)
        for old in others[:-_KEPT]:
            old.with_suffix(".sha256").unlink(missing_ok=True)
            old.unlink()
    except OSError as error:
        raise BackendError(
            f"engine {node.name}: its class-data archive cannot be kept in {folder} "
            f"({error.strerror}); make room there or make the folder writable"
        ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
