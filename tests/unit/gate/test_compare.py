"""Every field that must be equal is compared, and both values are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from itertools import product
from typing import Any

import pytest

from retrieverbench.gate import differences
from retrieverbench.gate.compare import refusal
from retrieverbench.gate.evaluate import evaluate
from retrieverbench.model import Artifact, Baseline, CommandLine, Rule, Target

MakeArtifact = Callable[..., Artifact]
BaselineOf = Callable[..., Baseline]


def test_an_artifact_is_comparable_with_its_own_baseline(
    make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    artifact = make_artifact()
    assert differences(artifact.targets[0], artifact, baseline_of(artifact)) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"suite": "other"}, "suite: baseline 'other', this run 'small'"),
        ({"golden": "other"}, "golden set: baseline 'other', this run 'small'"),
        ({"golden_sha256": "e" * 64}, "golden set sha256: baseline eeeeeeeeeeee…, this run aaaa"),
        ({"golden_sha256": "a" * 63 + "b"}, "golden set sha256: "),
        ({"corpus_sha256": "e" * 64}, "corpus sha256: baseline eeee"),
        ({"relevance_level": 2}, "relevance level: baseline 2, this run 1"),
        ({"versions": {"index": "1"}}, "versions.index: baseline '1', this run has none"),
        ({"convention": "trec_eval"}, "convention: baseline 'trec_eval', this run 'house'"),
        ({"depth": 5}, "depth: baseline 5, this run 3"),
        ({"fidelity": "server"}, "fidelity: baseline 'server', this run 'engine'"),
        ({"server_version": "1.0"}, "server version: baseline '1.0', this run '2.0'"),
        ({"cache": "on"}, "cache: baseline 'on', this run 'off'"),
        ({"target": Target("fake", "other", "lexical")}, "adapter: baseline 'other', this run 'fa"),
        ({"target": Target("fake", "fake", "dense")}, "target: baseline 'fake/dense/filter', this"),
        (
            {"target": Target("fake", "fake", "lexical", "index")},
            "target: baseline 'fake/lexical/i",
        ),
        ({"target": Target("new", "fake", "lexical")}, "target: baseline 'new/lexical/filter', th"),
        (
            {"target": Target("fake", "fake", "lexical", options={"search": {"ef": 1}})},
            "options.search.ef: baseline 1, this run has none",
        ),
        ({"cases": {}}, "cases: baseline 0 cases, this run 12 cases"),
    ],
)
def test_each_difference_is_refused_with_both_values(
    make_artifact: MakeArtifact, baseline_of: BaselineOf, changes: dict[str, Any], line: str
) -> None:
    artifact = make_artifact()
    baseline = baseline_of(artifact, **changes)
    (found,) = differences(artifact.targets[0], artifact, baseline)
    assert found.text.startswith(line)
    label = artifact.targets[0].target.label
    rule = Rule("baseline", "r", metric="Recall@3")
    judged = evaluate(rule, artifact.targets[0], artifact, {label: baseline})
    assert judged.word == "refused"
    assert found.text in judged.reason


def test_embedding_counts_where_vectors_are_searched(
    make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    artifact = make_artifact()
    other = baseline_of(artifact, embedding={"model": "x"})
    assert differences(artifact.targets[0], artifact, other) == []
    dense = replace(artifact.targets[0], target=Target("fake", "fake", "dense"))
    artifact = replace(artifact, targets=(dense,))
    (found,) = differences(dense, artifact, baseline_of(artifact, embedding={"model": "x"}))
    assert found.text == "embedding.model: baseline 'x', this run has none"


def test_forms_of_the_same_options_do_not_differ(
    make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    artifact = make_artifact()
    given = {"a": (1, 2), "nan": float("nan"), "day": date(2026, 1, 2)}
    kept = {"a": [1, 2], "nan": None, "day": "2026-01-02"}
    mine = Target("fake", "fake", "lexical", options={"search": given, "place": {}})
    read = Target("fake", "fake", "lexical", options={"search": kept, "connect": {}})
    result = replace(artifact.targets[0], target=mine)
    assert differences(result, artifact, baseline_of(artifact, target=read)) == []


ABSENT = object()
VALUES: tuple[Any, ...] = (
    ABSENT, None, True, 0, 1.5, "", "stand-in", [], [1, {"a": None}], {"a": {"b": []}},
    "x" * 1000, date(2026, 1, 2), ("a",),
)  # fmt: skip


@pytest.mark.parametrize("field", ["model", "chunk_vectors_sha256", "cases"])
def test_any_value_may_stand_in_an_identity_and_every_difference_is_told(
    make_artifact: MakeArtifact, baseline_of: BaselineOf, field: str
) -> None:
    """Of two kinds of embedder, each has fields that the other lacks."""
    artifact = make_artifact()
    dense = replace(artifact.targets[0], target=Target("fake", "fake", "dense"))
    artifact = replace(artifact, targets=(dense,))
    for then, now in product(VALUES, repeat=2):
        kept, given = ({} if value is ABSENT else {field: value} for value in (then, now))
        run = replace(artifact, embedding=given)
        found = differences(dense, run, baseline_of(artifact, embedding=kept))
        assert bool(found) == (then is not now)
        for told in found:
            assert told.text.startswith(f"embedding.{field}")
            assert len(told.text) < 500
            assert told.words == ("embedding",)


def declaring(artifact: Artifact, *words: str) -> Artifact:
    return replace(artifact, command=CommandLine(changing=words))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": Target("fake", "fake", "lexical", options={"search": {"ef": 1}})}, "settings"),
        ({"target": Target("fake", "other", "lexical")}, "adapter"),
        ({"server_version": "1.0"}, "server"),
        ({"server_version": "1.0"}, "adapter"),
        ({"fidelity": "server"}, "server"),
        ({"versions": {"embedding": "1", "index": "1"}}, "embedding"),
        ({"versions": {"chunking": "1", "index": "1"}, "corpus_sha256": "e" * 64}, "chunking"),
        ({"corpus_sha256": "e" * 64}, "chunking"),
        ({"versions": {"index": "1"}}, "index"),
        ({"versions": {"prompt": "1"}}, "prompt"),
    ],
)
def test_what_is_declared_is_compared_and_told(
    make_artifact: MakeArtifact, baseline_of: BaselineOf, changes: dict[str, Any], words: str
) -> None:
    artifact = declaring(make_artifact(), words)
    baseline = baseline_of(artifact, **changes)
    found = differences(artifact.targets[0], artifact, baseline)
    assert found
    assert all(difference.declared for difference in found)
    rule = Rule("tolerance", "r", metric="Recall@3", tolerance=0.1)
    label = artifact.targets[0].target.label
    judged = evaluate(rule, artifact.targets[0], artifact, {label: baseline})
    assert judged.word == "pass"
    (detail,) = judged.details
    assert all(difference.text in detail for difference in found)
    assert "cannot be told" not in detail


SET_1 = {"index": "1", "chunking": "1", "golden_set": "small.v1"}
SET_2 = {"index": "2", "chunking": "2", "golden_set": "small.v2"}
RENUMBERED = (
    "golden set version: baseline 1, this run 2; "
    "versions.golden_set: baseline 'small.v1', this run 'small.v2'"
)


def test_the_same_questions_under_another_number_are_compared_and_told(
    make_artifact: MakeArtifact, baseline_of: BaselineOf
) -> None:
    """A set is numbered anew for each new version of anything."""
    artifact = make_artifact()
    run = replace(artifact, golden=replace(artifact.golden, version=2, versions=SET_2))
    only = {"versions": {**SET_2, "golden_set": "small.v1"}}
    assert _judged(run, baseline_of(artifact, **only)) == (
        "pass",
        f"with the same questions and labels: {RENUMBERED}",
    )
    rest = {"versions": SET_1, "corpus_sha256": "e" * 64}
    word, text = _judged(run, baseline_of(artifact, **rest))
    assert word == "refused"
    assert text.endswith(
        "this run '2'; if this change is what the run shall judge, add --changing chunking"
    )
    word, text = _judged(declaring(run, "chunking"), baseline_of(artifact, **rest))
    assert word == "pass"
    assert "declared as changed: corpus sha256: baseline eeee" in text
    assert "cannot be told" not in text


@pytest.mark.parametrize("changing", [(), ("chunking", "index", "prompt", "embedding")])
def test_other_questions_or_labels_are_never_compared(
    make_artifact: MakeArtifact, baseline_of: BaselineOf, changing: tuple[str, ...]
) -> None:
    artifact = declaring(make_artifact(), *changing)
    then = {"golden_version": 2, "golden_sha256": "e" * 64, "versions": SET_1}
    run = replace(artifact, golden=replace(artifact.golden, versions=SET_2))
    word, text = _judged(run, baseline_of(artifact, **then))
    assert word == "refused"
    assert "golden set version: baseline 2, this run 1; golden set sha256" in text
    assert "review the report and accept this run as the new baseline" in text


def _judged(artifact: Artifact, baseline: Baseline) -> tuple[str, str]:
    rule = Rule("tolerance", "r", metric="Recall@3", tolerance=0.1)
    result = artifact.targets[0]
    judged = evaluate(rule, result, artifact, {result.target.label: baseline})
    return judged.word, judged.text


@pytest.mark.parametrize(
    ("changes", "words", "is_clear"),
    [
        ({"versions": {"index": "1"}}, "index", True),
        ({"versions": {"embedding": "1", "index": "1"}}, "embedding", True),
        ({"options": {"a": 1}, "versions": {"index": "1"}}, "settings", True),
        ({"options": {"a": 1, "b": 2}}, "settings", False),
        ({"options": {"a": 1}, "server_version": "1.0"}, "adapter", True),
        ({"versions": {"prompt": "1"}, "server_version": "1.0"}, "server prompt", False),
        ({"versions": {"chunking": "1", "embedding": "1"}}, "chunking embedding", False),
    ],
)
def test_the_fewest_words_are_asked_for_and_two_changes_are_told_apart_from_one(
    make_artifact: MakeArtifact,
    baseline_of: BaselineOf,
    changes: dict[str, Any],
    words: str,
    *,
    is_clear: bool,
) -> None:
    artifact = make_artifact()
    fields = dict(changes)
    if options := fields.pop("options", None):
        fields["target"] = Target("fake", "fake", "lexical", options={"search": options})
    baseline = baseline_of(artifact, **fields)
    word, text = _judged(artifact, baseline)
    asked = text.rpartition(", add ")[2].replace("--changing ", "").split()
    assert (word, sorted(asked)) == ("refused", sorted(words.split()))
    word, text = _judged(declaring(artifact, *asked), baseline)
    assert word == "pass"
    assert ("which of these moved the figures cannot be told" in text) is not is_clear


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"depth": 5}, "settings"),
        ({"golden_sha256": "e" * 64}, "index"),
        ({"server_version": "1.0"}, "settings"),
        ({"fidelity": "stand-in"}, "server"),
    ],
)
def test_what_is_not_declared_or_may_not_be_is_refused(
    make_artifact: MakeArtifact, baseline_of: BaselineOf, changes: dict[str, Any], word: str
) -> None:
    artifact = declaring(make_artifact(), word)
    (found,) = differences(artifact.targets[0], artifact, baseline_of(artifact, **changes))
    assert not found.declared
    told = refusal([found])
    assert told is not None
    assert ("add --changing server" in told) == ("server_version" in changes)
