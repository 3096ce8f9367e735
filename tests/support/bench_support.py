"""The command as a process, in a folder with the example set."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from subprocess import Popen
from typing import Any
from unittest.mock import patch

import anyio

from apart_support import apart, run_apart
from retrieverbench.cli.main import _exit_code
from retrieverbench.cli.output import close_streams, open_streams
from retrieverbench.gate import judge
from retrieverbench.job import Quiet, begin_suite, prepare, run_suite
from retrieverbench.model import Artifact
from retrieverbench.run import load_suite

COMMAND = Path(sys.executable).with_name("retrieverbench")
Done = subprocess.CompletedProcess[str]


def write_example(folder: Path) -> Path:
    """Put the example set that `retrieverbench init` writes into a folder, and return that."""
    with resources.as_file(resources.files("retrieverbench.cli") / "example") as example:
        shutil.copytree(example, folder, dirs_exist_ok=True)
    return folder


def measure(suite_file: Path) -> Artifact:
    """Run a suite in this process and judge it, without any output."""
    suite = load_suite(suite_file)

    async def main() -> Artifact:
        return await run_suite(begin_suite(prepare(suite), {}, Quiet()), anyio.Event())

    artifact = run_apart(main)
    verdict = judge(artifact, suite.gate_rules(), {}, inconclusive_leaks=suite.leaks.inconclusive)
    return replace(artifact, verdict=verdict)


def entry_of(file: str, name: str) -> str:
    """The target of one class of an adapter's file, by the class's name."""
    return f'adapter = "./{file}:{name}"\nname = "{name.lower()}"\nmodes = ["lexical"]'


@dataclass(frozen=True)
class Bench:
    """A folder with the example set, and the command run in it.

    `command` is the script of another installation; without it the command runs in this
    process, which starts nothing and imports nothing anew.
    """

    folder: Path
    command: Path | None = None

    def with_file(self, name: str, text: str) -> Bench:
        """Itself, with this file in its folder."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return self

    def run(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Done:
        """The command here, all but its process: arguments, environment, folder, output."""
        if self.command is not None:
            return self.process(*arguments, env=env)
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        words = [str(COMMAND), *map(str, arguments)]
        with (
            patch.object(sys, "argv", words),
            patch.object(sys, "stdout", out),
            patch.object(sys, "stderr", err),
            patch.dict(os.environ, env or {}),
            chdir(self.folder),
        ):
            open_streams()
            code = apart(_exit_code)
            close_streams()
        texts = (stream.buffer.getvalue().decode() for stream in (out, err))
        return Done(words, code, *texts)

    def process(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, timeout: float = 150
    ) -> Done:
        """The command as a process of its own, waited for."""
        return subprocess.run(
            [self.command or COMMAND, *arguments],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    @contextmanager
    def started(self, *arguments: str | Path, until: str, **env: str) -> Iterator[Popen[str]]:
        """The command as a process that has begun a line on standard error with `until`."""
        process = Popen(
            [COMMAND, *arguments], cwd=self.folder, env={**os.environ, **env}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stderr is not None
        try:
            assert any(until in line for line in process.stderr), f"ended before {until!r}"
            yield process
        finally:
            process.kill()
            process.communicate(timeout=30)

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
        """The newest artifact of this folder; the names of two of one second do not tell."""
        path = max(
            self.folder.glob("results/*s/*/*.json"), key=lambda path: path.stat().st_mtime_ns
        )
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
