"""After a block: which of its answers were right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retrieverbench.errors import Code
from retrieverbench.load.block import NO_ROW, BlockRecord
from retrieverbench.model import Query, TenantId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_LOOKED_UP = (Code.OK, Code.WRONG_COUNT, Code.TENANT_VIOLATION)


@dataclass(frozen=True, slots=True)
class Violation:
    """A row of another tenant, or one the ledger does not know, in a timed answer.

    `query` is the index of the query, `rank` counts from 1, `owner` is None when unknown.
    """

    query: int
    rank: int
    uid: str
    owner: str | None


@dataclass(frozen=True, slots=True)
class JudgedBlock:
    """Times in nanoseconds and final codes of one block, one entry per request.

    `rows` are those of all answers that were looked up in the record of owners. `totals` are the
    largest that answers bore, by query.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    code: NDArray[np.int32]
    violations: tuple[Violation, ...]
    rows: int = 0
    totals: Mapping[int, int] = field(default_factory=dict)


def judge_block(
    block: BlockRecord,
    queries: Sequence[Query],
    expected: Sequence[int] | None,
    uids: Sequence[str],
    owners: Mapping[str, TenantId],
) -> JudgedBlock:
    """Replace code 0 where the answer held a foreign, repeated or missing row.

    `uids[ordinal]` is the uid of an ordinal; `expected` the rows a complete answer has.
    """
    import numpy as np

    layout = np.dtype(
        [("intended", "<i8"), ("start", "<i8"), ("end", "<i8"), ("query", "<i4"), ("code", "<i4")]
    )
    records = np.frombuffer(block.records, dtype=layout, count=block.count)
    answers = np.frombuffer(block.answers, dtype="<i4", count=block.count * block.k)
    answers = answers.reshape(block.count, block.k)
    query_index = records["query"]
    code = records["code"].astype(np.int32)
    ok = code == Code.OK
    rows = (answers != NO_ROW).sum(axis=1)
    if expected is not None:
        wanted = np.asarray(expected, dtype=np.int64)[query_index]
        code[ok & (rows < wanted)] = Code.WRONG_COUNT
    code[ok & _has_repeat(answers)] = Code.BAD_ANSWER
    foreign = _foreign_rows(block, answers, query_index, queries, uids, owners)
    code[[number for number, _rank, _uid in foreign]] = Code.TENANT_VIOLATION
    violations: dict[tuple[int, str], Violation] = {}
    for number, rank, uid in foreign:
        query = int(query_index[number])
        owner = owners[uid].value if uid in owners else None
        violations.setdefault((query, uid), Violation(query, rank, uid, owner))
    totals: dict[int, int] = {}
    for number, total in block.totals:
        query = int(query_index[number])
        totals[query] = max(total, totals.get(query, 0))
    return JudgedBlock(
        records["start"],
        records["end"],
        code,
        tuple(violations.values()),
        int(rows[np.isin(code, _LOOKED_UP)].sum()) + sum(r > block.k for _, r, _ in block.unknown),
        totals,
    )


def _has_repeat(answers: NDArray[np.int32]) -> NDArray[np.bool_]:
    import numpy as np

    ordered = np.sort(answers, axis=1)
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    repeated: NDArray[np.bool_] = same.any(axis=1)
    return repeated


def _foreign_rows(
    block: BlockRecord,
    answers: NDArray[np.int32],
    query_index: NDArray[np.int32],
    queries: Sequence[Query],
    uids: Sequence[str],
    owners: Mapping[str, TenantId],
) -> list[tuple[int, int, str]]:
    """(record number, rank from 1, uid) of each row that is not the asking tenant's own.

    Rows that were kept as text, unknown uids and those beyond k, are looked up one by one.
    """
    import numpy as np

    numbers: dict[str, int] = {}
    owner_of = np.array(
        [numbers.setdefault(owners[uid].value, len(numbers)) for uid in uids] or [-1],
        dtype=np.int64,
    )
    asker_of = np.array([numbers.get(query.tenant.value, -3) for query in queries], dtype=np.int64)
    owner = owner_of[np.maximum(answers, 0)]
    foreign = (answers >= 0) & (owner != asker_of[query_index][:, None])
    found = [
        (int(number), int(column) + 1, uids[answers[number, column]])
        for number, column in np.argwhere(foreign)
    ]
    return found + [
        (number, rank, uid)
        for number, rank, uid in block.unknown
        if owners.get(uid) != queries[query_index[number]].tenant
    ]
