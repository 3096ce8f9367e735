"""A corpus of any size on disk, a suite that loads it, and how much memory a run took."""

from __future__ import annotations

import json
import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from bench_support import COMMAND

DIMENSION, TENANTS, QUESTIONS = 384, 20, 5
_WORDS = [f"word{number}" for number in range(1_000)]
_BLOCK = 10_000
COLUMNS = {
    "uid": "text",
    "tenant": "text",
    "id": "text",
    "title": "text",
    "text": "text",
    "metadata": "jsonb",
    "vector": "vector",
}
"""Of a table in PostgreSQL that holds such a corpus, for bare loops."""

NULL_ADAPTER = '''
"""Counts what it is given and keeps nothing of it; never finds anything."""

from collections import Counter

from retrieverbench.adapter import Description
from retrieverbench.model import Response


class Null:
    capabilities = frozenset({"dense", "filter", "put"})

    def __init__(self):
        self.counts = Counter()

    @classmethod
    async def open(cls, settings):
        return cls()

    async def put(self, chunks):
        self.counts.update(chunk.tenant.value for chunk in chunks)

    async def settle(self):
        pass

    async def search(self, query):
        return Response([])

    async def describe(self):
        return Description("null", "1", "null", "1", {}, dict(self.counts))

    async def close(self):
        pass
'''


def write_corpus(folder: Path, chunks: int) -> None:
    """About 300 bytes of text each, owned by the tenants in turn; vectors as a matrix."""
    rng, numbers = random.Random(1), np.random.default_rng(1)
    with (
        (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus,
        (folder / "vectors.ids.jsonl").open("w", encoding="utf-8") as ids,
    ):
        for number in range(chunks):
            named = {"id": f"c{number}", "tenant": f"tenant{number % TENANTS}"}
            text = {"title": f"Section {number}", "text": " ".join(rng.choices(_WORDS, k=40))}
            corpus.write(json.dumps(named | text | {"metadata": {"section": number}}) + "\n")
            ids.write(json.dumps(named) + "\n")
    shape = (chunks, DIMENSION)
    matrix = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, shape)
    for first in range(0, chunks, _BLOCK):
        rows = min(_BLOCK, chunks - first)
        matrix[first : first + rows] = numbers.standard_normal((rows, DIMENSION))
    matrix.flush()


def write_suite(folder: Path, chunks: int, target: str, further: str = "") -> Path:
    """Corpus, five questions and a suite with one target, given as the lines of its table."""
    write_corpus(folder, chunks)
    questions = [f"question {number}" for number in range(QUESTIONS)]
    cases = [
        {"id": f"q{n}", "query": text, "tenant": f"tenant{n}", "relevant_chunk_ids": [f"c{n}"]}
        for n, text in enumerate(questions)
    ]
    shipped = [
        {"query": text, "vector": [float(n == i) for i in range(DIMENSION)]}
        for n, text in enumerate(questions)
    ]
    for name, lines in (("golden.jsonl", cases), ("queries.jsonl", shipped)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "null.py").write_text(NULL_ADAPTER, encoding="utf-8")
    suite = folder / "suite.toml"
    suite.write_text(
        'golden = "golden.jsonl"\ncorpus = "corpus.jsonl"\nvectors = "vectors.npy"\n'
        f"{further}\n"
        '[embedding]\nkind = "shipped"\nqueries = "queries.jsonl"\n'
        '[timing]\nenabled = false\n[leaks]\ninconclusive = "warn"\n'
        f"[[targets]]\n{target}\n",
        encoding="utf-8",
    )
    return suite


def peak_memory(suite: Path) -> tuple[int, float, str]:
    """Run a suite: its exit code, its peak of resident memory in MB, and what it told.

    The peak is the kernel's, read until the process ends: what `wait4` gives would count the
    memory of the process that started it, too.
    """
    output, peak = suite.parent / "output.txt", 0.0
    with output.open("wb") as file:
        process = subprocess.Popen(
            [COMMAND, "run", suite, "--plain"], stdout=file, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            peak = max(peak, *(_peak_of(each) for each in _family(process.pid)))
            time.sleep(0.02)
    return process.returncode, peak, output.read_text(encoding="utf-8")


def _family(pid: int) -> list[int]:
    """A process and its children that run Python: the job has one of its own, engines do not."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(pid).children(recursive=True)
        names = ("python", COMMAND.name[:15])
        return [pid, *(child.pid for child in children if child.name().startswith(names))]
    return [pid]


def _peak_of(pid: int) -> float:
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        for line in status.splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0
