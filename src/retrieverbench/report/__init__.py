"""The artifact and its renderings; no number is computed here."""

from retrieverbench.report.annotations import azure_annotations, github_annotations
from retrieverbench.report.artifact import (
    dump_artifact,
    newest_artifact,
    read_artifact,
    results_of,
    run_path,
)
from retrieverbench.report.baselines import (
    accept_baseline,
    check_acceptable,
    load_baselines,
    other_baselines,
    read_baseline,
)
from retrieverbench.report.junit import render_junit
from retrieverbench.report.markdown import render_markdown
from retrieverbench.report.sarif import render_sarif
from retrieverbench.report.terminal import print_report

__all__ = [
    "accept_baseline",
    "azure_annotations",
    "check_acceptable",
    "dump_artifact",
    "github_annotations",
    "load_baselines",
    "newest_artifact",
    "other_baselines",
    "print_report",
    "read_artifact",
    "read_baseline",
    "render_junit",
    "render_markdown",
    "render_sarif",
    "results_of",
    "run_path",
]
