"""The artifact survives its file byte for byte; anything else is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.files import write_whole
from retrieverbench.gate import judge
from retrieverbench.model import (
    Agreement,
    Artifact,
    CaseResult,
    LeakFinding,
    Noise,
    Percentile,
    Repeat,
    Round,
    Signal,
    Target,
    Timings,
)
from retrieverbench.report import (
    dump_artifact,
    newest_artifact,
    read_artifact,
    results_of,
    run_path,
)

MakeArtifact = Callable[..., Artifact]


def full(make_artifact: MakeArtifact, make_result: Any) -> Artifact:
    """An artifact in which every optional part is there."""
    result = make_result(
        broken={"c1": CaseResult("c1", "error", (), "timeout", "late", ("globex/1",))},
        notes=("a note",),
        timings=Timings(
            "closed", 4, 100, 12, 8, 2, 1.5, 66.6,
            {"p50": Percentile(1.25, 1.0, 1.5), "p99": Percentile(None, reason="n=1")},
            {"timeout": 1}, ("errors",), 12.5, 0.01, 0.5, "ff", ("closed loop",),
            Agreement(100, 99, 90, 0.99, 0.95), (Signal("a", None, 1.0, False, "n=3"),),
            (Round(1.0, None, 90.0, 0.1),), 0.2, "why",
        ),
    )  # fmt: skip
    finding = LeakFinding("t", "c1", "acme", "globex/1", 1, None, "quality")
    result = replace(
        result,
        leaks=replace(result.leaks, proof="leak", findings=(finding,)),
        target=Target("a", "b", "dense", options={"search": {"ef": 100, "names": ["x"]}}),
    )
    failed = make_result(
        scores=None, results=(), failure="down", failure_kind="failed", failure_code="connect"
    )
    noise = Noise("t", 4, {"p50": Repeat(1.0, 0.9, 1.1, 0.1)}, {"timeout": 1})
    artifact = make_artifact(result, failed, must_pass=["c1"], notes=("note",), noise=noise)
    return replace(artifact, verdict=judge(artifact, [], {}))


def test_round_trip_is_equal_byte_for_byte(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path
) -> None:
    artifact = full(make_artifact, make_result)
    data = dump_artifact(artifact)
    path = tmp_path / "a.json"
    write_whole(path, data)
    read = read_artifact(path)
    assert dump_artifact(read) == data
    assert replace(read, sha256="") == artifact


def test_artifact_is_one_line_without_padding(make_artifact: MakeArtifact) -> None:
    data = dump_artifact(make_artifact())
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 1
    plain = json.dumps(json.loads(data), separators=(",", ":"), ensure_ascii=False)
    assert len(data) == len(plain.encode()) + 1


def test_equal_artifacts_give_equal_bytes(make_artifact: MakeArtifact) -> None:
    assert dump_artifact(make_artifact()) == dump_artifact(make_artifact())


def test_verdict_is_the_same_from_the_file(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path
) -> None:
    artifact = full(make_artifact, make_result)
    path = tmp_path / "a.json"
    write_whole(path, dump_artifact(artifact))
    assert judge(read_artifact(path), [], {}) == artifact.verdict


@pytest.mark.parametrize("odd", ["half \ud800 pair", float("nan"), {1, 2}, object(), b"x"])
def test_one_odd_value_does_not_lose_the_run(
    make_artifact: MakeArtifact, make_result: Any, tmp_path: Path, odd: object
) -> None:
    result = make_result()
    backend = replace(result.backend, settings={"odd": odd, "fine": 1})
    finding = LeakFinding("t", "c1", "acme", "ghost\udcff", 1, None, "timed")
    leaks = replace(result.leaks, proof="leak", findings=(finding,))
    artifact = make_artifact(replace(result, backend=backend, leaks=leaks))
    path = tmp_path / "a.json"
    write_whole(path, dump_artifact(artifact))
    read = read_artifact(path)
    found = read.targets[0]
    assert found.results == result.results
    assert found.leaks is not None
    assert found.leaks.findings[0].uid == "ghost\\udcff"
    assert found.backend is not None
    assert found.backend.settings["fine"] == 1
    assert dump_artifact(read) == path.read_bytes()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[]", "schema: None is not 1"),
        (b"{}", "schema: None is not 1"),
        (b'{"schema": 2}', "schema: 2 is not 1"),
        (b'{"schema": true}', "schema: True is not 1"),
        (b'{"schema": 1}', "run_id: Field required; it was altered, run the suite again"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_artifact(path)
    assert str(caught.value).startswith(f"{path}: {text}")


def test_altered_value_is_named(make_artifact: MakeArtifact, tmp_path: Path) -> None:
    raw = json.loads(dump_artifact(make_artifact()))
    raw["targets"][0]["depth"] = "many"
    path = tmp_path / "a.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(InputError, match=r"targets\.0\.depth: "):
        read_artifact(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw["verdict"].update(word="pass"),
        lambda raw: raw.update(complete=False),
        lambda raw: raw["targets"][0].update(fidelity="server"),
        lambda raw: raw["targets"][0]["results"][0]["hits"].pop(),
        lambda raw: raw["targets"][0]["leaks"].update(foreign=0, answers=31),
        lambda raw: raw.update(sha256=""),
        lambda raw: raw.pop("sha256"),
        lambda raw: raw.update(more="a key that is not read"),
    ],
)
def test_altered_artifact_is_refused_whatever_was_altered(
    make_artifact: MakeArtifact,
    make_result: Any,
    tmp_path: Path,
    change: Callable[[Any], object],
) -> None:
    raw = json.loads(dump_artifact(full(make_artifact, make_result)))
    path = tmp_path / "a.json"
    path.write_text(json.dumps(raw, indent=1))
    read_artifact(path)  # the layout is free
    change(raw)
    path.write_text(json.dumps(raw))
    with pytest.raises(InputError, match="altered or damaged; restore it, or run the suite again"):
        read_artifact(path)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read: No such file"):
        read_artifact(tmp_path / "no.json")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_artifact(tmp_path)


def test_place_of_a_run(make_artifact: MakeArtifact) -> None:
    path = run_path(make_artifact(), Path("results"))
    assert path == Path("results/runs/small/20300102T030405Z-0badcafe.json")


def test_newest_artifact_goes_by_the_time_in_the_name(tmp_path: Path) -> None:
    names = ("20300102T030405Z-bb.json", "20300102T030406Z-aa.json", "20291231T000000Z-cc.json")
    for name in (*names, "20300102T030407Z-dd.md", "zz.json", "20300102T030408Z-ee.json.tmp"):
        (tmp_path / name).touch()
    assert newest_artifact(tmp_path).name == names[1]


def test_folder_without_artifacts(tmp_path: Path) -> None:
    (tmp_path / "notes.json").touch()
    with pytest.raises(InputError, match=r"holds no artifact; name a folder results/runs/<suite>"):
        newest_artifact(tmp_path)


def test_results_folder_of_a_run(make_artifact: MakeArtifact, tmp_path: Path) -> None:
    assert results_of(run_path(make_artifact(), tmp_path)) == tmp_path.resolve()


@pytest.mark.parametrize("path", ["/a.json", "/x/a.json", "/x/y/a.json", "/x/y/z/a.json"])
def test_artifact_elsewhere_has_no_results_folder(path: str) -> None:
    with pytest.raises(InputError, match="with --results"):
        results_of(Path(path))


def test_a_report_in_the_place_of_its_artifact_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# PASS\n")
    with pytest.raises(InputError, match=r"name the \.json file that lies beside the report"):
        read_artifact(path)


def test_an_artifact_too_deep_to_read_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"schema": 1, "targets": ' + "[" * 100_000)
    with pytest.raises(InputError, match="not valid JSON"):
        read_artifact(path)
