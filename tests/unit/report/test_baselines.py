"""A baseline is written by acceptance alone, and refused when it was touched."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.gate import differences, judge
from retrieverbench.model import Artifact, CaseResult, LeakFinding, Rule, Target
from retrieverbench.report import accept_baseline, load_baselines, read_baseline
from retrieverbench.report.baselines import baseline_path

MakeArtifact = Callable[..., Artifact]
LABEL = "fake/lexical/filter"
FINDING = LeakFinding("t", "c1", "acme", "globex/1", 1, "globex", "quality")


def judged(artifact: Artifact, *rules: Rule) -> Artifact:
    return replace(artifact, verdict=judge(artifact, rules, {}))


def accept(artifact: Artifact, folder: Path, **options: Any) -> Path:
    accept_baseline(artifact, folder, **options)
    return baseline_path(folder, artifact.suite, LABEL)


def test_accepted_run_is_read_back_and_comparable(
    make_artifact: MakeArtifact, tmp_path: Path
) -> None:
    artifact = judged(make_artifact())
    lines = accept_baseline(artifact, tmp_path, because="first")
    assert lines == [f"{LABEL}: accepted", "  first baseline of this target"]
    found, faults = load_baselines(tmp_path, "small", [LABEL, "other/dense/filter"])
    assert faults == []
    assert list(found) == [LABEL]
    baseline = found[LABEL]
    assert differences(artifact.targets[0], artifact, baseline) == []
    assert (baseline.because, baseline.run_id) == ("first", "0badcafe")
    assert baseline.cases["c1"].values == {"hit@3": 1.0, "ndcg@3": 1.0, "recall@3": 1.0}
    assert baseline.cases["c1"].uids == ("acme/d1", "acme/x1", "acme/x2")
    assert baseline.cases["c11"].values["recall@3"] is None
    assert baseline.counters["errors"] == 0
    compared = judge(artifact, [Rule("baseline", "r", metric="Recall@3")], found)
    assert (compared.word, compared.exit_code) == ("pass", 0)


def test_file_has_sorted_keys_one_case_a_line_and_no_texts(
    make_artifact: MakeArtifact, tmp_path: Path
) -> None:
    path = accept(judged(make_artifact()), tmp_path)
    text = path.read_text()
    lines = [line for line in text.splitlines() if '"status"' in line]
    assert [json.loads("{" + line.rstrip(",") + "}").keys() for line in lines] == [
        {key} for key in sorted(f"c{n}" for n in range(12))
    ]
    assert "question" not in text
    keys = [key for key in json.loads(text) if key != "cases"]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda raw: raw["cases"]["c1"]["values"].update({"recall@3": 0.5}),
            "was altered or damaged",
        ),
        (lambda raw: raw["cases"].pop("c1"), "was altered or damaged"),
        (lambda raw: raw.update(depth=9), "was altered or damaged"),
        (lambda raw: raw.update(because="better"), "was altered or damaged"),
        (lambda raw: raw.update(sha256=""), "was altered or damaged"),
        (lambda raw: raw.update(schema=2), "schema: 2 is not 1"),
        (lambda raw: raw.pop("schema"), "schema: None is not 1"),
        (lambda raw: raw.pop("cases"), "cases: Field required"),
    ],
)
def test_altered_baseline_is_refused(
    make_artifact: MakeArtifact, tmp_path: Path, change: Callable[[Any], object], text: str
) -> None:
    path = accept(judged(make_artifact()), tmp_path)
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))
    found, (fault,) = load_baselines(tmp_path, "small", [LABEL])
    assert found == {}
    assert fault.startswith(f"{path}: ")
    assert text in fault


@pytest.mark.parametrize("text", ["[" * 100_000, "\0", "9" * 5000])
def test_a_file_that_is_no_json_is_a_fault_and_no_traceback(tmp_path: Path, text: str) -> None:
    path = baseline_path(tmp_path, "small", LABEL)
    path.parent.mkdir()
    path.write_text(text)
    found, (fault,) = load_baselines(tmp_path, "small", [LABEL])
    assert found == {}
    assert fault.startswith(f"{path}: ")


def test_layout_of_the_file_is_free(make_artifact: MakeArtifact, tmp_path: Path) -> None:
    path = accept(judged(make_artifact()), tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=7))
    assert read_baseline(path).run_id == "0badcafe"


def refused(artifact: Artifact, folder: Path, **options: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        accept_baseline(artifact, folder, **options)
    assert not any(folder.iterdir())
    assert all(fault.startswith("cannot be accepted: ") for fault in caught.value.faults)
    return [fault.removeprefix("cannot be accepted: ") for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"complete": False}, "the run was interrupted"),
        ({"cache": "on"}, "a cache was on (on)"),
        ({"dirty": True}, "the tree has uncommitted changes; commit them, or say --allow-dirty"),
        ({"verdict": None}, "the run was never judged"),
    ],
)
def test_runs_that_are_not_fit(
    make_artifact: MakeArtifact, tmp_path: Path, fields: dict[str, Any], text: str
) -> None:
    (fault,) = refused(replace(judged(make_artifact()), **fields), tmp_path)
    assert fault.startswith(text)


def test_unversioned_set(make_artifact: MakeArtifact, tmp_path: Path) -> None:
    artifact = judged(make_artifact())
    artifact = replace(artifact, golden=replace(artifact.golden, version=None))
    assert refused(artifact, tmp_path) == ["the golden set has no version; give it a manifest"]


def test_dirty_tree_may_be_allowed_and_is_kept(make_artifact: MakeArtifact, tmp_path: Path) -> None:
    path = accept(judged(make_artifact(dirty=True)), tmp_path, allow_dirty=True)
    assert read_baseline(path).dirty is True


def test_nothing_measured(make_artifact: MakeArtifact, make_result: Any, tmp_path: Path) -> None:
    failed = make_result(scores=None, results=(), leaks=None, failure="down", failure_kind="failed")
    assert "nothing was measured" in refused(judged(make_artifact(failed)), tmp_path)[0]


def test_leak(make_artifact: MakeArtifact, make_result: Any, tmp_path: Path) -> None:
    result = make_result()
    leaky = replace(result, leaks=replace(result.leaks, proof="leak", findings=(FINDING,)))
    for allowed in ("", "we know"):
        faults = refused(judged(make_artifact(leaky)), tmp_path, because=allowed)
        assert any(fault.startswith("a leak: fake/lexical/filter") for fault in faults)
    unchecked = judged(make_artifact(replace(result, leaks=None)))
    assert "was not checked for leaks" in refused(unchecked, tmp_path)[0]


def test_leak_of_one_target_keeps_all_from_being_accepted(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path
) -> None:
    leaky = make_result(name="leaky")
    leaky = replace(leaky, leaks=replace(leaky.leaks, proof="leak"))
    assert refused(judged(make_artifact(make_result(), leaky)), tmp_path)


def test_errors_and_missing_cases(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path
) -> None:
    broken = {"c3": CaseResult("c3", "error", (), "timeout", "late")}
    faults = refused(judged(make_artifact(make_result(broken=broken))), tmp_path, because="x")
    assert faults == ["fake/lexical/filter: 1 case not answered, first 'c3'; run it again"]
    result = make_result()
    short = judged(make_artifact(replace(result, results=result.results[:-2])))
    assert "missing 2 cases of the golden set" in refused(short, tmp_path)[0]


def test_nothing_valid(make_artifact: MakeArtifact, make_result: Any, tmp_path: Path) -> None:
    result = make_result()
    means = {name: replace(mean, value=None) for name, mean in result.scores.means.items()}
    empty = replace(result, scores=replace(result.scores, means=means))
    assert "nothing valid was measured" in refused(judged(make_artifact(empty)), tmp_path)[0]


def test_settings_that_moved(make_artifact: MakeArtifact, make_result: Any, tmp_path: Path) -> None:
    result = make_result()
    moved = replace(result, backend=replace(result.backend, settings_changed=("ef",)))
    assert "settings changed" in refused(judged(make_artifact(moved)), tmp_path)[0]


def test_failing_run_needs_a_reason_even_behind_another_finding(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path
) -> None:
    """The verdict's word is `refused` for want of a baseline, and a rule failed beside it."""
    rules = [
        Rule("minimum", "high", metric="Recall@3", value=1.0),
        Rule("baseline", "compared", metric="Recall@3"),
    ]
    artifact = judged(make_artifact(make_result({"c1": ["x1"]})), *rules)
    assert artifact.verdict is not None
    assert artifact.verdict.word == "refused"
    for because in ("", "  "):
        (fault,) = refused(artifact, tmp_path, because=because)
        assert fault == "it fails (high on fake/lexical/filter); say why with --because"
    assert read_baseline(accept(artifact, tmp_path, because="known")).because == "known"


