"""The vendor's jars, and what is made of them once: our compiled launcher, and unpacked plugins.

All of it lies in the cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from retrieverbench.engines.fetch import Artifact, Progress, fetch, locked
from retrieverbench.engines.java_node import JavaNode
from retrieverbench.errors import BackendError

_COMPILER = "org.eclipse.jdt:ecj:"
_SUMS = "sha256.json"
_LAUNCHER, _PLUGINS = "launcher.jar", "plugins"


@dataclass(frozen=True, slots=True)
class Jars:
    """The fetched files: jars of the server's class path, zips with more, the Java compiler."""

    server: Sequence[Path]
    plugins: Sequence[Path]
    compiler: Path


def pinned(node: JavaNode) -> list[Artifact]:
    """Every artifact of `jars.tsv`: coordinate, sha256, bytes."""
    lines = (node.folder / "jars.tsv").read_text("utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return [Artifact(coordinate, sha256, int(size)) for coordinate, sha256, size in rows]


async def fetch_jars(
    node: JavaNode,
    folder: Path,
    *,
    repository: str | None = None,
    on_progress: Progress | None = None,
) -> Jars:
    """All pinned files, fetched or found in `folder`."""
    artifacts = pinned(node)
    paths = await fetch(artifacts, folder, repository=repository, on_progress=on_progress)
    (compiler,) = (p for a, p in zip(artifacts, paths, strict=True) if _is_compiler(a))
    others = [path for path in paths if path != compiler]
    plugins = [path for path in others if path.suffix == ".zip"]
    return Jars([path for path in others if path not in plugins], plugins, compiler)


async def class_path(node: JavaNode, java: Path, jars: Jars, folder: Path) -> list[Path]:
    """Our classes, the server's jars and those of its plugins.

    What has to be made is made once for these sources and these jars, and anew when a part of
    it is absent, damaged or not ours. Raises BackendError with the compiler's own words, or
    with the place in the cache that cannot be written.
    """
    made = folder / f"{node.name}-launcher-{_identity(node)}"
    if not await anyio.to_thread.run_sync(_is_whole, made):
        async with locked(folder):
            # another process may have made it
            if not await anyio.to_thread.run_sync(_is_whole, made):
                await _make(node, java, jars, made)
    return _paths(made, jars)


def _paths(made: Path, jars: Jars) -> list[Path]:
    return [made / _LAUNCHER, *jars.server, *sorted((made / _PLUGINS).glob("*.jar"))]


async def _make(node: JavaNode, java: Path, jars: Jars, made: Path) -> None:
    partial = made.with_name(f"{made.name}.partial")
    with _naming(node, made):
        await anyio.to_thread.run_sync(_remove, partial)
        await anyio.to_thread.run_sync(_unpack, jars.plugins, partial / _PLUGINS)
    await _compile(node, java, jars, partial)
    with _naming(node, made):
        await anyio.to_thread.run_sync(_pack, partial / "classes", partial / _LAUNCHER)
        await anyio.to_thread.run_sync(_put_in_place, partial, made)


def _unpack(plugins: Sequence[Path], target: Path) -> None:
    """The jars at the top of each zip; some lie in several, and are the same by their name."""
    target.mkdir(parents=True)
    for plugin in plugins:
        with zipfile.ZipFile(plugin) as opened:
            for name in opened.namelist():
                if name.endswith(".jar") and "/" not in name:
                    opened.extract(name, target)


async def _compile(node: JavaNode, java: Path, jars: Jars, made: Path) -> None:
    paths = os.pathsep.join(str(path) for path in _paths(made, jars))
    release = str(node.oldest_java)
    # The runtime image of the wheel has no signature data, so `--release` cannot be used.
    command = [str(java), "-jar", str(jars.compiler), "-source", release, "-target", release]
    classes = made / "classes"
    command += ["-proc:none", "-nowarn", "-d", str(classes), "-cp", paths]
    done = await anyio.run_process([*command, str(node.folder / "java")], check=False)
    if done.returncode != 0:
        raise BackendError(
            f"engine {node.name}: compiling its launcher failed with exit {done.returncode}: "
            f"{(done.stderr or done.stdout).decode('utf-8', 'replace').strip()}"
        )


def _pack(classes: Path, jar: Path) -> None:
    """A jar of the classes: a JVM archives no class that lies in a folder."""
    with zipfile.ZipFile(jar, "w") as packed:
        for path in sorted(classes.rglob("*.class")):
            name = path.relative_to(classes).as_posix()
            packed.writestr(zipfile.ZipInfo(name), path.read_bytes())
    shutil.rmtree(classes)


@contextmanager
def _naming(node: JavaNode, made: Path) -> Iterator[None]:
    """Say of an error of the file system which place in the cache it is about."""
    try:
        yield
    except OSError as error:
        raise BackendError(
            f"engine {node.name}: its launcher cannot be kept in {made} "
            f"({error.strerror}); remove that path and make its folder writable"
        ) from error


def _put_in_place(partial: Path, made: Path) -> None:
    """With the sums of its files, by which damage is found later."""
    (partial / _SUMS).write_text(json.dumps(_sums(partial), indent=1), "utf-8")
    _remove(made)
    partial.rename(made)


def _is_whole(made: Path) -> bool:
    """Whether the files are all there and as they were made."""
    try:
        expected = json.loads((made / _SUMS).read_bytes())
        return bool(expected) and _sums(made) == expected
    except (OSError, ValueError):
        return False


def _sums(made: Path) -> dict[str, str]:
    """The sha256 of each jar by its path in the folder."""
    return {
        path.relative_to(made).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(made.rglob("*.jar"))
    }


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _identity(node: JavaNode) -> str:
    """A sum over all that it is made from: our sources, the pinned files and this module."""
    digest = hashlib.sha256((node.folder / "jars.tsv").read_bytes())
    for source in (*sorted((node.folder / "java").rglob("*.java")), Path(__file__)):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _is_compiler(artifact: Artifact) -> bool:
    return artifact.coordinate.startswith(_COMPILER)
