"""What kind of request a case is, where the file does not say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrieverbench.model import CaseKind, Chunk

_DIGIT = re.compile(r"\d")
_EDGES = ".,;:!?\"'()[]{}<>«»„“”\u2018\u2019"


def derive_kind(query: str, relevant: Sequence[Chunk], *, unanswerable: bool) -> CaseKind:
    """The kind of a case, the first that holds.

    unanswerable by flag; multi_chunk when the relevant chunks come from two documents or
    more; identifier when the query holds a token with digits that a relevant chunk holds
    verbatim; else fact.
    """
    if unanswerable:
        return "unanswerable"
    if len({document_of(chunk) for chunk in relevant}) > 1:
        return "multi_chunk"
    texts = [chunk.searchable_text for chunk in relevant]
    tokens = (token.strip(_EDGES) for token in query.split() if _DIGIT.search(token))
    if any(_holds(text, token) for token in tokens for text in texts):
        return "identifier"
    return "fact"


def document_of(chunk: Chunk) -> str:
    """The document a chunk was cut from: its `doc_id`, else what its id says.

    A structural id is `document/heading/path#section`, or `address#heading` for web pages.
    """
    if chunk.doc_id is not None:
        return chunk.doc_id
    path, mark, _ = chunk.id.partition("#")
    if mark and "://" not in path:
        return path.partition("/")[0]
    return path


def _holds(text: str, token: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(token)}(?!\w)", text) is not None
