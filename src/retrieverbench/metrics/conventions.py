"""Named conventions: rows of switches that reproduce other systems' numbers.

`house` is this project's own. Every other row makes the same functions answer as the
named system does, and refuses (InputError) where that system stops. Checked against the
systems' own answers in the conformance cases.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from retrieverbench.errors import InputError
from retrieverbench.metrics.declarations import METRICS, Metric

Order = Literal["list", "score", "score_id_asc", "trec", "trec32"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The switches. The defaults are the house's, save those on unusual input.

    order: `list` as returned; `score` descending, stable; `score_id_asc`, ties by id
        ascending; `trec`, ties by id descending; `trec32`, the same on scores as float32.
    repeats: a repeated id counts `once`, keeping its place; the `last` score wins, as in a
        map; is `counted` each time; or is an `error`.
    precision_over: k, or the number of results in the first k.
    gain: by the metric's name, or `binary`.
    ideal: judged chunks cut at k, `uncut`, or cut at the number `returned`.
    relevance: grade >= the metric's level; `one` always level 1; `positive` any above 0.
    grades_below_level: whether nDCG sees them.
    negative, fractional: what becomes of such grades.
    none_relevant, unjudged, missing: a query without a relevant chunk, with an empty map
        of judgements, judged but absent from the run. `count` = no value, 0 in the mean.
    digits, mean_digits: rounding of each query (half up) and of the mean.
    """

    order: Order = "list"
    repeats: Literal["once", "last", "counted", "error"] = "once"
    precision_over: Literal["k", "returned"] = "k"
    gain: Literal["named", "binary"] = "named"
    ideal: Literal["cut", "uncut", "returned"] = "cut"
    relevance: Literal["level", "one", "positive"] = "level"
    grades_below_level: bool = True
    negative: Literal["refuse", "unjudged", "use", "error_if_used"] = "use"
    all_negative_stops: bool = False
    fractional: Literal["refuse", "truncate", "use"] = "use"
    highest_grade: int | None = None
    none_relevant: Literal["leave_out", "zero", "error"] = "zero"
    unjudged: Literal["leave_out", "zero", "error"] = "zero"
    missing: Literal["count", "zero", "leave_out", "error"] = "zero"
    empty_is_missing: bool = False
    empty_run_stops: bool = False
    unjudged_query_stops: bool = False
    blanks_in_ids_stop: bool = False
    numeric_queries_only: bool = False
    digits: int | None = None
    mean_digits: int | None = None


@dataclass(frozen=True, slots=True)
class Convention:
    """A system's name, the metrics it has, its rules, and rules that differ by metric."""

    name: str
    offers: frozenset[str]
    rules: Rules
    exceptions: Mapping[str, Rules] = field(default_factory=dict)

    def rules_for(self, metric: Metric) -> Rules:
        """The switches under which this metric is computed."""
        return self.exceptions.get(metric.slug, self.rules)

    def adopt(self, metric: Metric) -> Metric:
        """The metric as this system knows it.

        `ndcg` becomes `ndcg_lin` where the only gain is another one, and a level is
        dropped where it has no effect. Raises InputError for a metric it does not have.
        """
        slug = metric.slug
        if slug not in self.offers and slug.replace("ndcg", "ndcg_lin", 1) in self.offers:
            metric = replace(metric, base="ndcg_lin")
        if metric.slug not in self.offers:
            raise InputError(
                f"metric: {metric.name!r} is not computed by {self.name!r}; "
                f"it has {', '.join(sorted(self.offers))}"
            )
        rules = self.rules_for(metric)
        sees_level = rules.gain == "binary" or not rules.grades_below_level
        if METRICS[metric.base].view == "graded" and not sees_level:
            metric = replace(metric, level=None)
        return metric

    def title(self, metric: Metric) -> str:
        """The name of a number of this convention, e.g. `ndcg_lin@10/trec_eval`."""
        return metric.name if self.name == "house" else f"{metric.name}/{self.name}"


def _offers(words: str) -> frozenset[str]:
    return frozenset(words.split())


_EVERYTHING = frozenset(
    name
    for base, metric in METRICS.items()
    for name, allowed in ((base, metric.cut != "required"), (f"{base}@k", metric.cut != "none"))
    if allowed
)
_TREC = _offers("precision@k recall@k hit@k mrr mrr@k ndcg_lin ndcg_lin@k ap ap@k rprec")
_RANX = _offers("precision@k recall@k hit@k mrr mrr@k ndcg_lin@k ndcg@k ap ap@k")
_ENGINE = _offers("precision@k recall@k mrr@k ndcg@k")

