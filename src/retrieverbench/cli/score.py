"""`retrieverbench score`: metrics of TREC files, without any backend."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from retrieverbench.metrics import TrecScores

DEFAULT_METRICS = "nDCG@10,Recall@100,MRR"


@click.command()
@click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("qrels_file", metavar="QRELS", type=click.Path(path_type=Path))
@click.option("--metrics", default=DEFAULT_METRICS, show_default=True, help="Comma-separated.")
@click.option(
    "--convention",
    default="house",
    show_default=True,
    metavar="NAME",
    help="Whose numbers to reproduce: house, trec_eval, elasticsearch, ir_measures, ...",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object: mean and per_query.")
def score(
    run_file: Path, qrels_file: Path, metrics: str, convention: str, *, as_json: bool
) -> None:
    """Score a TREC run file against judgements (TREC or BEIR), both of which are only read."""
    from retrieverbench.golden.trec import Negative, read_qrels, read_run
    from retrieverbench.metrics import score_trec

    negative: Negative = "refuse" if convention == "house" else "keep"
    names = [name.strip() for name in metrics.split(",") if name.strip()]
    result = score_trec(
        read_run(run_file), read_qrels(qrels_file, negative=negative).grades, names, convention
    )
    if as_json:
        click.echo(json.dumps(_by_asked_name(result), sort_keys=True))
        return
    for name in names:
        canonical = result["asked"][name]
        value = result["mean"][canonical]
        click.echo(f"{canonical}\tall\t{'n/a' if value is None else format(value, '.4f')}")


def _by_asked_name(result: TrecScores) -> dict[str, object]:
    """Keyed by the names that were asked for; `metrics` says what each of them is exactly."""
    asked = result["asked"]

    def renamed(values: Mapping[str, object]) -> dict[str, object]:
        return {name: values[key] for name, key in asked.items() if key in values}

    return {
        "convention": result["convention"],
        "metrics": asked,
        "mean": renamed(result["mean"]),
        "per_query": renamed(result["per_query"]),
        "reasons": renamed(result["reasons"]),
        "n": renamed(result["n"]),
        "counted_as_zero": renamed(result["counted_as_zero"]),
        "counters": result["counters"],
    }
