"""Numbers as the cells of a report show them.

A number that is not there is a dash, never a zero; a number that is not zero is never
rounded to one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from retrieverbench.model import Mean, Percentile, TargetResult

DASH = "-"
MARK = "¹"
"""Refers to a sentence below the table."""


def figure(value: float | None, digits: int, *, trim: bool = False) -> str:
    """A number with so many decimals (`trim`: at most), `<0.01` where it would round to 0."""
    if value is None or not math.isfinite(value):
        return DASH
    text = f"{value:.{digits}f}"
    if value != 0 and float(text) == 0:
        least = f"{10.0**-digits:.{digits}f}"
        return f"<{least}" if value > 0 else f">-{least}"
    return text.rstrip("0").rstrip(".") if trim and "." in text else text


def count(value: float | None) -> str:
    """A whole number, or one with its decimals."""
    return DASH if value is None else f"{value:g}"


def of(part: int | None, whole: int | None) -> str:
    """`3/4`."""
    return DASH if part is None or whole is None else f"{part}/{whole}"


def rate(value: float | None) -> str:
    """A share in per cent."""
    return DASH if value is None else f"{figure(100 * value, 1, trim=True)} %".replace("<", "< ")


def above(bound: float | None, trials: int | None) -> str:
    """An upper bound, rounded up so that it stays one, and how many trials it rests on."""
    if bound is None:
        return DASH
    trusted = f" (n = {trials})" if trials is not None else ""
    return f"< {math.ceil(1000 * bound) / 10:g} %{trusted}"


def mean_cell(mean: Mean | None) -> str:
    """A mean with its standard error, and how many failed cases are in it as 0.

    Cases that are all alike tell nothing of how others may differ: no error is shown.
    """
    if mean is None or mean.value is None:
        return DASH
    failed = f" ({mean.counted_as_zero} failed, counted as 0)" if mean.counted_as_zero else ""
    error = f" ±{figure(mean.standard_error, 3)}" if mean.standard_error else ""
    return f"{figure(mean.value, 3)}{error}{failed}"


def percentile_cell(value: Percentile | None) -> str:
    """Milliseconds, or why there are none."""
    if value is None:
        return DASH
    if value.value is None:
        return f"n/a ({value.reason})"
    return f"> {value.value:.0f}" if value.censored else figure(value.value, 2)


def abstention(result: TargetResult) -> str:
    """The share of unanswerable cases that got no chunk, and how many of them there are."""
    assert result.scores is not None
    counters = result.scores.counters
    share = counters.get("abstention_rate")
    if share is None:
        return DASH
    whole = f"{rate(share)} of {count(counters.get('unanswerable'))}"
    return f"{whole} {MARK}" if has_no_floor(result) else whole


def has_no_floor(result: TargetResult) -> bool:
    """Whether a search by vector never kept silent, as those without a score floor cannot."""
    share = result.scores.counters.get("abstention_rate") if result.scores else None
    return share == 0 and result.target.mode != "lexical"


_TYPES = (
    r"(?:bigint|boolean|bpchar|character|integer|jsonb?|regclass|text|uuid|varchar|vector)(?![\w-])"
)


def safe(text: str) -> str:
    """Foreign text in one line: no control characters, nothing a CI runner would execute.

    Runners read `::command::`, `##vso[` and `##[` out of any line; an invisible space
    between the doubled characters makes them text. A cast of SQL (`::text`) stays as it is, to
    be copied: no command is called like a type.
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(rf"(?<=:)(?=:(?!{_TYPES}))|(?<=#)(?=[#\[])", "\u200b", line)


def safe_row(row: Sequence[str]) -> list[str]:
    """Every cell of a row made safe."""
    return [safe(cell) for cell in row]
