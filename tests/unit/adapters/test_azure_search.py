"""The adapter through the official client: against the stand-in, never against a mock."""

from __future__ import annotations

import json
import math
import random
from array import array
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import anyio.abc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieverbench.adapter import Secret, Settings
from retrieverbench.engines.azure_search import start
from retrieverbench.engines.azure_search.access import Credentials
from retrieverbench.engines.azure_search.binding import compile_filter
from retrieverbench.engines.azure_search.definition import parse_definition
from retrieverbench.engines.azure_search.server import serving
from retrieverbench.engines.azure_search.service import Fault, Service
from retrieverbench.engines.azure_search.store import Options as StandInOptions
from retrieverbench.engines.azure_search.syntax import Group, Term, parse_simple
from retrieverbench.engines.base import Started
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    InputError,
    Refused,
    Rejected,
    TenantError,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import MODES, Chunk, Mode, Query, TenantId
from retrieverbench_adapters.azure_search import AzureSearch, documents, requests
from retrieverbench_adapters.azure_search.definition import (
    differences,
    index_definition,
    index_name,
)
from retrieverbench_adapters.azure_search.documents import batches, key, pair
from retrieverbench_adapters.azure_search.options import Place
from retrieverbench_adapters.azure_search.options import Search as SearchOptions
from retrieverbench_adapters.azure_search.requests import (
    escape,
    literal,
    query_filter,
    search_arguments,
    tenant_filter,
)

pytestmark = pytest.mark.anyio
DIMENSION = 8
KEY = "marked-secret-0815"
WORDS = "refund policy leave invoice limit incident contract security travel budget".split()  # noqa: SIM905
ACME, GLOBEX = TenantId("acme"), TenantId("globex")


def vector(seed: int) -> array[float]:
    numbers = random.Random(seed)
    return array("f", [numbers.uniform(-1, 1) for _ in range(DIMENSION)])


def chunks_of(tenant: TenantId, count: int = 40) -> list[Chunk]:
    """Texts and vectors depend on the number only: every tenant holds the same."""
    found = []
    for i in range(count):
        numbers = random.Random(i)
        text = " ".join(numbers.choices(WORDS, k=numbers.randint(3, 30)))
        metadata: dict[str, str | int | float | bool] = {"year": 2020 + i % 3, "open": i % 2 == 0}
        title = f"Section {i}" if i % 4 == 0 else ""
        found.append(Chunk(f"c{i}", tenant, text, title=title, metadata=metadata, vector=vector(i)))
    return found


def settings(endpoint: str, key: str = KEY, place: str = "rb_test", **more: Any) -> Settings:
    base = Settings(
        endpoint=endpoint,
        place=place,
        modes=frozenset(MODES),
        dimension=DIMENSION,
        concurrency=32,
        timeout=20.0,
        secrets={"api_key": Secret(key)},
    )
    return replace(base, **more)


@pytest.fixture(scope="module")
async def started() -> AsyncIterator[Started]:
    async with start({}) as engine:
        yield engine


@asynccontextmanager
async def opened(given: Settings) -> AsyncIterator[AzureSearch]:
    adapter = await AzureSearch.open(given)
    try:
        yield adapter
    finally:
        await adapter.close()


@pytest.fixture
async def loaded(started: Started) -> AsyncIterator[AzureSearch]:
    """Two tenants with identical texts and vectors."""
    given = settings(started.endpoint, started.secrets["api_key"].reveal(), "rb_loaded")
    async with opened(given) as adapter:
        await adapter.put(chunks_of(ACME) + chunks_of(GLOBEX))
        await adapter.settle()
        yield adapter


def ask(
    mode: Mode, tenant: TenantId = ACME, k: int = 10, text: str = "refund policy", **more: Any
) -> Query:
    return Query(text, tenant, k, mode, vector(999), **more)


def owners(uids: list[str]) -> set[str]:
    return {uid.partition("/")[0] for uid in uids}


