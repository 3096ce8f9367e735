"""Faults of a search: legs, combination, the time of the condition, statistics, state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel

from retrieverbench.errors import Rejected
from retrieverbench.model import Query, Response, TenantId
from retrieverbench.testing.leaky import points
from retrieverbench.testing.leaky.conditions import ANYBODY
from retrieverbench.testing.leaky.fault import Fault
from retrieverbench.testing.leaky.points import Condition, Leg, Row, Scored, Store, as_hit

BUDGET = 100
"""Candidates that an approximate search looks at."""
PAGE = 10
LONG = 1_000
"""Characters."""
CALLS = 20
"""After so many a connection keeps the plan that was good for those who asked."""


def open_leg(is_open: Callable[[str, Query], bool]) -> Mapping[str, Any]:
    """Some legs go out without a condition."""

    def leg_condition(leg: str, query: Query, whole: Condition) -> Condition:
        return ANYBODY if is_open(leg, query) else whole

    return {"leg_condition": leg_condition}


def _expanded(response: Response, query: Query, store: Store) -> Response:
    """The last place is given to a row of the best hit's text, whoever owns it."""
    if not response.hits:
        return response
    best = response.hits[0]
    near = [r for r in store.rows.values() if r.text == best.text and r.uid != best.uid]
    added = [as_hit(response.hits[-1].score, row) for row in near[:1]]
    return replace(response, hits=[*response.hits[: query.k - len(added)], *added])


def _either(own: bool, passing: bool, query: Query, _row: Row) -> bool:
    return own or (bool(query.where) and passing)


def _caller_wins(own: bool, passing: bool, query: Query, row: Row) -> bool:
    if "tenant" in query.where:
        return row.owner == query.where["tenant"]
    return own and passing


def _unparenthesised(own: bool, passing: bool, query: Query, row: Row) -> bool:
    """`tenant and a or b`, where `tenant and (a or b)` was meant; one condition is as it was."""
    if len(query.where) < 2:
        return own and passing
    met = [row.metadata.get(name) == value for name, value in query.where.items()]
    return (own and met[0]) or any(met[1:])


def _with_next_section(response: Response, _query: Query, store: Store) -> Response:
    """Every text is followed by that of the next section of its document, whoever owns it."""
    by_section = {(row.document, row.section): row for row in store.rows.values()}
    hits = []
    for hit in response.hits:
        row = next(row for row in store.rows.values() if row.uid == hit.uid)
        after_it = by_section.get((row.document, (row.section or 0) + 1)) if row.document else None
        hits.append(replace(hit, text=f"{hit.text} {after_it.text}") if after_it else hit)
    return replace(response, hits=hits)


def also(is_shown: Callable[[Query, Row], bool]) -> Mapping[str, Any]:
    """Some rows are found whoever owns them."""

    def joined(own: bool, passing: bool, query: Query, row: Row) -> bool:
        return (own or is_shown(query, row)) and passing

    return {"joined": joined}


def _by_its_id(query: Query, row: Row) -> bool:
    return query.text.strip() in {row.uid, row.uid.rpartition("/")[2]}


def after(headroom: int) -> Callable[[Leg], list[Scored]]:
    """Rank everything, keep `headroom` times k, then apply the condition."""

    def pick(leg: Leg) -> list[Scored]:
        nearest = leg.best_of(leg.everything())[: headroom * leg.query.k]
        return [each for each in nearest if leg.admitted(each.row)]

    return pick


def _budget(leg: Leg) -> list[Scored]:
    nearest = leg.best_of(leg.everything())[:BUDGET]
    return [each for each in nearest if leg.admitted(each.row)]


def _first_page(leg: Leg) -> list[Scored]:
    first = points.pick(leg)
    if leg.query.k <= PAGE:
        return first
    shown = {each.row.uid for each in first[:PAGE]}
    rest = [each for each in leg.best_of(leg.everything()) if each.row.uid not in shown]
    return [*first[:PAGE], *rest]


def _plan_kept(leg: Leg) -> list[Scored]:
    calls = leg.store.notes["calls"] = int(str(leg.store.notes.get("calls", 0))) + 1
    return after(1)(leg) if calls > CALLS else points.pick(leg)


