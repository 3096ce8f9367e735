"""Annotations: what did not pass, at its line, in words that command nothing else."""

from __future__ import annotations

from collections.abc import Callable

from report_support import HOSTILE, every_outcome, probe
from retrieverbench.model import Artifact
from retrieverbench.report import azure_annotations, github_annotations

Make = Callable[..., Artifact]
P01 = "fake/lexical/filter: P01 title of P01 (lexical, guarded)"


def test_github_gets_one_line_for_each_the_gravest_first(make_audit: Make) -> None:
    lines = github_annotations(make_audit(every_outcome()), "bench/suite.toml")
    assert lines[0] == (
        "::error file=bench/suite.toml,line=7,title=fake/lexical/filter%3A P01 title of P01 "
        "(lexical%2C guarded)::leak, critical: 'acme' was shown another's"
    )
    assert [line.split()[0] for line in lines] == [
        *["::error"] * 3, *["::warning"] * 2, "::notice",
    ]  # fmt: skip


def test_azure_gets_the_same(make_audit: Make) -> None:
    lines = azure_annotations(make_audit(every_outcome()), "bench/suite.toml")
    assert lines[0] == (
        "##vso[task.logissue type=error;sourcepath=bench/suite.toml;linenumber=7;]"
        f"{P01}: leak, critical: 'acme' was shown another's"
    )
    assert len(lines) == 6


def test_more_than_a_service_shows_end_with_how_many(make_audit: Make) -> None:
    many = tuple(probe(f"P{n}", outcome="fail", reason="x") for n in range(10, 25))
    lines = github_annotations(make_audit(many), "s.toml")
    assert len(lines) == 10
    assert lines[-1] == "::error title=and more::6 more of this level stand in the report"


def test_without_a_fault_there_is_no_line(make_audit: Make) -> None:
    audit = make_audit((probe("P01"),))
    assert github_annotations(audit, "s.toml") == azure_annotations(audit, "s.toml") == []


def test_what_belongs_to_no_target_is_the_verdicts(make_audit: Make) -> None:
    (line,) = github_annotations(make_audit((probe("P01"),), complete=False), "s.toml")
    assert line.startswith("::error title=exit code::INTERRUPTED (exit 130)%0A")


def test_a_pass_with_something_inconclusive_is_a_pass_with_issues(make_audit: Make) -> None:
    audit = make_audit((probe("P21", outcome="inconclusive", reason="x"),), policy="warn")
    assert azure_annotations(audit, "s.toml") == [
        "##vso[task.complete result=SucceededWithIssues;]"
    ]


def test_foreign_text_commands_nothing(make_audit: Make) -> None:
    audit = make_audit((probe("P08", outcome="fail", title=HOSTILE, reason=HOSTILE),))
    (github,) = github_annotations(audit, "a,b:c%\n.toml")
    assert github.count("::") == 2
    assert github.startswith("::error file=a%2Cb%3Ac%25%0A.toml,line=7,title=")
    (azure,) = azure_annotations(audit, "a;b]c.toml")
    assert azure.count("##vso[") == 1
    assert "sourcepath=a%3Bb%5Dc.toml;" in azure
    assert "\n" not in github + azure
