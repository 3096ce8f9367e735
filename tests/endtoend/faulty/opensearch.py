"""The opensearch adapter with one fault each."""

from __future__ import annotations

import lucene_faults as faults
from faulty_support import faulty
from retrieverbench.remote import lucene
from retrieverbench.remote.lucene import requests as shared
from retrieverbench_adapters import opensearch
from retrieverbench_adapters.opensearch import OpenSearch

LegWithoutFilter = faulty(OpenSearch, {(opensearch, "words"): faults.dropped})
FilterOutside = faulty(
    OpenSearch,
    {
        (lucene, "conditions"): faults.none_inside,
        (opensearch, "answer_part"): faults.filter_outside,
    },
)
AnalysedTenant = faulty(
    OpenSearch,
    {(lucene, "index_body"): faults.with_words, (shared, "tenant_filter"): faults.word_of_tenant},
)
ShouldForMust = faulty(OpenSearch, {(opensearch, "words"): faults.should})
WrittenLiteral = faulty(OpenSearch, {(shared, "tenant_filter"): faults.query_string})
