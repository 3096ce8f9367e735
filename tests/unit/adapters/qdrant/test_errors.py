"""Every failure has its error, in one line and without a secret."""

from __future__ import annotations

import math
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from httpx import Headers
from qdrant_client.http.exceptions import UnexpectedResponse

from qdrant_support import (
    A,
    adapter,
    arm,
    ask,
    chunk,
    load,
    settings_for,
    twins,
    unit_vectors,
)
from retrieverbench.adapter import Attached, Secret, Settings
from retrieverbench.engines import Started, qdrant
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    InputError,
    MissingClient,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import MODES, Chunk
from retrieverbench_adapters.qdrant import Qdrant
from retrieverbench_adapters.qdrant.failures import translated
from tls_support import terminated

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(qdrant.missing() is not None, reason=str(qdrant.missing())),
]


async def test_bad_settings_are_refused_before_any_request() -> None:
    base = Settings(
        endpoint="http://127.0.0.1:1", place="rb_x", modes=frozenset(MODES), dimension=4
    )
    cases: list[tuple[dict[str, Any], str]] = [
        ({"endpoint": ""}, "endpoint: empty"),
        ({"place": "mine"}, "'mine' does not begin with 'rb_'"),
        ({"layout": "rls"}, "layout: 'rls' is not supported; use filter, partition, index"),
        ({"layout": "index", "place": "rb_a.b"}, "'rb_a.b': layout index needs letters, digits"),
        ({"options": {"search": {"sparse": "x"}}}, "search.sparse: only an attached collection"),
        ({"options": {"search": {"weights": [1, 2], "fusion": "dbsf"}}}, "search.weights: only"),
        ({"attached": Attached("c", "id", "t"), "layout": "index"}, "use filter or partition"),
        ({"dimension": 0}, "dimension: 0"),
        ({"concurrency": 0}, "concurrency: 0"),
        ({"options": {"search": {"hnsw_eff": 3}}}, r"search.hnsw_eff: unknown key; did you mean"),
        ({"options": {"place": {"b": 2.0}}}, r"place.b: 2.0 is wrong"),
    ]
    for change, text in cases:
        with pytest.raises(InputError, match=text):
            await Qdrant.open(replace(base, **change))


async def test_an_old_client_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieverbench_adapters.qdrant.checks.version", lambda name: "1.19.2")
    with pytest.raises(MissingClient, match=r"1\.19\.2 is too old; run: pip install"):
        await Qdrant.open(Settings(endpoint="http://127.0.0.1:1", place="rb_x", modes=frozenset()))


async def test_a_dead_server(front: Started) -> None:
    with pytest.raises(
        Unavailable, match=r"127\.0\.0\.1:1: .*check that the server runs"
    ) as caught:
        await Qdrant.open(replace(settings_for(front), endpoint="http://127.0.0.1:1"))
    assert caught.value.code == Code.CONNECT


async def test_a_wrong_key(front: Started) -> None:
    secrets = {"api_key": Secret("not-the-key")}
    with pytest.raises(Refused, match="Invalid API key or JWT") as caught:
        await Qdrant.open(settings_for(front, secrets=secrets))
    assert "not-the-key" not in str(caught.value)
    with pytest.raises(Refused, match="Must provide an API key"):
        await Qdrant.open(settings_for(front, secrets={}))


async def test_wrong_vectors_are_rejected_with_the_servers_words(front: Started) -> None:
    async with adapter(front) as target:
        with pytest.raises(Rejected, match="expected dim: 16, got 3"):
            await target.put([chunk("1", A, "", [1, 2, 3])])
        with pytest.raises(Rejected, match="untagged enum VectorStruct"):
            await target.put([chunk("1", A, "", [math.nan] * 16)])
        with pytest.raises(InputError, match=r"acme/1': vector: missing"):
            await target.put([Chunk("1", A, "text")])
        with pytest.raises(Rejected, match="expected dim: 16, got 3"):
            await target.search(ask(A, "dense", [1, 2, 3]))


FAULTS: list[tuple[dict[str, Any], type[BackendError], Code, str]] = [
    ({"kind": "stall"}, TimedOut, Code.TIMEOUT, "no answer within 1 s"),
    ({"kind": "reset"}, Unavailable, Code.RESET, "qdrant at"),
    ({"kind": "short"}, Unavailable, Code.RESET, "qdrant at"),
    ({"kind": "status", "status": 500, "text": "boom"}, Unavailable, Code.HTTP_5XX, "boom"),
    ({"kind": "status", "status": 503, "text": "busy"}, Unavailable, Code.HTTP_5XX, "busy"),
    ({"kind": "status", "status": 403, "text": "Forbidden: x"}, Refused, Code.AUTH, "Forbidden: x"),
    ({"kind": "status", "status": 404, "text": "Not found"}, Rejected, Code.HTTP_4XX, "Not found"),
    ({"kind": "status", "status": 408, "text": "slow"}, TimedOut, Code.TIMEOUT, "slow"),
    ({"kind": "status", "status": 429, "text": "less"}, Throttled, Code.THROTTLED, "less"),
    ({"kind": "status", "status": 501, "text": "no"}, Unsupported, Code.HTTP_4XX, "no"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "kind", "code", "text"), FAULTS)
async def test_every_failure_has_its_error(
    front: Started, fault: dict[str, Any], kind: type[BackendError], code: Code, text: str
) -> None:
    async with adapter(front, timeout=1.0) as target:
        await load(target, twins(5))
        await arm(front, path="points/query", **fault)
        with pytest.raises(kind, match=text) as caught:
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert type(caught.value) is kind
        assert caught.value.code == code
        assert caught.value.__cause__ is not None
        assert front.secrets["api_key"].reveal() not in str(caught.value)
        found = await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert len(found.hits) == 5, "the next search is well"


@pytest.mark.parametrize(("content", "is_path"), [(b"", True), (b"Not found", False)])
def test_a_path_that_qdrant_does_not_have_is_named(content: bytes, is_path: bool) -> None:
    error = translated(
        UnexpectedResponse(404, "", content, Headers()),
        Settings("http://h/some/path", "x", frozenset(MODES)),
    )
    assert isinstance(error, Rejected)
    assert ("check the path of the endpoint" in str(error)) == is_path


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("tomorrow", None)])
async def test_throttling_tells_how_long(
    front: Started, header: str, seconds: float | None
) -> None:
    async with adapter(front) as target:
        await arm(front, kind="status", status=429, retry_after=header, path="points/query")
        with pytest.raises(Throttled) as caught:
            await target.search(ask(A, "dense", unit_vectors(1)[0]))
        assert caught.value.retry_after == seconds


async def test_an_answer_that_cannot_be_read(front: Started) -> None:
    async with adapter(front) as target:
        await arm(front, kind="status", status=200, text="not an answer", path="points/query")
        with pytest.raises(AdapterError, match="answer"):
            await target.search(ask(A, "dense", unit_vectors(1)[0]))


async def test_a_certificate_that_is_not_trusted_is_told_with_what_helps(
    front: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with terminated(front.endpoint, context) as secure:
        secured = settings_for(front, endpoint=secure)
        with pytest.raises(Unavailable, match=r"certificate verify failed.*SSL_CERT_FILE"):
            await Qdrant.open(secured)
        trusted = tmp_path / "ca.pem"
        authority.cert_pem.write_to_path(str(trusted))
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        await (await Qdrant.open(secured)).close()