async def test_dense_is_brute_force(loaded: AzureSearch) -> None:
    """If it fails, look at the score's transform 1 / (2 - cos) and at the filter mode."""
    asked = ask("dense", k=40)
    response = await loaded.search(asked)
    assert asked.vector is not None
    expected = {
        chunk.uid: 1 / (2 - _cosine(asked.vector, chunk.vector or asked.vector))
        for chunk in chunks_of(ACME)
    }
    assert [h.uid for h in response.hits] == sorted(expected, key=lambda u: -expected[u])
    assert {h.uid: h.score for h in response.hits} == pytest.approx(expected, rel=1e-6)


def _cosine(a: array[float], b: array[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


async def test_lexical_is_brute_force_bm25(loaded: AzureSearch) -> None:
    """Statistics are those of both tenants. Lengths are kept in one byte, hence a tolerance."""
    every = chunks_of(ACME) + chunks_of(GLOBEX)
    counts = {c.uid: Counter(c.searchable_text.lower().split()) for c in every}
    mean = sum(count.total() for count in counts.values()) / len(counts)

    def score(count: Counter[str]) -> float:
        total = 0.0
        for term in ("refund", "travel"):
            containing = sum(term in other for other in counts.values())
            idf = math.log(1 + (len(counts) - containing + 0.5) / (containing + 0.5))
            frequency = count[term]
            damping = 1.2 * (0.25 + 0.75 * count.total() / mean)
            total += idf * frequency * 2.2 / (frequency + damping)
        return total

    expected = {u: s for u, c in counts.items() if (s := score(c)) > 0 and u.startswith("acme/")}
    response = await loaded.search(ask("lexical", k=100, text="refund travel"))
    assert {h.uid for h in response.hits} == set(expected)
    assert {h.uid: h.score for h in response.hits} == pytest.approx(expected, rel=0.25)
    assert response.hits[0].uid in sorted(expected, key=lambda u: -expected[u])[:3]


async def test_hybrid_is_the_fusion_of_both_lists(loaded: AzureSearch) -> None:
    lists = [await loaded.search(ask(mode, k=50)) for mode in ("lexical", "dense")]
    fused: Counter[str] = Counter()
    for response in lists:
        for rank, hit in enumerate(response.hits):
            fused[hit.uid] += 1 / (60 + rank)  # type: ignore[assignment]
    response = await loaded.search(ask("hybrid", k=50))
    assert {h.uid: h.score for h in response.hits} == pytest.approx(dict(fused), rel=1e-6)
    scores = [h.score for h in response.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", MODES)
async def test_each_tenant_sees_its_own_only_and_the_filter_is_why(
    loaded: AzureSearch, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenant in (ACME, GLOBEX):
        response = await loaded.search(ask(mode, tenant, k=100))
        assert response.hits
        assert owners([h.uid for h in response.hits]) == {tenant.value}
        assert {h.tenant for h in response.hits} == {tenant.value}
    assert (await loaded.search(ask(mode, TenantId("nobody")))).hits == []
    monkeypatch.setattr(requests, "tenant_filter", lambda _tenant, _form: "true")
    unfiltered = await loaded.search(ask(mode, k=100))
    assert owners([h.uid for h in unfiltered.hits]) == {"acme", "globex"}


HOSTILE = (
    "acme' or '1'='1",
    "acme' or tenant ne '",
    "acme') or (true",
    "' or true or '",
    "''",
    "acme,globex",
    "acme globex",
    "acme|globex",
    "{x}",
    "%27",
    "*",
    "acme OR globex",
    "/.*/",
    '{"$ne": ""}',
    "ACME",
    "acme/globex",
    "ac\u043ce",
    "a\u200bcme" if "\u200b".isprintable() else "acmé",
    "ß",
    "\\",
    "😀",
    "x" * 128,
)


@pytest.mark.parametrize("mode", MODES)
async def test_hostile_tenants_get_exactly_their_own(started: Started, mode: Mode) -> None:
    given = settings(started.endpoint, started.secrets["api_key"].reveal(), f"rb_hostile_{mode}")
    tenants = [ACME, GLOBEX, *map(TenantId, HOSTILE)]
    async with opened(given) as adapter:
        await adapter.put([chunk for t in tenants for chunk in chunks_of(t, 2)])
        await adapter.settle()
        described = await adapter.describe()
        assert described.chunks == {tenant.value: 2 for tenant in tenants}
        for tenant in tenants:
            found = await adapter.search(ask(mode, tenant, k=50, text=" ".join(WORDS)))
            assert sorted(h.uid for h in found.hits) == [c.uid for c in chunks_of(tenant, 2)]
        for name in ("acm", "acme2", "Acme' or 'a' eq 'a", "GLOBEX", "globex' or tenant eq 'acme"):
            assert (await adapter.search(ask(mode, TenantId(name)))).hits == []


@pytest.mark.parametrize(
    "text",
    [
        "-refund",
        "refund -policy +leave",
        "*",
        "re*",
        '"refund" (policy) | leave\\',
        "zzz* -yyy",
        "' or 1 eq 1",
        "\u0000 refund",
        "tenant:globex",
        "C++ -O2",
    ],
)
async def test_query_texts_are_words(loaded: AzureSearch, text: str) -> None:
    """No operator: only chunks with one of the words, all of them the tenant's."""
    words = {w for w in WORDS if w in text.replace("*", " ").replace('"', " ")}
    response = await loaded.search(ask("lexical", k=100, text=text))
    assert owners([h.uid for h in response.hits]) <= {"acme"}
    expected = {c.uid for c in chunks_of(ACME) if words & set(c.text.split())}
    assert {h.uid for h in response.hits} == expected


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("C++ -O2", r"C\+\+ \-O2"),
        ('say "hi" (now)*', r"say \"hi\" \(now\)\*"),
        ("a-b c*d", "a-b c*d"),
        ("\\", "\\\\"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_an_escaped_text_has_no_operators(text: str) -> None:
    """An independent parser finds the words of the text as they were, and nothing else."""
    tree = parse_simple(escape(text), "or")
    parts = tree.parts if isinstance(tree, Group) else ((tree,) if tree is not None else ())
    assert all(isinstance(part, Term) for part in parts)
    words = [w for part in text.split(" ") for w in _split(part)]
    assert [part.text for part in parts if isinstance(part, Term)] == words


def _split(text: str) -> list[str]:
    for blank in "\t\n\r":
        text = text.replace(blank, " ")
    return [word for word in text.split(" ") if word]


FIELDS = parse_definition(index_definition("rb_fields", DIMENSION, Place())).fields
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
TRICKY = ANY_TEXT | st.sampled_from(HOSTILE) | st.text("' or()eq\\\n%{}", max_size=30)


@given(TRICKY, TRICKY)
def test_a_literal_reads_back_exactly(value: str, other: str) -> None:
    """An independent parser: the filter matches a field equal to the value, and no other."""
    matches = compile_filter(f"tenant eq {literal(value)}", FIELDS)
    assert matches({"tenant": value})
    assert matches({"tenant": other}) == (other == value)
    assert not matches({"tenant": None})
    assert not matches({})


SCALARS = st.text() | st.integers(-99, 99) | st.booleans() | st.floats(allow_nan=False)


@given(
    st.sampled_from(HOSTILE),
    st.dictionaries(ANY_TEXT, SCALARS, max_size=3),
    st.dictionaries(ANY_TEXT, SCALARS, max_size=3),
)
def test_where_narrows_the_tenant_and_never_widens_it(
    name: str, stored: dict[str, Any], where: dict[str, Any]
) -> None:
    if any("\0" in str(text) or not _encodable(text) for text in [*where, *where.values()]):
        return
    matches = compile_filter(query_filter(TenantId(name), where) or "", FIELDS)
    metadata = [pair(*item) for item in stored.items()]
    expected = all(k in stored and pair(k, stored[k]) == pair(k, v) for k, v in where.items())
    assert matches({"tenant": name, "metadata": metadata}) == expected
    assert not matches({"tenant": name + "x", "metadata": metadata})


def _encodable(value: object) -> bool:
    return not any(0xD800 <= ord(char) < 0xE000 for char in str(value))


async def test_where_is_typed_equality(loaded: AzureSearch) -> None:
    async def found(**where: Any) -> int:
        return len((await loaded.search(ask("dense", k=100, where=where))).hits)

    years = sum(chunk.metadata["year"] == 2021 for chunk in chunks_of(ACME))
    assert await found(year=2021) == await found(year=2021.0) == years
    assert await found(year="2021") == await found(open=1) == await found(Open=True) == 0
    assert await found(open=True) == 20
    assert 0 < await found(open=True, year=2021) < 20


def test_the_filter_as_it_is_sent() -> None:
    assert query_filter(TenantId("O'Neil"), {}) == "tenant eq 'O''Neil'"
    assert query_filter(ACME, {"year": 2021.0, "it's": True}) == (
        "(tenant eq 'acme') and (metadata/any(m: m eq '[\"year\", 2021]') "
        "and metadata/any(m: m eq '[\"it''s\", true]'))"
    )


def test_every_request_is_explicit() -> None:
    """The service's defaults differ by the age of an index, so nothing is left to them."""
    for mode in MODES:
        arguments = search_arguments(ask(mode, k=3), SearchOptions())
        assert arguments["filter"] == "tenant eq 'acme'"
        assert (arguments["top"], arguments["vector_filter_mode"]) == (3, "preFilter")
        assert arguments["scoring_statistics"] == "global"
        assert ("search_text" in arguments) == (mode != "dense")
        assert ("vector_queries" in arguments) == (mode != "lexical")
        for vector_query in arguments.get("vector_queries", []):
            assert vector_query.as_dict().keys() == {
                "kind", "vector", "k", "fields", "exhaustive", "weight"
            }  # fmt: skip
            assert vector_query.as_dict()["k"] == 50


def test_values_that_cannot_be_written_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be written"):
        literal("a\0b")
    for wrong in ("acme", None, ["acme"]):
        with pytest.raises(TenantError, match="not a checked tenant"):
            tenant_filter(wrong)  # type: ignore[arg-type]


async def test_wanted_parts_of_an_answer(loaded: AzureSearch) -> None:
    every = {chunk.uid: chunk for chunk in chunks_of(ACME)}
    response = await loaded.search(ask("lexical", k=50, want=frozenset({"text", "total"})))
    assert response.total == len(response.hits)
    assert all(hit.text == every[hit.uid].text for hit in response.hits)
    assert response.server_ms is not None
    plain = await loaded.search(ask("lexical", k=3))
    assert (len(plain.hits), plain.total, plain.hits[0].text) == (3, None, None)


async def test_32_at_once_each_get_their_own(loaded: AzureSearch) -> None:
    """AZ-62, many times: one client, different tenants and modes at the same time."""
    seen: list[tuple[str, set[str]]] = []

    async def search(i: int) -> None:
        tenant = (ACME, GLOBEX)[i % 2]
        response = await loaded.search(ask(MODES[i % 3], tenant, k=30))
        seen.append((tenant.value, owners([h.uid for h in response.hits])))

    async with anyio.create_task_group() as tasks:
        for i in range(32):
            tasks.start_soon(search, i)
    assert len(seen) == 32
    assert all(found == {tenant} for tenant, found in seen)


async def test_describe_reads_back(loaded: AzureSearch) -> None:
    described = await loaded.describe()
    assert described.chunks == {"acme": 40, "globex": 40}
    assert described.fidelity == "stand-in"
    assert described.properties == {"shared_idf", "eventual_visibility", "approximate"}
    assert described.settings["tenant.filterable"] is True
    assert described.settings["vector.dimension"] == DIMENSION
    assert described.settings["vector.efSearch"] == 500
    assert described.settings["analyzer"] == "en.lucene"
    assert described.settings["search.scoring_statistics"] == "global"
    assert described.unchecked == ()
    json.dumps(described.settings)
    assert await loaded.describe() == described


async def test_a_second_put_replaces(loaded: AzureSearch) -> None:
    changed = replace(chunks_of(ACME)[5], text="entirely new wording")
    await loaded.put([changed])
    await loaded.settle()
    response = await loaded.search(ask("lexical", text="wording", want=frozenset({"text"})))
    assert [(h.uid, h.text) for h in response.hits] == [(changed.uid, "entirely new wording")]
    assert (await loaded.describe()).chunks["acme"] == 40


class Served:
    """A stand-in in this process, whose failures a test scripts."""

    def __init__(self, endpoint: str, service: Service) -> None:
        self.endpoint = endpoint
        self.service = service


@asynccontextmanager
async def stand_in(**options: Any) -> AsyncIterator[Served]:
    service = Service(Credentials(KEY, "read-only"), StandInOptions(**options))
    async with serving(service) as endpoint:
        yield Served(endpoint, service)


def fault(**more: Any) -> Callable[[Service], None]:
    return lambda service: service.faults.append(Fault(route="search", **more))


@pytest.mark.parametrize(
    ("script", "kind", "code", "text"),
    [
        (fault(status=503), Throttled, Code.THROTTLED, "503"),
        (fault(status=429, headers={"Retry-After": "7"}), Throttled, Code.THROTTLED, "429"),
        (fault(status=400, headers={"Retry-After": "1"}), Rejected, Code.HTTP_4XX, "400"),
        (fault(status=401), Refused, Code.AUTH, "401"),
        (fault(status=403), Refused, Code.AUTH, "403"),
        (fault(status=404), Rejected, Code.HTTP_4XX, "404"),
        (fault(status=500, body="broken\ndisk"), Unavailable, Code.HTTP_5XX, "broken disk"),
        (fault(status=307, headers={"Location": "/x"}), AdapterError, Code.BAD_ANSWER, ""),
        (fault(status=200, body="<html>"), AdapterError, Code.BAD_ANSWER, "unexpected answer"),
        (fault(status=200, body="{}"), AdapterError, Code.BAD_ANSWER, ""),
        (fault(status=400, body=f"key {KEY} is bad"), Rejected, Code.HTTP_4XX, "key *** is bad"),
    ],
)  # fmt: skip
async def test_az_52_each_failure_is_one_error_of_its_class(
    script: Callable[[Service], None], kind: type[BackendError], code: Code, text: str
) -> None:
    """No retry: the one scripted failure is what the caller gets, and the next call works."""
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        script(served.service)
        with pytest.raises(BackendError) as caught:
            await adapter.search(ask("lexical"))
        assert type(caught.value) is kind
        assert caught.value.code == code
        assert text in str(caught.value)
        assert KEY not in str(caught.value)
        if isinstance(caught.value, Throttled):
            assert caught.value.retry_after == (7.0 if "429" in str(caught.value) else None)
        assert (await adapter.search(ask("lexical"))).hits == []


async def test_a_timeout_is_an_error_and_the_next_answer_is_the_next_questions() -> None:
    async with stand_in() as served, opened(settings(served.endpoint, timeout=5.0)) as adapter:
        await adapter.put(chunks_of(ACME))
        await adapter.settle()
        expected = await adapter.search(ask("dense"))
        adapter._settings = replace(adapter._settings, timeout=0.2)
        served.service.faults.append(Fault(route="search", delay=60))
        with pytest.raises(TimedOut, match=r"no answer in 0\.2 s"):
            await adapter.search(ask("lexical"))
        adapter._settings = replace(adapter._settings, timeout=5.0)
        for _ in range(20):
            found = await adapter.search(ask("dense"))
            assert [h.uid for h in found.hits] == [h.uid for h in expected.hits]


async def test_a_dead_server_is_unavailable() -> None:
    async with stand_in() as served:
        adapter = await AzureSearch.open(settings(served.endpoint))
    with pytest.raises(Unavailable) as caught:
        await adapter.search(ask("lexical"))
    assert caught.value.code == Code.CONNECT
    with pytest.raises(Unavailable):
        await adapter.close()
    await adapter.close()
    with pytest.raises(Unavailable):
        await AzureSearch.open(settings(served.endpoint))


async def test_no_client_repeats_a_request(loaded: AzureSearch) -> None:
    for client in (loaded._clients.documents("rb_loaded"), loaded._clients.indexes):
        policy = client._config.retry_policy
        assert policy.total_retries == 0


async def test_a_lost_connection_is_reset_and_asked_once() -> None:
    connections = []

    async def hang_up(stream: anyio.abc.SocketStream) -> None:
        connections.append(stream)
        async with stream:
            await stream.receive()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, hang_up)
            with pytest.raises(Unavailable) as caught:
                await AzureSearch.open(settings(f"http://127.0.0.1:{port}"))
            tasks.cancel_scope.cancel()
    assert caught.value.code == Code.RESET
    assert len(connections) == 1


async def test_a_failed_item_is_raised_with_its_chunk() -> None:
    """207 does not raise in the client; the text is the service's."""
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        bad = replace(chunks_of(ACME, 1)[0], id="bad", metadata={"long": "x" * 40_000})
        with pytest.raises(Rejected, match=r"'acme/bad': .*too large to process.*1 of 3"):
            await adapter.put([*chunks_of(ACME, 2), bad])


async def test_a_load_of_several_megabytes_is_cut() -> None:
    """The HTTP client warns of larger bodies, and warnings are errors here."""
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        long = [replace(c, text="refund " * 50_000) for c in chunks_of(ACME, 8)]
        await adapter.put(long)
        await adapter.settle()
        assert (await adapter.describe()).chunks == {"acme": 8}


async def test_a_batch_too_large_is_fatal_once() -> None:
    """The client would split it and fail with a TypeError; the adapter says what happened."""
    async with stand_in(max_body=10_000) as served, opened(settings(served.endpoint)) as adapter:
        with pytest.raises(Rejected, match="413"):
            await adapter.put(chunks_of(ACME, 100))
        assert served.service.indexes["rb_test"].count() == 0


async def test_settle_waits_for_what_lags() -> None:
    async with stand_in(lag=0.5) as served, opened(settings(served.endpoint)) as adapter:
        await adapter.put(chunks_of(ACME, 3))
        assert (await adapter.search(ask("dense"))).hits == []
        await adapter.settle()
        assert len((await adapter.search(ask("dense"))).hits) == 3
        await adapter.put([replace(chunks_of(ACME, 3)[2], text="newest words")])
        await adapter.settle()
        assert len((await adapter.search(ask("lexical", text="newest"))).hits) == 1


async def test_settle_waits_for_every_chunk_and_not_for_the_last_alone() -> None:
    """The last chunk is there already; the one before it lags."""
    first, second = chunks_of(ACME, 2)
    async with stand_in() as served, opened(settings(served.endpoint)) as adapter:
        await adapter.put([second])
        await adapter.settle()
        index = served.service.indexes["rb_test"]
        index.options = StandInOptions(lag=0.5)
        await adapter.put([first, second])
        await adapter.settle()
        assert len((await adapter.search(ask("dense"))).hits) == 2


async def test_settle_has_a_deadline() -> None:
    options: Mapping[str, Mapping[str, object]] = {"place": {"settle_seconds": 0.2}}
    async with (
        stand_in(lag=60.0) as served,
        opened(settings(served.endpoint, options=options)) as adapter,
    ):
        await adapter.put(chunks_of(ACME, 3))
        with pytest.raises(TimedOut, match="0 of 3 documents visible"):
            await adapter.settle()


async def test_wrong_and_read_only_keys_are_refused() -> None:
    async with stand_in() as served:
        for wrong in ("wrong-key-4711", "read-only"):
            with pytest.raises(Refused, match="403") as caught:
                await AzureSearch.open(settings(served.endpoint, wrong))
            assert wrong not in str(caught.value)
        assert served.service.indexes == {}


async def test_close_removes_only_what_it_made() -> None:
    async with stand_in() as served, opened(settings(served.endpoint)) as first:
        await first.put(chunks_of(ACME, 2))
        async with opened(settings(served.endpoint)) as second:
            await second.settle()
            assert (await second.describe()).chunks == {"acme": 2}
        with pytest.raises(Rejected, match=r"another schema: fields.vector.dimensions is 8"):
            await AzureSearch.open(settings(served.endpoint, dimension=9))
        assert list(served.service.indexes) == ["rb_test"]
        await first.close()
        await first.close()
        assert served.service.indexes == {}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"endpoint": "http://example.org"}, "would send the key in clear"),
        ({"endpoint": "localhost:80"}, "is no URL"),
        ({"secrets": {}}, "secrets.api_key: missing"),
        ({"place": "users_index"}, "does not begin with 'rb_'"),
        ({"layout": "rls"}, "layout: 'rls' is not supported"),
        ({"dimension": 0}, "dimension: 0"),
        ({"options": {"search": {"exakt": True}}}, "did you mean 'exact'"),
        ({"options": {"place": {"m": 99}}}, "options: place.m"),
    ],
)
async def test_wrong_settings_send_nothing(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        await AzureSearch.open(replace(settings("http://127.0.0.1:1"), **changes))


async def test_wrong_queries_send_nothing(loaded: AzureSearch) -> None:
    with pytest.raises(Unsupported, match="1000 at most"):
        await loaded.search(ask("dense", k=1001))
    with pytest.raises(InputError, match="empty"):
        await loaded.search(ask("lexical", text=" "))
    with pytest.raises(InputError, match="without a vector"):
        await loaded.search(replace(ask("hybrid"), vector=None))
    with pytest.raises(Rejected, match="expects a length of '8'"):
        await loaded.search(replace(ask("dense"), vector=array("f", [1.0])))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400), st.text(max_size=9))
