"""The report as JUnit XML, the test report that every CI server shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import UTC, datetime

from retrieverbench.model import Artifact, TargetResult
from retrieverbench.report.cases import VERDICT, Case, artifact_cases, visible

_ELEMENTS = ("failure", "error", "skipped")


def render_junit(artifact: Artifact, suite_file: str = "") -> bytes:
    """A test suite per target and one for the verdict; equal artifacts give equal bytes.

    An audit has a test case per probe, mode and arm, a run one per rule and one for leaks.
    What was seen to be wrong is a failure, what needed an answer and has none an error,
    what needs none is skipped with the reason. A probe that failed and is too slight to fail the
    audit passes, with what was seen as its output. `suite_file` is shown as the cases' place.
    """
    cases = artifact_cases(artifact)
    started = _timestamp(artifact.started)
    root = ET.Element(
        "testsuites", {"name": "retrieverbench", **_counts(cases), "timestamp": started}
    )
    for result in artifact.targets:
        label = result.target.label
        own = [case for case in cases if case.suite == label]
        _suite(root, label, own, artifact, suite_file, result)
    labels = {VERDICT, *(result.target.label for result in artifact.targets)}
    for label in dict.fromkeys(case.suite for case in cases if case.suite not in labels):
        own = [case for case in cases if case.suite == label]
        _suite(root, label, own, artifact, suite_file)
    _suite(root, VERDICT, [case for case in cases if case.suite == VERDICT], artifact, suite_file)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _suite(
    root: ET.Element,
    label: str,
    cases: Sequence[Case],
    artifact: Artifact,
    suite_file: str,
    result: TargetResult | None = None,
) -> None:
    suite = ET.SubElement(root, "testsuite", {"name": visible(label), **_counts(cases)})
    if result is not None:
        known = ET.SubElement(suite, "properties")
        for name, value in _properties(result).items():
            ET.SubElement(known, "property", name=name, value=visible(value))
    for case in cases:
        _case(suite, case, f"{artifact.suite}.{label}", suite_file)


def _case(suite: ET.Element, case: Case, group: str, suite_file: str) -> None:
    named = {"classname": visible(group), "name": visible(case.name), **_time([case])}
    element = ET.SubElement(suite, "testcase", named)
    if suite_file and case.line:
        element.set("file", visible(suite_file))
        element.set("line", str(case.line))
    if case.status == "passed":
        if case.message:
            ET.SubElement(element, "system-out").text = case.message
        return
    first = case.message.partition("\n")[0]
    told = ET.SubElement(element, case.status, message=first)
    if case.status != "skipped":
        told.set("type", case.level)
        told.text = case.message


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    failures, errors, skipped = (
        str(sum(case.status == status for case in cases)) for status in _ELEMENTS
    )
    return {
        "tests": str(len(cases)),
        "failures": failures,
        "errors": errors,
        "skipped": skipped,
        **_time(cases),
    }


def _time(cases: Sequence[Case]) -> dict[str, str]:
    """What is known of it: a probe takes time, a rule none of its own."""
    known = [case.seconds for case in cases if case.seconds is not None]
    return {"time": f"{sum(known):.3f}"} if known else {}


def _properties(result: TargetResult) -> dict[str, str]:
    """What a green case is worth: what answered, and whether it was the vendor's server."""
    backend = result.backend
    server = f"{backend.server} {backend.server_version}" if backend else "unknown"
    return {"fidelity": result.fidelity or "unknown", "server": server}


def _timestamp(started: str) -> str:
    """`20300102T030405Z` as XML writes it."""
    try:
        moment = datetime.strptime(started, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return visible(started)
    return moment.strftime("%Y-%m-%dT%H:%M:%S")
