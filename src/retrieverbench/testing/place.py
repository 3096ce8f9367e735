"""An adapter under test, the places that its tests share, and every answer judged."""

from __future__ import annotations

import secrets as tokens
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest

from retrieverbench.adapter import OWN_PREFIX, Adapter, Attached, Secret, Settings, Writable
from retrieverbench.errors import MissingClient, NotConfigured
from retrieverbench.leaks.record import Request, RequestLog
from retrieverbench.model import MODES, Chunk, Hit, Layout, Mode, Query, TenantId, Value
from retrieverbench.run import check_response
from retrieverbench.run.scan import plain_words, strings_in
from retrieverbench.testing.corpus import DIMENSION, PRIVATE, vector_of
from retrieverbench.testing.outcomes import not_applicable, not_run

TIMEOUT = 30.0
CONCURRENCY = 8
Options = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class UsersIndex:
    """An index that holds the contract's chunks, their uids in its `id` field.

    `secrets` are credentials that may read and nothing else, `options` those that it needs,
    `endpoint` where it is; None for those of the test class.
    """

    fields: Attached
    secrets: Mapping[str, Secret] | None = None
    options: Options | None = None
    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """An adapter's class and what it is opened with, as the test class's fixtures say.

    `fields` are those of the user's index that one which cannot be loaded is bound to.
    """

    cls: type[Adapter]
    endpoint: str
    secrets: Mapping[str, Secret]
    options: Options
    fields: Attached | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for subjects that can share a place."""
        secrets = sorted((name, secret.reveal()) for name, secret in self.secrets.items())
        return self.cls, self.endpoint, tuple(secrets), repr(self.options)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Those that are claimed."""
        return tuple(mode for mode in MODES if mode in self.cls.capabilities)

    def need(self, *words: str) -> None:
        """Skip the test, with the word, unless the adapter claims all of them."""
        for word in words:
            if word not in self.cls.capabilities:
                not_applicable(word)

    def settings(self, layout: Layout, **changes: Any) -> Settings:
        """Settings of a place that nobody else has; fields by keyword replace others."""
        fields: dict[str, Any] = {
            "endpoint": self.endpoint,
            "place": "" if self.fields else f"{OWN_PREFIX}contract_{tokens.token_hex(5)}",
            "attached": self.fields,
            "modes": frozenset(self.modes),
            "layout": layout,
            "dimension": DIMENSION,
            "concurrency": CONCURRENCY,
            "timeout": TIMEOUT,
            "options": self.options,
            "secrets": self.secrets,
        }
        return Settings(**(fields | changes))

    def exact_options(self) -> Options:
        """The options, with exact search where that is claimed and not said otherwise."""
        if "exact" not in self.cls.capabilities:
            return self.options
        return {**self.options, "search": {"exact": True, **self.options.get("search", {})}}

    @asynccontextmanager
    async def opened(self, layout: Layout, **changes: Any) -> AsyncIterator[Adapter]:
        """An adapter on an empty place of its own, closed on leaving."""
        adapter = await self.cls.open(self.settings(layout, **changes))
        try:
            yield adapter
        finally:
            with anyio.CancelScope(shield=True):
                await adapter.close()


def bound_to(subject: Subject, index: UsersIndex) -> Subject:
    """The subject with what a user's index says of itself."""
    return replace(
        subject,
        secrets=subject.secrets if index.secrets is None else index.secrets,
        options=subject.options if index.options is None else index.options,
        endpoint=subject.endpoint if index.endpoint is None else index.endpoint,
        fields=index.fields,
    )


