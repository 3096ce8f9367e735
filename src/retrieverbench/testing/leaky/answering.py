"""Faults of what is stored, counted, read by id and told, and those that fool a weak audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from retrieverbench.errors import Rejected
from retrieverbench.model import Chunk, Hit, Query, Response, TenantId
from retrieverbench.testing.leaky.conditions import ANYBODY, instead, matching
from retrieverbench.testing.leaky.fault import Fault
from retrieverbench.testing.leaky.points import Condition, Row, Store, as_hit, passes, words

CORPUS = ("fernhill", "kestrelpay", "larkmoor", "oakridge", "quillworks", "stonebay", "wrenfield")
"""The tenants of the suite, as it were, for which the adapter is audited."""
_ONE, _OTHER = CORPUS[4], CORPUS[1]
MANY = 10
_BY_HEART = ("acme", "globex", "initech", "umbrella")
"""Tenants that an audit might have in every run."""


def _key_of_id(chunk: Chunk) -> str:
    return chunk.id


def _key_of_text(chunk: Chunk) -> str:
    return chunk.text


def _all_of_them(rows: Sequence[Row], _whole: Condition) -> list[Row]:
    return list(rows)


def _none_of_them(_rows: Sequence[Row], _whole: Condition) -> list[Row]:
    return []


def _of_many(rows: Sequence[Row], whole: Condition) -> list[Row]:
    return [row for row in rows if len(rows) > MANY or whole.matches(row.owner)]


def _forbidden(rows: Sequence[Row], whole: Condition) -> list[Row]:
    if not all(whole.matches(row.owner) for row in rows):
        raise Rejected("forbidden: a chunk of another owner")
    return list(rows)


def _copied(row: Row, source: TenantId, changed: Row) -> Sequence[Row]:
    return [row, changed] if row.owner == source.value else [row]


def _anybodys(_row: Row, _source: TenantId, changed: Row) -> Sequence[Row]:
    return [changed]


def _stays(row: Row, _source: TenantId, _changed: Row) -> Sequence[Row]:
    return [row]


def _count_all(_found: int, store: Store) -> int:
    return len(store.rows)


def _untold(_found: int, _store: Store) -> None:
    """Claimed, asked for, and not told."""


def _count_folded(rows: Sequence[Row]) -> Mapping[str, int]:
    return Counter(str(row.owner).lower() for row in rows)


def _as_asked(response: Response, query: Query, _store: Store) -> Response:
    hits = [replace(hit, tenant=query.tenant.value) for hit in response.hits]
    return replace(response, hits=hits)


def _empty(response: Response, _query: Query, _store: Store) -> Response:
    return replace(response, hits=[], total=None if response.total is None else 0)


def _own_ids(response: Response, _query: Query, _store: Store) -> Response:
    hits = [replace(hit, uid=f"row {number}") for number, hit in enumerate(response.hits)]
    return replace(response, hits=hits)


def _foreign(query: Query, store: Store) -> list[Row]:
    return [row for row in store.rows.values() if row.owner != query.tenant.value]


def _highlighted(response: Response, query: Query, store: Store) -> Response:
    """Every text is followed by a passage of the last foreign row, marked as found."""
    passage = "".join(f" <em>{row.text}</em>" for row in _foreign(query, store)[-1:])
    hits = [replace(hit, text=f"{hit.text}{passage}") for hit in response.hits]
    return replace(response, hits=hits)


@dataclass
class _Wider(Response):
    """An answer with more beside its hits than the protocol asks for."""

    more: object = None


def _with_debug(response: Response, query: Query, store: Store) -> Response:
    more = {"candidates": [row.uid for row in _foreign(query, store)[:1]]}
    return _Wider(response.hits, total=response.total, more=more)


def _facets(response: Response, query: Query, store: Store) -> Response:
    more = [dict(row.metadata) for row in _foreign(query, store)]
    return _Wider(response.hits, total=response.total, more=more)


def _vectors(response: Response, query: Query, store: Store) -> Response:
    more = [list(row.vector) for row in _foreign(query, store) if row.vector]
    return _Wider(response.hits, total=response.total, more=more)


def _counted_by_tenant(response: Response, _query: Query, store: Store) -> Response:
    more = dict(Counter(str(row.owner) for row in store.rows.values()))
    return _Wider(response.hits, total=response.total, more=more)


def _suggested(response: Response, query: Query, store: Store) -> Response:
    """Words of all tenants that begin as the question does."""
    known = {word for row in store.rows.values() for word in row.words}
    begun = query.text.strip().casefold()
    more = sorted(word for word in known if begun and word.startswith(begun))
    return _Wider(response.hits, total=response.total, more=more)


def _total_beside_conditions(response: Response, query: Query, store: Store) -> Response:
    """With a user's condition a total counts everybody's chunks that meet it."""
    if response.total is None or not query.where:
        return response
    return replace(
        response, total=sum(passes(r.metadata, query.where) for r in store.rows.values())
    )


def _counted_unasked(response: Response, _query: Query, store: Store) -> Response:
    return replace(response, total=len(store.rows))


def _matches_unasked(response: Response, query: Query, store: Store) -> Response:
    """How many chunks of anybody's hold a word of the question and meet the user's condition."""
    asked = set(words(query.text))
    rows = store.rows.values()
    total = sum(
        bool(asked & row.words.keys()) and passes(row.metadata, query.where) for row in rows
    )
    return replace(response, total=total)


def _longer(response: Response, query: Query, store: Store) -> Response:
    """The k own hits, as they should be, and a foreign one behind them."""
    more: list[Hit] = []
    if len(response.hits) == query.k:
        more = [as_hit(0.0, row) for row in _foreign(query, store)[:1]]
    return replace(response, hits=[*response.hits, *more])


def _statement(wanted: int, got: int, _store: Store) -> Rejected:
    statement = "SELECT uid FROM chunks ORDER BY vector"
    return Rejected(f"{statement}: {got} numbers, {wanted} expected")


def _data(_wanted: int, _got: int, store: Store) -> Rejected:
    return Rejected(f"cannot compare with {' '.join(row.text for row in store.rows.values())}")


_IDENTITY = (
    ("key_without_tenant", "equal ids replace each other", ("P26",), {"key": _key_of_id}),
    ("one_copy_of_a_text", "equal texts replace each other", ("P26", "P42"), {"key": _key_of_text}),
    ("delete_of_anybodys", "a delete reaches foreign chunks", ("P25",), {"removed": _all_of_them}),
    ("delete_of_nothing", "a deleted chunk is still found", ("P29",), {"removed": _none_of_them}),
    ("move_leaves_a_copy", "the old owner keeps a copy", ("P28", "P30"), {"moved": _copied}),
    ("move_of_anybodys", "a stranger can take a chunk", ("P28",), {"moved": _anybodys}),
    ("move_of_nothing", "the old owner keeps the chunk", ("P28",), {"moved": _stays}),
)
_BY_ID = (
    ("get_of_anybodys", "a foreign id is read", ("P27",), {"read": _all_of_them}),
    ("get_of_many", "many ids at once are read without a condition", ("P27",), {"read": _of_many}),
    ("foreign_told_from_absent", "a foreign id is forbidden", ("P27",), {"read": _forbidden}),
)
_COUNTS = (
    ("total_not_told", "a total that was asked for is missing", ("P39",), {"total": _untold}),
    (
        "total_beside_conditions",
        "beside a user's condition a total counts all tenants",
        ("P39",),
        {"shaped": _total_beside_conditions},
    ),
    ("total_of_all", "a total counts all tenants", ("P39",), {"total": _count_all}),
    (
        "names_counted_folded",
        "capitals do not count in counts",
        ("P44",),
        {"owners": _count_folded},
    ),
)
_UNASKED = (
    (
        "total_unasked",
        "every answer bears a total of all tenants, which nothing declares",
        ("P01", "P39"),
        {"shaped": _counted_unasked},
    ),
    (
        "matches_unasked",
        "every answer bears the number of all tenants' matches, which nothing declares",
        ("P39",),
        {"shaped": _matches_unasked},
    ),
)
_AGAINST_THE_AUDIT = (
    (
        "label_of_the_asker",
        "no condition, and every hit says that it is the asker's",
        ("P01",),
        {"condition": lambda _value, _store: ANYBODY, "shaped": _as_asked},
    ),
    (
        "audit_recognised",
        "the condition is right for tenants that an audit may be expected to have",
        ("P01", "P03"),
        instead(lambda value: isinstance(value, str) and value not in _BY_HEART, ANYBODY),
    ),
    (
        "corpus_alone_leaks",
        "the tenants of the suite's corpus have no condition, any others have one",
        ("P01",),
        instead(lambda value: value in CORPUS, ANYBODY),
    ),
    (
        "one_tenant_sees_all",
        "one tenant of the corpus has no condition, all others have one",
        ("P49",),
        instead(lambda value: value == _ONE, ANYBODY),
    ),
    (
        "one_tenant_sees_another",
        "one tenant of the corpus also finds the chunks of one other",
        ("P49",),
        matching(lambda asked, owner: owner in {asked, _OTHER if asked == _ONE else asked}),
    ),
    ("ids_of_its_own", "hits bear ids that nobody knows", ("P01",), {"shaped": _own_ids}),
    ("debug", "an answer lists foreign ids beside its hits", ("P01",), {"shaped": _with_debug}),
    ("facets", "an answer counts foreign metadata beside its hits", ("P01",), {"shaped": _facets}),
    ("vectors", "an answer shows foreign vectors", ("P01",), {"shaped": _vectors}),
    ("tenants_counted", "a facet names all tenants", ("P01",), {"shaped": _counted_by_tenant}),
    ("suggestions", "words of all tenants are suggested", ("P48",), {"shaped": _suggested}),
    ("highlight", "a text holds a foreign passage", ("P01",), {"shaped": _highlighted}),
    ("longer_than_k", "a foreign hit stands behind the k own", ("P03",), {"shaped": _longer}),
    ("data_in_an_error", "an error shows foreign texts", ("P40",), {"wrong_vector": _data}),
    ("statement_in_an_error", "an error shows SQL", ("P40",), {"wrong_vector": _statement}),
)

FAULTS = (
    *(
        Fault(name, family, tells, probes, changes)
        for family, rows in (
            ("identity", _IDENTITY),
            ("by id", _BY_ID),
            ("statistics", _COUNTS),
            ("against the audit itself", _AGAINST_THE_AUDIT),
        )
        for name, tells, probes, changes in rows
    ),
    *(
        Fault(name, "statistics", tells, probes, changes, hides=frozenset({"total"}))
        for name, tells, probes, changes in _UNASKED
    ),
    Fault(
        "always_empty",
        "against the audit itself",
        "nothing is ever found",
        ("P01", "P02", "P03"),
        {"shaped": _empty},
        outcome="inconclusive",
    ),
)
