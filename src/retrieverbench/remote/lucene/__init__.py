"""Requests, answers and indices that Elasticsearch and OpenSearch have in common.

Both serve Lucene by nearly the same REST interface; what differs (vectors, fusion in the server,
the client) stands in the adapters. Only `requests.tenant_scope` says what keeps a search to its
tenant.
"""

from __future__ import annotations

from retrieverbench.remote.lucene.answers import (
    check_bulk,
    error_words,
    flat,
    read_fused,
    read_response,
)
from retrieverbench.remote.lucene.indices import Answer, Indices, Send
from retrieverbench.remote.lucene.requests import (
    Isolation,
    Json,
    Scope,
    TextIndex,
    answer_part,
    dump,
    tenant_scope,
    words,
)

__all__ = [
    "Answer",
    "Indices",
    "Isolation",
    "Json",
    "Scope",
    "Send",
    "TextIndex",
    "answer_part",
    "check_bulk",
    "dump",
    "error_words",
    "flat",
    "read_fused",
    "read_response",
    "tenant_scope",
    "words",
]
