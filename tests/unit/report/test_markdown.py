"""Markdown keeps its shape, and no text of others acts in it."""

from __future__ import annotations

from typing import Any

from rendering_support import (
    MakeArtifact,
    hostile,
    judged,
)
from retrieverbench.report import render_markdown
from retrieverbench.report.tables import report_tables


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
