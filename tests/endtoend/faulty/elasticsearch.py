"""The elasticsearch adapter with one fault each."""

from __future__ import annotations

import lucene_faults as faults
from faulty_support import faulty
from retrieverbench.remote.lucene import requests as shared
from retrieverbench_adapters.elasticsearch import Elasticsearch, requests

LegWithoutFilter = faulty(Elasticsearch, {(requests, "words"): faults.dropped})
FilterOutside = faulty(
    Elasticsearch,
    {
        (requests, "conditions"): faults.none_inside,
        (requests, "answer_part"): faults.filter_outside,
    },
)
AnalysedTenant = faulty(
    Elasticsearch,
    {
        (requests, "index_body"): faults.with_words,
        (shared, "tenant_filter"): faults.word_of_tenant,
    },
)
ShouldForMust = faulty(Elasticsearch, {(requests, "words"): faults.should})
WrittenLiteral = faulty(Elasticsearch, {(shared, "tenant_filter"): faults.query_string})
