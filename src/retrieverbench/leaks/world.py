"""The chunks that probes look for: tenants, texts and vectors drawn by seed, tokens per run.

Every tenant owns the same kinds of chunks. All vectors are of unit length; two chunks of
one `group` share text and vector in every tenant, so that a missing condition must show.
"""

from __future__ import annotations

import math
import re
import secrets
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from retrieverbench.leaks.ledger import CorpusLedger, Ledger, make_ledger
from retrieverbench.model import Chunk, TenantId
from retrieverbench.storage import stored

TENANTS = ("acme", "globex", "initech", "umbrella")
DIMENSION = 32
TWINS = 3
OWN = 12
TOKEN_BYTES = 12
_TOKEN = re.compile(rf"c[0-9a-f]{{{2 * TOKEN_BYTES}}}")
SHELVES, LEVELS = 3, 4
"""How many different values the metadata `shelf` and `level` of own chunks have."""
COMMON = ("policy", "leave", "refund", "limit", "incident", "contract", "security", "travel")


@dataclass(frozen=True, repr=False)
class World:
    """Chunks by tenant, the ledger over all of them, and each tenant's token of this run.

    `order` is the order in which all chunks are written; without it tenants are interleaved.
    `repr` shows no token. `exported` is the user's record of a place that the audit did not
    fill; `chunks` are then those that questions find, with the question in place of the text.
    """

    chunks: Mapping[TenantId, Sequence[Chunk]]
    tokens: Mapping[TenantId, str] = field(default_factory=dict)
    canaries: Mapping[TenantId, Chunk] = field(default_factory=dict)
    order: Sequence[Chunk] = ()
    exported: Sequence[Chunk] = ()

    def __repr__(self) -> str:
        return f"World({len(self.chunks)} tenants)"

    @property
    def tenants(self) -> list[TenantId]:
        """In the order in which they were made."""
        return list(self.chunks)

    @cached_property
    def ledger(self) -> Ledger:
        """Uid → owner."""
        if self.exported:
            return CorpusLedger(stored(self.exported))
        return make_ledger(chunk for chunks in self.chunks.values() for chunk in chunks)

    def private(self, tenant: TenantId) -> Sequence[Chunk]:
        """What the tenant finds by its text, and nobody else may."""
        return self.chunks[tenant] if self.exported else [self.canaries[tenant]]

    def all_chunks(self) -> list[Chunk]:
        """Every chunk in `order`, or interleaved as an application would write them."""
        if self.order:
            return list(self.order)
        longest = max(map(len, self.chunks.values()))
        return [c[n] for n in range(longest) for c in self.chunks.values() if n < len(c)]


def make_world(names: Iterable[TenantId], seed: int, *, own: int = OWN) -> World:
    """`own` chunks, TWINS twins and one canary for each tenant.

    An own chunk's text holds common words, and one word that is the tenant's alone
    (`only_word`); its metadata `shelf` and `level` are shared with other tenants' chunks,
    `mark` is that word.
    """
    random = Random(seed)
    twins = [(f"shared note {word} for everybody", unit_vector(random)) for word in COMMON[:TWINS]]
    chunks: dict[TenantId, list[Chunk]] = {}
    tokens: dict[TenantId, str] = {}
    canaries: dict[TenantId, Chunk] = {}
    for number, tenant in enumerate(names):
        tokens[tenant] = f"c{secrets.token_hex(TOKEN_BYTES)}"
        canaries[tenant] = Chunk(
            id="canary",
            tenant=tenant,
            text=f"Private note {tokens[tenant]} kept for this organisation alone.",
            vector=unit_vector(random),
        )
        chunks[tenant] = [
            *(
                Chunk(
                    id=f"own{n}",
                    tenant=tenant,
                    text=_text(random, only_word(number)),
                    metadata={
                        "shelf": f"shelf{n % SHELVES}",
                        "level": n % LEVELS,
                        "mark": only_word(number),
                    },
                    vector=unit_vector(random),
                )
                for n in range(own)
            ),
            *(
                Chunk(f"twin{n}", tenant, text, vector=vector[:])
                for n, (text, vector) in enumerate(twins)
            ),
            canaries[tenant],
        ]
    return World(chunks, tokens, canaries)


def without_tokens(text: str) -> str:
    """A text that a backend may have given, with no token of this or another run in it."""
    return _TOKEN.sub("[canary]", text)


def only_word(number: int) -> str:
    """A word that the tenant of that number alone uses; letters only, so no analyzer cuts it."""
    letters = "abcdefghij"
    return "only" + "".join(letters[int(digit)] for digit in str(number))


def unit_vector(
    random: Random, near: Sequence[float] | None = None, cosine: float = 0.0
) -> array[float]:
    """A random direction; with `near` one at that cosine to it. DIMENSION float32 numbers."""
    numbers = [random.gauss(0.0, 1.0) for _ in range(DIMENSION)]
    if near is None:
        return _scaled(numbers)
    along = math.fsum(x * y for x, y in zip(numbers, near, strict=True))
    across = _scaled([x - along * y for x, y in zip(numbers, near, strict=True)])
    rest = math.sqrt(1.0 - cosine * cosine)
    return _scaled([cosine * y + rest * x for x, y in zip(across, near, strict=True)])


def _scaled(numbers: Sequence[float]) -> array[float]:
    length = math.sqrt(math.fsum(x * x for x in numbers))
    return array("f", (x / length for x in numbers))


def _text(random: Random, own_word: str) -> str:
    return " ".join([own_word, *random.choices(COMMON, k=6)])
