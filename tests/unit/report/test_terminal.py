"""The terminal: every width, nothing broken, no text that acts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rendering_support import (
    MakeArtifact,
    hostile,
    judged,
    printed,
    row,
    table,
    timings,
)
from retrieverbench.model import (
    Rule,
    RuleResult,
    Target,
    Verdict,
)
from retrieverbench.report.tables import report_tables

LONG = "elasticsearch/lexical/filter"


def test_times_of_a_run_whose_settings_moved_are_not_printed(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    result = make_result(timings=timings())
    moved = replace(result, backend=replace(result.backend, settings_changed=("ef: 1, 2",)))
    found = row(make_artifact(moved), "Service time")
    assert {found[name] for name in ("p50 ms", "p95 ms", "p99 ms", "ok/s")} == {"-"}
    assert found["validity"].startswith("void")
    assert row(make_artifact(moved), "Backends")["settings during the run"] == "ef: 1, 2"


@pytest.mark.parametrize("width", [40, 80, 5000])
def test_terminal_text_cannot_act(
    make_artifact: MakeArtifact, make_result: Any, width: int
) -> None:
    text = printed(hostile(make_artifact, make_result), width)
    for line in text.splitlines():
        assert not line.lstrip().startswith("::")
    for command in ("::", "##", "\x1b", "⚠"):
        assert command not in text
    if width == 5000:
        assert ":warning:[bold]" in text


def test_a_headline_keeps_the_numbers_of_a_rule_whatever_its_details(
    make_artifact: MakeArtifact,
) -> None:
    rule = RuleResult(
        "tolerance nDCG@5", "tolerance", LONG, "fail", "nDCG@5 0.775395, baseline 0.97512",
        details=("lost most: " + "'a case' 0 (was 1), " * 20,),
    )  # fmt: skip
    whole = f"fail: {rule.rule} on {rule.target}: {rule.text}"
    artifact = replace(make_artifact(), verdict=Verdict("fail", 1, (whole,), (rule,)))
    head, *_, last = printed(artifact, 100).split("FAIL (exit 1)")[1:]
    brief = " ".join(head.partition("\n\n")[0].split())
    assert "nDCG@5 0.775395, baseline 0.97512" in brief
    assert "lost most" not in brief
    assert whole.strip() in last


@pytest.mark.parametrize("width", [40, 100])
def test_the_first_lines_tell_what_to_do(make_artifact: MakeArtifact, width: int) -> None:
    """Its middle was cut, and with it what was wrong."""
    words = " ".join(f"word{number}" for number in range(40))
    told, long = f"{words}; do this about it", f"{words} {words}; do that about it"
    artifact = replace(make_artifact(), verdict=Verdict("fail", 1, (told, long), ()))
    head, last = printed(artifact, width).split("FAIL (exit 1)\n")[1:]
    brief = head.partition("\n\n")[0]
    assert max(map(len, brief.splitlines())) <= width
    plain = " ".join(brief.split())
    assert plain.startswith(f"{told} {words} word0")
    assert plain.endswith(" … (whole below all tables)")
    assert long in last


def test_terminal_says_where_the_files_are(make_artifact: MakeArtifact) -> None:
    assert "written: results/a.json and a.md" in printed(judged(make_artifact()))


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_targets_and_words_are_never_broken_on_a_terminal(
    make_artifact: MakeArtifact, make_result: Any, width: int
) -> None:
    result = make_result(name="elasticsearch", timings=timings())
    words = "nothing here can answer because no server listens at that address on this machine"
    absent = make_result(
        name="elasticsearch", scores=None, results=(), leaks=None, timings=None,
        failure=words, failure_kind="absent", remedy=words,
    )  # fmt: skip
    artifact = judged(
        make_artifact(result, absent), Rule("minimum", "recall of all", metric="MRR", value=0.5)
    )
    text = printed(artifact, width)
    assert max(map(len, text.splitlines()[:-8])) <= width
    rows = sum(len([c for c in t.rows if LONG in c]) for t in report_tables(artifact))
    assert rows == 8
    assert sum(LONG in line for line in text.splitlines()) >= rows
    found = set(text.split())
    for table_ in report_tables(artifact):
        for cell in (*table_.columns, *(cell for cells in table_.rows for cell in cells)):
            assert set(cell.split()) <= found


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_narrow_terminal_gets_wide_tables_in_parts_with_their_targets(
    make_artifact: MakeArtifact, make_result: Any, width: int
) -> None:
    names = [f"store{number}" for number in range(3)]
    artifact = make_artifact(*(make_result(name=n, timings=timings()) for n in names))
    lines = [line.rstrip() for line in printed(artifact, width).splitlines()]
    assert "Service time, continued" in lines
    assert not [line for line in printed(artifact, 400).splitlines() if "continued" in line]
    for name in names:
        assert sum(f"{name}/lexical/filter" in line for line in lines) >= 6
    heads = [line.split() for line in lines if line.startswith("target")]
    assert {"fidelity", "validity", "proof", "forbidden"} <= {word for h in heads for word in h}


def test_one_cause_of_all_modes_is_printed_once(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    down = [
        make_result(
            target=Target("store", "fake", mode), scores=None, results=(), leaks=None,
            failure="nobody answers", failure_kind="failed",
        )
        for mode in ("dense", "lexical", "hybrid")
    ]  # fmt: skip
    artifact = judged(make_artifact(*down), Rule("minimum", "m", metric="MRR", value=0.5))
    assert [cells[0] for cells in table(artifact, "Not measured").rows] == [
        "store/dense,lexical,hybrid/filter"
    ]
    assert len(table(artifact, "Rules").rows) == 3
    assert printed(artifact).count("nobody answers") == 3  # first of all, in its table, a reason
    assert printed(artifact).startswith("NOT MEASURED (exit 3)\n")


@pytest.mark.parametrize(("width", "name"), [(8, "store"), (20, "store"), (80, "s" * 100)])
def test_numbers_and_targets_are_whole_however_narrow_the_terminal_is(
    make_artifact: MakeArtifact, make_result: Any, width: int, name: str
) -> None:
    """A letter a line was drawn, and on eight columns numbers were left out."""
    artifact = make_artifact(make_result(name=name, timings=timings()))
    found = set(printed(artifact, width).split())
    for title in ("Quality", "Service time", "Cross-tenant leaks"):
        for column, cell in row(artifact, title).items():
            assert set(cell.split()) <= found, column
