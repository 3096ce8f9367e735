"""Golden sets, corpora and manifests: read, checked, never repaired."""

from retrieverbench.golden.beir import load_beir
from retrieverbench.golden.bump import make_manifest, manifest_before, write_manifest
from retrieverbench.golden.corpus import load_corpus
from retrieverbench.golden.coverage import coverage_warnings
from retrieverbench.golden.lines import OnRead
from retrieverbench.golden.sets import load_golden, load_set, select_cases
from retrieverbench.golden.vectors import load_vectors, vectors_sha256
from retrieverbench.golden.write import write_corpus, write_golden

__all__ = [
    "OnRead",
    "coverage_warnings",
    "load_beir",
    "load_corpus",
    "load_golden",
    "load_set",
    "load_vectors",
    "make_manifest",
    "manifest_before",
    "select_cases",
    "vectors_sha256",
    "write_corpus",
    "write_golden",
    "write_manifest",
]
