"""Terminal and Markdown show the same tables, and no number that is not there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rendering_support import (
    LABEL,
    MakeArtifact,
    findings,
    judged,
    printed,
    row,
    table,
    timings,
)
from report_support import probe
from retrieverbench.leaks.audit import READ_ONLY
from retrieverbench.model import (
    CaseResult,
    Rule,
    Target,
)
from retrieverbench.report import render_markdown
from retrieverbench.report.tables import LONGEST, headline, report_tables, summary


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
    bound = judged(make_artifact(make_result(), must_pass=["c1"]))
    assert [cells[:2] for cells in table(bound, "Rules").rows] == [("pass", "must_pass")]


def test_headline_names_every_kind(make_artifact: MakeArtifact, make_result: Any) -> None:
    assert headline(make_artifact()) == "NOT JUDGED"
    assert headline(judged(make_artifact())) == "PASS (exit 0)"
    result = make_result({"c1": ["x1"]})
    leaky = replace(result, leaks=replace(result.leaks, proof="leak"))
    artifact = judged(
        make_artifact(leaky, complete=False), Rule("minimum", "m", metric="Recall@3", value=1.0)
    )
    assert headline(artifact) == ("LEAK (exit 4); also interrupted, fail")
    absent = replace(make_result(), scores=None, results=(), leaks=None, failure="not installed",
        failure_kind="absent", target=Target("other", "fake", "lexical"))  # fmt: skip
    beside = judged(make_artifact(make_result(), absent))
    assert headline(beside) == "PASS (exit 0); also not measured (1 of 2 targets)"
    cut_off = judged(make_artifact(complete=False))
    assert headline(cut_off) == "INTERRUPTED (exit 130)"
    assert "INTERRUPTED (exit 130)" in printed(cut_off)
    assert render_markdown(cut_off).startswith("# INTERRUPTED (exit 130)\n")
    for text in (printed(artifact), render_markdown(artifact)):
        assert "LEAK (exit 4); also interrupted, fail" in text
        for word in ("leak: ", "fail: ", "interrupted: "):
            assert word in text


def test_equal_artifacts_give_equal_text(make_artifact: MakeArtifact) -> None:
    one, other = judged(make_artifact()), judged(make_artifact())
    assert render_markdown(one) == render_markdown(other)
    assert printed(one) == printed(other)


def test_summary(make_artifact: MakeArtifact) -> None:
    artifact = make_artifact()
    assert summary(artifact) == (
        "suite small: golden set small v1, 12 cases (1 unanswerable), 16 chunks of 2 tenants"
    )
    golden = replace(artifact.golden, version=None, needs_review=3)
    assert "(unversioned), 12 cases (1 unanswerable, 3 need review)" in summary(
        replace(artifact, golden=golden)
    )


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


def test_leaks_are_counted_by_who_saw_whose(make_artifact: MakeArtifact, make_result: Any) -> None:
    result = make_result()
    found = findings("acme", "globex", 3) + findings("globex", None, 5, "timed")
    artifact = make_artifact(
        replace(result, leaks=replace(result.leaks, proof="leak", findings=found))
    )
    assert table(artifact, "Leaks found").rows == (
        (LABEL, "globex", "-", "id", "timed", "5"),
        (LABEL, "acme", "globex", "id", "quality", "3"),
    )
    for text in (printed(artifact), render_markdown(artifact)):
        assert "case 'c0' of 'acme' got 'u0' at rank 1 (quality), which belongs to 'globex'" in text
        assert "and 3 more findings, which the artifact holds" in text
    assert "Leaks found" not in {table_.title for table_ in report_tables(make_artifact())}


def test_only_metrics_that_were_asked_for_are_shown(make_artifact: MakeArtifact) -> None:
    told = make_artifact(metrics=("ndcg@3", "recall@3"))
    assert "Hit@3" not in table(told, "Quality").columns
    assert "Hit@3" in table(make_artifact(metrics=("hit@3",)), "Quality").columns
    assert "Hit@3" in table(make_artifact(), "Quality").columns


def test_an_audit_tells_whose_chunks_it_asked_about(
    make_artifact: MakeArtifact, make_result: Any
) -> None:
    wrote = make_result(probes=(probe("P01"),))
    left = probe("P08", outcome="not applicable", reason=READ_ONLY)
    read = make_result(probes=(probe("P01"), left))
    for results, told in (
        ((wrote,), ("It loads chunks of its own and asks about them",)),
        ((read,), ("It only reads, and asks the golden set's questions, about your chunks",)),
        ((wrote, read), ("It loads chunks", "of a target that is only read")),
    ):
        line = summary(make_artifact(*results, kind="audit"))
        assert all(part in line for part in told)
        assert ("loads" in line, "only read" in line) == (wrote in results, read in results)
