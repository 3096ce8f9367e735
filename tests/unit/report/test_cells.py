"""A number that is not there is a dash; one that is not zero never looks like it."""

from __future__ import annotations

import pytest

from retrieverbench.model import Mean, Percentile
from retrieverbench.report.cells import (
    above,
    count,
    figure,
    mean_cell,
    of,
    percentile_cell,
    rate,
    safe,
)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (None, 3, "-"),
        (float("nan"), 3, "-"),
        (float("inf"), 0, "-"),
        (0.0, 3, "0.000"),
        (0.0004, 3, "<0.001"),
        (-0.0004, 3, ">-0.001"),
        (0.0006, 3, "0.001"),
        (0.4, 0, "<1"),
        (1234.5, 0, "1234"),
    ],
)
def test_figure(value: float | None, digits: int, text: str) -> None:
    assert figure(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (100.0, "100"), (0.6, "0.6"), (0.5999999, "0.6"), (0.599999, "0.599999")],
)
def test_trimmed_figure(value: float, text: str) -> None:
    assert figure(value, 6, trim=True) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0 %"), (1.0, "100 %"), (0.125, "12.5 %"), (0.0001, "< 0.1 %")],
)
def test_rate(value: float | None, text: str) -> None:
    assert rate(value) == text


@pytest.mark.parametrize(
    ("bound", "trials", "text"),
    [
        (None, 9, "-"),
        (0.02541, 115, "< 2.6 % (n = 115)"),
        (0.00001, None, "< 0.1 %"),
        (1.0, 1, "< 100 % (n = 1)"),
    ],
)
def test_bound_is_rounded_up(bound: float | None, trials: int | None, text: str) -> None:
    assert above(bound, trials) == text


def test_counts() -> None:
    assert [count(None), count(0), count(2.5)] == ["-", "0", "2.5"]
    assert [of(None, 3), of(3, None), of(0, 3)] == ["-", "-", "0/3"]


def test_mean_says_how_many_failed() -> None:
    assert mean_cell(None) == "-"
    assert mean_cell(Mean(None, 3, 3)) == "-"
    assert mean_cell(Mean(0.5, 4)) == "0.500"
    assert mean_cell(Mean(0.5, 4, standard_error=0.0004)) == "0.500 ±<0.001"
    assert mean_cell(Mean(1.0, 4, standard_error=0.0)) == "1.000"
    assert mean_cell(Mean(0.5, 4, 2)) == "0.500 (2 failed, counted as 0)"


def test_percentile() -> None:
    assert percentile_cell(None) == "-"
    assert percentile_cell(Percentile(None, reason="n=20 < 368")) == "n/a (n=20 < 368)"
    assert percentile_cell(Percentile(5000.0, censored=True)) == "> 5000"
    assert percentile_cell(Percentile(1.234)) == "1.23"
    assert percentile_cell(Percentile(0.001)) == "<0.01"


@pytest.mark.parametrize(
    "hostile",
    [
        "::error::x",
        "\n::error::x",
        ":::error:::x",
        "a ##vso[task.complete]",
        "##[error]x",
        "#[x",
        "###[x",
        "\x1b[31mred",
        "\r\n::set-output name=a::b",
        "a\u2028::warning::b",
    ],
)
def test_safe_text_is_one_line_without_commands(hostile: str) -> None:
    text = safe(hostile)
    assert len(text.splitlines()) == 1
    assert text.isascii() or "\u200b" in text
    for command in ("::", "##", "#[", "\x1b"):
        assert command not in text


def test_safe_leaves_ordinary_text_alone() -> None:
    text = "acme/hr:12 - Straße, 日本語 (#3); owner = current_setting('app.tenant'::text)"
    assert safe(text) == text


def test_a_command_called_nearly_like_a_type_is_no_cast() -> None:
    assert "::" not in safe("::text-mask::x") + safe("::textual::x")
