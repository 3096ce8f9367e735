"""What the leak audit found as SARIF 2.1.0, for viewers of security alerts.

The format: OASIS, Static Analysis Results Interchange Format Version 2.1.0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from urllib.parse import quote

from retrieverbench.leaks import CATALOG
from retrieverbench.model import Artifact, ProbeResult, Severity, TargetResult
from retrieverbench.report.cases import LEVELS, excuse_of, is_only_told, place_of, visible

SCHEMA_ADDRESS = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
SECURITY_SEVERITY: dict[Severity, str] = {
    "critical": "9.5",
    "high": "8.0",
    "medium": "5.5",
    "low": "2.0",
    "info": "1.0",
}
"""Within GitHub's bands: above 9.0 critical, 7.0 to 8.9 high, 4.0 to 6.9 medium, below that low.

GitHub Docs, SARIF support for code scanning, reportingDescriptor: properties.security-severity.
"""
_Object = dict[str, object]
_Found = tuple[TargetResult, ProbeResult]


def render_sarif(artifact: Artifact, suite_file: str) -> bytes:
    """An audit in one run of SARIF; equal artifacts give equal bytes.

    Failed probes are results of kind `fail`, of level `note` where they do not fail the audit;
    inconclusive ones that needed a conclusion are of kind `open`. Passes, what does not apply,
    accepted risks and excused probes stand in the run's properties, since viewers show every
    result as an alert. `suite_file` is the suite's path from the root of the repository; results
    point to their target's line in it.
    """
    rules = _rules(artifact)
    indexes = {str(rule["id"]): index for index, rule in enumerate(rules)}
    version = artifact.harness.get("retrieverbench", "")
    driver: _Object = {"name": "retrieverbench", "rules": rules}
    run: _Object = {
        "tool": {"driver": {**driver, **({"version": version} if version else {})}},
        "automationDetails": {"id": f"retrieverbench/leaks/{artifact.suite}/"},
        "invocations": [_invocation(artifact)],
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(
                *(result, probe, indexes[probe.probe], suite_file),
                is_told=is_only_told(probe, artifact),
            )
            for result, probe in _all(artifact)
            if _is_result(probe, artifact)
        ],
        "properties": _properties(artifact),
    }
    document = {"$schema": SCHEMA_ADDRESS, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1).encode() + b"\n"


def _all(artifact: Artifact) -> Iterator[_Found]:
    for result in artifact.targets:
        for probe in result.probes:
            yield result, probe


def _is_result(probe: ProbeResult, artifact: Artifact) -> bool:
    if probe.outcome == "inconclusive":
        return excuse_of(probe, artifact) is None
    return probe.outcome == "fail"


def _rules(artifact: Artifact) -> list[_Object]:
    """One rule per probe that was asked; a probe that the catalog lacks has its title only."""
    titles = {probe.probe: probe.title for _result, probe in _all(artifact)}
    known = {probe.id: probe for probe in CATALOG}
    rules: list[_Object] = []
    for id_, title in sorted(titles.items()):
        rule: _Object = {"id": id_, "shortDescription": {"text": visible(title)}}
        if probe := known.get(id_):
            worth = f"Class {probe.leak_class}, severity {probe.severity}."
            rule["fullDescription"] = {"text": probe.help}
            limit = f" It does not see {probe.limit}." if probe.limit else ""
            rule["help"] = {"text": f"{id_} {probe.title}. {worth} {probe.help}{limit}"}
            rule["defaultConfiguration"] = {"level": LEVELS[probe.severity]}
            tags = ["security", "tenant-isolation", probe.leak_class]
            weight = SECURITY_SEVERITY[probe.severity]
            rule["properties"] = {
                "tags": tags,
                "severity": probe.severity,
                "security-severity": weight,
            }
        rules.append(rule)
    return rules


def _invocation(artifact: Artifact) -> _Object:
    """Whether the audit came to its end, and which targets it could not ask."""
    failed = [result for result in artifact.targets if result.failure is not None]
    notifications = [
        {
            "level": "error" if result.failure_kind == "failed" or result.required else "note",
            "message": {"text": visible(f"{result.target.label}: not audited: {result.failure}")},
        }
        for result in failed
    ]
    ended = artifact.complete and not any(note["level"] == "error" for note in notifications)
    found: _Object = {
        "executionSuccessful": ended,
        "toolExecutionNotifications": notifications,
    }
    if artifact.verdict is not None:
        found["exitCode"] = artifact.verdict.exit_code
    return found


def _result(
    result: TargetResult, probe: ProbeResult, index: int, suite_file: str, *, is_told: bool
) -> _Object:
    is_open = probe.outcome == "inconclusive"
    prefix = "inconclusive: " if is_open else ""
    text = f"{result.target.label} ({probe.arm}): {probe.title}: {prefix}{probe.reason}"
    place: _Object = {"artifactLocation": {"uri": quote(suite_file), "uriBaseId": "%SRCROOT%"}}
    if result.line:
        place["region"] = {"startLine": result.line}
    identity = _identity(result, probe)
    return {
        "ruleId": probe.probe,
        "ruleIndex": index,
        "kind": "open" if is_open else "fail",
        "level": "none" if is_open else "note" if is_told else LEVELS[probe.severity],
        "message": {"text": visible(text)},
        "locations": [
            {
                "physicalLocation": place,
                "logicalLocations": [{"fullyQualifiedName": visible(result.target.label)}],
            }
        ],
        "partialFingerprints": {
            "retrieverbenchProbe/v1": identity,
            # The only one that GitHub reads; without it all alerts of a line would be one.
            "primaryLocationLineHash": f"{identity[:16]}:1",
        },
        "properties": _details(result, probe),
    }


def _identity(result: TargetResult, probe: ProbeResult) -> str:
    """Equal in every run: of nothing that is drawn or measured."""
    target = result.target
    parts = (probe.probe, target.name, probe.mode or "", target.layout, probe.arm)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _details(result: TargetResult, probe: ProbeResult) -> _Object:
    """What was seen, in ids and owners."""
    return {
        "target": visible(result.target.label),
        "fidelity": result.fidelity or "unknown",
        "arm": probe.arm,
        "class": probe.leak_class,
        "severity": probe.severity,
        "trials": probe.trials,
        "findings": [
            {
                "tenant": visible(found.tenant),
                "uid": visible(found.uid),
                "owner": None if found.owner is None else visible(found.owner),
                "rank": found.rank,
            }
            for found in probe.findings[:1]
        ],
        "findingsInAll": len(probe.findings),
    }


def _properties(artifact: Artifact) -> _Object:
    """All that is no alert, so that a reader sees what was asked and how strong it is."""
    listed: dict[str, list[str]] = {"passed": [], "notApplicable": [], "excused": []}
    risks: list[_Object] = []
    for result, probe in _all(artifact):
        name = f"{probe.probe} {result.target.name}/{result.target.layout} ({place_of(probe)})"
        if probe.outcome == "pass":
            listed["passed"].append(visible(name))
        elif probe.outcome in {"not applicable", "not probed"}:
            listed["notApplicable"].append(visible(f"{name}: {probe.reason}"))
        elif not _is_result(probe, artifact):
            excuse = excuse_of(probe, artifact)
            listed["excused"].append(visible(f"{name}: {probe.reason}; accepted: {excuse}"))
        risks += [
            {
                "property": risk.name,
                "declared": visible(risk.place),
                "probe": visible(name),
                "effect": visible(risk.effect),
                "found": risk.found,
            }
            for risk in probe.risks
        ]
    bounds = [
        {
            "target": visible(result.target.label),
            "arm": bound.arm,
            "trials": bound.trials,
            "upperBound95": bound.upper_bound,
        }
        for result in artifact.targets
        for bound in result.bounds
    ]
    verdict = artifact.verdict.word if artifact.verdict else "not judged"
    return {"verdict": verdict, **listed, "acceptedRisks": risks, "bounds": bounds}
