"""Values that ir_measures computed on two queries of its own tests."""

from __future__ import annotations

import json
import re
from pathlib import Path

from retrieverbench.golden.runs import read_run
from retrieverbench.golden.trec import read_qrels
from retrieverbench.metrics import score_trec
from retrieverbench.metrics.percase import judged_share

NAMES = {
    "P": "precision",
    "R": "recall",
    "Success": "hit",
    "RR": "mrr",
    "AP": "ap",
    "nDCG": "ndcg_lin",
    "nDCG(dcg='exp-log2')": "ndcg",
}


def test_every_value(shared: Path) -> None:
    folder = shared / "conformance" / "ir_measures"
    qrels = read_qrels(folder / "two_queries.qrels").grades
    run = read_run(folder / "two_queries.run").lists
    compared = 0
    for line in (folder / "two_queries.expected.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        base, cut = re.fullmatch(r"(.*?)(?:@(\d+))?", row["measure"]).groups()  # type: ignore[union-attr]
        if base == "Judged":
            k = int(cut) if cut else 1000
            ours = {q: judged_share(run[q].ids, qrels[q], k) for q in run}
        else:
            level = "-l2" if "(rel=2)" in base else ""
            name = NAMES[base.replace("(rel=2)", "")] + (f"@{cut}" if cut else "") + level
            scores = score_trec(run, qrels, [name], "ir_measures")
            ours = scores["per_query"][scores["asked"][name]]
            assert abs((scores["mean"][scores["asked"][name]] or 0.0) - row["mean"]) <= 6e-6
        for query, value in row["per_query"].items():
            number = ours[query]
            assert number is not None
            assert abs(number - value) <= 6e-6, row["measure"]
            compared += 1
    assert compared == 116
