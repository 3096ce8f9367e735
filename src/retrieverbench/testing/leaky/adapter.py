"""An adapter that keeps every promise, or breaks one of them on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast

from retrieverbench import adapter as contract
from retrieverbench.adapter import Description, Settings
from retrieverbench.errors import InputError, Rejected
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.options import nearest, parse_options
from retrieverbench.testing.leaky import points as clean
from retrieverbench.testing.leaky.faults import FAULTS
from retrieverbench.testing.leaky.points import (
    Condition,
    Leg,
    Points,
    Row,
    Scored,
    Store,
    as_hit,
    cosine,
    rarity,
)

RANK_CONSTANT = 60
_LEGS = {"dense": ("dense",), "lexical": ("lexical",), "hybrid": ("dense", "lexical")}


@dataclass(frozen=True, slots=True)
class Connect:
    """There is nothing to connect to."""


@dataclass(frozen=True, slots=True)
class Place:
    """`fault` names one of FAULTS; empty for that of the class."""

    fault: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """Every search is exact."""

    exact: bool = True


@dataclass(frozen=True, slots=True)
class Options:
    """What a suite may set."""

    connect: Connect = field(default_factory=Connect)
    place: Place = field(default_factory=Place)
    search: Search = field(default_factory=Search)


class LeakyAdapter:
    """Exact search in this process, clean by itself; a fault makes it leak in one known way.

    Dense is the cosine, lexical the sum of the words' rarity among the tenant's own chunks,
    times their saturated frequency; hybrid is reciprocal rank fusion. Equal scores come by
    uid. Nothing but the tenant's own chunks has an influence on an answer.

    Choose a fault by class, `LeakyAdapter.with_fault("postfilter_top_k")`, or in a suite by
    `[targets.place] fault = "postfilter_top_k"`.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"dense", "lexical", "hybrid", "filter", "where", "exact", "stable_ties", "record"}
        | {"put", "get", "delete", "move", "total"}
    )
    filter_modes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "before": {},
        "after": {"place": {"fault": "postfilter_top_k"}},
    }
    fault: ClassVar[str] = ""

    def __init__(self, settings: Settings, points: Points) -> None:
        self._settings = settings
        self._points = points
        self._store = Store()

    @classmethod
    def with_fault(cls, name: str) -> type[Self]:
        """The same adapter with one of FAULTS; InputError for another name."""
        _check(name, "with_fault")
        told = cls.capabilities - FAULTS[name].hides
        changed = {"fault": name, "capabilities": told}
        return cast("type[Self]", type(f"Leaky_{name}", (cls,), changed))

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """An empty place; InputError for unknown options or an unknown fault."""
        options = parse_options(Options, settings.options, "leaky: options")
        name = options.place.fault or cls.fault
        if not name:
            return cls(settings, Points())
        _check(name, "leaky: options: place.fault")
        return cls(settings, replace(Points(), **FAULTS[name].changes))

    async def put(self, chunks: Sequence[Chunk]) -> None:
        """Keep the chunks, or none of them when one names no tenant or has a wrong vector."""
        for chunk in chunks:
            self._points.loadable(chunk.tenant.value)
            got, wanted = len(chunk.vector or ()), self._settings.dimension
            if wanted and got != wanted:
                raise Rejected(f"leaky: chunk {chunk.id!r} has {got} numbers, the place {wanted}")
        await self._points.written(self._store)
        self._store.rows |= {self._points.key(chunk): _row(chunk) for chunk in chunks}

    async def settle(self) -> None:
        """What was put is searchable at once."""

    async def search(self, query: Query) -> Response:
        """Conditions first, then ranks."""
        query = await self._points.wait(query, self._store)
        return self._points.answered(query, self._store, self._find)

    async def get(self, tenant: TenantId, uids: Sequence[str]) -> list[Hit]:
        """The tenant's own among these chunks."""
        whole = self._points.condition(tenant.value, self._store)
        self._record("get", [contract.Leg("ids", whole.told)], {"ids": list(uids)})
        return [as_hit(1.0, row) for row in self._points.read(self._named(uids), whole)]

    async def delete(self, tenant: TenantId, uids: Sequence[str]) -> None:
        """The tenant's own among these chunks."""
        whole = self._points.condition(tenant.value, self._store)
        gone = self._points.removed(self._named(uids), whole)
        self._store.deleted += gone
        names = {row.uid for row in gone}
        self._store.rows = {k: row for k, row in self._store.rows.items() if row.uid not in names}

    async def move(self, uid: str, source: TenantId, target: TenantId) -> None:
        """The owner alone changes."""
        rows: dict[str, Row] = {}
        for key, row in self._store.rows.items():
            changed = replace(row, owner=target.value)
            stored = self._points.moved(row, source, changed) if row.uid == uid else [row]
            rows |= {f"{key}{' copy' * number}": each for number, each in enumerate(stored)}
        self._store.rows = rows

    async def describe(self) -> Description:
        """The chunks of each owner, counted now."""
        counts = self._points.owners(list(self._store.rows.values()))
        return Description("leaky", "1", "leaky", "1", {}, dict(counts))

    async def close(self) -> None:
        """Forget everything."""
        self._store = Store()

    def _find(self, query: Query) -> Response:
        whole = self._points.condition(query.tenant.value, self._store)
        self._check_vector(query)
        conditions = {
            name: self._points.leg_condition(name, query, whole) for name in _LEGS[query.mode]
        }
        self._record(
            "search",
            [contract.Leg(name, each.told) for name, each in conditions.items()],
            {"text": query.text, "k": query.k, "where": dict(query.where)},
        )
        lists = [self._points.pick(self._leg(n, query, each)) for n, each in conditions.items()]
        found = lists[0] if len(lists) == 1 else _fused(lists)
        hits = [as_hit(each.score, each.row) for each in found[: query.k]]
        told = self._points.total(len(found), self._store) if "total" in query.want else None
        response = self._points.shaped(Response(hits, total=told), query, self._store)
        if self._settings.recorder is not None:
            self._settings.recorder.response("search", list(response.hits))
        return response

    def _leg(self, name: str, query: Query, asked: Condition) -> Leg:
        points = self._points

        def admitted(row: Row) -> bool:
            own, passing = asked.matches(row.owner), points.passes(row.metadata, query.where)
            return points.joined(own, passing, query, row)

        if name == "dense":
            vector = query.vector or ()
            return Leg(name, query, self._store, admitted, lambda row: _dense(row, vector))
        wanted = points.words(query.text)
        own = [row for row in self._store.rows.values() if asked.matches(row.owner)]
        weights = rarity(wanted, points.counted(own, self._store))
        return Leg(name, query, self._store, admitted, lambda row: _lexical(row, weights))

    def _check_vector(self, query: Query) -> None:
        wanted, got = self._settings.dimension, len(query.vector or ())
        if query.mode != "lexical" and got != wanted:
            raise self._points.wrong_vector(wanted, got, self._store)

    def _named(self, uids: Sequence[str]) -> list[Row]:
        rows = {row.uid: row for row in self._store.rows.values()}
        return [rows[uid] for uid in uids if uid in rows]

    def _record(self, operation: str, legs: Sequence[contract.Leg], body: object) -> None:
        if self._settings.recorder is not None:
            self._settings.recorder.request(operation, legs, body)


