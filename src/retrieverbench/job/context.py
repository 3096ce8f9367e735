"""What every step of one job needs, made once at its beginning."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from retrieverbench.adapter import Settings
from retrieverbench.job.prepare import Prepared
from retrieverbench.job.progress import Progress
from retrieverbench.job.vectors import Embedded, embed_set
from retrieverbench.leaks import make_ledger
from retrieverbench.model import Chunk, TenantId
from retrieverbench.run import Connection, TargetEntry, place_name


@dataclass(frozen=True, slots=True)
class Job:
    """What every step of one job needs. `vectors` maps case ids to query vectors."""

    prepared: Prepared
    run_id: str
    started: str
    environ: Mapping[str, str]
    progress: Progress
    embedded: Embedded
    ledger: Mapping[str, TenantId]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The corpus as it is loaded, with vectors where any target needs them."""
        return self.embedded.corpus.chunks

    @property
    def vectors(self) -> Mapping[str, array[float]]:
        """Case id → query vector; empty where no target searches by vector."""
        return self.embedded.queries

    @property
    def dimension(self) -> int:
        """Numbers per vector; 0 where there are none."""
        return self.embedded.dimension


async def make_job(prepared: Prepared, environ: Mapping[str, str], progress: Progress) -> Job:
    """Make the vectors and the ledger. Raises what the embedder raises."""
    suite = prepared.suite
    embedded = Embedded(prepared.corpus, {}, {}, 0)
    if prepared.needs_vectors:
        questions = {case.id: case.query for case in prepared.cases}
        total = len(prepared.corpus.chunks) + len(questions)
        embedded = await embed_set(
            prepared.corpus,
            questions,
            suite.embedding,
            environ,
            suite=suite.path,
            line=suite.line("embedding"),
            on_progress=progress.begin("embedding", total),
        )
    return Job(
        prepared=prepared,
        run_id=secrets.token_hex(4),
        started=datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        environ=environ,
        progress=progress,
        embedded=embedded,
        ledger=make_ledger(prepared.corpus.chunks),
    )


def settings_for(job: Job, entry: TargetEntry, connection: Connection, arm: str = "") -> Settings:
    """How the adapter is opened; `arm` names a second place beside the measured one."""
    suite = job.prepared.suite
    return Settings(
        endpoint=connection.endpoint,
        place=place_name(job.run_id, entry, arm),
        modes=frozenset(entry.modes),
        layout=entry.layout,
        dimension=job.dimension,
        concurrency=max(suite.concurrency, suite.timing.concurrency),
        timeout=suite.timeout,
        options=entry.options,
        secrets=connection.secrets,
    )