def test_first_run_without_a_baseline_is_accepted(
    make_artifact: MakeArtifact, tmp_path: Path
) -> None:
    artifact = judged(make_artifact(), Rule("baseline", "compared", metric="Recall@3"))
    assert artifact.verdict is not None
    assert artifact.verdict.exit_code == 2
    accept(artifact, tmp_path)


def test_changes_are_told(make_artifact: MakeArtifact, make_result: Any, tmp_path: Path) -> None:
    accept(judged(make_artifact(make_result({"c1": ["x1"], "c2": ["x1", "d2"]}))), tmp_path)
    result = make_result({"c5": ["x1"], "c2": ["x1", "d2"]})
    result = replace(result, backend=replace(result.backend, server_version="3.0"))
    lines = accept_baseline(judged(make_artifact(result)), tmp_path)
    assert lines[1:] == [
        "  changed: server version: baseline '2.0', this run '3.0'",
        "  Hit@3: 0.9091 -> 0.9091 (+0.0000)",
        "  nDCG@3: 0.8755 -> 0.8755 (+0.0000)",
        "  Recall@3: 0.9091 -> 0.9091 (+0.0000)",
        "  1 new misses at hit@3: c5",
        "  1 new hits at hit@3: c1",
        "  2 of 12 cases changed",
    ]


