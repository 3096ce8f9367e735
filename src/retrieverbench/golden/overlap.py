"""How much of a reference text a chunk still holds, and what `anchors` say about it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from retrieverbench.golden.faults import quote
from retrieverbench.golden.fields import Record
from retrieverbench.golden.index import CorpusIndex
from retrieverbench.model import TenantId


def overlap(reference: str, text: str) -> float:
    """The share of the reference's tokens that the text holds in the same order, 0..1.

    Tokens are separated by white space after Unicode normalisation form C; their longest
    common subsequence is counted. 1.0 for a reference that is contained.
    """
    wanted, found = _tokens(reference), _tokens(text)
    if " ".join(wanted) in " ".join(found):
        return 1.0
    return _common(wanted, found) / len(wanted)


def check_anchors(
    record: Record, index: CorpusIndex, tenant: TenantId | None
) -> dict[str, Mapping[str, object]]:
    """Read `anchors`; warn where a label's chunk no longer holds the anchored quote."""
    anchors: dict[str, Mapping[str, object]] = {}
    for chunk_id, anchor in record.mapping("anchors").items():
        if not isinstance(anchor, dict):
            record.error(
                "G46", f"anchors[{quote(chunk_id)}]: {quote(anchor)} is no object; write an object"
            )
            continue
        anchors[chunk_id] = anchor
        chunk = None if tenant is None else index.own(tenant, chunk_id)
        text = anchor.get("quote")
        if chunk is None or not isinstance(text, str):
            continue
        share = overlap(text, chunk.searchable_text)
        if share < 1.0:
            record.warn(
                "G36",
                f"anchors[{quote(chunk_id)}]: the text has changed (overlap {share:.2f}); "
                "review the label",
            )
    return anchors


def _tokens(text: str) -> list[str]:
    return unicodedata.normalize("NFC", text).split()


def _common(wanted: Sequence[str], found: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    previous = [0] * (len(found) + 1)
    for token in wanted:
        current = [0]
        for j, other in enumerate(found):
            best = previous[j] + 1 if token == other else max(previous[j + 1], current[j])
            current.append(best)
        previous = current
    return previous[-1]
