"""The command as a process, in a folder with the example set."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import anyio

from retrieverbench.gate import judge
from retrieverbench.job import Quiet, prepare, run_suite
from retrieverbench.model import Artifact
from retrieverbench.run import load_suite

COMMAND = Path(sys.executable).with_name("retrieverbench")


def write_example(folder: Path) -> Path:
    """Put the example set that `retrieverbench init` writes into a folder, and return that."""
    with resources.as_file(resources.files("retrieverbench.cli") / "example") as example:
        shutil.copytree(example, folder, dirs_exist_ok=True)
    return folder


def measure(suite_file: Path) -> Artifact:
    """Run a suite in this process and judge it, without any output."""
    suite = load_suite(suite_file)

    async def main() -> Artifact:
        return await run_suite(prepare(suite), {}, Quiet(), anyio.Event())

    artifact = anyio.run(main)
    verdict = judge(artifact, suite.gate_rules(), {}, inconclusive_leaks=suite.leaks.inconclusive)
    return replace(artifact, verdict=verdict)


@dataclass(frozen=True)
class Bench:
    """A folder with the example set, and the command run in it."""

    folder: Path
    command: Path = COMMAND

    def run(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, timeout: float = 150
    ) -> subprocess.CompletedProcess[str]:
        """Run the command here and wait for it."""
        return subprocess.run(
            [self.command, *arguments],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def suite(self, *targets: str, more: str = "", head: str = "") -> Path:
        """Write a suite over the example set with these [[targets]] entries."""
        path = self.folder / "test.toml"
        entries = "\n".join(f"[[targets]]\n{target}\n" for target in targets)
        path.write_text(
            'golden = "golden.v1.jsonl"\ncorpus = "corpus.jsonl"\n'
            f"timeout = 20.0\n{head}\n"
            'embedding = { kind = "hashing" }\n'
            "timing = { rounds = 1, requests = 20, warmup = 1 }\n"
            f"{entries}\n{more}\n",
            encoding="utf-8",
        )
        return path

    def artifact(self) -> dict[str, Any]:
        """The newest artifact of this folder."""
        (path,) = sorted(self.folder.glob("results/runs/*/*.json"))[-1:]
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
