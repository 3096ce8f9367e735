"""The chunks that probes look for: tenants, ids, texts and vectors drawn by seed; secret tokens.

Every tenant owns the same kinds of chunks. All vectors are of unit length; two chunks of
one `group` share text and vector in every tenant, so that a missing condition must show.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random

from retrieverbench.leaks.draw import Draw
from retrieverbench.leaks.ledger import CorpusLedger, Ledger, make_ledger
from retrieverbench.model import Chunk, TenantId
from retrieverbench.storage import stored

DIMENSION = 32
TWINS = 3
OWN = 12
SHELVES, LEVELS = 3, 4
"""How many values the first two of an own chunk's metadata have."""
LONG, LONG_TEXT = 4, 300
"""Which own chunk's text is long, and its words; the others have six."""
_PIECES = re.compile(r"""["'\n]|:\s""")


@dataclass(frozen=True, slots=True)
class Question:
    """One of the golden set. `depth` is the number of hits that `run` asks for."""

    text: str
    tenant: TenantId
    depth: int
    vector: array[float] | None = None
    answerable: bool = True


@dataclass(frozen=True, repr=False)
class World:
    """Chunks by tenant, the ledger over all of them, and each tenant's token of this run.

    `order` is the order in which all chunks are written; without it tenants are interleaved.
    `only` is a word of each tenant's own chunks that no other tenant uses, `twins` are its
    copies of chunks that all tenants have. `repr` shows no token. `exported` is the user's
    record of a place that the audit did not fill; `chunks` are then those that questions find,
    with the question in place of the text. `questions` are all of its golden set, and `capped`
    says how many tenants and questions `chunks` leave out, "" for none. `shown` are the uids of
    others that tenants saw while it was made. `names` are those of tenants that mean nothing else:
    no corpus has them.
    """

    chunks: Mapping[TenantId, Sequence[Chunk]]
    tokens: Mapping[TenantId, str] = field(default_factory=dict)
    canaries: Mapping[TenantId, Chunk] = field(default_factory=dict)
    order: Sequence[Chunk] = ()
    exported: Sequence[Chunk] = ()
    only: Mapping[TenantId, str] = field(default_factory=dict)
    twins: Mapping[TenantId, Sequence[Chunk]] = field(default_factory=dict)
    questions: Sequence[Question] = ()
    capped: str = ""
    shown: Sequence[tuple[TenantId, Sequence[str]]] = ()
    names: Mapping[TenantId, str] = field(default_factory=dict)

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

    @cached_property
    def owners(self) -> frozenset[str]:
        """The names of all who own a chunk of the place."""
        owners = stored(self.exported).per_tenant if self.exported else self.chunks
        return frozenset(owner.value for owner in owners)

    def with_text(self, text: str) -> Mapping[str, TenantId]:
        """Uid → owner of the place's chunks that have exactly this text."""
        if self.exported:
            return stored(self.exported).with_text(text)
        return self._by_text.get(text, {})

    def texts_within(self, longer: str) -> list[str]:
        """The whole texts of the place's chunks that stand in a longer one, whatever is around.

        Of a user's own chunks, of which there may be many, those between quotes or from a colon
        on alone.
        """
        if self.exported:
            return [part for part in _PIECES.split(longer) if self.with_text(part)]
        return [text for text in self._by_text if text in longer]

    def holds(self, tenant: TenantId, text: str) -> bool:
        """Whether a chunk of the tenant's has this within its title or text."""
        value: object = tenant.value
        if not isinstance(value, str):  # below the guard it may be anything
            return False
        if self.exported:
            return stored(self.exported).holds(tenant, text)
        return any(text in chunk.searchable_text for chunk in self.chunks.get(tenant, ()))

    @cached_property
    def _by_text(self) -> Mapping[str, Mapping[str, TenantId]]:
        found: dict[str, dict[str, TenantId]] = {}
        for chunks in self.chunks.values():
            for chunk in chunks:
                found.setdefault(chunk.text, {})[chunk.uid] = chunk.tenant
        return found

    def with_vector(self, vector: Sequence[float]) -> Mapping[str, TenantId]:
        """Uid → owner of the audit's own chunks that have this vector, as float32 tells."""
        return self._by_vector.get(_float32(vector), {})

    @cached_property
    def _by_vector(self) -> Mapping[bytes, Mapping[str, TenantId]]:
        found: dict[bytes, dict[str, TenantId]] = {}
        for chunk in (chunk for chunks in self.chunks.values() for chunk in chunks):
            if chunk.vector is not None:
                found.setdefault(_float32(chunk.vector), {})[chunk.uid] = chunk.tenant
        return found

    def owned(self, tenant: TenantId) -> int:
        """How many chunks of the place are the tenant's, which below the guard may be anything."""
        value: object = tenant.value
        if not isinstance(value, str):
            return 0
        if self.exported:
            return stored(self.exported).per_tenant.get(tenant, 0)
        return len(self.chunks.get(tenant, ()))

    @property
    def own_words(self) -> str:
        """What `only` holds, as reports call it."""
        return "its own question" if self.exported else "its own word"

    def private(self, tenant: TenantId) -> Sequence[Chunk]:
        """What the tenant finds by its text, and nobody else may."""
        return self.chunks[tenant] if self.exported else [self.canaries[tenant]]

    def all_chunks(self) -> list[Chunk]:
        """Every chunk in `order`, or interleaved as an application would write them."""
        if self.order:
            return list(self.order)
        longest = max(map(len, self.chunks.values()))
        return [c[n] for n in range(longest) for c in self.chunks.values() if n < len(c)]


