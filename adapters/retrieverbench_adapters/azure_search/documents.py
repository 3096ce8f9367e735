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
    metadata = [pair(name, value) for name, value in chunk.metadata.items()]
    texts = (chunk.uid, chunk.searchable_text, *metadata)
    if not all(map(remote.is_unicode, texts)):
        raise InputError(
            f"azure_search: chunk {chunk.uid!r:.80}: its id, text or metadata cannot be sent; "
            "write characters, not halves of surrogate pairs"
        )
    found: dict[str, Any] = {
        "key": key(chunk.uid),
        "uid": chunk.uid,
        "id": chunk.id,
        "tenant": chunk.tenant.value,
        "content": chunk.searchable_text,
        "text": chunk.text if chunk.title else None,
        "metadata": metadata,
    }
    if dimension:
        if chunk.vector is None:
            raise InputError(f"azure_search: chunk {chunk.uid!r}: it has no vector")
        found["vector"] = list(chunk.vector)
    return found


def key(uid: str) -> str:
    """A legal document key, equal for equal uids only: base64, or a hash when too long."""
    encoded = "u-" + base64.urlsafe_b64encode(_bytes(uid)).decode()
    return encoded if len(encoded) <= 1024 else "h-" + hashlib.sha256(_bytes(uid)).hexdigest()


def _bytes(uid: str) -> bytes:
    """Of any text: what no chunk can be called may still be asked for, and is not there."""
    return uid.encode("utf-8", "surrogatepass")


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
