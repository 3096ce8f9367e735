"""What an artifact says of the run as a whole, beside the suite that it is of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from retrieverbench.embedding import EmbeddingConfig, known_identity
from retrieverbench.job.assemble import run_notes
from retrieverbench.job.machine import LIBRARIES, machine
from retrieverbench.job.prepare import metrics_of
from retrieverbench.job.vectors import chunk_vectors
from retrieverbench.job.verification.differences import Fault, compare
from retrieverbench.model import Artifact, Corpus, GoldenSet
from retrieverbench.options import parse_options
from retrieverbench.run import Suite

_CLOCKS = timedelta(days=1)
"""By so much the clocks of two machines may differ."""
_FORMS = {
    "run_id": (re.compile(r"[0-9a-f]{8}"), "eight hexadecimal digits"),
    "suite_sha256": (re.compile(r"[0-9a-f]{64}"), "64 hexadecimal digits"),
    "commit": (re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?"), "40 or 64 hexadecimal digits"),
}
_VERSION = re.compile(r"\d+(\.\d+)*[-+.0-9A-Za-z]*")
_FOLDER = re.compile(r"[^:]*/(?=[^/:]+(:\d+)?: )")
"""What stands before the name of a file that a warning begins with."""
STARTED = "%Y%m%dT%H%M%SZ"


def header_faults(
    artifact: Artifact, suite: Suite, corpus: Corpus, golden: GoldenSet
) -> Iterator[Fault]:
    """Fields of no single target that no run writes, or that the suite contradicts."""
    yield from _form_faults(artifact)
    yield from _host_faults(artifact)
    yield from compare("seeds", artifact.seeds, {"suite": suite.seed}, "by the suite")
    told, here = (
        [_FOLDER.sub("", note, count=1) for note in notes]
        for notes in (artifact.notes, run_notes(corpus, golden))
    )
    yield from compare("notes", told, here, "by the files here")
    if artifact.suite_sha256 == suite.sha256:
        yield from compare("metrics", artifact.metrics, metrics_of(suite), "by the suite")
    yield from _embedding_faults(artifact, suite)


def _form_faults(artifact: Artifact) -> Iterator[Fault]:
    for name, (form, words) in _FORMS.items():
        value = getattr(artifact, name)
        if value is not None and not form.fullmatch(value):
            yield Fault(name, value, f"{words} expected")
    if (artifact.commit is None) != (artifact.dirty is None):
        yield Fault("dirty", artifact.dirty, "known just where the commit is")
    try:
        started = datetime.strptime(artifact.started, STARTED).replace(tzinfo=UTC)
    except ValueError:
        yield Fault("started", artifact.started, "a time such as 20260102T030405Z expected")
        return
    if started.strftime(STARTED) != artifact.started or started > datetime.now(UTC) + _CLOCKS:
        yield Fault("started", artifact.started, "a time that has been expected")


def _host_faults(artifact: Artifact) -> Iterator[Fault]:
    """Another machine and other versions may have made it, but told of in the same way."""
    told, known = sorted(artifact.harness), sorted(("python", *LIBRARIES))
    yield from compare("harness", told, known, "are what a run writes")
    for name, version in artifact.harness.items():
        if not _VERSION.fullmatch(version):
            yield Fault(f"harness.{name}", version, "a version such as 1.2.3 expected")
    here = machine()
    yield from compare("machine", sorted(artifact.machine), sorted(here), "are what a run writes")
    for name, value in artifact.machine.items():
        if name not in here:
            continue
        whole = isinstance(here[name], int)
        if whole and (type(value) is not int or value < 0):
            yield Fault(f"machine.{name}", value, "a whole number of 0 or more expected")
        if not whole and not isinstance(value, str):
            yield Fault(f"machine.{name}", value, "a text expected")


def _embedding_faults(artifact: Artifact, suite: Suite) -> Iterator[Fault]:
    """The model that the suite names; nothing where no target that was measured needs one."""
    measured = any(r.scores and r.target.mode != "lexical" for r in artifact.targets)
    if not measured and not artifact.embedding:
        return
    if all(result.target.mode == "lexical" for result in artifact.targets):
        yield from compare("embedding", artifact.embedding, {}, "as no target searches by vector")
        return
    table = {key: value for key, value in suite.embedding.items() if key != "secrets"}
    config = parse_options(EmbeddingConfig, table, suite.place("embedding"))
    known = {**known_identity(config, suite.path.parent), **chunk_vectors(suite)}
    told: Mapping[str, str] = artifact.embedding
    if config.kind == "openai" and told.get("dimension", "").isdecimal():
        known = {**known, "dimension": told["dimension"]}
    yield from compare("embedding", told, known, "by the suite")
