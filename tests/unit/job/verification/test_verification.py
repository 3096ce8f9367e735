"""What an artifact prints is what its answers give, or it is refused with the place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_support import measure, write_example
from retrieverbench.errors import InputError
from retrieverbench.job import verify
from retrieverbench.model import Artifact, TargetResult, Verdict
from retrieverbench.report import dump_artifact, read_artifact
from retrieverbench.run import Suite, load_suite

LABEL = "memory/lexical/filter"
SUITE = """
golden = "golden.v1.jsonl"
corpus = "corpus.jsonl"
metrics = ["nDCG@10", "Recall@5"]
timing = { enabled = false }
[[targets]]
adapter = "memory"
modes = ["lexical"]
[[rules]]
kind = "minimum"
metric = "Recall@5"
value = 0.5
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Artifact]:
    """A folder with the example set, and a real run of it, read back from its file."""
    folder = write_example(tmp_path_factory.mktemp("verify"))
    path = folder / "suite.toml"
    path.write_text(SUITE, encoding="utf-8")
    file = folder / "artifact.json"
    file.write_bytes(dump_artifact(measure(path)))
    return folder, read_artifact(file)


def suite_in(folder: Path) -> Suite:
    return load_suite(folder / "suite.toml")


def altered(made: tuple[Path, Artifact], change: Callable[[Any], object]) -> Artifact:
    """The artifact with its JSON changed, and its checksum computed anew to match."""
    folder, artifact = made
    raw = json.loads(dump_artifact(artifact))
    change(raw)
    path = folder / "altered.json"
    path.write_bytes(dump_artifact(artifact_of(raw)))
    return read_artifact(path)


def artifact_of(raw: object) -> Artifact:
    from pydantic import TypeAdapter

    return TypeAdapter(Artifact).validate_python(raw)


def faults(folder: Path, artifact: Artifact) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        verify(artifact, suite_in(folder), {})
    return caught.value.faults


def test_an_untouched_run_is_what_its_answers_give(made: tuple[Path, Artifact]) -> None:
    folder, artifact = made
    assert verify(artifact, suite_in(folder), {}) == artifact


def first(raw: Any) -> Any:
    return raw["targets"][0]


def case_of(raw: Any) -> str:
    """The first case with a value of nDCG@10."""
    cases = first(raw)["scores"]["cases"]["ndcg@10"]
    return next(str(key) for key, case in cases.items() if case["value"] is not None)


def set_case(raw: Any) -> None:
    first(raw)["scores"]["cases"]["ndcg@10"][case_of(raw)]["value"] = 0.123


def leak(raw: Any) -> None:
    """An answer that holds another tenant's chunk, with the scores that belong to it."""
    case = next(c for c in first(raw)["results"] if c["hits"])
    case["refused"] = ["nobody/x"]


def hide_counted(raw: Any) -> None:
    first(raw)["leaks"]["foreign"] = 3


def fail_silently(raw: Any) -> None:
    raw["verdict"]["rules"][0]["word"] = "fail"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda raw: first(raw)["scores"]["means"]["ndcg@10"].update(value=0.999),
            f"{LABEL}: scores.means.ndcg@10.value: 0.999 in the artifact, ",
        ),
        (set_case, f"{LABEL}: scores.cases.ndcg@10."),
        (
            lambda raw: first(raw)["scores"]["counters"].update(duplicates=1),
            f"{LABEL}: scores.counters.duplicates: 1.0 in the artifact, 0",
        ),
        (
            lambda raw: first(raw)["scores"]["means"].pop("recall@5"),
            f"{LABEL}: scores.means.recall@5: absent in the artifact, ",
        ),
        (
            lambda raw: first(raw)["scores"]["slices"][0].update(n=99),
            "n: 99 in the artifact, ",
        ),
        (
            lambda raw: first(raw)["scores"].update(slices=[]),
            f"{LABEL}: scores.slices.tenant=",
        ),
        (
            lambda raw: first(raw)["results"][0].update(case_id="ghost"),
            f"{LABEL}: results.0: 'ghost' in the artifact, 'leave-001' by the golden set",
        ),
        (leak, "'nobody/x for case leave-001' in the artifact, where it is absent, and in the"),
        (hide_counted, f"{LABEL}: leaks.foreign: 3 in the artifact, 0 by the counts"),
        (
            lambda raw: first(raw)["leaks"].update(control_foreign=0),
            f"{LABEL}: leaks.proof: 'clean' in the artifact, 'inconclusive' by the counts",
        ),
        (
            fail_silently,
            f"verdict.rules.minimum Recall@5={LABEL}.word: 'fail' in the artifact, 'pass' judged",
        ),
        (
            lambda raw: raw["golden"].update(cases=1),
            "golden.cases: 1 in the artifact, ",
        ),
        (
            lambda raw: raw["golden"].update(must_pass=["x"]),
            "golden.must_pass: ['x'] in the artifact, [] by the files here",
        ),
    ],
)
def test_what_was_edited_is_refused_with_its_place_and_both_values(
    made: tuple[Path, Artifact], change: Callable[[Any], object], text: str
) -> None:
    """Also by somebody who writes a fitting checksum: these can be computed again."""
    found = faults(made[0], altered(made, change))
    assert any(text in fault for fault in found), found
    assert all("run the suite again" in fault for fault in found)