def filled(who: Callable[[Leg, Row], bool]) -> Mapping[str, Any]:
    """A list is filled up to k with rows that do not match, at score 0."""

    def pick(leg: Leg) -> list[Scored]:
        found = points.pick(leg)
        rest = [row for row in leg.everything() if who(leg, row) and leg.score(row) is None]
        return [*found, *(Scored(0.0, row) for row in rest[: max(0, leg.query.k - len(found))])]

    return {"pick": pick}


def _stars(leg: Leg) -> list[Scored]:
    if "*:*" not in leg.query.text:
        return points.pick(leg)
    return [Scored(1.0, row) for row in leg.everything()]


def _parsed(text: str) -> list[str]:
    if text.count('"') % 2:
        raise Rejected("cannot parse the question: a quote is not closed")
    return points.words(text)


def _of_all(_own: Sequence[Row], store: Store) -> Sequence[Row]:
    return list(store.rows.values())


def _and_deleted(own: Sequence[Row], store: Store) -> Sequence[Row]:
    return [*own, *store.deleted]


async def _on_the_object(query: Query, store: Store) -> Query:
    store.notes["tenant"] = query.tenant
    await anyio.lowlevel.checkpoint()
    return _as(query, store.notes["tenant"])


async def _kept_when_cancelled(query: Query, store: Store) -> Query:
    """A transaction that is not closed keeps its tenant for the next question."""
    query = _as(query, store.notes.get("open", query.tenant))
    store.notes["open"] = query.tenant
    await anyio.sleep(0.003)
    del store.notes["open"]
    return query


def _as(query: Query, tenant: object) -> Query:
    return replace(query, tenant=tenant) if isinstance(tenant, TenantId) else query


async def _shared_with_equal_ones(query: Query, store: Store) -> Query:
    """One that is asked while an equal one is in flight gets that one's answer."""
    key = query.text, bytes(query.vector or ()), query.mode, query.k
    is_first = key not in store.notes
    query = _as(query, store.notes.setdefault(key, query.tenant))
    await anyio.lowlevel.checkpoint()
    if is_first:
        del store.notes[key]
    return query


async def _slowly(store: Store) -> None:
    store.notes["writing"] = True
    await anyio.sleep(0.001)
    store.notes["writing"] = False


def _open_meanwhile(value: object, store: Store) -> Condition:
    whole = points.condition(value, store)
    return ANYBODY if store.notes.get("writing") else whole


def _failed(wanted: int, got: int, store: Store) -> Rejected:
    store.notes["failed"] = True
    return points.wrong_vector(wanted, got, store)


def _open_after_it(value: object, store: Store) -> Condition:
    whole = points.condition(value, store)
    return ANYBODY if store.notes.pop("failed", False) else whole


def _cached_beside_conditions(
    query: Query, store: Store, find: Callable[[Query], Response]
) -> Response:
    if not query.where:
        return find(query)
    return _kept(store, (query.text, query.mode, query.k, tuple(query.where.items())), query, find)


def _kept(store: Store, key: object, query: Query, find: Callable[[Query], Response]) -> Response:
    if key not in store.notes:
        store.notes[key] = find(query)
    kept = store.notes[key]
    return kept if isinstance(kept, Response) else find(query)


def _cached(query: Query, store: Store, find: Callable[[Query], Response]) -> Response:
    return _kept(store, (query.text, query.mode, query.k), query, find)


