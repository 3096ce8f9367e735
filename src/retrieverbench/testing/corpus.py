"""The contract's own chunks, its own record of who owns them, and its own brute force.

The tenants hold the same ids, texts and vectors, so that a missing condition must show; one
chunk of each, with one word, is the tenant's alone.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from random import Random

from retrieverbench.model import Chunk, TenantId, Value

DIMENSION = 16
PRIVATE = {"acme": "quokka", "acme-corp": "narwhal", "globex": "axolotl"}
"""Each tenant's own word."""
TENANTS = tuple(PRIVATE)
LOOKALIKES = ("Acme", "acme_corp", "acme corp", "acme.corp", "o'neil", "acme%", "acme*", "äcme")
"""Names that some comparison takes for one another, or for a pattern."""
STRANGERS = (
    "nobody", "ACME", "acm", "acme-", "corp", "acme,globex", "acme globex", "acme' OR '1'='1",
    "acme' or tenant ne '", "acme') or (true", "*", "%", "_cme", "/.*/", "[* TO *]",
    '{"match_all":{}}', "acme|globex", "../globex", "'; DROP TABLE chunks; --", "acme\\",
)  # fmt: skip
"""Names that own nothing, some of them written to be more than a name."""
UNCHECKED: tuple[object, ...] = (
    None, "", " ", 7, True, 1.5, ["acme", "globex"], {"$ne": ""}, "acme ", "\u0000", "a" * 300,
)  # fmt: skip
"""What no caller may name a tenant by; the guard refuses them all, and is taken away here."""
QUESTIONS = (
    "tenant:globex", ") OR (tenant:globex", "*:*", "/.*/", "_exists_:tenant",
    "leave' OR '1'='1", 'leave" | "refund', "leave & !refund <-> :*", '{"match_all": {}}',
    "%", "\\", "é漢字🙂",
)  # fmt: skip
"""Texts that are expressions in some query language; here they are words."""
_WORDS = ("leave", "refund", "limit", "incident", "contract", "security")


def contract_chunks(tenants: Iterable[str] = TENANTS) -> list[Chunk]:
    """Fourteen chunks of each tenant: twelve rules, a copy of the first, a private one."""
    return [chunk for tenant in tenants for chunk in _chunks_of(tenant)]


def _chunks_of(tenant: str) -> list[Chunk]:
    rules = [
        make_chunk(
            tenant,
            f"rule#{number}",
            f"Paragraph about {_WORDS[number % 6]} and {_WORDS[(number + 1) % 6]}, "
            f"written as number{number} for everybody.",
            topic=_WORDS[number % 6],
            year=2020 + number % 4,
            public=number % 2 == 0,
        )
        for number in range(12)
    ]
    word = PRIVATE.get(tenant, "private")
    alone = make_chunk(tenant, "private#1", f"The {word} belongs to this organisation alone.")
    return [*rules, make_chunk(tenant, "rule#copy", rules[0].text), alone]


def make_chunk(tenant: str, id_: str, text: str, **metadata: Value) -> Chunk:
    """A chunk whose vector follows from its text alone, so that equal texts coincide."""
    return Chunk(
        id=id_, tenant=TenantId(tenant), text=text, metadata=metadata, vector=vector_of(text)
    )


def vector_of(text: str, dimension: int = DIMENSION) -> array[float]:
    """A random direction of unit length, the same for the same text."""
    random = Random(text)
    numbers = [random.gauss(0.0, 1.0) for _ in range(dimension)]
    length = math.sqrt(math.fsum(x * x for x in numbers))
    return array("f", (x / length for x in numbers))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of vectors of any length."""
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other))
