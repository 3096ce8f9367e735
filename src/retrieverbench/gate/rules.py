"""Whether the rules of a suite make sense, before anything is measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from retrieverbench.gate.reach import limit_fault, reach, slice_fault, undefined
from retrieverbench.gate.subjects import PER_METRIC, canonical, counter_fault, subject_fault
from retrieverbench.metrics.scoring import SLICES
from retrieverbench.model import GoldenRecord, Rule, Target
from retrieverbench.options import nearest

NEEDED: Mapping[str, tuple[str, ...]] = {
    "minimum": ("metric", "value"),
    "maximum": ("metric", "value"),
    "baseline": ("metric",),
    "tolerance": ("metric", "tolerance"),
    "counter": ("counter", "value"),
    "must_pass": (),
}
"""The keys that each kind of rule needs; any other of these keys is refused."""

KEYS = ("metric", "counter", "value", "tolerance")
SLICE_FIELDS = (*SLICES, "derived", "needs_review")


def rule_faults(
    rules: Sequence[Rule],
    targets: Sequence[Target],
    file: str,
    lines: Mapping[tuple[str | int, ...], int] | None = None,
) -> list[str]:
    """One line per fault of the rules, `file:line: rules.N.key: what is wrong`.

    Faults are missing and foreign keys, numbers out of range, unknown metrics, counters,
    slices and targets, and a name given twice. `lines` gives the line of a key path such as
    ("rules", 0, "metric"); what it does not know has its rule's line.
    """
    return [
        f"{file}:{_line(rules[number], number, text, lines or {})}: rules.{number}.{text}"
        for number, text in _faults(rules, targets)
    ]


Records = Mapping[tuple[str, str], GoldenRecord]
"""By field and value of a slice."""


def reach_faults(
    rules: Sequence[Rule],
    golden: GoldenRecord,
    depth: int,
    file: str,
    lines: Mapping[tuple[str | int, ...], int] | None = None,
    slices: Records | None = None,
) -> list[str]:
    """As `rule_faults`, for rules that no answers to this set could break, or none keep.

    Rules without fault of their own are looked at; `slices` are those that the set has.
    """
    faults = []
    for number, rule in enumerate(rules):
        if text := _reach_fault(rule, golden, depth, slices or {}):
            line = _line(rule, number, text, lines or {})
            faults.append(f"{file}:{line}: rules.{number}.{text}")
    return faults


def _reach_fault(rule: Rule, golden: GoldenRecord, depth: int, slices: Records) -> str | None:
    if rule.kind == "must_pass" and not golden.must_pass:
        return "kind: no case of the golden set is marked must_pass; mark one, or remove the rule"
    for field, value in rule.slice.items():
        known = [other for name, other in slices if name == field]
        part = slices.get((field, value))
        if fault := slice_fault(field, value, part.cases if part else 0, known):
            return f"slice: {fault}"
        golden = part or golden
    subject = rule.metric or rule.counter
    if subject is None:
        return None
    name = canonical(subject)
    if why := undefined(name, golden):
        key = "metric" if rule.metric else "counter"
        return f"{key}: {subject} has no value here: {why}; remove the rule, or add such cases"
    return limit_fault(rule, *reach(name, golden, golden.cases, depth))


def _line(rule: Rule, number: int, text: str, lines: Mapping[tuple[str | int, ...], int]) -> int:
    """The line of the key that a fault begins with, or of the part of it that is known."""
    key: list[str | int] = list(text.partition(":")[0].split("."))
    for end in range(len(key), 0, -1):
        if ("rules", number, *key[:end]) in lines:
            return lines["rules", number, *key[:end]]
    return rule.line


def applies_to(rule: Rule, target: Target) -> bool:
    """Whether a rule names the target: by name, `name/mode`, or whole label."""
    return not rule.targets or bool(_names(target) & set(rule.targets))


def own_faults(rule: Rule) -> Iterator[str]:
    """What is wrong with one rule taken by itself: `key: what is wrong; what to do`."""
    if rule.kind not in NEEDED:
        yield f"kind: {rule.kind!r:.80} is not known; {nearest(rule.kind, NEEDED)}"
        return
    needed = NEEDED[rule.kind]
    for key in KEYS:
        given = getattr(rule, key) is not None
        if key in needed and not given:
            yield f"{key}: missing; a {rule.kind!r} rule needs it"
        elif given and key not in needed:
            yield f"{key}: a {rule.kind!r} rule has no such key; remove it"
    subject = [fault for fault in _subject_faults(rule) if fault]
    yield from subject
    yield from _range_faults(rule, None if subject else rule.metric or rule.counter)
    yield from _slice_faults(rule)


def _names(target: Target) -> set[str]:
    return {target.name, f"{target.name}/{target.mode}", target.label}


def _faults(rules: Sequence[Rule], targets: Sequence[Target]) -> Iterator[tuple[int, str]]:
    """The rule's position and `key: what is wrong; what to do`."""
    seen: dict[str, int] = {}
    known = {name for target in targets for name in _names(target)}
    for number, rule in enumerate(rules):
        first = seen.setdefault(rule.name, number)
        if first != number:
            remedy = "give each rule a name of its own"
            yield number, f"name: {rule.name!r:.80} also names rules.{first}; {remedy}"
        for text in own_faults(rule):
            yield number, text
        for name in rule.targets:
            if name not in known:
                yield number, f"targets: no target {name!r:.80}; {nearest(name, known)}"


def _subject_faults(rule: Rule) -> Iterator[str]:
    if rule.metric is not None and (fault := subject_fault(rule.metric)):
        yield f"metric: {fault}"
    if rule.counter is not None and (fault := counter_fault(rule.counter)):
        yield f"counter: {fault}"


def _range_faults(rule: Rule, subject: str | None) -> Iterator[str]:
    """Numbers that every outcome, or none, would satisfy, whatever is measured.

    `subject` is the metric or counter, None where it is not known. What a golden set, a slice
    or a baseline bounds is found once they are read.
    """
    for key in ("value", "tolerance"):
        number = getattr(rule, key)
        if number is not None and not math.isfinite(number):
            yield f"{key}: {number} is not a finite number; write the limit"
            return
    if rule.tolerance is not None and not 0 <= rule.tolerance < 1:
        yield f"tolerance: {rule.tolerance:g} is not in 0..1; every metric lies there"
    if rule.value is None or subject is None:
        return
    low, high = reach(canonical(subject))
    if rule.value > high:
        yield f"value: {rule.value:g} is above 1; metrics are shares, write 0.85 for 85 %"
    elif fault := limit_fault(rule, low, high):
        yield fault


def _slice_faults(rule: Rule) -> Iterator[str]:
    if not rule.slice:
        return
    if rule.kind == "must_pass":
        yield "slice: a 'must_pass' rule has no such key; remove it"
    subject = (rule.metric or rule.counter or "").strip()
    if subject.partition(":")[0] in {*PER_METRIC, "unknown_cases"}:
        yield f"slice: {subject} is of the whole set alone; remove the slice"
    if len(rule.slice) > 1:
        yield "slice: name one field, such as { tenant = 'acme' }"
    for field in sorted(rule.slice.keys() - set(SLICE_FIELDS)):
        yield f"slice.{field}: unknown field; {nearest(field, SLICE_FIELDS)}"
