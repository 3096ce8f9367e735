"""The vendor's jars and our compiled launcher, both in the cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from retrieverbench.engines.fetch import Artifact, Progress, fetch, locked
from retrieverbench.errors import BackendError

_HERE = Path(__file__).parent
_SOURCES = _HERE / "java"
_COMPILER = "org.eclipse.jdt:ecj:"
_SUMS = "sha256.json"


@dataclass(frozen=True, slots=True)
class Jars:
    """The fetched files: those of the server's class path, and the Java compiler."""

    server: Sequence[Path]
    compiler: Path


def pinned() -> list[Artifact]:
    """Every artifact of `jars.tsv`: coordinate, sha256, bytes."""
    lines = (_HERE / "jars.tsv").read_text("utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return [Artifact(coordinate, sha256, int(size)) for coordinate, sha256, size in rows]


async def fetch_jars(
    folder: Path,
    *,
    repository: str | None = None,
    on_progress: Progress | None = None,
) -> Jars:
    """All pinned jars, fetched or found in `folder`."""
    artifacts = pinned()
    paths = await fetch(artifacts, folder, repository=repository, on_progress=on_progress)
    server = [p for a, p in zip(artifacts, paths, strict=True) if not _is_compiler(a)]
    (compiler,) = (p for a, p in zip(artifacts, paths, strict=True) if _is_compiler(a))
    return Jars(server, compiler)


async def compile_launcher(java: Path, jars: Jars, folder: Path) -> Path:
    """The folder of our classes, compiled once for these sources and these jars.

    Compiled anew when a class is absent, damaged or not ours. Raises BackendError with the
    compiler's own words, or with the place in the cache that cannot be written.
    """
    classes = folder / f"elasticsearch-launcher-{_identity()}"
    if await anyio.to_thread.run_sync(_is_whole, classes):
        return classes
    async with locked(folder):
        # another process may have compiled them
        if not await anyio.to_thread.run_sync(_is_whole, classes):
            await _compile(java, jars, classes)
    return classes


async def _compile(java: Path, jars: Jars, classes: Path) -> None:
    partial = classes.with_name(f"{classes.name}.partial")
    with _naming(classes):
        await anyio.to_thread.run_sync(_remove, partial)
    await _call_compiler(java, jars, partial)
    with _naming(classes):
        await anyio.to_thread.run_sync(_put_in_place, partial, classes)


async def _call_compiler(java: Path, jars: Jars, target: Path) -> None:
    class_path = os.pathsep.join(str(path) for path in jars.server)
    # The runtime image of the wheel has no signature data, so `--release` cannot be used.
    command = [str(java), "-jar", str(jars.compiler), "-source", "21", "-target", "21"]
    command += ["-proc:none", "-nowarn", "-d", str(target), "-cp", class_path, str(_SOURCES)]
    done = await anyio.run_process(command, check=False)
    if done.returncode != 0:
        raise BackendError(
            f"engine elasticsearch: compiling its launcher failed with exit {done.returncode}: "
            f"{(done.stderr or done.stdout).decode('utf-8', 'replace').strip()}"
        )


@contextmanager
def _naming(classes: Path) -> Iterator[None]:
    """Say of an error of the file system which place in the cache it is about."""
    try:
        yield
    except OSError as error:
        raise BackendError(
            f"engine elasticsearch: its launcher cannot be kept in {classes} "
            f"({error.strerror}); remove that path and make its folder writable"
        ) from error


def _put_in_place(partial: Path, classes: Path) -> None:
    """With the sums of the classes, by which damage is found later."""
    (partial / _SUMS).write_text(json.dumps(_sums(partial), indent=1), "utf-8")
    _remove(classes)
    partial.rename(classes)


def _is_whole(classes: Path) -> bool:
    """Whether the classes are all there and as the compiler wrote them."""
    try:
        expected = json.loads((classes / _SUMS).read_bytes())
        return bool(expected) and _sums(classes) == expected
    except (OSError, ValueError):
        return False


def _sums(classes: Path) -> dict[str, str]:
    """The sha256 of each class by its path in the folder."""
    return {
        path.relative_to(classes).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(classes.rglob("*.class"))
    }


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _identity() -> str:
    """A sum over all that the classes are made from: our sources and the pinned jars."""
    digest = hashlib.sha256((_HERE / "jars.tsv").read_bytes())
    for source in sorted(_SOURCES.rglob("*.java")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _is_compiler(artifact: Artifact) -> bool:
    return artifact.coordinate.startswith(_COMPILER)
