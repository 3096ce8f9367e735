"""What is found wrong before a backend is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

from bench_support import write_example
from retrieverbench.errors import InputError
from retrieverbench.job import Advance, Quiet, prepare
from retrieverbench.run import load_suite

HEAD = 'golden = "golden.v1.jsonl"\ncorpus = "corpus.jsonl"\n'
MEMORY = '[[targets]]\nadapter = "memory"\nmodes = ["lexical"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example set, without its suite."""
    return write_example(tmp_path)


def fault(
    folder: Path,
    text: str,
    *,
    only: frozenset[str] = frozenset(),
    required: frozenset[str] = frozenset(),
) -> str:
    """The message that a suite is refused with."""
    path = folder / "suite.toml"
    path.write_text(text, encoding="utf-8")
    environ = {"PLACE": "localhost:6333"}
    with pytest.raises(InputError) as caught:
        prepare(load_suite(path), only=only, required=required, environ=environ)
    return str(caught.value).replace(str(folder), "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}{MEMORY}modes_ = 1", "/suite.toml:6: targets.0.modes_: unknown key"),
        (
            f'{HEAD}[[targets]]\nadapter = "memory"\nlayout = "rls"\n',
            "/suite.toml:5: targets.0.layout: adapter 'memory' does not support 'rls'",
        ),
        (
            f'{HEAD}{MEMORY}secrets = {{ "tenant:birhc" = "TOKEN" }}\n',
            "secrets.tenant:birhc: no tenant 'birhc' in the corpus; did you mean 'birch'?",
        ),
        (
            f'{HEAD}[[targets]]\nadapter = "memory"\n[targets.search]\nexact = "yes"\n',
            "/suite.toml:6: targets.0.search.exact: 'yes' is wrong",
        ),
        (
            f'{HEAD}{MEMORY}place = {{ analyser = "x" }}\n',
            "/suite.toml:6: targets.0.place.analyser: unknown key; did you mean 'analyzer'?",
        ),
        (
            f'{HEAD}[[targets]]\nadapter = "qdrant"\n',
            "/suite.toml:4: targets.0.adapter: 'qdrant' asks a server; give endpoint or endp",
        ),
        (
            f'{HEAD}[[targets]]\nadapter = "qdrant"\nendpoint = "localhost:6333"\n',
            "/suite.toml:5: targets.0.endpoint: 'localhost:6333' begins with no scheme; write it",
        ),
        (
            f'{HEAD}[[targets]]\nadapter = "qdrant"\nendpoint_env = "PLACE"\n',
            "/suite.toml:5: targets.0.endpoint_env: what PLACE holds begins with no scheme",
        ),
        (f'{HEAD}metrics = ["nDGC@10"]\n{MEMORY}', "/suite.toml:3: metrics: metric: 'nDGC@10'"),
        (
            f'{HEAD}depth = 5\nmetrics = ["nDCG@10"]\n{MEMORY}',
            "/suite.toml:4: metrics: 'nDCG@10' needs depth 10; depth is 5",
        ),
        (
            f'{HEAD}select = {{ category = "leve" }}\n{MEMORY}',
            "/suite.toml:3: select: golden: category = 'leve' selects no case; categories:",
        ),
        (
            f'{HEAD}select = {{ categry = "leave" }}\n{MEMORY}',
            "/suite.toml:3: select.categry: unknown field; did you mean 'category'?",
        ),
        (
            f'{HEAD}{MEMORY}[[rules]]\nkind = "minimum"\nmetric = "MRR"\n',
            "/suite.toml:6: rules.0.value: missing; a 'minimum' rule needs it",
        ),
        (
            f'{HEAD}{MEMORY}[[rules]]\nkind = "must_pass"\ntargets = ["memroy"]\n',
            "did you mean 'memory'?",
        ),
        (HEAD, "/suite.toml:1: targets: none given"),
    ],
)
def test_message_names_file_line_field_and_remedy(folder: Path, text: str, message: str) -> None:
    assert message in fault(folder, text)


def test_unknown_names_on_the_command_line(folder: Path) -> None:
    text = f"{HEAD}{MEMORY}"
    assert "--target: no target named 'memroy'; did you mean 'memory'?" in fault(
        folder, text, only=frozenset({"memroy"})
    )
    assert "--require: no target named 'x'" in fault(folder, text, required=frozenset({"x"}))


def test_rules_of_targets_left_out_are_no_fault(folder: Path) -> None:
    path = folder / "suite.toml"
    path.write_text(
        f'{HEAD}{MEMORY}[[targets]]\nname = "other"\nadapter = "memory"\n'
        '[[rules]]\nkind = "minimum"\nmetric = "MRR"\nvalue = 0.5\ntargets = ["memory"]\n',
        encoding="utf-8",
    )
    prepared = prepare(load_suite(path), only=frozenset({"other"}))
    assert prepared.labels == tuple(f"other/{m}/filter" for m in ("dense", "lexical", "hybrid"))
    assert prepared.lines == (6,)


def test_only_searches_by_vector_need_vectors(folder: Path) -> None:
    path = folder / "suite.toml"
    path.write_text(f"{HEAD}{MEMORY}", encoding="utf-8")
    assert prepare(load_suite(path)).needs_vectors is False
    path.write_text(f'{HEAD}[[targets]]\nadapter = "memory"\n', encoding="utf-8")
    assert prepare(load_suite(path)).needs_vectors is True


def test_the_reading_of_a_long_corpus_and_of_its_vectors_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Steps(Quiet):
        names: ClassVar[list[str]] = []

        def begin(self, what: str, total: int, unit: str = "") -> Advance:
            self.names.append(f"{what} ({total} {unit})")
            return super().begin(what, total, unit)

    monkeypatch.setattr("retrieverbench.job.progress.LONG_READING", 1)
    chunks = [json.loads(line) for line in (folder / "corpus.jsonl").read_bytes().splitlines()]
    vectors = [{"id": c["id"], "tenant": c["tenant"], "vector": [1.0]} for c in chunks]
    text = "".join(f"{json.dumps(vector)}\n" for vector in vectors)
    (folder / "vectors.jsonl").write_text(text, encoding="utf-8")
    path = folder / "suite.toml"
    path.write_text(f'vectors = "vectors.jsonl"\n{HEAD}{MEMORY}', encoding="utf-8")
    prepare(load_suite(path), progress=Steps())
    assert Steps.names == ["reading corpus.jsonl (1 MB)", "reading vectors.jsonl (1 MB)"]


@pytest.mark.parametrize("whole", [True, False])
def test_every_fault_names_its_file_as_the_suite_was_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    """Of one list some were whole, some seen from here, and some had no folder."""
    (folder / "suite.toml").write_text(f"{HEAD}{MEMORY}", encoding="utf-8")
    for name, before, after in (
        ("corpus.jsonl", '"text": "', '"text": "", "was": "'),
        ("golden.v1.jsonl", '"tenant": "birch"', '"tenant": "nobody"'),
    ):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(before, after, 1), encoding="utf-8")
    monkeypatch.chdir(folder.parent)
    named = folder if whole else Path(folder.name)
    with pytest.raises(InputError) as caught:
        prepare(load_suite(named / "suite.toml"))
    files = {line.partition(".jsonl")[0] for line in caught.value.faults}
    assert files == {f"{named}/corpus", f"{named}/golden.v1"}
    assert any("corpus was changed" in line for line in caught.value.faults)
