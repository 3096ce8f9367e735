"""Terminal and Markdown: the same tables, no number that is not there, no text that acts."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from retrieverbench.gate import judge
from retrieverbench.model import (
    Artifact,
    CaseResult,
    LeakFinding,
    Percentile,
    Rule,
    RuleResult,
    Target,
    Timings,
    Verdict,
)
from retrieverbench.report import print_report, render_markdown
from retrieverbench.report.table import Table
from retrieverbench.report.tables import LONGEST, headline, report_tables, summary

MakeArtifact = Callable[..., Artifact]
LABEL = "fake/lexical/filter"
HOSTILE = "::error::|`x`\n##vso[task.complete]\x1b[31m<b>*_[l](u)_*</b>&@all ~~$x$ :warning:[bold]"


def timings(**changes: Any) -> Timings:
    made = Timings(
        "closed", 4, 400, 12, 8, 2, 1.5, 0.4,
        {
            "p50": Percentile(1.25, 1.0, 1.5),
            "p95": Percentile(5000.0, censored=True),
            "p99": Percentile(None, reason="n=400 < 459"),
        },
        {}, ("ok",), 12.5,
    )  # fmt: skip
    return replace(made, **changes)


def printed(artifact: Artifact, width: int = 200) -> str:
    out = io.StringIO()
    print_report(artifact, Console(file=out, width=width), Path("results/a.json"))
    return out.getvalue()


def table(artifact: Artifact, title: str) -> Table:
    return next(table for table in report_tables(artifact) if table.title == title)


def row(artifact: Artifact, title: str, number: int = 0) -> dict[str, str]:
    found = table(artifact, title)
    return dict(zip(found.columns, found.rows[number], strict=True))


def judged(artifact: Artifact, *rules: Rule) -> Artifact:
    return replace(artifact, verdict=judge(artifact, rules, {}))


def test_quality_row(make_artifact: MakeArtifact, make_result: Any) -> None:
    result = make_result({"c1": ["x1"]}, {"c2": CaseResult("c2", "error", (), "reset", "x")})
    assert row(make_artifact(result), "Quality") == {
        "target": LABEL,
        "fidelity": "engine",
        "nDCG@3": "0.818 ±0.122 (1 failed, counted as 0)",
        "Recall@3": "0.818 ±0.122 (1 failed, counted as 0)",
        "Hit@3": "0.818 ±0.122 (1 failed, counted as 0)",
        "n": "11",
        "errors": "1",
        "forbidden": "0 %",
        "abstained": "100 % of 1",
    }


def test_undefined_is_a_dash(make_artifact: MakeArtifact, make_result: Any) -> None:
    down = {f"c{n}": CaseResult(f"c{n}", "error", (), "connect", "x") for n in range(12)}
    found = row(make_artifact(make_result(broken=down)), "Quality")
    assert {found[name] for name in ("nDCG@3", "Recall@3", "Hit@3", "forbidden", "abstained")} == {
        "-"
    }


def test_service_times(make_artifact: MakeArtifact, make_result: Any) -> None:
    found = row(make_artifact(make_result(timings=timings())), "Service time")
    assert [found[name] for name in ("p50 ms", "p95 ms", "p99 ms")] == [
        "1.25",
        "> 5000",
        "n/a (n=400 < 459)",
    ]
    assert (found["ok/s"], found["errors"], found["validity"]) == ("<1", "0", "ok")


def test_times_of_a_run_whose_settings_moved_are_not_printed(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    result = make_result(timings=timings())
    moved = replace(result, backend=replace(result.backend, settings_changed=("ef: 1, 2",)))
    found = row(make_artifact(moved), "Service time")
    assert {found[name] for name in ("p50 ms", "p95 ms", "p99 ms", "ok/s")} == {"-"}
    assert found["validity"].startswith("void")
    assert row(make_artifact(moved), "Backends")["settings during the run"] == "ef: 1, 2"


def test_settings_that_were_not_read_again_are_not_called_unchanged(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    result = make_result()
    assert row(make_artifact(result), "Backends")["settings during the run"] == "unchanged"
    unread = replace(result, backend=replace(result.backend, settings_changed=None))
    assert row(make_artifact(unread), "Backends")["settings during the run"] == (
        "not checked afterwards"
    )


def test_what_the_leak_check_did_not_look_at_is_no_zero(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    result = make_result()
    found = row(make_artifact(result), "Cross-tenant leaks")
    assert found["95 % bound"] == "< 20 % (n = 13)"
    assert (found["own canaries found"], found["control arm: foreign"]) == ("2/2", "9")
    bare = replace(
        result.leaks,
        canaries_asked=None,
        canaries_owned=None,
        canaries_found_by_owner=None,
        control_foreign=None,
        proof="inconclusive",
        reason="read-only",
        upper_bound=None,
    )
    found = row(make_artifact(replace(result, leaks=bare)), "Cross-tenant leaks")
    for column in ("own canaries found", "canaries asked for", "control arm: foreign"):
        assert found[column] == "-"
    assert (found["95 % bound"], found["proof"]) == ("-", "inconclusive: read-only")


def test_a_failed_target_never_shows_a_number(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    failed = make_result(
        name="down",
        scores=None,
        results=(),
        leaks=None,
        backend=None,
        load_seconds=None,
        failure="connection " * 200 + "refused",
        failure_kind="failed",
        remedy="start it",
    )
    artifact = judged(
        make_artifact(make_result(), failed), Rule("minimum", "m", metric="MRR", value=0.5)
    )
    for found in report_tables(artifact):
        for cells in found.rows:
            if "down/lexical/filter" not in cells:
                continue
            assert found.title in {"Not measured", "Rules"}
            assert not any(cell.replace(".", "").isdigit() for cell in cells)
    shown = row(artifact, "Not measured")
    reason = shown.pop("reason")
    assert reason.startswith("connection connection")
    assert reason.endswith("connection refused")
    assert len(reason) == LONGEST
    assert shown == {
        "target": "down/lexical/filter",
        "kind": "failed",
        "required": "no",
        "what would make it run": "start it",
    }


def test_rules_that_say_no_are_shown_with_both_numbers(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    artifact = judged(
        make_artifact(make_result({"c1": ["x1"]})),
        Rule("minimum", "high", metric="Recall@3", value=0.91),
    )
    found = row(artifact, "Rules")
    assert (found["verdict"], found["observed"], found["limit"], found["n"]) == (
        "fail",
        "0.909091",
        "0.91",
        "11",
    )


def test_every_rule_of_the_suite_is_shown_and_implied_ones_only_when_they_fail(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    own = [Rule("counter", "mine", counter="errors", value=1), Rule("must_pass", "all of them")]
    broken = {"c2": CaseResult("c2", "missing")}
    artifact = judged(make_artifact(make_result(broken=broken), must_pass=["c1"]), *own)
    shown = {cells[1]: cells[0] for cells in table(artifact, "Rules").rows}
    assert shown == {"mine": "pass", "all of them": "pass", "counter missing": "fail"}


def test_headline_names_every_kind(make_artifact: MakeArtifact, make_result: Any) -> None:
    assert headline(make_artifact()) == "NOT JUDGED"
    assert headline(judged(make_artifact())) == "PASS (exit 0)"
    result = make_result({"c1": ["x1"]})
    leaky = replace(result, leaks=replace(result.leaks, proof="leak"))
    artifact = judged(
        make_artifact(leaky, complete=False), Rule("minimum", "m", metric="Recall@3", value=1.0)
    )
    assert headline(artifact) == ("LEAK (exit 4); also interrupted, fail")
    cut_off = judged(make_artifact(complete=False))
    assert headline(cut_off) == "INTERRUPTED (exit 130)"
    assert "INTERRUPTED (exit 130)" in printed(cut_off)
    assert render_markdown(cut_off).startswith("# INTERRUPTED (exit 130)\n")
    for text in (printed(artifact), render_markdown(artifact)):
        assert "LEAK (exit 4); also interrupted, fail" in text
        for word in ("leak: ", "fail: ", "interrupted: "):
            assert word in text


def hostile(make_artifact: MakeArtifact, make_result: Any) -> Artifact:
    """Foreign text in every place that a backend, a golden set or a suite can fill."""
    result = make_result(notes=(HOSTILE,), timings=timings(errors={HOSTILE: 1}))
    backend = replace(
        result.backend,
        server=HOSTILE,
        server_version=HOSTILE,
        client=HOSTILE,
        properties=(HOSTILE,),
        settings_changed=(HOSTILE,),
    )
    finding = LeakFinding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 1, HOSTILE, "quality")
    leaks = replace(result.leaks, proof="leak", findings=(finding,), reason=HOSTILE)
    result = replace(
        result, target=Target(HOSTILE, HOSTILE, "lexical"), backend=backend, leaks=leaks
    )
    failed = make_result(
        scores=None, results=(), failure=HOSTILE, failure_kind="failed", remedy=HOSTILE
    )
    artifact = make_artifact(result, failed, suite=HOSTILE, notes=(HOSTILE,))
    artifact = replace(
        artifact,
        golden=replace(artifact.golden, name=HOSTILE),
        embedding={HOSTILE: HOSTILE},
        machine={HOSTILE: HOSTILE},
        commit=HOSTILE,
        run_id=HOSTILE,
    )
    rules = (RuleResult(HOSTILE, "minimum", HOSTILE, "fail", HOSTILE),)
    return replace(artifact, verdict=Verdict("leak", 4, (HOSTILE, f"leak: {HOSTILE}"), rules))


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


def test_markdown_text_cannot_act(make_artifact: MakeArtifact, make_result: Any) -> None:
    text = render_markdown(hostile(make_artifact, make_result))
    lines = text.splitlines()
    own = {"## Provenance", *(f"## {t.title}" for t in report_tables(make_artifact()))}
    for command in ("::", "##vso", "##[", "\x1b", "<b>", "[l](u)", "@all"):
        assert command not in text
    assert "\\[l\\](u)" in text
    assert [line for line in lines if line.startswith("## ")][-1] == "## Provenance"
    assert {line for line in lines if line.startswith("## ")} >= own - {"## Rules"}


def test_markdown_tables_keep_their_shape(make_artifact: MakeArtifact, make_result: Any) -> None:
    artifact = hostile(make_artifact, make_result)
    lines = render_markdown(artifact).splitlines()
    for found in report_tables(artifact):
        start = lines.index(f"## {found.title}") + 2
        for line in lines[start : start + 2 + len(found.rows)]:
            bars = line.replace("\\\\", "").replace("\\|", "").count("|")
            assert bars == len(found.columns) + 1


def test_equal_artifacts_give_equal_text(make_artifact: MakeArtifact) -> None:
    one, other = judged(make_artifact()), judged(make_artifact())
    assert render_markdown(one) == render_markdown(other)
    assert printed(one) == printed(other)


def test_long_markdown_is_cut_after_a_whole_line_and_says_so(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    artifact = judged(make_artifact(*(make_result(name=f"t{n}") for n in range(200))))
    whole = render_markdown(artifact)
    cut = render_markdown(artifact, max_bytes=5000)
    assert len(cut.encode()) < 5200
    *kept, _, note = cut.splitlines()
    assert whole.splitlines()[: len(kept)] == kept
    assert note == (
        f"{len(whole.splitlines()) - len(kept)} more lines were cut; "
        "the artifact beside this file holds all."
    )
    assert kept[0].startswith("# PASS")


def test_summary(make_artifact: MakeArtifact) -> None:
    artifact = make_artifact()
    assert summary(artifact) == (
        "suite small: golden set small v1, 12 cases (1 unanswerable), 16 chunks of 2 tenants"
    )
    golden = replace(artifact.golden, version=None, needs_review=3)
    assert "(unversioned), 12 cases (1 unanswerable, 3 need review)" in summary(
        replace(artifact, golden=golden)
    )


def test_terminal_says_where_the_files_are(make_artifact: MakeArtifact) -> None:
    assert "written: results/a.json and a.md" in printed(judged(make_artifact()))


LONG = "elasticsearch/lexical/filter"


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


def test_what_a_figure_can_be_at_best_is_told(make_artifact: MakeArtifact) -> None:
    artifact = make_artifact(metrics=("ndcg@3", "precision@3"))
    golden = replace(artifact.golden, ceilings={"precision@3": 0.25}, superseded=4)
    result = replace(artifact, golden=golden)
    notes = "\n".join(table(result, "Quality").notes)
    assert "4 of the 16 chunks are superseded" in notes
    assert "highest that can be reached" not in notes  # it is not among the scores
    assert "superseded by" not in "\n".join(table(artifact, "Quality").notes)


def test_what_cannot_keep_silent_is_marked_and_explained_once(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    dense = [
        make_result({"c11": ["x1"]}, target=Target(name, "fake", "dense")) for name in ("a", "b")
    ]
    lexical = make_result({"c11": ["x1"]})
    artifact = make_artifact(*dense, lexical)
    shown = [row(artifact, "Quality", number)["abstained"] for number in range(3)]
    assert shown == ["0 % of 1 ¹", "0 % of 1 ¹", "0 % of 1"]
    for text in (printed(artifact), render_markdown(artifact)):
        assert text.count("¹ No score floor: ") == 1
    assert "No score floor" not in printed(make_artifact(lexical))


def test_markdown_is_readable_as_text(make_artifact: MakeArtifact, make_result: Any) -> None:
    artifact = make_artifact(machine={"cores": 2, "flags": ["a", "b"], "load": {"one": 0.5}})
    text = render_markdown(artifact)
    assert "| nDCG@3 | Recall@3 |" in text
    assert "cores 2, flags (a, b), load (one 0.5)" in text
    assert "seeds: suite 0" in text
    assert not {"{", "'suite'", "&#64;"} & set(text.replace(":", " ").split())


def test_mentions_call_nobody(make_artifact: MakeArtifact) -> None:
    text = render_markdown(make_artifact(notes=("@all (@team) a@b _@c",)))
    assert "&#64;all (&#64;team) a@b \\_&#64;c" in text


def findings(tenant: str, owner: str | None, count: int, seen_in: str = "quality") -> Any:
    return tuple(
        LeakFinding(LABEL, f"c{n}", tenant, f"u{n}", n + 1, owner, seen_in) for n in range(count)
    )


def test_leaks_are_counted_by_who_saw_whose(make_artifact: MakeArtifact, make_result: Any) -> None:
    result = make_result()
    found = findings("acme", "globex", 3) + findings("globex", None, 5, "timed")
    artifact = make_artifact(
        replace(result, leaks=replace(result.leaks, proof="leak", findings=found))
    )
    assert table(artifact, "Leaks found").rows == (
        (LABEL, "globex", "-", "timed", "5"),
        (LABEL, "acme", "globex", "quality", "3"),
    )
    for text in (printed(artifact), render_markdown(artifact)):
        assert "case 'c0' of 'acme' got 'u0' at rank 1 (quality), which belongs to 'globex'" in text
        assert "and 3 more findings, which the artifact holds" in text
    assert "Leaks found" not in {table_.title for table_ in report_tables(make_artifact())}


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


def test_only_metrics_that_were_asked_for_are_shown(make_artifact: MakeArtifact) -> None:
    told = make_artifact(metrics=("ndcg@3", "recall@3"))
    assert "Hit@3" not in table(told, "Quality").columns
    assert "Hit@3" in table(make_artifact(metrics=("hit@3",)), "Quality").columns
    assert "Hit@3" in table(make_artifact(), "Quality").columns
