"""Whether the rules of a suite make sense, before anything is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from retrieverbench.errors import InputError
from retrieverbench.metrics import COUNTERS, parse_metric
from retrieverbench.model import Rule, Target
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


def rule_faults(rules: Sequence[Rule], targets: Sequence[Target], file: str) -> list[str]:
    """One line per fault of the rules, `file:line: rules.N.key: what is wrong`.

    Faults are missing and foreign keys, unknown metrics, counters and targets, and a name
    given twice.
    """
    return [f"{file}:{line}: {text}" for line, text in _faults(rules, targets)]


def canonical(rule: Rule) -> str:
    """The canonical name of the rule's metric."""
    return parse_metric(rule.metric or "").name


def applies_to(rule: Rule, target: Target) -> bool:
    """Whether a rule names the target: by name, `name/mode`, or whole label."""
    names = {target.name, f"{target.name}/{target.mode}", target.label}
    return not rule.targets or bool(names & set(rule.targets))


def _faults(rules: Sequence[Rule], targets: Sequence[Target]) -> Iterator[tuple[int, str]]:
    seen: dict[str, int] = {}
    known = {name for t in targets for name in (t.name, f"{t.name}/{t.mode}", t.label)}
    for number, rule in enumerate(rules):
        first = seen.setdefault(rule.name, number)
        if first != number:
            yield rule.line, f"rules.{number}.name: {rule.name!r} also names rules.{first}"
        for text in (*_key_faults(rule), *_name_faults(rule, known)):
            yield rule.line, f"rules.{number}.{text}"


def _key_faults(rule: Rule) -> Iterator[str]:
    needed = NEEDED[rule.kind]
    for key in KEYS:
        given = getattr(rule, key) is not None
        if key in needed and not given:
            yield f"{key}: missing; a {rule.kind!r} rule needs it"
        elif given and key not in needed:
            yield f"{key}: a {rule.kind!r} rule has no such key; remove it"
    if len(rule.slice) > 1:
        yield "slice: name one field, such as { tenant = 'acme' }"


def _name_faults(rule: Rule, known: set[str]) -> Iterator[str]:
    if rule.metric is not None:
        try:
            parse_metric(rule.metric)
        except InputError as error:
            yield f"metric: {error.faults[0]}"
    if rule.counter is not None and rule.counter.split("@")[0] not in COUNTERS:
        yield f"counter: {rule.counter!r} is not known; {nearest(rule.counter, COUNTERS)}"
    for name in rule.targets:
        if name not in known:
            yield f"targets: no target {name!r}; {nearest(name, known)}"
