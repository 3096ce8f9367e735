"""Sending a corpus to a backend: streamed in batches, and again where the backend lost it.

`put` inserts or replaces by uid, so a batch may be sent twice. What a backend holds is always
found out by asking it, by count per tenant and by id; no note of ours is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter_ns
from typing import TypeVar

import anyio

from retrieverbench.adapter import Adapter, Description, ReadsById, Writable
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Throttled,
    TimedOut,
    Unavailable,
    plural,
)
from retrieverbench.model import Chunk, TenantId
from retrieverbench.run.found_vectors import SAMPLE, FoundSample
from retrieverbench.run.guard import Abandoned, Step
from retrieverbench.run.suite import Loading
from retrieverbench.storage import ChunkStore

T = TypeVar("T")

FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0
"""Seconds between two attempts: doubled each time."""


@dataclass(slots=True)
class Sender:
    """One adapter, how it is loaded, and what came of it.

    `put`, `settle` and `get` guard its calls. `seconds` is how long at least one `put` was in
    flight: what our own reading takes between two batches is not the backend's. `waits` counts
    how often a backend that was gone was waited for, `found` the chunks that were there already,
    `compared` those of them whose text was read, and `sample` some of them.
    """

    adapter: Adapter
    plan: Loading
    put: Step
    settle: Step
    get: Step
    on_put: Callable[[int], None] = lambda _done: None
    waits: int = field(default=0, init=False)
    found: int = field(default=0, init=False)
    compared: int = field(default=0, init=False)
    sample: FoundSample = field(default_factory=FoundSample, init=False)
    _in_flight: int = field(default=0, init=False)
    _since: int = field(default=0, init=False)
    _busy: int = field(default=0, init=False)

    @property
    def seconds(self) -> float:
        """Seconds in which the backend had something to take in."""
        return self._busy / 1e9

    async def send(
        self,
        chunks: Sequence[Chunk],
        held: Mapping[str, int] | None = None,
        *,
        compare: bool = False,
    ) -> None:
        """Put every chunk, in the order of the corpus, that is not among those `held`.

        `held` is the backend's count per tenant. Each chunk of a tenant that has some of them
        is asked for, and replaced if its text differs; of one that has all only to `compare`.
        Vectors cannot be read; `sample` is for comparing those by searching. Raises what `put`
        raises, once the plan's patience is at its end.
        """
        if not isinstance(self.adapter, Writable):
            raise AdapterError(f"adapter {self.put.adapter!r} claims 'put' and lacks put or settle")
        adapter, failed, done = self.adapter, list[BackendError](), 0
        whole = count_per_tenant(chunks) if held else {}
        batches = _batches(chunks, self.plan.batch)

        async def worker() -> None:
            nonlocal done
            for batch in batches:
                try:
                    lacking = batch
                    if held:
                        lacking = await self._lacking(batch, held, whole, compare=compare)
                    if lacking:
                        await self._sent(adapter, lacking)
                except BackendError as error:
                    failed.append(error)
                    tasks.cancel_scope.cancel()
                    return
                done += len(batch)
                self.on_put(done)

        async with anyio.create_task_group() as tasks:
            for _ in range(self.plan.concurrency):
                tasks.start_soon(worker)
        if failed:
            raise failed[0]

    async def settled(self) -> float:
        """Wait until everything is searchable; seconds."""
        assert isinstance(self.adapter, Writable)
        start = perf_counter_ns()
        await self.patiently(partial(self.settle.call, self.adapter.settle))
        return (perf_counter_ns() - start) / 1e9

    async def patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call again while the backend is gone, silent or busy, for as long as the plan says."""
        pause, deadline = FIRST_WAIT, anyio.current_time() + self.plan.patience
        while True:
            try:
                return await call()
            except Abandoned:
                raise
            except (Unavailable, TimedOut, Throttled):
                if not self.waits_until(deadline):
                    raise
            await anyio.sleep(pause)
            pause = min(2 * pause, LONGEST_WAIT)

    def waits_until(self, deadline: float) -> bool:
        """Whether there is time for another attempt, which is then counted."""
        can_wait = anyio.current_time() < deadline
        self.waits += can_wait
        return can_wait

    async def check_sample(self, chunks: Sequence[Chunk], remedy: str = "") -> int:
        """Read texts back, evenly over the corpus; how many.

        Nothing is read from an adapter that cannot read by id. Raises AdapterError, with the
        `remedy`, where one is not as it was sent.
        """
        if not isinstance(self.adapter, ReadsById):
            return 0
        step = max(1, len(chunks) // SAMPLE)
        sample = chunks[::step][:SAMPLE]
        for tenant, own in by_tenant(sample).items():
            stored = await self._stored(self.adapter, tenant, own)
            wrong = next((chunk.uid for chunk in own if chunk.uid not in stored), None)
            if wrong is not None:
                raise AdapterError(
                    f"after loading, chunk {wrong!r} is not as it was sent", remedy=remedy
                )
        return len(sample)

    async def _sent(self, adapter: Writable, batch: Sequence[Chunk]) -> None:
        if not self._in_flight:
            self._since = perf_counter_ns()
        self._in_flight += 1
        try:
            await self.patiently(lambda: self.put.call(partial(adapter.put, list(batch))))
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._busy += perf_counter_ns() - self._since

    async def _lacking(
        self,
        batch: Sequence[Chunk],
        held: Mapping[str, int],
        whole: Mapping[str, int],
        *,
        compare: bool,
    ) -> list[Chunk]:
        """The chunks of a batch that the backend does not hold."""
        there: set[str] = set()
        for tenant, own in by_tenant(batch).items():
            count = held.get(tenant.value, 0)
            is_whole = count == whole[tenant.value]
            if count and isinstance(self.adapter, ReadsById) and (compare or not is_whole):
                stored = await self._stored(self.adapter, tenant, own)
                self.compared += len(stored)
                there |= stored
            elif is_whole:
                there.update(chunk.uid for chunk in own)
        self.found += len(there)
        self.sample.offer(chunk for chunk in batch if chunk.uid in there)
        return [chunk for chunk in batch if chunk.uid not in there]

    async def _stored(self, adapter: ReadsById, tenant: TenantId, own: Sequence[Chunk]) -> set[str]:
        """Those of a tenant's chunks that are there, with their texts, titled or not."""
        uids = [chunk.uid for chunk in own]
        hits = await self.patiently(lambda: self.get.call(partial(adapter.get, tenant, uids)))
        texts = {hit.uid: hit.text for hit in hits}
        return {c.uid for c in own if texts.get(c.uid) in {c.text, c.searchable_text}}


def count_per_tenant(chunks: Sequence[Chunk]) -> Mapping[str, int]:
    """How many chunks each tenant has."""
    if isinstance(chunks, ChunkStore):
        return {tenant.value: count for tenant, count in chunks.per_tenant.items()}
    return Counter(chunk.tenant.value for chunk in chunks)


def count_differences(description: Description, expected: Mapping[str, int]) -> str:
    """Where the backend's count per tenant differs from the corpus's; "" if it does not.

    One that is loaded may not leave its counts out.
    """
    stored = {tenant: count for tenant, count in description.chunks.items() if count}
    lines = [
        f"{tenant!r} {expected.get(tenant, 0)} sent, {stored.get(tenant, 0)} counted"
        for tenant in sorted(expected.keys() | stored.keys())
        if expected.get(tenant, 0) != stored.get(tenant, 0)
    ]
    more = f"; and {plural(len(lines) - 5, 'tenant')} more" if len(lines) > 5 else ""
    return f"{'; '.join(lines[:5])}{more}"


def _batches(chunks: Sequence[Chunk], size: int) -> Iterator[Sequence[Chunk]]:
    for first in range(0, len(chunks), size):
        batch = chunks[first : first + size]
        yield batch if isinstance(chunks, ChunkStore) else [_copy(chunk) for chunk in batch]


def _copy(chunk: Chunk) -> Chunk:
    """An adapter that overwrites what it is given spoils no other target's chunks.

    Those of a store are made anew each time.
    """
    vector = None if chunk.vector is None else chunk.vector[:]
    return replace(chunk, vector=vector, metadata=dict(chunk.metadata))


def by_tenant(chunks: Sequence[Chunk]) -> dict[TenantId, list[Chunk]]:
    """The chunks of each tenant, in their order."""
    groups: dict[TenantId, list[Chunk]] = {}
    for chunk in chunks:
        groups.setdefault(chunk.tenant, []).append(chunk)
    return groups
