"""Whether anything in an artifact shows a tenant what belongs to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrieverbench.errors import Code
from retrieverbench.model import NOT_IN_CORPUS, LeakCheck, LeakFinding, TargetResult

NO_ID_IS_KNOWN = (
    "no id of the index is in the corpus: check attach.id and attach.matches before anything else"
)


def leak_of(result: TargetResult) -> str | None:
    """What leaked, in one line; None if nothing did. No rule and no setting changes it."""
    leaks = result.leaks
    timed = result.timings.errors.get(Code.TENANT_VIOLATION.word, 0) if result.timings else 0
    if leaks is not None and (leaks.proof == "leak" or leaks.findings):
        return f"{result.target.label}: {_text(leaks)}"
    if timed:
        return f"{result.target.label}: {timed} timed answers held a chunk of another tenant"
    return None


def leak_reasons(result: TargetResult) -> Iterator[str]:
    """The same, behind what to look at first where not one id of an attached index is known."""
    leak = leak_of(result)
    if leak is None:
        return
    if is_none_known([uid for case in result.results for uid, _ in case.hits]):
        yield f"{result.target.label}: {NO_ID_IS_KNOWN}"
    yield leak


def finding_text(finding: LeakFinding) -> str:
    """One finding in words: who got what, where, and whose it is."""
    if finding.shown != "id":
        where = f"at rank {finding.rank}" if finding.rank else "outside the hits"
        what = finding.part.removesuffix(" of ")
        return (
            f"case {finding.case_id!r} of {finding.tenant!r} got {what} of a chunk of "
            f"{finding.owner!r} {where} ({finding.seen_in}){finding.place}"
        )
    owner = f"belongs to {finding.owner!r}" if finding.owner else "is no chunk of the corpus"
    hint = f"; {finding.hint}" if finding.hint else ""
    where = f"at rank {finding.rank}" if finding.rank else "outside the hits"
    return (
        f"case {finding.case_id!r} of {finding.tenant!r} got {finding.uid!r} "
        f"{where} ({finding.seen_in}), which {owner}{hint}"
    )


def is_none_known(uids: Sequence[str]) -> bool:
    """Whether there are ids of an attached index, and the corpus holds none of them."""
    return bool(uids) and all(uid.startswith(NOT_IN_CORPUS) for uid in uids)


def _text(leaks: LeakCheck) -> str:
    counts = f"{leaks.foreign} foreign and {leaks.unknown} unknown chunks"
    if leaks.control_findings:
        counts += f", {leaks.control_findings} in the control arm that were never put into it"
    if not leaks.findings:
        return counts
    return f"{counts}; first: {finding_text(leaks.findings[0])}"