def _check(name: str, where: str) -> None:
    if name not in FAULTS:
        raise InputError(f"{where}: {name!r} is unknown; {nearest(name, FAULTS)}")


def _row(chunk: Chunk) -> Row:
    # An owner that is no text cannot be part of a uid; only a fault lets one come so far.
    uid = chunk.uid if isinstance(chunk.tenant.value, str) else chunk.id
    counts = Counter(clean.words(chunk.searchable_text))
    return Row(
        uid,
        chunk.tenant.value,
        chunk.text,
        counts,
        chunk.vector,
        chunk.metadata,
        chunk.title,
        chunk.doc_id,
        chunk.section,
    )


def _dense(row: Row, vector: Sequence[float]) -> float | None:
    return None if row.vector is None else cosine(row.vector, vector)


def _lexical(row: Row, weights: Mapping[str, float]) -> float | None:
    """Σ rarity · tf / (tf + 1) over the words that the row holds; None if it holds none."""
    held = [word for word in weights if word in row.words]
    if not held:
        return None
    return sum(weights[word] * row.words[word] / (row.words[word] + 1) for word in held)


def _fused(lists: Sequence[Sequence[Scored]]) -> list[Scored]:
    """Σ 1 / (RANK_CONSTANT + rank), ranks from 1; equal sums by uid."""
    rows: dict[str, Row] = {}
    sums: Counter[str] = Counter()
    for found in lists:
        for rank, each in enumerate(found, start=1):
            rows[each.row.uid] = each.row
            sums[each.row.uid] += 1 / (RANK_CONSTANT + rank)  # type: ignore[assignment]
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [Scored(float(score), rows[uid]) for uid, score in ordered]
