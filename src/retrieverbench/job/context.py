"""What every step of one job needs, made once at its beginning."""

from __future__ import annotations

import hashlib
import json
import secrets
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from retrieverbench.adapter import Settings
from retrieverbench.job.machine import Origin, origin_of
from retrieverbench.job.prepare import Prepared
from retrieverbench.job.progress import Progress
from retrieverbench.job.state import EntryState
from retrieverbench.job.vectors import Embedded
from retrieverbench.leaks import CorpusLedger, Ledger
from retrieverbench.model import MODES, Chunk, Noise
from retrieverbench.run import LAYOUTS, Connection, Suite, place_name, refuse_words
from retrieverbench.storage import stored


@dataclass(slots=True)
class Job:
    """What every step of one job needs.

    `embedder` is the identity of the model, with the chunks' vectors that the suite ships, and
    `embedded` what it made, once there is one;
    `noise` comes from the timed pass.
    """

    prepared: Prepared
    run_id: str
    started: str
    origin: Origin
    environ: Mapping[str, str]
    progress: Progress
    ledger: Ledger
    embedded: Embedded
    dimension: int = 0
    embedder: Mapping[str, str] = field(default_factory=dict)
    noise: Noise | None = None

    @property
    def chunks(self) -> Sequence[Chunk]:
        """The corpus as it is loaded, with vectors where any target needs them."""
        return self.embedded.corpus.chunks

    @property
    def vectors(self) -> Mapping[str, array[float]]:
        """Case id → query vector; empty where no target searches by vector."""
        return self.embedded.queries


def make_job(prepared: Prepared, environ: Mapping[str, str], progress: Progress) -> Job:
    """A job before its first step."""
    suite = prepared.suite
    return Job(
        prepared=prepared,
        run_id=secrets.token_hex(4),
        started=datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        origin=origin_of(suite.path.parent, suite.resolve(suite.results)),
        environ=environ,
        progress=progress,
        ledger=CorpusLedger(stored(prepared.corpus.chunks)),
        embedded=Embedded(prepared.corpus, {}, {}, 0),
    )


def other_place(state: EntryState) -> str:
    """A place beside the measured one, by a name that might be that of another run."""
    return place_name(secrets.token_hex(4), state.entry)


def settings_for(job: Job, state: EntryState, connection: Connection) -> Settings:
    """How the adapter is opened at the place that is measured.

    Raises Refused for a credential that no text could be kept free of.
    """
    suite = job.prepared.suite
    words = _words_of_reports(job, state, connection)
    refuse_words(connection.secrets, words, f"target {state.entry.name!r}")
    attach = state.entry.attach
    return Settings(
        endpoint=connection.endpoint,
        place="" if attach else place_name(_prefix(job, state), state.entry),
        attached=attach.attached if attach else None,
        modes=frozenset(state.modes),
        layout=state.entry.layout,
        dimension=job.dimension if set(state.modes) - {"lexical"} else 0,
        concurrency=most_at_once(suite),
        timeout=suite.timeout,
        options=state.entry.options,
        secrets=connection.secrets,
        resume=state.entry.load.resume,
    )


def most_at_once(suite: Suite) -> int:
    """Questions that an adapter must be ready for, in whatever pass."""
    return max(suite.concurrency, suite.timing.concurrency)


def _words_of_reports(job: Job, state: EntryState, connection: Connection) -> set[str]:
    """Names that stand in every report."""
    entry = state.entry
    scheme, _, _ = connection.endpoint.partition("://")
    names = {job.prepared.suite.name, entry.name, entry.adapter, scheme, *MODES, *LAYOUTS}
    return names | set(job.prepared.chunks_per_tenant)


def _prefix(job: Job, state: EntryState) -> str:
    """What names a place: the run, or where loads are resumed all that its contents depend on."""
    if not state.entry.load.resume:
        return job.run_id
    known = [
        job.prepared.suite.name,
        job.prepared.corpus.sha256,
        sorted(job.embedder.items()),
        job.dimension,
        sorted(state.modes),
        state.entry.adapter,
        state.entry.place,
    ]
    text = json.dumps(known, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