def make_world(draw: Draw, tenants: Sequence[TenantId] = (), *, own: int = OWN) -> World:
    """`own` chunks, TWINS twins and one canary for each of `tenants` (all of the draw's).

    An own chunk's text holds common words, and one word that is the tenant's alone; the keys
    of its metadata are the draw's: the first two have values that other tenants' chunks have
    too, the third has that word. Equal kinds of chunks have equal ids in all tenants.
    """
    tenants = tenants or draw.tenants
    random = draw.random(f"world of {len(tenants)}")
    shared = [
        (f"{' '.join(draw.words('shared'))} {word}", unit_vector(random))
        for word in draw.words("common")[:TWINS]
    ]
    only = dict(zip(tenants, draw.words("only"), strict=False))
    tokens = {tenant: draw.new_token() for tenant in tenants}
    canary, twin, plain, document = draw.words("ids")
    canaries = {
        tenant: Chunk(canary, tenant, f"{_note(draw)} {token}", vector=unit_vector(random))
        for tenant, token in tokens.items()
    }
    twins = {
        tenant: [
            Chunk(f"{twin}{n}", tenant, text, doc_id=document, section=n, vector=vector[:])
            for n, (text, vector) in enumerate(shared)
        ]
        for tenant in tenants
    }
    chunks = {
        tenant: [
            *(
                _own(draw, random, Chunk(f"{plain}{n}", tenant, only[tenant], doc_id=document), n)
                for n in range(own)
            ),
            *twins[tenant],
            canaries[tenant],
        ]
        for tenant in tenants
    }
    names = {tenant: tenant.value for tenant in tenants if tenant.value not in draw.known}
    return World(chunks, tokens, canaries, only=only, twins=twins, names=names)


def _float32(vector: Sequence[float]) -> bytes:
    """What of a vector is compared, whatever it is kept in."""
    return array("f", vector).tobytes()


def _note(draw: Draw) -> str:
    return " ".join(draw.words("private"))


def _own(draw: Draw, random: Random, chunk: Chunk, number: int) -> Chunk:
    """The chunk, whose text is its tenant's only word, with more text, metadata and a vector.

    All are sections of one document, which every tenant has by that name; every other one has a
    title, and one is long: what takes another way for such chunks must show itself.
    """
    shelf, level, mark = draw.words("keys")
    (value,) = draw.words("shelf")
    title = f"{chunk.text} {draw.words('titles')[0]}" if number % 2 else ""
    length = LONG_TEXT if number == LONG else 6
    return replace(
        chunk,
        text=" ".join([chunk.text, *random.choices(draw.words("common"), k=length)]),
        title=title,
        heading_path=(title,) if title else (),
        section=TWINS + number,
        metadata={
            shelf: f"{value}{number % SHELVES}",
            level: number % LEVELS,
            mark: chunk.text,
        },
        vector=unit_vector(random),
    )


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
