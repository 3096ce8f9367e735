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
    object_in,
    read_fused,
    read_response,
)
from retrieverbench.remote.lucene.attach import attached_fields, bind
from retrieverbench.remote.lucene.description import describe, settings_faults, shares_statistics
from retrieverbench.remote.lucene.documents import delete, get, move
from retrieverbench.remote.lucene.filtering import FILTER_MODES, KnnFilter, beside
from retrieverbench.remote.lucene.indices import Answer, Indices, Send, remove_left
from retrieverbench.remote.lucene.mapping import field_at, vector_kind
from retrieverbench.remote.lucene.profiling import explain
from retrieverbench.remote.lucene.recording import show_request, show_response
from retrieverbench.remote.lucene.requests import (
    Isolation,
    Json,
    Scope,
    TextIndex,
    answer_part,
    conditions,
    dump,
    float32,
    index_body,
    tenant_scope,
    words,
)
from retrieverbench.remote.lucene.searching import search

__all__ = [
    "FILTER_MODES",
    "Answer",
    "Indices",
    "Isolation",
    "Json",
    "KnnFilter",
    "Scope",
    "Send",
    "TextIndex",
    "answer_part",
    "attached_fields",
    "beside",
    "bind",
    "check_bulk",
    "conditions",
    "delete",
    "describe",
    "dump",
    "error_words",
    "explain",
    "field_at",
    "flat",
    "float32",
    "get",
    "index_body",
    "move",
    "object_in",
    "read_fused",
    "read_response",
    "remove_left",
    "search",
    "settings_faults",
    "shares_statistics",
    "show_request",
    "show_response",
    "tenant_scope",
    "vector_kind",
    "words",
]