@dataclass(slots=True)
class Filled:
    """A place and what it holds by our own record. `log` is None where nothing is recorded."""

    subject: Subject
    layout: Layout
    adapter: Adapter
    settings: Settings
    chunks: list[Chunk] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    log: RequestLog | None = None

    @property
    def tenants(self) -> list[str]:
        """Who owns something, in the order in which they came."""
        return list(dict.fromkeys(self.owners.values()))

    def own(self, tenant: str) -> set[str]:
        """The uids that belong to a tenant."""
        return {uid for uid, owner in self.owners.items() if owner == tenant}

    def requests(self) -> list[Request]:
        """What went out since the last time; nothing where nothing is recorded."""
        return [] if self.log is None else self.log.take()[0]

    def writable(self) -> Writable:
        """The adapter, which must have what `put` promises; skips where it is not claimed."""
        self.subject.need("put")
        assert isinstance(self.adapter, Writable), "'put' is claimed; put or settle is missing"
        return self.adapter

    async def add(self, chunks: Sequence[Chunk]) -> None:
        """Put more chunks, wait until they are searchable, and record who owns them."""
        adapter = self.writable()
        with anyio.fail_after(10 * TIMEOUT):
            await adapter.put(list(chunks))
            await adapter.settle()
        self.chunks.extend(chunks)
        self.owners.update({chunk.uid: chunk.tenant.value for chunk in chunks})

    async def ask(
        self,
        text: str,
        tenant: str | TenantId,
        mode: Mode,
        k: int = 10,
        *,
        where: Mapping[str, Value] | None = None,
        want: Iterable[str] = (),
    ) -> list[Hit]:
        """One search, judged: protocol, order, and the owner of everything that came back."""
        who = tenant if isinstance(tenant, TenantId) else TenantId(tenant)
        query = make_query(text, who, mode, k, where=where or {}, want=frozenset(want))
        with anyio.fail_after(2 * TIMEOUT):
            response = await self.adapter.search(query)
        hits = check_response(response, query)
        self.judge((hit.uid for hit in hits), who.value, f"{mode} search for {text!r:.60}")
        self._scan(response, who.value)
        found = [hit.uid for hit in hits]
        assert len(found) == len(set(found)), f"a chunk stands twice in the answer: {found}"
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True), f"not best first: {scores}"
        return hits

    def query(self, text: str, tenant: str, mode: Mode, k: int = 10, **more: Any) -> Query:
        """A question of one of the tenants; `make_query`."""
        return make_query(text, TenantId(tenant), mode, k, **more)

    async def uids(self, text: str, tenant: str | TenantId, mode: Mode, k: int = 10) -> list[str]:
        """The uids of one judged search."""
        return [hit.uid for hit in await self.ask(text, tenant, mode, k)]

    def judge(self, uids: Iterable[str], tenant: object, doing: str) -> None:
        """Fail with LEAK unless our own record says that each uid is the tenant's."""
        foreign = [uid for uid in uids if self.owners.get(uid) != tenant]
        if foreign:
            owner = self.owners.get(foreign[0], "nobody that we know of")
            raise AssertionError(
                f"LEAK: {doing} as {tenant!r} returned {foreign[:3]}, the first owned by {owner}; "
                f"{len(foreign)} in all, layout {self.layout}"
            )

    def _scan(self, response: object, tenant: str) -> None:
        """The same for every text of the answer, wherever it stands."""
        texts = [plain_words(text) for text in strings_in(response)]
        for owner, word in PRIVATE.items():
            if owner != tenant and any(word in text for text in texts):
                raise AssertionError(f"LEAK: an answer to {tenant!r} holds {owner}'s word {word!r}")


def make_query(text: str, tenant: TenantId, mode: Mode, k: int = 10, **more: Any) -> Query:
    """A question whose vector is that of its own text."""
    vector = None if mode == "lexical" else vector_of(text)
    return Query(text, tenant, k, mode, vector, **more)


class Stage:
    """The places that the tests of one class share; those of one adapter at a time."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._of: tuple[object, ...] = ()
        self._places: dict[tuple[Layout, str], Filled] = {}

    async def place(
        self,
        request: pytest.FixtureRequest,
        subject: Subject,
        layout: Layout,
        purpose: str,
        stored: Sequence[Chunk],
    ) -> Filled:
        """The place of that purpose, opened and filled when first asked for.

        `read` holds `stored`, is exact where that is claimed and recorded where that is.
        `write` is empty, with the options as they are given and no recorder.
        """
        if self._of != subject.key:
            await self.close()
            self._of = subject.key
        key = (layout, purpose)
        if key not in self._places:
            self._places[key] = await self._open(request, subject, layout, purpose, stored)
        return self._places[key]

    async def close(self) -> None:
        """Close them all."""
        self._places.clear()
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()

    async def _open(
        self,
        request: pytest.FixtureRequest,
        subject: Subject,
        layout: Layout,
        purpose: str,
        stored: Sequence[Chunk],
    ) -> Filled:
        log = RequestLog() if "record" in subject.cls.capabilities else None
        changes: dict[str, Any] = {}
        if purpose == "read":
            changes = {"options": subject.exact_options(), "recorder": log}
        settings = subject.settings(layout, **changes)
        adapter = await open_or_skip(request, subject, settings)
        self._stack.push_async_callback(adapter.close)
        place = Filled(subject, layout, adapter, settings, log=changes.get("recorder"))
        if purpose == "read":
            await _fill(place, stored)
        return place


async def open_or_skip(
    request: pytest.FixtureRequest, subject: Subject, settings: Settings
) -> Adapter:
    """Open; where client or server is absent the test is not run, and that is said aloud."""
    try:
        with anyio.fail_after(4 * TIMEOUT):
            return await subject.cls.open(settings)
    except (MissingClient, NotConfigured) as error:
        not_run(request, subject.cls.__name__, str(error))


async def _fill(place: Filled, stored: Sequence[Chunk]) -> None:
    if "put" in place.subject.cls.capabilities:
        await place.add(stored)
        return
    place.chunks.extend(stored)
    place.owners.update({chunk.uid: chunk.tenant.value for chunk in stored})
