"""`retrieverbench score`: metrics of TREC files, without any backend."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from retrieverbench.cli.output import reader_may_leave, tell
from retrieverbench.errors import InputError, RetrieverBenchError, plural

if TYPE_CHECKING:
    from retrieverbench.golden.runs import TrecRun
    from retrieverbench.golden.trec import Qrels
    from retrieverbench.metrics import TrecScores

DEFAULT_METRICS = "nDCG@10,Recall@100,MRR"
NOTHING_VALID = RetrieverBenchError.exit_code


@click.command()
@click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path, readable=False))
@click.argument("qrels_file", metavar="QRELS", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--metrics",
    show_default=f"those of {DEFAULT_METRICS} that the convention has",
    help="Comma-separated.",
)
@click.option(
    "--convention",
    default="house",
    show_default=True,
    metavar="NAME",
    help="Whose numbers to reproduce: house, elasticsearch, ir_measures, ... or trec_eval, which "
    "is version 10 called with -c (every judged query counts).",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object: mean, per_query and why. A query that is null there has no value; it "
    "counts as 0 in the mean where `counted_as_zero` says so and is left out of it otherwise, and "
    "`reasons` says why.",
)
def score(
    run_file: Path, qrels_file: Path, metrics: str | None, convention: str, *, as_json: bool
) -> int:
    """Score a TREC run file against judgements (TREC or BEIR), both of which are only read.

    They may be gzipped. They are read more than once, so a pipe such as <(...) is refused.

    What was unusual in them is told on standard error. Exits 5 when no mean could be computed.
    """
    from retrieverbench.metrics import score_trec

    names = _names(metrics, convention)
    run, qrels = _read(run_file, qrels_file, convention)
    result = score_trec(run.lists, qrels.grades, names, convention)
    with reader_may_leave():
        _print(result, names, as_json=as_json)
    for note in _namesakes(result, convention):
        tell(f"note: {note}")
    for note in (*run.notes, *qrels.notes):
        tell(f"warning: {note}")
    is_valid = any(value is not None for value in result["mean"].values())
    if is_valid:
        missing = qrels.grades.keys() - run.lists.keys()
        if missing:
            tell(f"{run_file}: {_missing(result, missing, len(qrels.grades))}")
        if unknown := len(run.lists.keys() - qrels.grades.keys()):
            tell(f"{qrels_file}: {plural(unknown, 'query')} of the run not judged; ignored")
        return 0
    tell(f"error: nothing valid was measured: {_why_none(result)}")
    return NOTHING_VALID


def _read(run_file: Path, qrels_file: Path, convention: str) -> tuple[TrecRun, Qrels]:
    """Both files; InputError with every fault of one of them, or that they are swapped."""
    from retrieverbench.golden.runs import read_run
    from retrieverbench.golden.text import columns_of
    from retrieverbench.golden.trec import read_qrels

    try:
        qrels = read_qrels(qrels_file, negative="refuse" if convention == "house" else "keep")
        return read_run(run_file), qrels
    except InputError:
        if columns_of(run_file) not in {3, 4} or columns_of(qrels_file) < 6:
            raise
    raise InputError(
        f"{run_file}: holds judgements, and {qrels_file} a run, as their columns tell; name the "
        f"run first: retrieverbench score {quote(str(qrels_file))} {quote(str(run_file))}"
    )


def _names(metrics: str | None, convention: str) -> list[str]:
    """The metrics asked for; without any, the usual ones that the convention has."""
    from retrieverbench.metrics import parse_metric
    from retrieverbench.metrics.conventions import find_convention

    if metrics is not None:
        names = [name.strip() for name in metrics.split(",") if name.strip()]
        if not names:
            raise InputError(f"--metrics: {metrics!r} names no metric; write {DEFAULT_METRICS}")
        return names
    rules = find_convention(convention)
    known = []
    for name in DEFAULT_METRICS.split(","):
        with suppress(InputError):
            rules.adopt(parse_metric(name))
            known.append(name)
    return known or ["MRR@10"]  # of the systems that have none of the usual ones


def _namesakes(result: TrecScores, convention: str) -> Iterator[str]:
    """Where a system's own nDCG is another number than the house's."""
    from retrieverbench.metrics import parse_metric
    from retrieverbench.metrics.conventions import find_convention

    offers = find_convention(convention).offers
    for name, canonical in result["asked"].items():
        metric = parse_metric(name)
        if metric.base != "ndcg":
            continue
        if canonical.startswith("ndcg_lin"):
            yield f"{name} of {convention} has linear gain; it is shown as {canonical}"
        elif metric.slug.replace("ndcg", "ndcg_lin", 1) in offers and convention != "house":
            linear = metric.label.replace("nDCG", "nDCG_lin", 1)
            yield f"{name} is exponential gain here; what {convention} calls nDCG is {linear}"


def _print(result: TrecScores, names: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_by_asked_name(result), sort_keys=True))
        return
    for canonical in dict.fromkeys(result["asked"][name] for name in names):
        value = result["mean"][canonical]
        click.echo(f"{canonical}\tall\t{'n/a' if value is None else format(value, '.4f')}")


def _missing(result: TrecScores, missing: Collection[str], judged: int) -> str:
    """How many judged queries the run lacks, and what the convention makes of them."""
    counted = 0
    for query in missing:
        values = [by_query[query] for by_query in result["per_query"].values()]
        reasons = [reasons.get(query) for reasons in result["reasons"].values()]
        counted += 0.0 in values or "missing" in reasons
    text = f"{plural(len(missing), 'query')} of {judged} judged ones missing from the run; "
    left_out = len(missing) - counted
    parts = [f"{counted} counted as 0"] * bool(counted)
    parts += [f"{left_out} left out of the means"] * bool(left_out)
    return text + ", ".join(parts)


def _why_none(result: TrecScores) -> str:
    """What keeps every query from having a value: the reasons and how often each occurs."""
    reasons = next(iter(result["reasons"].values()), {})
    counts = Counter(reasons.values())
    words = ", ".join(f"{number} {reason}" for reason, number in sorted(counts.items()))
    return f"no judged query has a value ({words}); check that both files name the same queries"


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
