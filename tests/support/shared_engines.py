"""One engine of each name and options for all tests, also of several workers.

An engine is started when the first test asks for it, by a process of its own (this file, run
as a program), and stopped by it when the process of the whole test run has ended, however it
ended. For tests that need an engine that runs; those that start, break or end one, or look at
its process, start their own.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from retrieverbench.adapter import Secret
from retrieverbench.engines import Started, load_engine, quick_start
from retrieverbench.run import Engines

SECONDS = 150
"""Until an engine must have started; their own limits are shorter."""


@dataclass(frozen=True)
class Keeper:
    """Where the started engines of one test run are written down, and that run's process."""

    folder: Path
    run: int

    def started(self, name: str, options: Mapping[str, object]) -> Started:
        """The running engine; who comes while it is being started waits. Fails if it cannot."""
        words = json.dumps({**quick_start(name), **options}, sort_keys=True)
        sum_ = hashlib.sha256(words.encode()).hexdigest()[:8]
        told = self.folder / f"{name}-{sum_}.json"
        with told.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not told.exists():
                self._start(name, words, told)
        fields = json.loads(told.read_text("utf-8"))
        secrets = {key: Secret(value) for key, value in fields.pop("secrets").items()}
        return Started(**fields, secrets=secrets)

    def _start(self, name: str, words: str, told: Path) -> None:
        log = told.with_suffix(".log")
        wanted = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [(os.POSIX_SPAWN_OPEN, 1, str(log), wanted, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]
        command = [sys.executable, __file__, name, words, str(told), str(self.run)]
        pid = os.posix_spawn(
            sys.executable, command, os.environ, file_actions=actions, setsid=True
        )  # in a session of its own: Ctrl-C is for the tests
        for _ in range(SECONDS * 20):
            if told.exists():
                return
            if os.waitpid(pid, os.WNOHANG)[0]:
                break
            time.sleep(0.05)
        pytest.fail(f"engine {name} did not start:\n{log.read_text('utf-8')}", pytrace=False)


class SharedEngines(Engines):
    """Engines that are shared by all tests and stopped by none of them."""

    def __init__(self, keeper: Keeper) -> None:
        super().__init__()
        self._keeper = keeper

    async def start(self, name: str, options: Mapping[str, object]) -> Started:
        return await anyio.to_thread.run_sync(self._keeper.started, name, options)


async def keep(name: str, options: Mapping[str, object], told: Path, run: int) -> None:
    """Run the engine until the process `run` has ended."""
    ended = os.pidfd_open(run)
    async with load_engine(name).start(options) as started:
        fields = {
            "endpoint": started.endpoint,
            "fidelity": started.fidelity,
            "version": started.version,
            "secrets": {key: secret.reveal() for key, secret in started.secrets.items()},
            "details": started.details,
        }
        partial = told.with_suffix(".part")
        partial.touch(0o600)
        partial.write_text(json.dumps(fields), encoding="utf-8")
        partial.rename(told)
        await anyio.wait_readable(ended)


if __name__ == "__main__":
    anyio.run(keep, sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
