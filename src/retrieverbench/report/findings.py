"""Leaks as a reader wants them: who saw whose chunks, how often, and the first in full."""

from __future__ import annotations

from collections import Counter

from retrieverbench.errors import plural
from retrieverbench.gate import finding_text
from retrieverbench.model import Artifact
from retrieverbench.report.cells import DASH

ROWS = 20
"""Pairs of tenants in the table; the artifact holds all."""

FIRST = 5
"""Findings that are written out."""

COLUMNS = ("target", "asking tenant", "owner", "shown", "seen in", "findings")


def finding_rows(artifact: Artifact) -> list[tuple[str, ...]]:
    """One row per target, asking tenant, owner and place, the most frequent first."""
    counts = Counter(
        (result.target.label, found.tenant, found.owner or DASH, found.shown, found.seen_in)
        for result in artifact.targets
        if result.leaks is not None
        for found in result.leaks.findings
    )
    return [(*key, str(number)) for key, number in counts.most_common(ROWS)]


def first_findings(artifact: Artifact) -> tuple[str, ...]:
    """The first findings in words, and that the artifact holds the others."""
    texts = [
        f"{result.target.label}: {finding_text(found)}"
        for result in artifact.targets
        if result.leaks is not None
        for found in result.leaks.findings
    ]
    left = len(texts) - FIRST
    more = (f"and {plural(left, 'more finding')}, which the artifact holds",) if left > 0 else ()
    return (*texts[:FIRST], *more)