_LEGS = (
    (
        "lexical_leg_open",
        "the lexical leg carries no condition",
        ("P02",),
        open_leg(lambda leg, _query: leg == "lexical"),
    ),
    (
        "dense_leg_open",
        "the dense leg carries no condition",
        ("P03",),
        open_leg(lambda leg, _query: leg == "dense"),
    ),
    (
        "condition_lost_at_fusion",
        "a fused search carries no condition",
        ("P04",),
        open_leg(lambda _leg, query: query.mode == "hybrid"),
    ),
    (
        "deep_page_open",
        "more than 50 hits are found without a condition",
        ("P48",),
        open_leg(lambda _leg, query: query.k > 50),
    ),
    (
        "blank_question_open",
        "a question of no words is answered by anybody's chunks",
        ("P48",),
        open_leg(lambda _leg, query: not query.text.strip()),
    ),
    ("expansion_open", "neighbours are anybody's", ("P26",), {"shaped": _expanded}),
    (
        "next_section_open",
        "a text is followed by the next section of anybody's document of that name",
        ("P48",),
        {"shaped": _with_next_section},
    ),
    (
        "titles_open",
        "titles are searched without a condition",
        ("P02",),
        also(lambda query, row: bool({*points.words(row.title)} & {*points.words(query.text)})),
    ),
    (
        "long_texts_open",
        "long texts lie in a store of their own, without a condition",
        ("P48",),
        also(lambda _query, row: len(row.text) > LONG),
    ),
    (
        "quoted_question_open",
        "a question in quotes is searched without a condition",
        ("P48",),
        open_leg(lambda _leg, query: query.text.startswith('"') and query.text.endswith('"')),
    ),
    (
        "id_in_a_question",
        "a question that is an id finds the chunk, whoever owns it",
        ("P48",),
        also(_by_its_id),
    ),
    (
        "tenant_in_a_question",
        "a question that names a tenant is answered from its chunks",
        ("P48",),
        also(lambda query, row: str(row.owner) in query.text.split()),
    ),
)
_COMBINATION = (
    ("either_condition", "tenant or user condition", ("P05",), {"joined": _either}),
    ("caller_wins", "a caller's own tenant wins", ("P06",), {"joined": _caller_wins}),
    ("no_parentheses", "and binds before or", ("P05",), {"joined": _unparenthesised}),
    (
        "user_condition_lost",
        "the user's conditions are dropped",
        ("P05",),
        {"passes": lambda _metadata, _where: True},
    ),
)
_AFTER = (
    (
        "postfilter_top_k",
        "the condition acts on the k best of all",
        ("P07", "P10"),
        {"pick": after(1)},
    ),
    ("postfilter_headroom_3", "it acts on the 3k best of all", ("P08",), {"pick": after(3)}),
    (
        "candidate_budget",
        f"it acts on the {BUDGET} best of all",
        ("P08", "P09", "P37"),
        {"pick": _budget},
    ),
    ("first_page_only", "it acts on the first page alone", ("P05",), {"pick": _first_page}),
    ("plan_kept", f"after {CALLS} calls it acts afterwards", ("P34",), {"pick": _plan_kept}),
    (
        "filled_with_anybodys",
        "what does not match fills the list",
        ("P11",),
        filled(lambda _leg, _row: True),
    ),
    (
        "filled_with_own",
        "own chunks that do not match fill the list",
        ("P11",),
        filled(lambda leg, row: leg.admitted(row)),
    ),
)
_SYNTAX = (
    ("question_as_syntax", "*:* in a question finds everything", ("P14",), {"pick": _stars}),
    ("question_syntax_error", "a quote in a question is an error", ("P14",), {"words": _parsed}),
)
_STATISTICS = (
    ("idf_of_all", "rarity is counted over all tenants", ("P36",), {"counted": _of_all}),
    ("deleted_are_counted", "deleted chunks count in it", ("P38",), {"counted": _and_deleted}),
)
_STATE = (
    ("tenant_on_object", "another's call changes the tenant", ("P31",), {"wait": _on_the_object}),
    (
        "tenant_kept_when_cancelled",
        "a cancelled call leaves its tenant",
        ("P33",),
        {"wait": _kept_when_cancelled},
    ),
    ("cache_without_tenant", "answers are kept by words", ("P35",), {"answered": _cached}),
    (
        "cache_beside_conditions",
        "answers to questions with a condition are kept by words and condition",
        ("P35",),
        {"answered": _cached_beside_conditions},
    ),
    (
        "equal_questions_share",
        "equal questions in flight get one answer",
        ("P31",),
        {"wait": _shared_with_equal_ones},
    ),
    (
        "open_while_written",
        "while chunks are written there is no condition",
        ("P30",),
        {"written": _slowly, "condition": _open_meanwhile},
    ),
    (
        "open_after_an_error",
        "the question after one that failed has no condition",
        ("P40",),
        {"wrong_vector": _failed, "condition": _open_after_it},
    ),
)

FAULTS = tuple(
    Fault(name, family, tells, probes, changes)
    for family, rows in (
        ("a leg without condition", _LEGS),
        ("combination", _COMBINATION),
        ("after the fact", _AFTER),
        ("literals", _SYNTAX),
        ("statistics", _STATISTICS),
        ("state", _STATE),
    )
    for name, tells, probes, changes in rows
)
