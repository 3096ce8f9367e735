"""Whether anything in an artifact shows a tenant what belongs to another."""

from __future__ import annotations

from retrieverbench.errors import Code
from retrieverbench.model import NOT_IN_CORPUS, LeakCheck, LeakFinding, TargetResult


def leak_of(result: TargetResult) -> str | None:
    """What leaked, in one line; None if nothing did. No rule and no setting changes it."""
    leaks = result.leaks
    timed = result.timings.errors.get(Code.TENANT_VIOLATION.word, 0) if result.timings else 0
    if leaks is not None and (leaks.proof == "leak" or leaks.findings):
        return f"{result.target.label}: {_text(leaks)}{_mapping_hint(result)}"
    if timed:
        return f"{result.target.label}: {timed} timed answers held a chunk of another tenant"
    return None


def finding_text(finding: LeakFinding) -> str:
    """One finding in words: who got what, where, and whose it is."""
    if finding.seen_in == "total" and not finding.uid:
        return f"{finding.tenant!r} was told {finding.hint}"
    if finding.seen_in == "text":
        return (
            f"case {finding.case_id!r} of {finding.tenant!r} got the text of a chunk of "
            f"{finding.owner!r} with its own {finding.uid!r} at rank {finding.rank}"
        )
    owner = f"belongs to {finding.owner!r}" if finding.owner else "is no chunk of the corpus"
    hint = f"; {finding.hint}" if finding.hint else ""
    where = f"at rank {finding.rank}" if finding.rank else "outside the hits"
    return (
        f"case {finding.case_id!r} of {finding.tenant!r} got {finding.uid!r} "
        f"{where} ({finding.seen_in}), which {owner}{hint}"
    )


def _mapping_hint(result: TargetResult) -> str:
    """What else it may be where not one id of an attached index is known."""
    uids = [uid for case in result.results for uid, _ in case.hits]
    if not uids or not all(uid.startswith(NOT_IN_CORPUS) for uid in uids):
        return ""
    return "; no id of the index is in the corpus: check attach.id and attach.matches first"


def _text(leaks: LeakCheck) -> str:
    counts = f"{leaks.foreign} foreign and {leaks.unknown} unknown chunks"
    if leaks.control_findings:
        counts += f", {leaks.control_findings} in the control arm that were never put into it"
    if leaks.totals:
        counts += f", totals that count others' chunks: {leaks.totals}"
    if not leaks.findings:
        return counts
    return f"{counts}; first: {finding_text(leaks.findings[0])}"