def test_baseline_that_cannot_be_read_is_replaced(
    make_artifact: MakeArtifact, tmp_path: Path
) -> None:
    artifact = judged(make_artifact())
    path = accept(artifact, tmp_path)
    path.write_text("{}")
    lines = accept_baseline(artifact, tmp_path)
    assert "not compared with the baseline before" in lines[1]
    assert read_baseline(path).run_id == "0badcafe"


def test_failed_target_keeps_its_old_baseline(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path
) -> None:
    path = accept(judged(make_artifact(make_result(), make_result(name="other"))), tmp_path)
    before = path.read_bytes()
    failed = make_result(scores=None, results=(), leaks=None, failure="down", failure_kind="failed")
    other = judged(make_artifact(failed, make_result(name="other")))
    lines = accept_baseline(other, tmp_path)
    assert lines[0] == f"{LABEL}: not measured, no baseline written"
    assert path.read_bytes() == before


def test_paths_of_targets_differ() -> None:
    names = ["a", "a-dense", "a.dense", "a_dense"]
    labels = [Target(n, "x", m).label for n in names for m in ("dense", "lexical")]
    paths = {baseline_path(Path("b"), "s", label) for label in labels}
    assert len(paths) == len(labels)
    assert Path("b/s/a-dense-filter.json") in paths


@pytest.mark.parametrize("name", ["../up", "/tmp/up", "a/b", "..", "", "Größe", "n" * 101])
def test_names_that_lead_elsewhere_are_refused(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "in" / "baselines"
    folder.mkdir(parents=True)
    of_suite = replace(judged(make_artifact()), suite=name)
    assert "is no name that a suite may have" in " ".join(refused(of_suite, folder))
    of_target = judged(make_artifact(make_result(name=name)))
    assert "is no name that a suite may have" in " ".join(refused(of_target, folder))
    assert list(tmp_path.rglob("*")) == [folder.parent, folder]


def test_one_target_twice_is_refused(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path
) -> None:
    twice = judged(make_artifact(make_result(), make_result()))
    assert f"{LABEL}: stands there twice" in " ".join(refused(twice, tmp_path))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1])
def test_numbers_that_nothing_computes_are_refused(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path, value: float
) -> None:
    good = make_result()
    scores = good.scores
    mean = replace(scores.means["ndcg@3"], value=value)
    case = replace(scores.cases["ndcg@3"]["c1"], value=value)
    in_cases = {**scores.cases, "ndcg@3": {**scores.cases["ndcg@3"], "c1": case}}
    for altered, place in (
        (replace(scores, means={**scores.means, "ndcg@3": mean}), "mean ndcg@3"),
        (replace(scores, cases=in_cases), "ndcg@3 of 'c1'"),
    ):
        artifact = replace(judged(make_artifact(good)), targets=(replace(good, scores=altered),))
        (fault,) = refused(artifact, tmp_path)
        assert f"{LABEL}: {place}: {value} is not between 0 and 1" in fault


def test_scores_without_a_fidelity_and_endless_counters_are_refused(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path
) -> None:
    assert "scores without a fidelity" in " ".join(
        refused(judged(make_artifact(make_result(fidelity=None))), tmp_path)
    )
    good = make_result()
    counters = {**good.scores.counters, "ties": float("nan")}
    endless = replace(good, scores=replace(good.scores, counters=counters))
    artifact = replace(judged(make_artifact(good)), targets=(endless,))
    assert "ties: nan is not finite" in " ".join(refused(artifact, tmp_path))
