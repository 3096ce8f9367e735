"""Whether timed answers are those whose quality was measured: fast and wrong is not fast."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from retrieverbench.errors import Code
from retrieverbench.load.block import RECORD, BlockRecord
from retrieverbench.model import Agreement

Ranked = Sequence[tuple[str, float]]
"""(uid, score) pairs, best first."""

_UNLIKE = -1
_ANSWERED = frozenset({Code.OK, Code.WRONG_COUNT})


def compare_answers(
    blocks: Sequence[BlockRecord],
    codes: Sequence[Sequence[int]],
    reference: Sequence[Ranked | None],
    uids: Sequence[str],
    least: float,
) -> Agreement:
    """Compare every complete or short answer with the quality pass's answer to its query.

    `codes` are the final ones of each block's records. `reference` is by index of the query,
    None where the quality pass had no answer; such requests are not compared.
    """
    places = [None if ranked is None else _places(ranked) for ranked in reference]
    seen: dict[tuple[int, bytes], tuple[bool, float]] = {}
    counted: Counter[tuple[int, bytes]] = Counter(
        key for block, final in zip(blocks, codes, strict=True) for key in _answers(block, final)
    )
    for query, answer in counted:
        wanted = places[query]
        if wanted is not None:
            found = [wanted.get(uid, _UNLIKE) for uid in _read(answer, uids)]
            expected = list(wanted.values())
            seen[query, answer] = found == expected, average_overlap(found, expected)
    compared = sum(counted[key] for key in seen)
    total = sum(counted[key] * overlap for key, (_, overlap) in seen.items())
    equal = sum(counted[key] for key, (same, _) in seen.items() if same)
    overlap = total / compared if compared else None
    return Agreement(counted.total(), compared, equal, overlap, least)


def average_overlap(found: Sequence[int], expected: Sequence[int]) -> float:
    """The share of members that both have in their first d places, averaged over every d.

    1 for equal lists and for two empty ones, 0 for lists without a common member; the first
    places weigh most. What one list lacks in length is missing in it.

    >>> average_overlap([1, 2, 4], [1, 2, 3])
    0.8888888888888888
    """
    depth = max(len(found), len(expected))
    balance: Counter[int] = Counter()
    common, total = 0, 0.0
    for place in range(depth):
        for members, sign in ((expected, 1), (found, -1)):
            if place < len(members):
                member = members[place]
                common += balance[member] * sign < 0
                balance[member] += sign
        total += common / (place + 1)
    return total / depth if depth else 1.0


def _places(ranked: Ranked) -> Mapping[str, int]:
    """Each uid's place, from 0; uids of equal score share the first of theirs."""
    places = {uid: 0 for uid, _score in ranked[:1]}
    for number, ((uid_before, before), (uid, score)) in enumerate(pairwise(ranked), start=1):
        places[uid] = places[uid_before] if score == before else number
    return places


def _answers(block: BlockRecord, codes: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """(index of the query, packed ordinals) of every answer that was complete or short."""
    width = 4 * block.k
    records = memoryview(block.records)[: block.count * RECORD.size]
    for number, (record, code) in enumerate(zip(RECORD.iter_unpack(records), codes, strict=True)):
        if code in _ANSWERED:
            yield record[3], bytes(block.answers[number * width : (number + 1) * width])


def _read(answer: bytes, uids: Sequence[str]) -> list[str]:
    """The uids of packed ordinals; the places of absent and unknown rows are left out."""
    ordinals = struct.unpack(f"<{len(answer) // 4}i", answer)
    return [uids[ordinal] for ordinal in ordinals if ordinal >= 0]