_trec_eval = Rules(
    order="trec",
    repeats="error",
    negative="unjudged",
    all_negative_stops=True,
    fractional="truncate",
    unjudged="leave_out",
    empty_is_missing=True,
    empty_run_stops=True,
    blanks_in_ids_stop=True,
)
_trec_eval_9 = replace(_trec_eval, order="trec32")
_pytrec_eval = Rules(
    order="trec32",
    repeats="last",
    negative="unjudged",
    fractional="refuse",
    unjudged="leave_out",
    missing="leave_out",
)
_ir_measures = replace(_pytrec_eval, missing="zero")
_ranx = Rules(
    order="score",
    repeats="last",
    grades_below_level=False,
    negative="unjudged",
    fractional="truncate",
    empty_run_stops=True,
)
_beir = replace(_pytrec_eval, relevance="one", mean_digits=5)
_beir_own = replace(
    _beir, order="score", unjudged="zero", missing="zero", unjudged_query_stops=True
)
_elasticsearch = Rules(repeats="counted", precision_over="returned", ideal="returned")
_quepid = Rules(repeats="counted", precision_over="returned", ideal="uncut", relevance="positive")
_lesson = Rules(negative="error_if_used")

_ALL = (
    Convention(
        "house",
        _EVERYTHING,
        Rules(
            negative="refuse",
            fractional="refuse",
            none_relevant="leave_out",
            unjudged="leave_out",
            missing="count",
        ),
    ),
    Convention("trec_eval", _TREC, _trec_eval),
    Convention("trec_eval_no_c", _TREC, replace(_trec_eval, missing="error")),
    Convention("trec_eval_9", _TREC, replace(_trec_eval_9, missing="leave_out")),
    Convention("trec_eval_9_c", _TREC, replace(_trec_eval_9, missing="count")),
    Convention("pytrec_eval", _TREC - {"mrr@k"}, _pytrec_eval),
    Convention(
        "ir_measures",
        _TREC | {"ndcg@k"},
        _ir_measures,
        {
            "mrr@k": replace(_ir_measures, order="score_id_asc"),
            "ndcg@k": replace(  # computed by gdeval.pl
                _ir_measures, digits=5, numeric_queries_only=True, highest_grade=4
            ),
        },
    ),
    Convention("ranx", _RANX, replace(_ranx, missing="error", unjudged_query_stops=True)),
    Convention("ranx_make_comparable", _RANX, _ranx),
    Convention(
        "beir",
        _offers("precision@k recall@k hit@k mrr@k ndcg_lin@k"),
        _beir,
        {"mrr@k": _beir_own, "hit@k": _beir_own},
    ),
    Convention(
        "mteb",
        _offers("mrr@k"),
        Rules(order="trec", repeats="last", missing="leave_out", unjudged_query_stops=True),
    ),
    Convention("elasticsearch", _ENGINE, _elasticsearch),
    Convention("opensearch", _ENGINE, replace(_elasticsearch, ideal="cut", digits=2)),
    Convention("quepid", _offers("precision@k mrr@k ndcg@k"), _quepid),
    Convention("quepid_cut", _offers("ndcg@k"), replace(_quepid, ideal="cut")),
    Convention(
        "dotnet-golden-set",
        _offers("precision@k recall@k hit@k mrr@k ndcg_lin@k"),
        Rules(repeats="counted", gain="binary"),
    ),
    Convention(
        "dotnet-release-gate",
        _offers("recall@k mrr"),
        Rules(none_relevant="error", unjudged="error", missing="error"),
    ),
    Convention(
        "lesson-16.34",
        _offers("precision@k recall@k mrr ndcg@k"),
        _lesson,
        {
            "recall@k": replace(_lesson, none_relevant="error", unjudged="error"),
            "ndcg@k": replace(_lesson, repeats="counted"),
        },
    ),
)

CONVENTIONS: Mapping[str, Convention] = MappingProxyType({c.name: c for c in _ALL})


def find_convention(name: str) -> Convention:
    """The convention of this name. Raises InputError with the nearest one."""
    if name in CONVENTIONS:
        return CONVENTIONS[name]
    near = difflib.get_close_matches(name, CONVENTIONS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(CONVENTIONS)}"
    raise InputError(f"convention: {name!r:.80} is not known; {hint}")
