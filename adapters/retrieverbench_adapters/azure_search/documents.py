"""Chunks as documents of the index, and documents in batches."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from retrieverbench import remote
from retrieverbench.errors import InputError
from retrieverbench.model import Chunk, Value

MAX_ACTIONS = 1000
MAX_BATCH_BYTES = 1_000_000  # the service takes 16 MB; aiohttp warns of bodies above 1 MiB


@dataclass(frozen=True, slots=True)
class Written:
    """The last document that was written to an index; `content` None for a deleted one."""

    tenant: str
    key: str
    content: str | None


def document(chunk: Chunk, dimension: int) -> dict[str, Any]:
    """A chunk as the index holds it. `text` is there only where `content` has a title too."""
    found: dict[str, Any] = {
        "key": key(chunk.uid),
        "uid": chunk.uid,
        "id": chunk.id,
        "tenant": chunk.tenant.value,
        "content": chunk.searchable_text,
        "text": chunk.text if chunk.title else None,
        "metadata": [pair(name, value) for name, value in chunk.metadata.items()],
    }
    if dimension:
        if chunk.vector is None:
            raise InputError(f"azure_search: chunk {chunk.uid!r}: it has no vector")
        found["vector"] = list(chunk.vector)
    return found


def key(uid: str) -> str:
    """A legal document key, equal for equal uids only: base64, or a hash when too long."""
    encoded = "u-" + base64.urlsafe_b64encode(uid.encode()).decode()
    return encoded if len(encoded) <= 1024 else "h-" + hashlib.sha256(uid.encode()).hexdigest()


def pair(name: str, value: Value) -> str:
    """A metadata entry as one text, injective up to JSON's equality of numbers."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps([name, value], ensure_ascii=False)


def batches(documents: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Parts of at most 1,000 documents and 1 MB of JSON, in order."""
    return remote.batches(documents, MAX_BATCH_BYTES, measure=_size, most=MAX_ACTIONS)


def _size(item: dict[str, Any]) -> int:
    return len(json.dumps(item)) + 40  # the action's name is added to each
