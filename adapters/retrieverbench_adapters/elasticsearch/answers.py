"""Answers: hits, the failures of bulk items, and errors, each as ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import ClientConnectorError
from elastic_transport import (
    ApiError,
    ConnectionTimeout,
    SerializationError,
    TlsError,
    TransportError,
)
from elasticsearch import UnsupportedProductError

from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)
from retrieverbench.model import Hit, Query, Response

Json = dict[str, Any]


def response(answer: Json, query: Query) -> Response:
    """The hits of one search, best first, ties by uid."""
    found = answer["hits"]
    hits = [_hit(hit, query.want) for hit in found["hits"]]
    hits.sort(key=lambda hit: (-hit.score, hit.uid))
    total = found.get("total", {}).get("value") if query.mode == "lexical" else None
    return Response(hits, float(answer["took"]), _partial(answer), total)


def fused(answer: Json, query: Query, rrf_k: int) -> Response:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) of both legs."""
    scores: dict[str, float] = defaultdict(float)
    hits: dict[str, Hit] = {}
    for leg in answer["responses"]:
        if "error" in leg:
            raise _by_status(leg["status"], _words_of(leg["error"]))
        for rank, hit in enumerate(response(leg, query).hits, start=1):
            scores[hit.uid] += 1 / (rrf_k + rank)
            hits[hit.uid] = hit
    best = sorted(scores, key=lambda uid: (-scores[uid], uid))[: query.k]
    for uid in best:
        hits[uid].score = scores[uid]
    partial = any(_partial(leg) for leg in answer["responses"])
    return Response([hits[uid] for uid in best], float(answer["took"]), partial)


def _hit(hit: Json, want: frozenset[str]) -> Hit:
    text = hit["_source"]["text"] if "text" in want else None
    return Hit(hit["fields"]["uid"][0], hit["_score"], hit["fields"]["tenant"][0], text)


def _partial(answer: Json) -> bool:
    return bool(answer["timed_out"] or answer["_shards"]["failed"])


def check_bulk(answer: Json, sent: int) -> None:
    """Raise for the first item that failed, with the number of all that did."""
    results = [item["index"] for item in answer["items"]]
    failed = [result for result in results if "error" in result]
    if failed:
        first = failed[0]
        raise _by_status(
            first["status"],
            f"{len(failed)} of {sent} chunks were not stored; the first, {first['_id']!r}: "
            f"{_words_of(first['error'])}",
        )
    if len(results) != sent:
        raise AdapterError(f"elasticsearch: {sent} chunks sent, {len(results)} acknowledged")


def differing(wanted: Json, got: Json) -> str:
    """The first thing in which an index differs from the wanted one; "" if it does not."""
    have = {key: str(value) for key, value in flat("", got).items()}
    for key, value in flat("", wanted).items():
        if have.get(key) != str(value):
            return f"{key} is {have.get(key)}, wanted {value}"
    more = set(got["mappings"]["properties"]) - set(wanted["mappings"]["properties"])
    return f"it has the field {min(more)!r}" if more else ""


def flat(prefix: str, tree: Json) -> Json:
    """`{"a": {"b": 1}}` as `{"a.b": 1}`."""
    leaves: Json = {}
    for name, value in tree.items():
        key = f"{prefix}.{name}" if prefix else name
        leaves |= flat(key, value) if isinstance(value, dict) else {key: value}
    return leaves


@contextmanager
def errors(endpoint: str) -> Iterator[None]:
    """Every error of the client as one of ours, with the server's own words."""
    try:
        yield
    except UnsupportedProductError as error:
        raise Unsupported(f"elasticsearch: {endpoint} is something else: {error}") from error
    except ApiError as error:
        retry_after = error.meta.headers.get("retry-after") or ""
        seconds = float(retry_after) if retry_after.isdigit() else None
        raise _by_status(error.meta.status, reason(error), seconds) from error
    except ConnectionTimeout as error:
        raise TimedOut(f"elasticsearch: {endpoint} gave no answer in time") from error
    except SerializationError as error:
        if isinstance(error.__context__, TypeError):  # so says the serializer of requests
            raise Rejected(f"elasticsearch: this cannot be sent: {error.__context__}") from error
        raise AdapterError(f"elasticsearch: {endpoint}: {error.message[:500]}") from error
    except TransportError as error:
        # The transport forgets which error of its HTTP library it was; the interpreter does not.
        refused = isinstance(error, TlsError) or isinstance(error.__context__, ClientConnectorError)
        code = Code.CONNECT if refused else Code.RESET
        raise Unavailable(f"elasticsearch: {endpoint}: {error.message}", code=code) from error


def reason(error: ApiError) -> str:
    """The server's own words."""
    body = error.body
    return _words_of(body["error"] if isinstance(body, dict) and "error" in body else body)


def _words_of(error: object) -> str:
    """`type: reason` of the root cause, which says more than the error around it."""
    if not isinstance(error, dict):
        return " ".join(str(error).split())[:500]
    root = (error.get("root_cause") or [error])[0]
    words = f"{root.get('type')}: {root.get('reason')}"
    cause = error.get("caused_by", {}).get("reason")
    return words if cause is None or cause in words else f"{words}; {cause}"


def _by_status(status: int, words: str, retry_after: float | None = None) -> BackendError:
    text = f"elasticsearch: {status}: {words}"
    if status in {401, 403}:
        return Refused(text)
    if status == 429:
        return Throttled(text, retry_after=retry_after)
    if status >= 500:
        return Unavailable(text, code=Code.HTTP_5XX)
    return Rejected(text)
