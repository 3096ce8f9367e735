"""A PostgreSQL server that can be killed and started again on the same data."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg

from retrieverbench.adapter import Secret
from retrieverbench.engines import pgvector
from retrieverbench.engines.processes import free_port

PASSWORD = "restartable"  # of a server that only this test knows


@dataclass
class Restartable:
    """Its own folder, port and command; `log` tells why it does not start."""

    folder: Path
    way: pgvector._Way
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"postgresql://127.0.0.1:{self.port}/postgres"

    @property
    def secrets(self) -> dict[str, Secret]:
        return {"user": Secret("postgres"), "password": Secret(PASSWORD)}

    def start(self) -> None:
        """Start, again where the killed one's processes still hold on, and wait for answers."""
        options = pgvector.PostgresOptions(shared_buffers="64MB", max_connections=20)
        command = pgvector._serve_command(self.folder, self.way, options, self.port)
        command += ["-c", "synchronous_commit=on"]  # what was acknowledged outlives a kill
        for _ in range(600):
            if self.process is None or self.process.poll() is not None:
                with (self.folder / "log").open("ab") as log:
                    self.process = subprocess.Popen(
                        command, stdout=log, stderr=log, env={"LC_ALL": "C"}, user=self.way.user
                    )
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError((self.folder / "log").read_text(encoding="utf-8"))

    def kill(self) -> None:
        """As a machine that loses its current: nothing is written or answered any more.

        The server's own processes outlive the first one for a moment, in which they would answer.
        """
        assert self.process is not None
        others = []
        with suppress(psutil.NoSuchProcess):
            others = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        for other in others:
            with suppress(psutil.NoSuchProcess):
                other.kill()
        self.process.wait()
        psutil.wait_procs(others, timeout=30)

    def execute(self, sql: str) -> list[tuple[object, ...]]:
        with psycopg.connect(
            self.endpoint, user="postgres", password=PASSWORD, autocommit=True
        ) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


@contextmanager
def restartable() -> Iterator[Restartable]:
    folder = Path(tempfile.mkdtemp(prefix="restartable-"))
    try:
        way = pgvector._choose_way(folder)
        pgvector._write_password(folder, way, PASSWORD)
        command = pgvector._initdb_command(folder, way)
        subprocess.run(command, check=True, capture_output=True, user=way.user)
        server = Restartable(folder, way)
        try:
            server.start()
            server.execute("CREATE EXTENSION vector")
            yield server
        finally:
            if server.process is not None:
                server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
