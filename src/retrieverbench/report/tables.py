"""The tables of a report as plain text cells; terminal and Markdown only draw them.

No number is computed here. A number that is not there is a dash with its reason beside it,
never a zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrieverbench.errors import plural
from retrieverbench.gate import fails_audit, unmeasured
from retrieverbench.leaks.audit import READ_ONLY
from retrieverbench.metrics import parse_metric
from retrieverbench.model import SEVERITIES, Artifact, LeakCheck, Scores, TargetResult
from retrieverbench.remote import shortened
from retrieverbench.report.cells import (
    DASH,
    MARK,
    above,
    abstention,
    count,
    figure,
    has_no_floor,
    mean_cell,
    of,
    rate,
)
from retrieverbench.report.findings import COLUMNS, finding_rows, first_findings
from retrieverbench.report.probes import probe_tables
from retrieverbench.report.table import Table
from retrieverbench.report.times import service_times
from retrieverbench.report.validity import known_weaknesses, slowness, validity

LONGEST = 600
"""Characters of a reason, and of a remedy, in a cell; the artifact holds more."""


def report_tables(artifact: Artifact) -> list[Table]:
    """All tables of a report, in reading order; empty ones are left out."""
    tables = [
        validity(artifact),
        _quality(artifact),
        service_times(artifact),
        slowness(artifact),
        _leaks(artifact),
        *probe_tables(artifact),
        Table("Leaks found", COLUMNS, tuple(finding_rows(artifact)), first_findings(artifact)),
        _rules(artifact),
        _absent(artifact),
        _backends(artifact),
    ]
    return [table for table in tables if table.rows]


def headline(artifact: Artifact) -> str:
    """The verdict in one line, with every other kind of finding that there was."""
    verdict = artifact.verdict
    if verdict is None:
        return "NOT JUDGED"
    others = [
        _how_many(artifact) if word == "not measured" else word
        for word in verdict.kinds
        if word != verdict.word
    ]
    also = f"; also {', '.join(others)}" if others else ""
    told = "".join(f"; {each}" for each in _only_told(artifact))
    return f"{verdict.word.upper()} (exit {verdict.exit_code}){also}{told}"


def _how_many(artifact: Artifact) -> str:
    """Of how many targets nothing is known: a pass is no pass of theirs."""
    absent = [result for result in artifact.targets if result.failure is not None]
    of_all = f" ({len(absent)} of {plural(len(artifact.targets), 'target')})" if absent else ""
    return f"not measured{of_all}"


def _only_told(artifact: Artifact) -> Iterator[str]:
    """Known weaknesses, and failed probes that are too slight to fail an audit."""
    fail_on = artifact.verdict.fail_on if artifact.verdict else None
    weak = [result for result in artifact.targets if known_weaknesses(result)]
    if weak:
        yield f"known weaknesses of {len(weak)} of {plural(len(artifact.targets), 'target')}"
    failed = [
        probe for result in artifact.targets for probe in result.probes if probe.outcome == "fail"
    ]
    for severity in SEVERITIES:
        names = sorted(
            {p.probe for p in failed if p.severity == severity and not fails_audit(p, fail_on)}
        )
        if names:
            yield f"{plural(len(names), 'probe')} of {severity} severity failed: {', '.join(names)}"


def summary(artifact: Artifact) -> str:
    """What was asked of what, in one line."""
    if artifact.kind == "audit":
        return f"suite {artifact.suite}: leak audit. {_asked_about(artifact)}"
    golden = artifact.golden
    version = f" v{golden.version}" if golden.version is not None else " (unversioned)"
    review = f", {golden.needs_review} need review" if golden.needs_review else ""
    return (
        f"suite {artifact.suite}: golden set {golden.name}{version}, "
        f"{plural(golden.cases, 'case')} ({golden.unanswerable} unanswerable{review}), "
        f"{plural(golden.chunks, 'chunk')} of {plural(golden.tenants, 'tenant')}"
    )


def _asked_about(artifact: Artifact) -> str:
    """Whose chunks the questions were about; both, where that is not known of any target."""
    probed = [result for result in artifact.targets if result.probes]
    read = [any(probe.reason == READ_ONLY for probe in result.probes) for result in probed]
    if read and all(read):
        return "It only reads, and asks the golden set's questions, about your chunks"
    own = "It loads chunks of its own and asks about them"
    if read and not any(read):
        return own
    return f"{own}; of a target that is only read it asks the golden set's, about your chunks"


def _measured(artifact: Artifact) -> list[TargetResult]:
    return [result for result in artifact.targets if result.scores is not None]


def _name(result: TargetResult) -> tuple[str, str]:
    return result.target.label, result.fidelity or DASH


def _quality(artifact: Artifact) -> Table:
    results = _measured(artifact)
    asked = [
        name
        for result in results
        if result.scores
        for name in result.scores.means
        if name in _asked(artifact, result.scores)
    ]
    shown = [name for name in dict.fromkeys(asked) if _is_metric(name)]
    rows = []
    for result in results:
        scores = result.scores
        assert scores is not None
        means = [scores.means.get(name) for name in shown]
        n = next((mean.n for mean in means if mean is not None), 0)
        rows.append(
            (
                *_name(result),
                *(mean_cell(mean) for mean in means),
                str(n),
                count(scores.counters.get("errors")),
                rate(scores.counters.get(f"forbidden_rate@{result.depth}")),
                abstention(result),
            )
        )
    columns = ("target", "fidelity", *(parse_metric(name).label for name in shown))
    columns += ("n", "errors", "forbidden", "abstained")
    notes = (_QUALITY, *_context(artifact, shown), *_floor_note(results))
    return Table("Quality", columns, tuple(rows), notes)


_QUALITY = (
    "Means over the n answerable cases, each once, ± their standard error: how far a mean may "
    "be off for other questions of this kind (none where all cases gave the same). It tests no "
    "difference between two targets. An unanswered case counts as 0 and is named. 'forbidden' is "
    "the share of answers with a forbidden chunk, or a superseded one that the case does not call "
    "relevant; 'abstained' the share of unanswerable cases that got no chunk."
)


def _context(artifact: Artifact, shown: Sequence[str]) -> Iterator[str]:
    """What a figure could be at best on this set, where that is far from 1 or from 0."""
    golden = artifact.golden
    highest = [
        f"{parse_metric(name).label} {figure(golden.ceilings[name], 3)}"
        for name in shown
        if name in golden.ceilings
    ]
    if highest:
        yield (
            f"The highest that can be reached on this set: {', '.join(highest)}, since cases have "
            "fewer relevant chunks than the cut."
        )
    if golden.superseded:
        yield (
            f"{golden.superseded} of the {golden.chunks} chunks are superseded by newer ones and "
            "are searched with them: answers that show one are 'forbidden'."
        )


def _floor_note(results: list[TargetResult]) -> Iterator[str]:
    if any(has_no_floor(result) for result in results):
        yield f"{MARK} No score floor: a search by vector always returns something."


def _asked(artifact: Artifact, scores: Scores) -> set[str]:
    """What was asked for by suite or rules; all, where the artifact does not tell."""
    if not artifact.metrics:
        return set(scores.means)
    return {scores.asked.get(name, name) for name in artifact.metrics}


def _is_metric(name: str) -> bool:
    """Ranking metrics only; the artifact holds derived means beside them."""
    from retrieverbench.errors import InputError

    try:
        parse_metric(name)
    except InputError:
        return False
    return True


def _leaks(artifact: Artifact) -> Table:
    rows = [
        (*_name(result), *_leak_cells(result.leaks))
        for result in artifact.targets
        if result.leaks is not None
    ]
    columns = (
        "target",
        "fidelity",
        "foreign",
        "unknown",
        "leaking answers",
        "own canaries found",
        "canaries asked for",
        "control arm: foreign",
        "proof",
        "95 % bound",
    )
    note = (
        "Every returned id is checked against our own record of owners. 'foreign' and 'unknown' "
        "count distinct chunks per question and pass, 'leaking answers' the answers that held "
        "any, of all that were checked. 'proof' is clean only if each tenant found its own canary "
        "and the unfiltered control arm, in which they are wanted, did show foreign chunks. The "
        "bound is on the share of leaking answers among questions like these."
    )
    return Table("Cross-tenant leaks", columns, tuple(rows), (note,))


def _leak_cells(leaks: LeakCheck | None) -> tuple[str, ...]:
    assert leaks is not None
    return (
        str(leaks.foreign),
        str(leaks.unknown),
        _leaking(leaks),
        of(leaks.canaries_found_by_owner, leaks.canaries_owned),
        count(leaks.canaries_asked),
        _control(leaks),
        leaks.proof if leaks.reason is None else f"{leaks.proof}: {leaks.reason}",
        above(leaks.upper_bound, leaks.trials),
    )


def _leaking(leaks: LeakCheck) -> str:
    return f"{count(leaks.leaking_answers)} of {leaks.answers}"


def _control(leaks: LeakCheck) -> str:
    """What the control arm showed, and what it showed that was never put into it."""
    other = f" ({leaks.control_findings} not its own)" if leaks.control_findings else ""
    return f"{count(leaks.control_foreign)}{other}"


def _rules(artifact: Artifact) -> Table:
    verdict = artifact.verdict
    rows = [
        (
            result.word,
            result.rule,
            result.target,
            figure(result.observed, 6, trim=True),
            figure(result.limit, 6, trim=True),
            DASH if result.n is None else str(result.n),
            "see 'Not measured'" if result.word == "not measured" else result.text,
        )
        for result in (verdict.rules if verdict else ())
        if not result.implied
        or result.word not in {"pass", "not measured"}
        or (result.kind == "must_pass" and result.word == "pass")
    ]
    columns = ("verdict", "rule", "target", "observed", "limit", "n", "reason")
    notes = (_MISSED,) if any(row[1] == "must_pass" for row in rows) else ()
    return Table("Rules", columns, tuple(rows), notes, keys=("verdict", "rule", "target"))


_MISSED = "Of must_pass, 'observed' counts the cases marked so that were missed; none may be."


def _absent(artifact: Artifact) -> Table:
    rows = [
        (
            label,
            result.failure_kind or "",
            "yes" if result.required else "no",
            shortened(result.failure, LONGEST),
            shortened(result.remedy or DASH, LONGEST),
        )
        for label, result in unmeasured(artifact)
        if result.failure is not None
    ]
    columns = ("target", "kind", "required", "reason", "what would make it run")
    return Table("Not measured", columns, tuple(rows))


def _backends(artifact: Artifact) -> Table:
    rows = {}
    for result in artifact.targets:
        backend = result.backend
        if backend is None:
            continue
        key = f"{result.target.name}/{result.target.layout}"
        rows[key] = (
            key,
            f"{backend.client} {backend.client_version}",
            figure(result.load_seconds, 2),
            figure(result.settle_seconds, 2),
            ", ".join(backend.properties) or DASH,
            _settings(backend.settings_changed),
            "; ".join(result.notes) or DASH,
        )
    columns = (
        "target",
        "client",
        "sent in s",
        "searchable after s",
        "declared",
        "settings during the run",
        "notes",
    )
    return Table("Backends", columns, tuple(rows.values()))


def _settings(changed: tuple[str, ...] | None) -> str:
    if changed is None:
        return "not checked afterwards"
    return "; ".join(changed) or "unchanged"
