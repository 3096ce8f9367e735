"""What may be compared with what: checked before any arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from retrieverbench.model import Artifact, Baseline, TargetResult

UNVERSIONED = "unversioned"


def differences(result: TargetResult, artifact: Artifact, baseline: Baseline) -> list[str]:
    """One line per field that must be equal and is not, with both values; [] if comparable."""
    return [
        f"{field}: baseline {then!r}, this run {now!r}"
        for field, then, now in _fields(result, artifact, baseline)
        if then != now
    ]


def _fields(
    result: TargetResult, artifact: Artifact, baseline: Baseline
) -> Iterator[tuple[str, object, object]]:
    golden = artifact.golden
    target = result.target
    scores = result.scores
    yield "golden set", baseline.golden, golden.name
    yield "golden set version", baseline.golden_version, golden.version
    yield "golden set sha256", baseline.golden_sha256[:12], golden.sha256[:12]
    yield "corpus sha256", baseline.corpus_sha256[:12], golden.corpus_sha256[:12]
    yield "relevance level", baseline.relevance_level, golden.relevance_level
    yield "versions", dict(baseline.versions), dict(golden.versions)
    if target.mode != "lexical":
        yield "embedding", dict(baseline.embedding), dict(artifact.embedding)
    yield "adapter", baseline.target.adapter, target.adapter
    yield "mode", baseline.target.mode, target.mode
    yield "layout", baseline.target.layout, target.layout
    yield "options", _plain(baseline.target.options), _plain(target.options)
    yield "fidelity", baseline.fidelity, result.fidelity
    yield "depth", baseline.depth, result.depth
    yield "cache", baseline.cache, artifact.cache
    yield (
        "server version",
        baseline.server_version,
        result.backend and result.backend.server_version,
    )
    yield "convention", baseline.convention, scores and scores.convention
    yield "cases", sorted(baseline.cases), sorted(case.case_id for case in result.results)


def _plain(options: object) -> object:
    """Options as JSON would hold them, so that tuples and lists do not differ."""
    if hasattr(options, "items"):
        return {key: _plain(value) for key, value in options.items() if value not in ({}, ())}
    return list(options) if isinstance(options, tuple) else options
