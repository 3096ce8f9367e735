"""What a backend returned, free of credentials: a service may send one back as an id or a label.

Leaks are judged before, by the ids as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from retrieverbench.job.state import EntryState
from retrieverbench.model import (
    CaseResult,
    Chunk,
    LeakFinding,
    Plan,
    ProbeResult,
    TargetResult,
)
from retrieverbench.remote import hide_secrets
from retrieverbench.run.text import hidden_values
from retrieverbench.storage import stored

Hide = Callable[[str], str]


def without_secrets(
    result: TargetResult, state: EntryState, chunks: Sequence[Chunk]
) -> TargetResult:
    """A copy in which no text that the backend sent shows a credential of its entry.

    The uids of `chunks` stay as they are: they are the user's own, and tell nothing of the backend.
    """
    secrets = _secrets(state)
    if not secrets:
        return result
    corpus = stored(chunks)

    @cache
    def hide(text: str) -> str:
        hidden = hide_secrets(text, secrets)
        return text if hidden == text or corpus.owner(text) is not None else hidden

    checked = result.leaks and replace(
        result.leaks,
        findings=_findings(result.leaks.findings, hide),
        reason=_optional(result.leaks.reason, hide),
    )
    return replace(
        result,
        plan=_plan(result.plan, hide),
        results=tuple(_case(case, hide) for case in result.results),
        leaks=checked,
        probes=tuple(_probe(probe, hide) for probe in result.probes),
        notes=tuple(map(hide, result.notes)),
        late_failure=_optional(result.late_failure, hide),
    )


def _secrets(state: EntryState) -> tuple[str, ...]:
    if state.place is not None:
        return hidden_values(state.place.connection.secrets)
    return hidden_values(state.opened.settings.secrets) if state.opened is not None else ()


def _case(case: CaseResult, hide: Hide) -> CaseResult:
    return replace(
        case,
        hits=tuple((hide(uid), score) for uid, score in case.hits),
        refused=tuple(map(hide, case.refused)),
        message=_optional(case.message, hide),
    )


def _probe(probe: ProbeResult, hide: Hide) -> ProbeResult:
    """Its reason, control and facts name what was seen; the rest is the catalog's."""
    facts = {
        hide(name): hide(fact) if isinstance(fact, str) else fact
        for name, fact in probe.facts.items()
    }
    labels = tuple(
        replace(label, uid=hide(label.uid), label=hide(label.label)) for label in probe.labels
    )
    modes = tuple(
        replace(mode, plan=_plan(mode.plan, hide), note=hide(mode.note))
        for mode in probe.filter_modes
    )
    return replace(
        probe,
        reason=hide(probe.reason),
        control=hide(probe.control),
        findings=_findings(probe.findings, hide),
        facts=facts,
        labels=labels,
        filter_modes=modes,
    )


def _plan(plan: Plan | None, hide: Hide) -> Plan | None:
    if plan is None:
        return None
    index = _optional(plan.vector_index, hide)
    lines = tuple(map(hide, plan.lines))
    return replace(plan, lines=lines, vector_index=index, caveat=hide(plan.caveat))


def _findings(findings: Sequence[LeakFinding], hide: Hide) -> tuple[LeakFinding, ...]:
    return tuple(
        replace(one, uid=hide(one.uid), hint=_optional(one.hint, hide)) for one in findings
    )


def _optional(text: str | None, hide: Hide) -> str | None:
    return None if text is None else hide(text)
