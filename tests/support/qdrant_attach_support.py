"""A collection as a user might have made it, with no word of this project in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from qdrant_support import PLACES, http_of, settings_for, unit_vectors
from retrieverbench.adapter import Attached, Leg, Settings
from retrieverbench.engines import Started

WORDS = ["red fox", "blue fish", "red red dog", "green cat", "red bird", "blue dog"]
VECTORS = unit_vectors(len(WORDS))
TENANT_INDEX = {"type": "keyword", "is_tenant": True}


@dataclass
class Recorded:
    """A recorder that keeps everything."""

    requests: list[tuple[str, tuple[Leg, ...], Any]] = field(default_factory=list)
    responses: list[tuple[str, Any]] = field(default_factory=list)

    def request(self, operation: str, legs: Sequence[Leg], body: object) -> None:
        self.requests.append((operation, tuple(legs), body))

    def response(self, operation: str, body: object) -> None:
        self.responses.append((operation, body))


def row(number: int, **payload: Any) -> dict[str, Any]:
    """Even ones are acme's, odd ones globex'."""
    stored = {
        "pk": 100 + number,
        "meta": {"owner": ("acme", "globex")[number % 2], "n": number},
        "body": WORDS[number],
        **payload,
    }
    words = {"text": WORDS[number], "model": "qdrant/bm25"}
    vectors = {"v": VECTORS[number].tolist(), "words": words}
    return {"id": number, "vector": vectors, "payload": stored}


@asynccontextmanager
async def users_collection(
    front: Started,
    rows: Sequence[Mapping[str, Any]] | None = None,
    *,
    indexes: Mapping[str, Any] | None = None,
    **declared: Any,
) -> AsyncIterator[str]:
    """Its name. `indexes` are those of payload fields, the tenant's unless told otherwise."""
    name = f"docs-{next(PLACES)}"
    made = {
        "vectors": {"v": {"size": 16, "distance": "Cosine"}},
        "sparse_vectors": {"words": {"modifier": "idf"}},
        **declared,
    }
    async with http_of(front) as http:

        async def put(path: str, body: object) -> None:
            answer = await http.put(f"/collections/{name}{path}", json=body)
            assert answer.status_code == 200, answer.text

        await put("", made)
        for path, schema in ({"meta.owner": TENANT_INDEX} if indexes is None else indexes).items():
            await put("/index?wait=true", {"field_name": path, "field_schema": schema})
        points = [row(n) for n in range(len(WORDS))] if rows is None else rows
        if points:
            await put("/points?wait=true", {"points": points})
        yield name
        await http.delete(f"/collections/{name}")


def attached(name: str, **more: Any) -> Attached:
    """The mapping of such a collection."""
    given: dict[str, Any] = {
        "id": "pk",
        "tenant": "meta.owner",
        "text": ("body",),
        "vector": "v",
        "metadata": {"n": "meta.n"},
        **more,
    }
    return Attached(name, **given)


def attached_settings(front: Started, mapping: Attached, **more: Any) -> Settings:
    """With the key that only reads."""
    given: dict[str, Any] = {
        "place": "",
        "attached": mapping,
        "options": {"search": {"exact": True, "sparse": "words"}},
        "secrets": {"api_key": front.secrets["read_only_api_key"]},
        **more,
    }
    return settings_for(front, **given)
