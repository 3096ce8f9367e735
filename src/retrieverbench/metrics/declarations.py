"""What each number is called, what it means and where its formula comes from.

A declaration computes nothing (`percase` does) and averages nothing (`aggregate` does).
The documentation's list of metrics is made from these two tables.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from retrieverbench.errors import InputError


@dataclass(frozen=True, slots=True)
class Declaration:
    """A ranking metric. All lie in 0..1 and larger is better; an empty list scores 0.

    `cut` says whether the name takes `@k`; without it the whole depth counts. `view` is
    `binary` (relevant or not) or `graded` (grades). `label` is the name for people.
    """

    label: str
    cut: Literal["required", "optional", "none"]
    view: Literal["binary", "graded"]
    formula: str
    source: str


METRICS: Mapping[str, Declaration] = {
    "precision": Declaration(
        "P", "required", "binary", "relevant in the first k / k", "trec_eval P_k"
    ),
    "recall": Declaration(
        "Recall", "required", "binary", "relevant in the first k / R", "trec_eval recall_k"
    ),
    "capped_recall": Declaration(
        "Capped-Recall", "required", "binary", "relevant in the first k / min(R, k)", "BEIR R_cap"
    ),
    "hit": Declaration(
        "Hit", "required", "binary", "1 if any of the first k is relevant", "trec_eval success_k"
    ),
    "mrr": Declaration(
        "MRR", "optional", "binary", "1 / position of the first relevant", "trec_eval recip_rank"
    ),
    "ndcg": Declaration(
        "nDCG",
        "optional",
        "graded",
        "sum of (2^grade - 1) / log2(position + 1), over the same sum of the ideal list",
        "Burges et al. 2005",
    ),
    "ndcg_lin": Declaration(
        "nDCG-lin",
        "optional",
        "graded",
        "sum of grade / log2(position + 1), over the same sum of the ideal list",
        "trec_eval ndcg_cut_k",
    ),
    "ap": Declaration(
        "AP",
        "optional",
        "binary",
        "sum of the precision at each relevant position / R",
        "trec_eval map, map_cut_k",
    ),
    "rprec": Declaration(
        "R-precision", "none", "binary", "relevant in the first R / R", "trec_eval Rprec"
    ),
}


@dataclass(frozen=True, slots=True)
class Counter:
    """A count or share beside the means. `better` is None where neither direction is."""

    meaning: str
    better: Literal["lower", "higher"] | None


COUNTERS: Mapping[str, Counter] = {
    "cases": Counter("cases of the golden set", None),
    "errors": Counter("cases whose search failed", "lower"),
    "missing": Counter("cases without a record in the run", "lower"),
    "no_relevant": Counter("judged cases without a relevant chunk, left out of means", None),
    "unanswerable": Counter("cases without an answer in the corpus, left out of means", None),
    "needs_review": Counter("cases whose labels must be checked; they count", None),
    "unknown_cases": Counter("results whose case the set does not know, ignored", "lower"),
    "duplicates": Counter("repeated ids within the depth", "lower"),
    "duplicate_cases": Counter("cases with a repeated id", "lower"),
    "out_of_order": Counter("cases whose scores improve along the list", "lower"),
    "ties": Counter("cases with equal neighbouring scores within the depth", None),
    "ties_at_cut": Counter("cases whose positions k and k + 1 have equal scores", None),
    "underfill_rate": Counter(
        "share of answers with fewer than min(k, chunks the tenant may see) results", "lower"
    ),
    "judged": Counter("mean share of judged ids among the first k", "higher"),
    "forbidden": Counter("forbidden or superseded chunks among the first k", "lower"),
    "forbidden_rate": Counter("share of answers with a forbidden chunk in the first k", "lower"),
    "forbidden_first": Counter("cases with a forbidden chunk above the first relevant", "lower"),
    "depth_min": Counter("smallest number of results", None),
    "depth_median": Counter("median number of results", None),
    "depth_max": Counter("largest number of results", None),
    "abstention_rate": Counter("share of unanswerable cases with no result", "higher"),
    "false_answer_rate": Counter("1 - abstention_rate", "lower"),
    "false_abstention_rate": Counter("share of answerable cases with no result", "lower"),
    "abstention_accuracy": Counter("share of cases rightly answered or not answered", "higher"),
    "abstention_auc": Counter(
        "probability that an answerable case's top score exceeds an unanswerable one's", "higher"
    ),
    "tenant_macro": Counter("mean of the tenants' means of one metric", "higher"),
    "worst_tenant": Counter("smallest tenant's mean of one metric", "higher"),
    "robustness": Counter("mean over parents of (variants' mean - own value)", "higher"),
}

_SYNONYMS = {
    "p": "precision",
    "r": "recall",
    "success": "hit",
    "hit_rate": "hit",
    "rr": "mrr",
    "recip_rank": "mrr",
    "ndcg_exp": "ndcg",
    "ndcg_cut": "ndcg_lin",
    "map": "ap",
    "map_cut": "ap",
    "r_cap": "capped_recall",
    "r_precision": "rprec",
}
_HYPHEN = re.compile(r"-(?!l[0-9]+$)")  # of a label such as nDCG-lin, not of a level
_REST = re.compile(r"(?P<k>@[1-9][0-9]{0,8})?(?:-l[1-9][0-9]*)?")
_NAME = re.compile(r"(?P<base>[a-z_]+?)(?:(?:@|_at_|_)(?P<k>[0-9]{1,9}))?(?:-l(?P<level>[0-9]+))?")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as asked for. `k` is None uncut; `level` None leaves it to the set.

    >>> Metric("recall", 5, 3).name, Metric("ndcg", 10).label, Metric("mrr", 10).slug
    ('recall@5-l3', 'nDCG@10', 'mrr@k')
    """

    base: str
    k: int | None = None
    level: int | None = None

    @property
    def name(self) -> str:
        """The canonical name, as artifacts hold it."""
        cut = "" if self.k is None else f"@{self.k}"
        return f"{self.base}{cut}" + ("" if self.level is None else f"-l{self.level}")

    @property
    def label(self) -> str:
        """The name for people."""
        return self.name.replace(self.base, METRICS[self.base].label, 1)

    @property
    def slug(self) -> str:
        """The name without its numbers: what a convention offers or not."""
        return self.base if self.k is None else f"{self.base}@k"


