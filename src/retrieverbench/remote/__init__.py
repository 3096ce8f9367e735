"""What adapters of remote backends need alike, without a client and without a request of its own.

Errors by the status of an answer, rank fusion in the client, bodies cut into batches, one term
per metadata entry; `remote.lucene` has the requests and answers that Elasticsearch and
OpenSearch share. The `memory` adapter uses none of it: it judges the others.
"""

from __future__ import annotations

from retrieverbench.remote.batches import batches
from retrieverbench.remote.characters import is_unicode
from retrieverbench.remote.fusion import reciprocal_rank_fusion
from retrieverbench.remote.masking import HIDDEN, LEAST, hide_secrets
from retrieverbench.remote.numbers import INTEGER, LONG, whole_number
from retrieverbench.remote.order import ties_by_uid
from retrieverbench.remote.status import error_for, one_line, seconds, shortened, tls_remedy
from retrieverbench.remote.terms import metadata_term
from retrieverbench.remote.unnamed import NAME_IT, unnamed_fault, without_vector

__all__ = [
    "HIDDEN",
    "INTEGER",
    "LEAST",
    "LONG",
    "NAME_IT",
    "batches",
    "error_for",
    "hide_secrets",
    "is_unicode",
    "metadata_term",
    "one_line",
    "reciprocal_rank_fusion",
    "seconds",
    "shortened",
    "ties_by_uid",
    "tls_remedy",
    "unnamed_fault",
    "whole_number",
    "without_vector",
]
