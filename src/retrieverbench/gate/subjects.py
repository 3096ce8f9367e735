"""What a rule may speak about: metrics, and the counters beside them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from retrieverbench.errors import InputError
from retrieverbench.metrics import COUNTERS, METRICS, lower_is_better, parse_metric
from retrieverbench.model import Scores
from retrieverbench.options import nearest

WITH_CUT = frozenset({"ties_at_cut", "underfill_rate", "judged", "forbidden", "forbidden_rate"})
_TIME = re.compile(
    r"p(50|75|9\d+)([._ ]?ms)?|(mean_|max_)?(latency|service|throughput|qps|rps)\w*|ok/s"
)
PER_METRIC = frozenset({"tenant_macro", "worst_tenant", "robustness"})
_COUNTER = re.compile(r"(?P<base>[a-z_]+)(?:@(?P<k>[1-9][0-9]*))?(?::(?P<rest>.+))?")


def is_counter(name: str) -> bool:
    """Whether a name is that of a counter, with or without its cut."""
    match = _COUNTER.fullmatch(name.strip())
    return match is not None and match["base"] in COUNTERS


def subject_fault(name: str) -> str | None:
    """Why a rule's `metric` cannot be used; None if it can. Shares count as metrics."""
    if is_counter(name):
        return _form_fault(name)
    if _TIME.fullmatch(name.strip().lower()):
        return f"{name!r:.80} is a time, and no rule can judge times yet; remove the rule"
    try:
        parse_metric(name)
    except InputError as error:
        return error.faults[0].removeprefix("metric: ")
    return None


def counter_fault(name: str) -> str | None:
    """Why a rule's `counter`, which sets a maximum, cannot be used; None if it can."""
    if _TIME.fullmatch(name.strip().lower()):
        return subject_fault(name)
    if not is_counter(name):
        return f"{name!r:.80} is not known; {_nearest(name)}"
    if _base(name) in COUNTERS and COUNTERS[_base(name)].better == "higher":
        return (
            f"{name!r:.80} is better when higher, and a counter rule sets a maximum; "
            "write kind = 'minimum' and metric instead"
        )
    return _form_fault(name)


def canonical(name: str) -> str:
    """A rule's metric or counter as scores call it, levels apart."""
    name = name.strip()
    if not is_counter(name):
        return parse_metric(name).name
    base, colon, rest = name.partition(":")
    return f"{base}{colon}{parse_metric(rest).name}" if base in PER_METRIC and rest else name


def full_name(name: str, scores: Scores) -> str:
    """The canonical name with the level and convention that the golden set asked for."""
    base, colon, rest = name.partition(":")
    if colon:
        return f"{base}:{scores.asked.get(rest, rest)}"
    return scores.asked.get(name, name)


def is_lower_better(name: str) -> bool:
    """The direction of a canonical metric or counter."""
    return name.partition("@")[0] not in METRICS and lower_is_better(name)


def counter_value(name: str, scores: Scores, counters: Mapping[str, float | None]) -> float | None:
    """A counter's value, None where it is undefined. Raises KeyError where there is none.

    `counters` are those of the whole set, of a slice, or of a baseline. Error codes that
    did not occur have no entry of their own: they are 0.
    """
    if name.startswith("errors:") and name not in counters and "errors" in counters:
        return 0.0
    return counters[full_name(name, scores)]


def _nearest(name: str) -> str:
    """The nearest counter's name, with the cut or metric that it needs."""
    near = difflib.get_close_matches(_base(name).lower(), COUNTERS, n=1)
    if not near:
        return nearest("", COUNTERS)
    rest = "@10" if near[0] in WITH_CUT else ":ndcg@10" if near[0] in PER_METRIC else ""
    given = name.strip()[len(_base(name)) :]
    if given and subject_fault(near[0] + given) is None:
        rest = given
    return f"did you mean {near[0] + rest!r:.80}?"


def _base(name: str) -> str:
    return re.split("[@:]", name.strip(), maxsplit=1)[0]


def _form_fault(name: str) -> str | None:
    match = _COUNTER.fullmatch(name.strip())
    assert match is not None
    base = match["base"]
    if base in WITH_CUT and match["k"] is None:
        return f"{name!r:.80} has no cut; write {base}@10"
    if base not in WITH_CUT and match["k"] is not None and base not in PER_METRIC:
        return f"{name!r:.80} takes no cut; write {base}"
    if base in PER_METRIC:
        return _metric_fault(name, match["rest"])
    if match["rest"] is not None and base != "errors":
        return f"{name!r:.80} takes no ':'; write {base}"
    return None


def _metric_fault(name: str, metric: str | None) -> str | None:
    if metric is None:
        return f"{name!r:.80} names no metric; write {name.strip()}:ndcg@10"
    try:
        parse_metric(metric)
    except InputError as error:
        return error.faults[0].removeprefix("metric: ")
    return None
