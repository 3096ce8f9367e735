"""Whether anything in an artifact shows a tenant what belongs to another."""

from __future__ import annotations

from retrieverbench.errors import Code
from retrieverbench.model import LeakCheck, TargetResult


def leak_of(result: TargetResult) -> str | None:
    """What leaked, in one line; None if nothing did. No rule and no setting changes it."""
    leaks = result.leaks
    timed = result.timings.errors.get(Code.TENANT_VIOLATION.word, 0) if result.timings else 0
    if leaks is not None and (leaks.proof == "leak" or leaks.findings):
        return f"{result.target.label}: {_text(leaks)}"
    if timed:
        return f"{result.target.label}: {timed} timed answers held a chunk of another tenant"
    return None


def _text(leaks: LeakCheck) -> str:
    counts = f"{leaks.foreign} foreign and {leaks.unknown} unknown chunks"
    if not leaks.findings:
        return counts
    first = leaks.findings[0]
    owner = f"belongs to {first.owner!r}" if first.owner else "is in no ledger"
    where = f"at rank {first.rank}" if first.rank else "outside the hits"
    return (
        f"{counts}; first: case {first.case_id!r} of {first.tenant!r} got {first.uid!r} "
        f"{where} ({first.seen_in}), which {owner}{f'; {first.hint}' if first.hint else ''}"
    )
