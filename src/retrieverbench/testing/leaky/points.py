"""Every decision of the leaky adapter, each a pure function that one fault replaces.

Without a fault the functions are those of this file, and the adapter keeps every promise of
`retrieverbench.adapter`. Only `store.notes` may be written, by faults that remember
something they should not.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul

import anyio.lowlevel

from retrieverbench.errors import Rejected, TenantError
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId, Value


@dataclass(frozen=True, slots=True)
class Row:
    """One stored chunk. `owner` is a text, unless a fault lets something else be loaded."""

    uid: str
    owner: object
    text: str
    words: Counter[str]
    vector: array[float] | None
    metadata: Mapping[str, Value]
    title: str = ""
    document: str | None = None
    section: int | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """Who may be found: a test of a row's owner, and the same as a recorder is told it."""

    matches: Callable[[object], bool]
    told: object


@dataclass(slots=True)
class Store:
    """What a place holds, by key. `deleted` and `notes` are never read without a fault."""

    rows: dict[str, Row] = field(default_factory=dict)
    deleted: list[Row] = field(default_factory=list)
    notes: dict[object, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scored:
    """A found row and its score; larger is better."""

    score: float
    row: Row


@dataclass(frozen=True, slots=True)
class Leg:
    """One list of a search. `score` is None for a row that does not match at all."""

    name: str
    query: Query
    store: Store
    admitted: Callable[[Row], bool]
    score: Callable[[Row], float | None]

    def best_of(self, rows: Sequence[Row]) -> list[Scored]:
        """Those that match, best first; equal ones by uid."""
        found = [(score, row) for row in rows if (score := self.score(row)) is not None]
        found.sort(key=lambda each: (-each[0], each[1].uid))
        return [Scored(score, row) for score, row in found]

    def everything(self) -> list[Row]:
        """All rows of the place, whoever owns them."""
        return list(self.store.rows.values())


def loadable(owner: object) -> None:
    """Refuses the owner of a chunk that names no tenant, with TenantError."""
    if type(owner) is not str or not owner.strip():
        raise TenantError(f"leaky: {owner!r:.80} names no tenant; every chunk needs one owner")


def key(chunk: Chunk) -> str:
    """What a chunk replaces when it is put again."""
    return chunk.uid


def condition(value: object, _store: Store) -> Condition:
    """The tenant condition; TenantError for what names no tenant."""
    if type(value) is not str or not value.strip():
        raise TenantError(f"leaky: {value!r:.80} names no tenant; nothing was searched")
    return Condition(lambda owner: owner == value, {"term": {"tenant": value}})


def leg_condition(_leg: str, _query: Query, whole: Condition) -> Condition:
    """The condition of one leg, made of that of the whole search."""
    return whole


def passes(metadata: Mapping[str, Value], where: Mapping[str, Value]) -> bool:
    """The user's conditions alone."""
    return all(name in metadata and metadata[name] == value for name, value in where.items())


def joined(own: bool, passing: bool, _query: Query, _row: Row) -> bool:
    """The tenant's and the user's conditions together."""
    return own and passing


def words(text: str) -> list[str]:
    """The words of a text or question; signs separate them and mean nothing."""
    return re.findall(r"\w+", text.casefold())


def counted(own: Sequence[Row], _store: Store) -> Sequence[Row]:
    """The rows by which the rarity of words is counted."""
    return own


def pick(leg: Leg) -> list[Scored]:
    """A leg's list: the condition acts before anything is ranked."""
    return leg.best_of([row for row in leg.everything() if leg.admitted(row)])


async def written(_store: Store) -> None:
    """Wait for the server to write; other searches run meanwhile."""
    await anyio.lowlevel.checkpoint()


async def wait(query: Query, _store: Store) -> Query:
    """Wait for a connection; other searches run meanwhile."""
    await anyio.lowlevel.checkpoint()
    return query


def answered(query: Query, _store: Store, find: Callable[[Query], Response]) -> Response:
    """Find it, now."""
    return find(query)


def total(found: int, _store: Store) -> int | None:
    """How many rows match, told to those who ask for it."""
    return found


def shaped(response: Response, _query: Query, _store: Store) -> Response:
    """The answer as it goes out."""
    return response


def read(rows: Sequence[Row], whole: Condition) -> list[Row]:
    """Which of the rows of these ids are shown."""
    return [row for row in rows if whole.matches(row.owner)]


def removed(rows: Sequence[Row], whole: Condition) -> list[Row]:
    """Which of the rows of these ids are deleted."""
    return [row for row in rows if whole.matches(row.owner)]


def moved(row: Row, source: TenantId, changed: Row) -> Sequence[Row]:
    """What is stored in place of a row that shall become `changed`."""
    return [changed] if row.owner == source.value else [row]


def owners(rows: Sequence[Row]) -> Mapping[str, int]:
    """How many rows each tenant owns, by its name."""
    return Counter(str(row.owner) for row in rows)


def wrong_vector(wanted: int, got: int, _store: Store) -> Rejected:
    """The error for a question's vector of another length."""
    return Rejected(f"leaky: the question has {got} numbers, the place {wanted}; use one model")


@dataclass(frozen=True, slots=True)
class Points:
    """One function for every decision; a fault is this with one or two others."""

    loadable: Callable[[object], None] = loadable
    key: Callable[[Chunk], str] = key
    condition: Callable[[object, Store], Condition] = condition
    leg_condition: Callable[[str, Query, Condition], Condition] = leg_condition
    passes: Callable[[Mapping[str, Value], Mapping[str, Value]], bool] = passes
    joined: Callable[[bool, bool, Query, Row], bool] = joined
    words: Callable[[str], list[str]] = words
    counted: Callable[[Sequence[Row], Store], Sequence[Row]] = counted
    pick: Callable[[Leg], list[Scored]] = pick
    written: Callable[[Store], Awaitable[None]] = written
    wait: Callable[[Query, Store], Awaitable[Query]] = wait
    answered: Callable[[Query, Store, Callable[[Query], Response]], Response] = answered
    total: Callable[[int, Store], int | None] = total
    shaped: Callable[[Response, Query, Store], Response] = shaped
    read: Callable[[Sequence[Row], Condition], list[Row]] = read
    removed: Callable[[Sequence[Row], Condition], list[Row]] = removed
    moved: Callable[[Row, TenantId, Row], Sequence[Row]] = moved
    owners: Callable[[Sequence[Row]], Mapping[str, int]] = owners
    wrong_vector: Callable[[int, int, Store], Rejected] = wrong_vector


def as_hit(score: float, row: Row) -> Hit:
    """A row as it is shown: its label is the stored owner, as text."""
    return Hit(row.uid, score, str(row.owner), row.text)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors of one length; 0 where one of them is all zeros."""
    along = sum(map(mul, one, other))
    lengths = math.hypot(*one) * math.hypot(*other)
    return along / lengths if lengths else 0.0


def rarity(asked: Sequence[str], rows: Sequence[Row]) -> Mapping[str, float]:
    """Of each word that is asked for, log(1 + (n - df + 0.5) / (df + 0.5)) over n rows."""
    found = {word: sum(word in row.words for row in rows) for word in set(asked)}
    number = len(rows)
    return {
        word: math.log1p(max(0.0, (number - holding + 0.5) / (holding + 0.5)))
        for word, holding in found.items()
    }
