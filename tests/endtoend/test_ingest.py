"""A corpus streams from disk to a backend: memory does not grow with it."""

from __future__ import annotations

from pathlib import Path

from large_corpus_support import peak_memory, write_suite

NULL = 'adapter = "./null.py:Null"\nmodes = ["dense"]'
SMALL, LARGE = 500, 8_500
GROWTH = 20.0
"""MB. SQLite's cache is 8 of them; 8,000 chunks of 384 dimensions as objects are 45."""


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """The whole job: read, check, load, ask, canaries, control arm."""
    peaks = []
    for chunks in (SMALL, LARGE):
        folder = tmp_path / str(chunks)
        folder.mkdir()
        code, peak, told = peak_memory(write_suite(folder, chunks, NULL))
        assert code == 0, told
        peaks.append(peak)
    assert peaks[1] - peaks[0] < GROWTH, peaks