def test_only_the_first_difference_of_a_target_is_told(made: tuple[Path, Artifact]) -> None:
    def all_of_them(raw: Any) -> None:
        for mean in first(raw)["scores"]["means"].values():
            mean["value"] = 0.5

    (fault,) = faults(made[0], altered(made, all_of_them))
    assert fault.startswith(f"{LABEL}: scores.means.ndcg@10.value: 0.5 in the artifact")


def test_the_last_digit_may_differ_by_machine(made: tuple[Path, Artifact]) -> None:
    def nudge(raw: Any) -> None:
        mean = first(raw)["scores"]["means"]["ndcg@10"]
        mean["value"] -= 1e-15

    verify(altered(made, nudge), suite_in(made[0]), {})


def test_another_version_that_made_it_is_named(made: tuple[Path, Artifact]) -> None:
    def older(raw: Any) -> None:
        raw["harness"]["retrieverbench"] = "0.0.1"
        first(raw)["scores"]["counters"].pop("ties")

    (fault,) = faults(made[0], altered(made, older))
    assert "; it was made by retrieverbench 0.0.1, this is " in fault


def test_a_changed_golden_set_is_refused_with_the_remedy(
    made: tuple[Path, Artifact], tmp_path: Path
) -> None:
    folder = write_example(tmp_path)
    (folder / "suite.toml").write_text(SUITE, encoding="utf-8")
    (folder / "golden.v1.manifest.json").unlink()
    golden = folder / "golden.v1.jsonl"
    golden.rename(folder / "golden.jsonl")
    suite = folder / "suite.toml"
    suite.write_text(SUITE.replace("golden.v1.jsonl", "golden.jsonl"), encoding="utf-8")
    with (folder / "golden.jsonl").open("a") as file:
        file.write("\n")
    (fault,) = faults(folder, made[1])
    assert "version: 1 in the artifact, None by the files here" in fault or "sha256" in fault
    assert "bring back the files that were asked, or run the suite again" in fault
    (folder / "golden.jsonl").unlink()
    (fault,) = faults(folder, made[1])
    assert "golden.jsonl: cannot be read" in fault


def test_a_verdict_is_made_of_the_rules_as_they_are_now(
    made: tuple[Path, Artifact], tmp_path: Path
) -> None:
    folder = write_example(tmp_path)
    (folder / "suite.toml").write_text(SUITE.replace("0.5", "1.0"), encoding="utf-8")
    again = verify(made[1], suite_in(folder), {})
    assert isinstance(again.verdict, Verdict)
    assert again.verdict.word in {"fail", "pass"}
    assert [rule.limit for rule in again.verdict.rules if rule.kind == "minimum"] == [1.0]


def test_a_target_without_scores_has_nothing_to_compute(made: tuple[Path, Artifact]) -> None:
    folder, artifact = made
    (result,) = artifact.targets
    empty = TargetResult(
        result.target,
        None,
        required=False,
        depth=10,
        failure="down",
        failure_kind="failed",
        failure_code="connect",
        line=result.line,
    )
    rest = replace(artifact, targets=(empty,), verdict=None)
    assert verify(rest, suite_in(folder), {}) == rest
