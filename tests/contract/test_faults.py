"""Answers that no server should give: each is named, none is a crash, none is a zero.

A proxy stands before the engine of every adapter whose backend speaks HTTP.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from bench_support import write_example
from engine_support import need_engine, settings_of
from fault_proxy import Answer, Fault, FaultProxy, changed, fault_proxy, score_key
from retrieverbench.engines import engine_names
from retrieverbench.errors import BackendError
from retrieverbench.gate import judge
from retrieverbench.job import Quiet, begin_suite, prepare, run_suite
from retrieverbench.model import CaseResult, GoldenCase, Mode, Query, Target, TenantId
from retrieverbench.run import (
    Engines,
    Place,
    TargetEntry,
    adapter_names,
    ask_all,
    connect,
    load_adapter,
    load_suite,
    open_place,
)
from retrieverbench.testing import contract_chunks
from retrieverbench.testing.corpus import vector_of

pytestmark = pytest.mark.anyio
CHUNKS = contract_chunks()
KNOWN = {chunk.uid for chunk in CHUNKS}
TIMEOUT = 30.0
SHORT = 1.0
"""Seconds until the harness gives up a search; the client's own limit is the contract's matter."""
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Spoiled:
    """A place behind a proxy."""

    place: Place
    proxy: FaultProxy


def over_http() -> list[str]:
    """Adapters with an engine; whether it speaks HTTP is seen when it runs."""
    return [name for name in adapter_names() if name in engine_names()]


@pytest.fixture(scope="module", params=over_http())
async def spoiled(request: pytest.FixtureRequest, engines: Engines) -> AsyncIterator[Spoiled]:
    name: str = request.param
    need_engine(name)
    entry = TargetEntry(adapter=name, name=name, modes=("dense", "lexical"), engine="embedded")
    connection = await connect(entry, os.environ, engines)
    if not connection.endpoint.startswith("http"):
        pytest.skip(f"not applicable: {name} does not speak HTTP")
    async with fault_proxy(connection.endpoint) as proxy:
        loaded = load_adapter(name)
        near = replace(connection, endpoint=proxy.endpoint)
        settings = settings_of(entry, near, timeout=TIMEOUT, dimension=len(CHUNKS[0].vector or ()))
        async with open_place(entry, loaded, near, settings, CHUNKS) as place:
            yield Spoiled(place, proxy)
            proxy.fault = None


async def ask(spoiled: Spoiled, fault: Fault | None, mode: Mode) -> CaseResult:
    """One question, whose true answer has several hits, spoiled on its way."""
    query = Query(CHUNKS[0].text, TenantId("acme"), 5, mode, _vector(mode))
    spoiled.proxy.fault = fault
    try:
        run = await ask_all(
            spoiled.place.adapter,
            Target("spoiled", "spoiled", mode),
            [GoldenCase("c1", query.text, query.tenant, ("rule#0",))],
            [query],
            fidelity="engine",
            concurrency=1,
            timeout=SHORT if fault is silence else TIMEOUT,
        )
    finally:
        spoiled.proxy.fault = None
    (result,) = run.results
    return result


def _vector(mode: Mode) -> array[float] | None:
    return None if mode == "lexical" else vector_of(CHUNKS[0].text)


def silence(answer: Answer) -> Answer:
    return replace(answer, silent=True)


def body(text: str | bytes, status: str = "200 OK", kind: str = "application/json") -> Fault:
    content = text.encode() if isinstance(text, str) else text
    return lambda answer: Answer(content, status, kind, answer.more)


def only_at(proxy: FaultProxy, request: int, spoil: Fault) -> Fault:
    """The fault for this one of the proxy's requests."""
    return lambda answer: spoil(answer) if proxy.requests == request else answer


def set_scores(value: object) -> Fault:
    def change(rows: Rows) -> None:
        for row in rows:
            row[score_key(row)] = value

    return changed(change)


def rename(new: Callable[[str], object]) -> Fault:
    """Every uid in a hit, wherever it stands."""

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: replaced(item) for key, item in value.items()}
        if isinstance(value, list):
            return [replaced(item) for item in value]
        return new(value) if isinstance(value, str) and value in KNOWN else value

    def change(rows: Rows) -> None:
        rows[:] = [replaced(row) for row in rows]

    return changed(change)


