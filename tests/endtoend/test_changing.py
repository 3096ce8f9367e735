"""What is under test may change, the questions may not: each documented way from end to end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from bench_support import Bench, Done

SUITE = """
golden = "golden.v{number}.jsonl"
corpus = "corpus{corpus}.jsonl"
metrics = ["nDCG@5"]
depth = 5
timing = {{ enabled = false }}
embedding = {{ kind = "hashing", dimensions = {dimension} }}
rules = [{{ kind = "tolerance", metric = "nDCG@5", tolerance = 0.3 }}]
targets = [{{ adapter = "memory", modes = ["dense"] }}]
"""


def bump(bench: Bench, number: int, corpus: str, *versions: str) -> Done:
    """The same questions as the next version of the set."""
    old, new = (bench.folder / f"golden.v{n}.jsonl" for n in (number - 1, number))
    shutil.copy(old, new)
    words = [word for version in versions for word in ("--version-of", version)]
    corpus_file = f"corpus{corpus}.jsonl"
    return bench.run("golden", "bump", new, "--corpus", corpus_file, "--reason", "x", *words)


def write_suite(bench: Bench, number: int, corpus: str = "", dimension: int = 64) -> Path:
    text = SUITE.format(number=number, corpus=corpus, dimension=dimension)
    bench.with_file("test.toml", text)
    return bench.folder / "test.toml"


def accept(bench: Bench) -> None:
    runs = bench.folder.glob("results/runs/test/*.json")
    newest = max(runs, key=lambda path: path.stat().st_mtime_ns)
    done = bench.run("baseline", "accept", newest)
    assert done.returncode == 0, done.stderr


def rechunk(bench: Bench, *, left_out: str = "") -> None:
    """Every text loses its last word; a chunk may be left out."""
    lines = (bench.folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    chunks = [json.loads(line) for line in lines]
    kept = [chunk for chunk in chunks if chunk["id"] != left_out]
    cut = [{**chunk, "text": chunk["text"].rpartition(" ")[0]} for chunk in kept]
    bench.with_file("corpus2.jsonl", "".join(f"{json.dumps(chunk)}\n" for chunk in cut))


def test_each_declared_change_is_refused_then_judged_then_accepted(bench: Bench) -> None:
    first = bench.run("run", write_suite(bench, 1))
    assert "no baseline for" in first.stdout, first.stderr
    accept(bench)
    rechunk(bench)
    ways = {
        "chunking": (["chunking=2"], "2", 64),
        "prompt": (["prompt=polite"], "2", 64),
        "index": (["index=2"], "2", 64),
        "embedding": (["embedding=wide", "index=3"], "2", 128),
    }
    for number, (word, (versions, corpus, dimension)) in enumerate(ways.items(), 2):
        bumped = bump(bench, number, corpus, *versions)
        assert bumped.returncode == 0, bumped.stderr
        suite = write_suite(bench, number, corpus, dimension)
        refused = bench.run("run", suite)
        assert refused.returncode == 2, refused.stdout
        assert f"what the run shall judge, add --changing {word}" in refused.stdout
        judged = bench.run("run", suite, "--changing", word)
        assert judged.returncode == 0, judged.stdout
        assert "with the same questions and labels: golden set version" in judged.stdout
        assert "declared as changed: " in judged.stdout
        assert "cannot be told" not in judged.stdout
        accept(bench)


def test_a_corpus_that_lacks_a_relevant_chunk_cannot_be_bumped(bench: Bench) -> None:
    rechunk(bench, left_out="leave/annual#1")
    done = bump(bench, 2, "2", "chunking=2")
    assert done.returncode == 2
    assert "'leave/annual#1'" in done.stderr


def test_what_is_not_given_is_that_of_the_version_before(bench: Bench) -> None:
    bump(bench, 2, "", "chunking=2")
    manifest = json.loads((bench.folder / "golden.v2.manifest.json").read_text(encoding="utf-8"))
    first = json.loads((bench.folder / "golden.v1.manifest.json").read_text(encoding="utf-8"))
    own = {"chunking": "2", "golden_set": "golden.v2"}
    assert manifest["versions"] == {**first["versions"], **own}
    assert manifest["licence"] == first["licence"]


def ship_vectors(bench: Bench, order: int) -> None:
    """A vector for every chunk and question; another `order` gives the chunks other ones."""
    chunks = (bench.folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    cases = (bench.folder / "golden.v1.jsonl").read_text(encoding="utf-8").splitlines()
    rows = []
    for number, chunk in enumerate(map(json.loads, chunks), 1):
        vector = [float(number), 1.0][::order]
        rows.append({"id": chunk["id"], "tenant": chunk["tenant"], "vector": vector})
    questions = [{"query": json.loads(case)["query"], "vector": [1.0, 2.0]} for case in cases]
    bench.with_file("vectors.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    bench.with_file("questions.jsonl", "".join(f"{json.dumps(row)}\n" for row in questions))


def test_other_vectors_of_the_same_chunks_are_another_embedding(bench: Bench) -> None:
    ship_vectors(bench, 1)
    text = SUITE.format(number=1, corpus="", dimension=2).replace(
        'kind = "hashing", dimensions = 2', 'kind = "shipped", queries = "questions.jsonl"'
    )
    suite = bench.folder / "test.toml"
    bench.with_file(suite.name, f'vectors = "vectors.jsonl"\n{text}')
    bench.run("run", suite)
    accept(bench)
    bench.with_file(suite.name, f'vectors = "vectors.jsonl"\n{text}'.replace("rules = ", "#"))
    done = bench.run("run", suite)
    assert "no rule compares with it: memory/dense/filter" in done.stderr
    (bench.folder / "vectors.jsonl").rename(bench.folder / "named-anew.jsonl")
    (bench.folder / "questions.jsonl").rename(bench.folder / "asked-anew.jsonl")
    renamed = f'vectors = "named-anew.jsonl"\n{text}'.replace("questions.jsonl", "asked-anew.jsonl")
    bench.with_file(suite.name, renamed)
    assert bench.run("run", suite).returncode == 0
    bench.with_file(suite.name, f'vectors = "vectors.jsonl"\n{text}')
    ship_vectors(bench, -1)
    refused = bench.run("run", suite)
    assert refused.returncode == 2, refused.stdout
    told = " ".join(refused.stdout.split())
    assert "embedding.chunk_vectors: baseline 'sha256:" in told
    assert "add --changing embedding" in refused.stdout
    _without_a_question(bench, suite)


def _without_a_question(bench: Bench, suite: Path) -> None:
    """Told before any engine starts."""
    lines = (bench.folder / "questions.jsonl").read_text(encoding="utf-8").splitlines(True)
    bench.with_file("questions.jsonl", "".join(line for line in lines if line != lines[0]))
    text = suite.read_text(encoding="utf-8")
    engine = 'adapter = "pgvector", engine = "embedded"'
    bench.with_file(suite.name, text.replace('adapter = "memory"', engine))
    done = bench.run("run", suite)
    assert done.returncode == 2, done.stdout
    question = json.loads(lines[0])["query"]
    assert f"questions.jsonl: no vector for the question {question!r}; add a line" in done.stderr
    assert "starting" not in done.stderr