def parse_metric(name: str) -> Metric:
    """Read a metric's name in any accepted spelling.

    >>> [parse_metric(n).name for n in ("nDCG@10", "Recall_at_5", "p@5", "MRR", "Success@3-l2")]
    ['ndcg@10', 'recall@5', 'precision@5', 'mrr', 'hit@3-l2']
    >>> [parse_metric(parse_metric(n).label).name for n in ("ndcg_lin@10", "rprec", "r_cap@5")]
    ['ndcg_lin@10', 'rprec', 'capped_recall@5']

    Raises InputError for an unknown name, with the nearest known one, and for a cut or
    level that the metric cannot have.
    """
    match = _NAME.fullmatch(_HYPHEN.sub("_", name.strip().lower()))
    base = match["base"] if match else ""
    base = _SYNONYMS.get(base, base)
    if match is None or base not in METRICS:
        raise InputError(f"metric: {name!r:.80} is not known; {_nearest(name)}")
    k = None if match["k"] is None else int(match["k"])
    level = None if match["level"] is None else int(match["level"])
    cut = METRICS[base].cut
    if k is None and cut == "required":
        raise InputError(f"metric: {name!r:.80} has no cut; write {base}@10")
    if k is not None and cut == "none":
        raise InputError(f"metric: {name!r:.80} takes no cut; write {base}")
    if k == 0 or level == 0:
        raise InputError(f"metric: {name!r:.80} has a 0; cuts and levels begin at 1")
    return Metric(base, k, level)


def lower_is_better(name: str) -> bool:
    """Whether a smaller value of this metric or counter is the better one.

    >>> lower_is_better("forbidden_rate@5"), lower_is_better("ndcg@10")
    (True, False)
    """
    counter = COUNTERS.get(re.split("[@:]", name, maxsplit=1)[0])
    return counter is not None and counter.better == "lower"


def _nearest(name: str) -> str:
    """The nearest name that is right as a whole, or all that there are."""
    text = _HYPHEN.sub("_", name.strip().lower())
    base = re.split("@|-l", text, maxsplit=1)[0]
    near = difflib.get_close_matches(base, [*METRICS, *_SYNONYMS], n=1)
    if not near:
        return f"known: {', '.join(METRICS)}"
    cut = METRICS[_SYNONYMS.get(near[0], near[0])].cut
    rest = text.removeprefix(base)
    found = _REST.fullmatch(rest)
    if found is None or cut == ("none" if found["k"] else "required"):
        rest = "" if cut == "none" else "@10"
    return f"did you mean {near[0] + rest!r:.80}?"
