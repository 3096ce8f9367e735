"""`retrieverbench score`: metrics of TREC files, without any backend."""

from __future__ import annotations

import json
from pathlib import Path

import click

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
        click.echo(json.dumps(result, sort_keys=True))
        return
    for name, value in result["mean"].items():
        click.echo(f"{name}\tall\t{value:.4f}")
