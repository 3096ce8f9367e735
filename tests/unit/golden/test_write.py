"""What is written can be read back, and is then equal."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from retrieverbench.golden import load_set, write_corpus, write_golden
from retrieverbench.golden.text import is_blank
from retrieverbench.model import Chunk, GoldenCase, TenantId, make_uid

ACME, GLOBEX = TenantId("acme"), TenantId("glo.bex")

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: not is_blank(text)
)
ids = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)
values = st.one_of(
    texts, st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)
spans = st.tuples(st.integers(0, 99), st.integers(100, 999))


def chunks_of(tenant: TenantId) -> st.SearchStrategy[list[Chunk]]:
    chunk = st.builds(
        Chunk,
        id=ids,
        tenant=st.just(tenant),
        text=texts,
        title=st.just("") | texts,
        doc_id=st.none() | ids,
        heading_path=st.lists(texts, max_size=2).map(tuple),
        section=st.none() | st.integers(1, 9),
        span=st.none() | spans,
        status=st.sampled_from(["current", "superseded"]),
        metadata=st.dictionaries(
            texts.filter(lambda k: k not in {"tenant", "doc_id"}), values, max_size=2
        ),
    )
    return st.lists(chunk, min_size=3, max_size=6, unique_by=lambda c: c.id)


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[Chunk], list[GoldenCase]]:
    """A corpus of two tenants and cases that pass every check."""
    own, foreign = draw(chunks_of(ACME)), draw(chunks_of(GLOBEX))
    names = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    cases = [draw(case_of(own, foreign, name, line)) for line, name in enumerate(names, 1)]
    return own + foreign, cases


@st.composite
def case_of(
    draw: st.DrawFn, own: list[Chunk], foreign: list[Chunk], case_id: str, line: int
) -> GoldenCase:
    order = draw(st.permutations([c.id for c in own]))
    cut = draw(st.integers(0, 2))
    relevant, forbidden = tuple(order[:cut]), tuple(order[cut + 1 :])
    positive = {i: draw(st.integers(1, 3)) for i in relevant}
    grades = draw(st.none() | st.just({**positive, order[cut]: 0}))
    known = {c.id for c in own}
    others = [c.uid for c in foreign if c.id not in known]
    needs_review = draw(st.booleans())
    review = {"reason": "text_changed"} if needs_review else {}
    return GoldenCase(
        id=case_id,
        query=f"{draw(texts)} {line}",
        tenant=ACME,
        relevant=draw(st.none() | st.just(relevant)) if grades else relevant,
        grades=grades,
        forbidden=forbidden,
        unanswerable=not relevant,
        answer=draw(st.none() | texts),
        category=draw(st.none() | texts),
        kind=draw(st.sampled_from(["fact", "identifier", "multi_chunk", "unanswerable"])),
        source=draw(st.none() | texts),
        variant=draw(st.none() | st.just("typo")),
        must_pass=draw(st.booleans()),
        needs_review=needs_review,
        lang=draw(st.none() | texts),
        meta=draw(st.dictionaries(texts, values, max_size=2)),
        line=line,
        notes=draw(st.none() | texts),
        forbidden_foreign=tuple(draw(st.permutations(others))),
        anchors=draw(st.dictionaries(ids, st.dictionaries(ids, st.integers()), max_size=2)),
        review=review,
    )


@given(sets())
@settings(max_examples=40, deadline=None)
def test_round_trip(corpus_and_cases: tuple[list[Chunk], list[GoldenCase]]) -> None:
    chunks, cases = corpus_and_cases
    with TemporaryDirectory() as folder:
        path, corpus_path = Path(folder) / "set.jsonl", Path(folder) / "corpus.jsonl"
        write_corpus(corpus_path, chunks)
        write_golden(path, cases)
        corpus, golden = load_set(path, corpus_path)
        assert list(corpus.chunks) == chunks
        assert list(golden.cases) == cases
        before = path.read_bytes()
        write_golden(path, golden.cases)
        assert path.read_bytes() == before


def test_the_written_form_is_canonical(tmp_path: Path) -> None:
    """No field without a value, no chunk twice that a document stands for, LF."""
    case = GoldenCase(
        id="c",
        query="Wie lange?",
        tenant=ACME,
        relevant=("a",),
        forbidden=("b", "old#1"),
        forbidden_foreign=(make_uid(GLOBEX, "x/y"),),
        forbidden_docs={"old": (make_uid(ACME, "old#1"),)},
    )
    path = tmp_path / "set.jsonl"
    write_golden(path, [case])
    raw = path.read_bytes()
    assert raw.endswith(b"}\n")
    assert b"\r" not in raw
    assert json.loads(raw) == {
        "id": "c",
        "tenant": "acme",
        "query": "Wie lange?",
        "relevant_chunk_ids": ["a"],
        "forbidden": ["b", "x/y"],
        "forbidden_docs": ["old"],
        "kind": "fact",
    }