BAD = frozenset({"bad_answer"})
CUT = frozenset({"reset", "connect", "bad_answer"})
FAULTS: dict[str, tuple[Fault, frozenset[str]]] = {
    "half a body": (lambda a: replace(a, body=(a.body or b"")[:40], told=len(a.body or b"")), CUT),
    "half of the JSON": (lambda a: replace(a, body=(a.body or b"")[:40]), BAD),
    "no answer": (lambda a: replace(a, body=None), CUT),
    "silence": (silence, frozenset({"timeout"})),
    "bytes": (body(bytes(range(256))), BAD),
    "a login page": (body("<html>Log in</html>", kind="text/html"), BAD),
    "a list": (body("[]"), BAD),
    "null": (body("null"), BAD),
    "a text": (body('"fine"'), BAD),
    "an empty object": (body("{}"), BAD),
    "server error": (body("{}", "500 Internal Server Error"), frozenset({"http_5xx"})),
    "bad gateway": (body("<html>", "502 Bad Gateway", "text/html"), frozenset({"http_5xx"})),
    "throttled": (body("{}", "429 Too Many Requests"), frozenset({"throttled"})),
    "no rights": (body("{}", "403 Forbidden"), frozenset({"auth"})),
    "scores NaN": (set_scores(float("nan")), BAD),
    "scores of text": (set_scores("high"), BAD),
    "no scores": (set_scores(None), BAD),
    "no uids": (rename(lambda _uid: None), BAD),
    "more than k": (changed(lambda rows: rows.extend(rows * 3)), BAD),
    "rows of another type": (changed(lambda rows: rows.insert(0, 7)), BAD),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("mode", ["dense", "lexical"])
async def test_a_spoiled_answer_is_a_named_fault(spoiled: Spoiled, mode: Mode, fault: str) -> None:
    """An error with one of the codes that fit, never an empty list; the next answer is right."""
    spoil, codes = FAULTS[fault]
    result = await ask(spoiled, spoil, mode)
    assert (result.status, result.hits) == ("error", ()), result
    assert result.code in codes, result
    assert result.message
    assert "\n" not in result.message
    healthy = await ask(spoiled, None, mode)
    assert healthy.status == "ok", healthy
    assert len(healthy.hits) == 5


async def test_wrong_order_duplicates_and_unknown_ids_reach_the_counters(spoiled: Spoiled) -> None:
    """What is an answer all the same is judged by metrics and ledger, which see it as it came."""
    backwards = await ask(spoiled, changed(lambda rows: rows.reverse()), "dense")
    scores = [score for _, score in backwards.hits]
    assert backwards.status == "error" or scores != sorted(scores, reverse=True)
    twice = await ask(spoiled, changed(lambda rows: rows.__setitem__(1, rows[0])), "dense")
    uids = [uid for uid, _ in twice.hits]
    assert twice.status == "error" or len(set(uids)) < len(uids) == 5
    for new in (lambda uid: f"{uid}-of-nobody", lambda _uid: 7):
        unknown = await ask(spoiled, rename(new), "dense")
        named = {uid for uid, _ in unknown.hits}
        assert unknown.status == "error" or (named and not named & KNOWN), unknown


async def test_a_server_that_dies_between_searches_is_a_lost_connection(
    engines: Engines, spoiled: Spoiled
) -> None:
    async with fault_proxy(spoiled.proxy.upstream) as proxy:
        near = replace(spoiled.place.connection, endpoint=proxy.endpoint)
        entry = replace(spoiled.place.entry, name="dying")
        settings = settings_of(entry, near, timeout=TIMEOUT, dimension=len(CHUNKS[0].vector or ()))
        adapter = await spoiled.place.loaded.cls.open(settings)
        proxy.dies_after = proxy.requests + 1
        dying = Spoiled(replace(spoiled.place, adapter=adapter), proxy)
        codes = [(await ask(dying, None, "lexical")).code for _ in range(4)]
        with suppress(BackendError):  # what it made cannot be removed, and that is told
            await adapter.close()
        assert set(codes[2:]) <= {"connect", "reset"}, codes
        assert None not in codes[1:]


async def test_garbage_at_any_request_of_a_load_is_told_as_the_servers(spoiled: Spoiled) -> None:
    """Never as an exception of the adapter's, whose repair would help nobody."""
    async with fault_proxy(spoiled.proxy.upstream) as proxy:
        near = replace(spoiled.place.connection, endpoint=proxy.endpoint)
        told = []
        for spoiled_request in range(1, 8):
            spoil, _codes = FAULTS[("a login page", "a list")[spoiled_request % 2]]
            proxy.fault = only_at(proxy, proxy.requests + spoiled_request, spoil)
            entry = replace(spoiled.place.entry, name="garbage")
            settings = settings_of(entry, near, dimension=len(CHUNKS[0].vector or ()))
            try:
                async with open_place(entry, spoiled.place.loaded, near, settings, CHUNKS):
                    pass
            except BackendError as error:
                told.append(str(error))
    assert told
    assert not [text for text in told if " raised " in text], told


async def test_a_server_that_dies_mid_load_is_3_and_the_others_finish(
    spoiled: Spoiled, tmp_path: Path
) -> None:
    """The text holds what the client said; the other target is measured."""
    folder = write_example(tmp_path)
    name = spoiled.place.loaded.name
    secrets = {word: f"RB_{word.upper()}" for word in spoiled.place.connection.secrets}
    environ = {
        variable: spoiled.place.connection.secrets[word].reveal()
        for word, variable in secrets.items()
    }
    async with fault_proxy(spoiled.proxy.upstream) as proxy:
        proxy.dies_after = 4
        (folder / "dies.toml").write_text(
            'golden = "golden.v1.jsonl"\ncorpus = "corpus.jsonl"\ntimeout = 5.0\n'
            'embedding = { kind = "hashing" }\n'
            "timing = { rounds = 1, requests = 20, warmup = 1 }\n"
            f'[[targets]]\nadapter = "{name}"\nmodes = ["lexical"]\n'
            f'endpoint = "{proxy.endpoint}"\nsecrets = {json.dumps(secrets).replace(":", " =")}\n'
            '[[targets]]\nadapter = "memory"\nmodes = ["lexical"]\n',
            encoding="utf-8",
        )
        suite = load_suite(folder / "dies.toml")
        artifact = await run_suite(begin_suite(prepare(suite), environ, Quiet()), anyio.Event())
    died, finished = artifact.targets
    assert finished.scores is not None
    assert died.scores is None
    assert died.failure_code in {"connect", "reset", "http_5xx"}, died.failure
    assert died.failure
    assert name in died.failure
    assert judge(artifact, suite.gate_rules(), {}).exit_code == 3
