"""What a place is called: by the run, or by its contents where a load is resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench_support import write_example
from retrieverbench.adapter import Settings
from retrieverbench.job import Quiet, prepare
from retrieverbench.job.context import make_job, settings_for
from retrieverbench.job.opening import make_states
from retrieverbench.job.vectors import chunk_vectors
from retrieverbench.run import Connection, load_suite

HEAD = 'golden = "golden.v1.jsonl"\ncorpus = "corpus.jsonl"\n'
TARGET = '[[targets]]\nadapter = "pgvector"\nendpoint = "postgresql://127.0.0.1/x"\n'
MODES = 'modes = ["lexical"]\n'
LOAD = "[targets.load]\nresume = true\n"
Make = Callable[..., Settings]


@pytest.fixture
def settings(tmp_path: Path) -> Make:
    """The settings of the one target of a suite, made anew as a further run makes them."""
    folder = write_example(tmp_path)

    def make(text: str = HEAD + TARGET + MODES + LOAD) -> Settings:
        path = folder / "suite.toml"
        path.write_text(text, encoding="utf-8")
        job = make_job(prepare(load_suite(path)), {}, Quiet())
        job.embedder = chunk_vectors(job.prepared.suite)
        (state,) = make_states(job.prepared)
        return settings_for(job, state, Connection("", {}, None))

    return make


def test_without_resume_every_run_has_a_place_of_its_own(settings: Make) -> None:
    text = HEAD + TARGET + MODES
    assert settings(text).place != settings(text).place
    assert not settings(text).resume


def test_with_resume_the_next_run_finds_the_place(settings: Make) -> None:
    assert settings().place == settings().place
    assert settings().resume


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (HEAD, f'name = "other"\n{HEAD}'),
        (LOAD, f"[targets.place]\nindex = 'none'\n{LOAD}"),
    ],
)
def test_what_else_it_would_hold_has_another_name(settings: Make, old: str, new: str) -> None:
    text = HEAD + TARGET + MODES + LOAD
    assert settings(text).place != settings(text.replace(old, new)).place


def test_another_corpus_or_other_vectors_have_another_name(settings: Make, tmp_path: Path) -> None:
    text = f'vectors = "v.jsonl"\n{HEAD}{TARGET}{MODES}{LOAD}'
    corpus, vectors = tmp_path / "corpus.jsonl", tmp_path / "v.jsonl"
    corpus.write_text('{"id": "a", "tenant": "acme", "text": "x"}\n', encoding="utf-8")
    golden = '{"id": "q", "query": "x", "tenant": "acme", "relevant_chunk_ids": ["a"]}\n'
    (tmp_path / "golden.jsonl").write_text(golden, encoding="utf-8")
    text = text.replace("golden.v1", "golden")
    places = set()
    for number in ("1", "2"):
        vectors.write_text(f'{{"id": "a", "vector": [{number}]}}\n', encoding="utf-8")
        places.add(settings(text).place)
    corpus.write_text('{"id": "a", "tenant": "acme", "text": "y"}\n', encoding="utf-8")
    places.add(settings(text).place)
    assert len(places) == 3