def test_keys_are_legal_and_injective(uid: str, more: str) -> None:
    assert len(key(uid)) <= 1024
    assert key(uid)[0] != "_"
    assert set(key(uid)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=")
    assert key("a" + uid) != key(uid)


def test_long_uids_and_illegal_places_get_a_hash() -> None:
    assert key("x" * 5000) != key("x" * 4999 + "y")
    assert len(key("x" * 5000)) < 100
    names = [index_name(place) for place in ("rb_ok", "rb__two", "rb--two", "rb_A", "rb_" * 90)]
    assert names[0] == "rb_ok"
    assert len(set(names)) == 5
    assert all(parse_definition(index_definition(name, 2, Place())) for name in names)


def test_batches_are_cut_by_count_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(b) for b in batches({"n": i} for i in range(2500))] == [1000, 1000, 500]
    monkeypatch.setattr(documents, "MAX_BATCH_BYTES", 1000)
    cut = list(batches({"text": "é" * 30} for _ in range(10)))
    assert sum(len(b) for b in cut) == 10
    assert all(len(json.dumps(b)) <= 1000 for b in cut)
    assert [len(b) for b in batches([{"text": "x" * 5000}] * 2)] == [1, 1]


def test_differences_name_the_place() -> None:
    wanted = index_definition("rb_a", 4, Place())
    shown = json.loads(json.dumps(wanted)) | {"@odata.etag": "x"}
    assert differences(wanted, shown) == []
    shown["fields"][3] |= {"filterable": False, "normalizer": "lowercase"}
    shown["fields"].append({"name": "other"})
    assert differences(wanted, shown) == [
        "fields.tenant.filterable is False, not True",
        "fields.tenant.normalizer is 'lowercase', not None",
        "fields.other is {'name': 'other'}, not None",
    ]
