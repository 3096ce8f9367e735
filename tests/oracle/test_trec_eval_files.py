"""trec_eval's own test suite: input files and the output that its program prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retrieverbench.golden.runs import read_run
from retrieverbench.golden.trec import read_qrels
from retrieverbench.metrics import TrecScores, score_trec

COUNTS = ("num_ret", "num_rel", "num_rel_ret")
NAMES = {
    "P": "precision",
    "recall": "recall",
    "success": "hit",
    "recip_rank": "mrr",
    "map": "ap",
    "map_cut": "ap",
    "Rprec": "rprec",
    "ndcg": "ndcg_lin",
    "ndcg_cut": "ndcg_lin",
}
FILES = {  # expected file: judgements, run, relevance level, depth
    "out.test": ("qrels.test", "results.test", 1, None),
    "out.test.a": ("qrels.test", "results.test", 1, None),
    "out.test.aq": ("qrels.test", "results.test", 1, None),
    "out.test.aqc": ("qrels.test", "results.trunc", 1, None),
    "out.test.aqcM": ("qrels.test", "results.trunc", 1, 100),
    "out.test.aql": ("qrels.rel_level", "results.test", 2, None),
    "out.test.meas_params": ("qrels.test", "results.test", 1, None),
}


def our_name(measure: str, level: int) -> str | None:
    """Our name of a trec_eval measure, None for those we do not have."""
    match = re.fullmatch(r"(?P<base>[A-Za-z_]+?)(?:_(?P<k>[0-9]+))?", measure)
    if match is None or match["base"] not in NAMES or measure.startswith("ndcg_1"):
        return None
    cut = f"@{match['k']}" if match["k"] else ""
    return f"{NAMES[match['base']]}{cut}" + ("" if level == 1 else f"-l{level}")


class Computed:
    """Our side of one comparison."""

    def __init__(self, folder: Path, file: str, convention: str) -> None:
        judged, run, self.level, depth = FILES[file]
        self.qrels = read_qrels(folder / judged, negative="keep").grades
        self.convention = convention
        self.run = {  # by score, then id, both descending: what -M cuts
            query: sorted(listing.hits, key=lambda hit: (hit[1], hit[0]), reverse=True)[:depth]
            for query, listing in read_run(folder / run).lists.items()
        }

    def value(self, measure: str, query: str) -> float | None:
        if measure in COUNTS:
            queries = self.qrels if query == "all" else [query]
            return float(sum(self.count(measure, q) for q in queries))
        name = our_name(measure, self.level)
        if name is None:
            return None
        scores: TrecScores = score_trec(self.run, self.qrels, [name], self.convention)
        key = scores["asked"][name]
        return scores["mean"][key] if query == "all" else scores["per_query"][key][query]

    def count(self, measure: str, query: str) -> int:
        relevant = {c for c, grade in self.qrels[query].items() if grade >= self.level}
        returned = {c for c, _ in self.run.get(query, [])}
        sets = {"num_ret": returned, "num_rel": relevant, "num_rel_ret": relevant & returned}
        return len(sets[measure])


def compare(folder: Path, expected: Path, convention: str) -> tuple[int, list[str]]:
    ours = Computed(folder, expected.name, convention)
    compared, failures = 0, []
    for line in expected.read_text("utf-8").splitlines():
        measure, query, text = line.split()
        value = ours.value(measure, query)
        if value is None:
            continue
        compared += 1
        if abs(value - float(text)) > 1e-4:
            failures.append(f"{expected}: {measure} {query} {text}, ours {value}")
    return compared, failures


@pytest.mark.parametrize(
    ("version", "plain", "complete"),
    [(".", "trec_eval", "trec_eval"), ("v9.0.8", "trec_eval_9", "trec_eval_9_c")],
)
def test_every_reproducible_line(shared: Path, version: str, plain: str, complete: str) -> None:
    folder = shared / "conformance" / "trec_eval"
    compared, failures = 0, []
    for file in FILES:
        convention = complete if "aqc" in file else plain
        count, faults = compare(folder, folder / version / file, convention)
        compared += count
        failures += faults
    assert failures == []
    assert compared == {".": 841, "v9.0.8": 749}[version]  # 1,590 in the fourteen files
