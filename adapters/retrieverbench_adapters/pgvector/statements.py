"""Pure builders of questions: values in, statement and parameters out.

Nothing here reaches a server. Each leg has its condition from one place, from which the
statement and what a recorder is shown are both made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from psycopg.sql import SQL, Composable, Composed
from psycopg.sql import Literal as Quoted

from retrieverbench.errors import Rejected
from retrieverbench.model import Query
from retrieverbench_adapters.pgvector.options import Metric, Options, Search
from retrieverbench_adapters.pgvector.table import Parameters, Table, is_storable

OPERATORS: dict[Metric, str] = {"cosine": "<=>", "inner_product": "<#>", "l2": "<->"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, and the condition of each of its legs by the leg's name."""

    sql: bytes
    legs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Leg:
    """A sub-select: what is read, under which condition, and what comes after it."""

    path: str
    select: Composed
    condition: Composed
    rest: Composed

    @property
    def sql(self) -> Composed:
        return SQL("{} WHERE {} {}").format(self.select, self.condition, self.rest)


def search_statement(
    table: Table, options: Options, condition: Composed, query: Query
) -> Statement:
    """The statement for one mode; its rows are (uid, score, tenant[, text])."""
    with_text = "text" in query.want
    if query.mode == "hybrid":
        legs = [
            _dense_leg(table, options, condition, with_text=with_text),
            _lexical_leg(table, options, condition, with_text=with_text),
        ]
        sql = _fused(legs, options.search, with_text=with_text)
    else:
        make = _dense_leg if query.mode == "dense" else _lexical_leg
        legs = [make(table, options, condition, with_text=with_text)]
        text = SQL(", text" if with_text else "")
        sql = _ONE.format(leg=legs[0].sql, text=text, limit=SQL("%(k)s"))
    return _statement(sql, legs)


def count_statement(table: Table, options: Options, condition: Composed, query: Query) -> Statement:
    """How many chunks match: those with a word in lexical mode, else all under the condition."""
    select, rest = SQL("SELECT count(*) FROM {} AS t").format(table.relation), SQL("").format()
    if query.mode == "lexical":
        words = _WORDS.format(config=Quoted(options.place.text_search_config))
        select = SQL("{}, ({}) AS words").format(select, words)
        rest = SQL("AND {} @@ words.query").format(_body(table))
    leg = _Leg("total", select, condition, rest)
    return _statement(leg.sql, [leg])


def get_statement(table: Table, condition: Composed) -> Statement:
    """The chunks of these uids; rows as those of a search, with score 1."""
    select = SQL("SELECT {} AS uid, 1::float8, {}::text, {} FROM {} AS t").format(
        table.uid, table.tenant, table.text, table.relation
    )
    rest = SQL("AND {}::text = ANY(%(uids)s::text[]) ORDER BY uid").format(table.uid)
    leg = _Leg("get", select, condition, rest)
    return _statement(leg.sql, [leg])


def search_parameters(search: Search, query: Query) -> Parameters:
    """What a search binds beside its condition. `limit` is that of each leg.

    From the index the dense leg takes `candidates`, to order them by the vectors.
    """
    limit = max(query.k, search.depth) if query.mode == "hybrid" else query.k
    parameters: Parameters = {"k": query.k, "limit": limit}
    if query.mode != "lexical":
        parameters["vector"] = np.asarray(query.vector, dtype=np.float32)
        parameters["candidates"] = limit * search.oversampling
    if query.mode != "dense":
        parameters["text"] = words_of(query)
    return parameters


def words_of(query: Query) -> str:
    """What PostgreSQL keeps in no text is a blank between words, or a sign of none."""
    text = query.text.replace("\0", " ")
    return text if is_storable(text) else text.encode("utf-8", "replace").decode()


def check_vector(query: Query, dimension: int, metric: Metric) -> None:
    """Raise Rejected for a question whose vector cannot be compared with the stored ones."""
    if query.mode == "lexical":
        return
    if query.vector is None or len(query.vector) != dimension:
        length = "no vector" if query.vector is None else f"{len(query.vector)} numbers"
        raise Rejected(f"pgvector: search: the question has {length}, expected {dimension}")
    if metric == "cosine" and not any(query.vector):
        raise Rejected("pgvector: search: the question's vector is zero, so it has no cosine")


def _statement(sql: Composed, legs: list[_Leg]) -> Statement:
    conditions = tuple((leg.path, leg.condition.as_string()) for leg in legs)
    return Statement(sql.as_bytes(), conditions)


def _columns(table: Table, *, with_text: bool) -> Composed:
    columns = SQL("{} AS uid, {}::text AS tenant").format(table.uid, table.tenant)
    return SQL("{}, {} AS text").format(columns, table.text) if with_text else columns


