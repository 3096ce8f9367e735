"""What a golden set does not ask: gaps that make its numbers weaker than they look.

The limits are those of the project's golden-set specification: 50 cases, 5 per kind and
category, 40 % synthetic.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from retrieverbench.errors import plural
from retrieverbench.golden.checks import question_key
from retrieverbench.golden.faults import quote
from retrieverbench.model import Chunk, Corpus, GoldenCase, GoldenSet, TenantId
from retrieverbench.storage import ChunkStore, stored

MIN_CASES = 50
MIN_PER_SLICE = 5
MAX_SYNTHETIC = 0.4
ORIGINS = ("ticket", "log", "expert", "incident", "synthetic", "adversarial", "imported")

_KINDS = ("fact", "identifier", "multi_chunk", "unanswerable")
_VARIANTS = ("typo", "paraphrase", "shorthand", "mixed_script")
_WORD = re.compile(r"\w+")


def coverage_warnings(golden: GoldenSet, corpus: Corpus) -> tuple[str, ...]:
    """What a reader of the set's numbers should know, one line each; empty if nothing.

    Cases that need review are left out, except where they are counted.
    """
    active = [c for c in golden.cases if not c.needs_review]
    chunks = stored(corpus.chunks)
    level = golden.relevance_level
    found = (
        *_size(active),
        *_slices(active),
        *_sources(active),
        *_lexical_overlap(active, chunks, level),
        *_probes(active),
        *_tenants(active, chunks),
        *_superseded(active, chunks),
        *_twins(chunks),
    )
    return tuple(f"{golden.name}: {text}" for text in found)


def origin(case: GoldenCase) -> str:
    """Where a case comes from: the first word of `source`, or `unknown`."""
    word = re.split(r"[-:]", case.source or "", maxsplit=1)[0]
    return word if word in ORIGINS else "unknown"


def lexical_overlap(query: str, text: str) -> float | None:
    """The share of the query's distinct words found in the text, 0..1; None without words."""
    words = set(_words(query))
    return len(words & set(_words(text))) / len(words) if words else None


def _size(cases: Sequence[GoldenCase]) -> Iterator[str]:
    answerable = sum(not c.unanswerable for c in cases)
    if answerable < MIN_CASES:
        step = f"one case is {100 / answerable:.1f} points" if answerable else "there is no mean"
        yield (
            f"{plural(answerable, 'active, answerable case')}, fewer than {MIN_CASES}: {step}; "
            "add questions from tickets and search logs"
        )


def _slices(cases: Sequence[GoldenCase]) -> Iterator[str]:
    kinds = Counter(str(c.kind) for c in cases)
    for kind in _KINDS:
        if kinds[kind] < MIN_PER_SLICE:
            yield (
                f"kind {kind}: {plural(kinds[kind], 'case')}, fewer than {MIN_PER_SLICE}; "
                "add some or do not read this slice"
            )
    categories = Counter(c.category for c in cases if c.category is not None)
    small = sorted(name for name, count in categories.items() if count < MIN_PER_SLICE)
    if small:
        shown = ", ".join(f"{quote(name)} ({categories[name]})" for name in small)
        yield f"categories with fewer than {MIN_PER_SLICE} cases: {shown}; n too small"


def _sources(cases: Sequence[GoldenCase]) -> Iterator[str]:
    origins = Counter(map(origin, cases))
    share = origins["synthetic"] / len(cases) if cases else 0.0
    if share > MAX_SYNTHETIC:
        yield (
            f"{share:.0%} of the cases are synthetic, more than {MAX_SYNTHETIC:.0%}; "
            "synthetic questions copy the words of the document"
        )
    if origins["unknown"]:
        yield (
            f"{plural(origins['unknown'], 'case')} without a known source; "
            f"write one of {', '.join(ORIGINS)}, with a reference after '-' or ':'"
        )


def _lexical_overlap(cases: Sequence[GoldenCase], chunks: ChunkStore, level: int) -> Iterator[str]:
    shares: dict[bool, list[float]] = {True: [], False: []}
    for case in cases:
        text = " ".join(c.searchable_text for c in _relevant(case, chunks, level))
        share = lexical_overlap(case.query, text)
        if text and share is not None:
            shares[origin(case) == "synthetic"].append(share)
    if not shares[True] or not shares[False]:
        return
    synthetic, human = fmean(shares[True]), fmean(shares[False])
    if synthetic > human:
        yield (
            f"lexical overlap with the relevant chunk is {synthetic:.2f} in synthetic and "
            f"{human:.2f} in other cases; the synthetic ones flatter lexical search"
        )


def _probes(cases: Sequence[GoldenCase]) -> Iterator[str]:
    if not any(c.unanswerable for c in cases):
        yield "no unanswerable case; about one in ten shows whether the retriever can abstain"
    missing = [v for v in _VARIANTS if not any(c.variant == v for c in cases)]
    if missing:
        yield (
            f"no question is a {', '.join(missing)} of another; derive some, each with "
            "`variant` (one of these words) and `parent` (the id of the question it is made of)"
        )


def _tenants(cases: Sequence[GoldenCase], chunks: ChunkStore) -> Iterator[str]:
    asking = {c.tenant for c in cases}
    if len(chunks.per_tenant) < 2 or len(asking) < 2:
        return
    askers: dict[str, set[TenantId]] = {}
    for case in cases:
        askers.setdefault(question_key(case.query), set()).add(case.tenant)
    if all(len(tenants) < 2 for tenants in askers.values()):
        yield (
            "no question is asked by two tenants; one that is "
            "catches a dropped filter and a cache keyed by text"
        )


def _superseded(cases: Sequence[GoldenCase], chunks: ChunkStore) -> Iterator[str]:
    if not chunks.superseded:
        return
    for case in cases:
        rejected = [i for i, grade in (case.grades or {}).items() if grade == 0]
        named = (chunks.own(case.tenant, i) for i in (*case.forbidden, *rejected))
        if any(chunk is not None and chunk.status == "superseded" for chunk in named):
            return
    yield (
        f"the corpus has {plural(chunks.superseded, 'superseded chunk')}, but no case grades one 0 "
        "or forbids it; staleness is not tested"
    )


def _twins(chunks: ChunkStore) -> Iterator[str]:
    groups, ids = chunks.equal_texts()
    if groups:
        first = " and ".join(map(quote, ids[:2]))
        yield (
            f"{plural(groups, 'group')} of identical texts within a tenant ({first}); "
            "judge all twins alike or collapse them"
        )


def _relevant(case: GoldenCase, chunks: ChunkStore, level: int) -> list[Chunk]:
    ids = case.relevant
    if ids is None:
        ids = tuple(i for i, grade in (case.grades or {}).items() if grade >= level)
    found = (chunks.own(case.tenant, chunk_id) for chunk_id in ids)
    return [chunk for chunk in found if chunk is not None]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
