"""Every answer of every named system in the conformance cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.metrics import CONVENTIONS, score_trec

NAMES = {
    "P": "precision",
    "R": "recall",
    "Hit": "hit",
    "RR": "mrr",
    "RRk": "mrr",
    "nDCG": "ndcg_lin",
    "nDCGexp": "ndcg",
}
NO_FINITE_SCORES = "nan-score"  # what a tool prints for NaN is left to chance


def tolerance(system: str, metric: str) -> float:
    """Half a step of the last digit that the system prints."""
    if system.startswith("trec_eval") or system == "beir":
        return 1.1e-4
    return 6e-6 if system.startswith("ir_measures") and metric == "nDCGexp" else 2e-6


def cases(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / "conformance" / "metric_cases.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def metric_name(case: dict[str, Any]) -> str:
    cut = f"@{case['k']}" if case["k"] else ""
    level = "" if case["rel"] == 1 else f"-l{case['rel']}"
    return f"{NAMES[case['metric']]}{cut}{level}"


def disagreement(case: dict[str, Any], system: str) -> str | None:
    """What differs between our answer and the expected one, None if nothing."""
    expected = case["expected"][system]
    run = {
        query: [(chunk, float(score)) for chunk, score in hits]
        for query, hits in case["run"].items()
    }
    name, mean = metric_name(case), expected["mean"]
    stops = isinstance(mean, str) and mean.startswith(("error:", "rejected:"))
    try:
        scores = score_trec(run, case["qrels"], [name], expected["convention"])
    except InputError as error:
        return None if stops else f"refused: {error}"
    if stops:
        return f"gave a number instead of {mean}"
    key = scores["asked"][name]
    wanted = {"": None if mean == "nothing-measured" else mean, **expected["per_query"]}
    got = {"": scores["mean"][key], **scores["per_query"][key]}
    for query, value in wanted.items():
        number, ours = value if isinstance(value, float) else None, got[query]
        if number is None or ours is None:
            same = number is None and ours is None
        else:
            same = abs(number - ours) <= tolerance(system, case["metric"])
        if not same:
            return f"query {query!r}: {ours} instead of {value}"
    if scores["n"][key] != expected.get("n", scores["n"][key]):
        return f"n {scores['n'][key]} instead of {expected['n']}"
    return None


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_convention_answers_as_its_system(shared: Path, convention: str) -> None:
    """A failure names the case: look there for why the systems differ."""
    checked, failures = 0, []
    for case in cases(shared):
        for system, expected in case["expected"].items():
            if expected["convention"] != convention:
                continue
            if case["id"] == NO_FINITE_SCORES and convention != "house":
                continue
            checked += 1
            fault = disagreement(case, system)
            if fault:
                failures.append(f"{case['id']} as {system}: {fault}")
    assert failures == []
    assert checked > 0


def test_the_house_gives_the_reason_for_every_value_it_does_not_give(shared: Path) -> None:
    words = {"excluded": "no_relevant", "missing": "missing", "error": "error:bad_score"}
    seen = set()
    for case in cases(shared):
        for query, value in case["expected"]["house"]["per_query"].items():
            if value in words:
                run = {q: [(c, float(s)) for c, s in h] for q, h in case["run"].items()}
                name = metric_name(case)
                scores = score_trec(run, case["qrels"], [name])
                assert scores["reasons"][scores["asked"][name]][query] == words[value]
                seen.add(value)
    assert seen == words.keys()