def _dense_leg(table: Table, options: Options, condition: Composed, *, with_text: bool) -> _Leg:
    metric = options.place.metric
    distance = _distance(table, metric)
    score = SQL("1 - ({})" if metric == "cosine" else "-({})").format(distance)
    select = SQL("SELECT {}, {} AS score FROM {} AS t").format(
        _columns(table, with_text=with_text), score, table.relation
    )
    if options.search.exact:
        # Ordered by an expression that no index provides.
        rest = SQL("ORDER BY ({}) + 0, uid LIMIT %(limit)s").format(distance)
    else:
        rest = SQL("ORDER BY {} LIMIT %(candidates)s").format(index_order(table, options))
    return _Leg("dense", select, condition, rest)


def _distance(table: Table, metric: Metric) -> Composed:
    assert table.vector is not None
    question = SQL("%(vector)s::halfvec" if table.half else "%(vector)s")
    return SQL("{} {} {}").format(table.vector, SQL(OPERATORS[metric]), question)


def index_order(table: Table, options: Options) -> Composed:
    """The distance as the approximate index holds it."""
    assert table.vector is not None
    known: dict[str, Composable] = {
        "vector": table.vector,
        "size": Quoted(table.dimension),
        "operator": SQL(OPERATORS[options.place.metric]),
    }
    if options.place.quantization == "binary":
        return _BITS.format(**known)
    if options.place.quantization == "halfvec" and not table.half:
        return _HALVES.format(**known)
    return _distance(table, options.place.metric)


def _lexical_leg(table: Table, options: Options, condition: Composed, *, with_text: bool) -> _Leg:
    search, body = options.search, _body(table)
    score = SQL("{}({}, words.query, {})::float8").format(
        SQL(search.ranking), body, Quoted(search.normalization)
    )
    words = _WORDS.format(config=Quoted(options.place.text_search_config))
    select = SQL("SELECT {}, {} AS score FROM {} AS t, ({}) AS words").format(
        _columns(table, with_text=with_text), score, table.relation, words
    )
    rest = SQL("AND {} @@ words.query ORDER BY score DESC, uid LIMIT %(limit)s").format(body)
    return _Leg("lexical", select, condition, rest)


def _body(table: Table) -> Composable:
    assert table.body is not None
    return table.body


def _fused(legs: list[_Leg], search: Search, *, with_text: bool) -> Composed:
    """Reciprocal ranks, weighted, summed by the server in the same statement."""
    dense, lexical = legs
    known: dict[str, Composable] = {
        "columns": SQL("uid, tenant, text" if with_text else "uid, tenant"),
        "text": SQL(", min(text)" if with_text else ""),
        "rrf_k": Quoted(search.rrf_k),
        "dense_weight": Quoted(search.dense_weight),
        "lexical_weight": Quoted(search.lexical_weight),
    }
    cut = _ONE.format(
        leg=dense.sql, text=SQL(", text" if with_text else ""), limit=SQL("%(limit)s")
    )
    return _FUSED.format(dense=cut, lexical=lexical.sql, **known)


_BITS = SQL("(binary_quantize({vector})::bit({size})) <~> binary_quantize(%(vector)s)::bit({size})")
_HALVES = SQL("({vector}::halfvec({size})) {operator} %(vector)s::halfvec({size})")
_WORDS = SQL(
    # The question's own lexemes, quoted: none of its text reaches the parser of tsquery.
    "SELECT string_agg('''' || replace(replace(lexeme, chr(92), repeat(chr(92), 2)), "
    "'''', '''''') || '''', ' | ')::tsquery AS query "
    "FROM unnest(tsvector_to_array(to_tsvector({config}::regconfig, %(text)s::text))) lexeme"
)
_ONE = SQL(
    # A vector that has no distance (absent, or zero under cosine) is no result.
    "SELECT uid, score, tenant{text} FROM ({leg}) leg WHERE score <> 'NaN' "
    "ORDER BY score DESC, uid LIMIT {limit}"
)
_FUSED = SQL(
    "WITH dense AS ({dense}), lexical AS ({lexical}), ranked AS ("
    "SELECT {columns}, {dense_weight}::float8 / "
    "({rrf_k} + row_number() OVER (ORDER BY score DESC, uid)) AS part FROM dense UNION ALL "
    "SELECT {columns}, {lexical_weight}::float8 / "
    "({rrf_k} + row_number() OVER (ORDER BY score DESC, uid)) AS part FROM lexical) "
    "SELECT uid, sum(part) AS score, min(tenant){text} "
    "FROM ranked WHERE part > 0 GROUP BY uid ORDER BY score DESC, uid LIMIT %(k)s"
)
