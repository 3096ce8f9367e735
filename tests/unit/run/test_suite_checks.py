"""What a suite asks of an adapter that cannot do it, with the place and what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retrieverbench.errors import InputError
from retrieverbench.run import LoadedAdapter, capability_faults, load_suite

HEAD = 'golden = "g.jsonl"\ncorpus = "c.jsonl"\n[[targets]]\nadapter = "fake"\n'


@pytest.mark.parametrize(
    ("capabilities", "text", "faults"),
    [
        ({"lexical", "filter"}, 'modes = ["lexical"]', []),
        (
            {"lexical", "hybrid", "filter", "put"},
            'name = "x"\nmodes = ["dense", "lexical"]',
            ['6: targets.0.modes: {fake} \'dense\'; write modes = ["lexical", "hybrid"]'],
        ),
        (
            {"lexical", "filter"},
            "",  # the default asks for all three
            [
                "3: targets.0.modes: {fake} 'dense'; write modes = [\"lexical\"]",
                "3: targets.0.modes: {fake} 'hybrid'; write modes = [\"lexical\"]",
            ],
        ),
        (
            {"lexical", "index", "filter"},
            'layout = "rls"\nmodes = ["lexical"]',
            ['5: targets.0.layout: {fake} \'rls\'; write layout = "filter" or layout = "index"'],
        ),
        (
            {"lexical", "filter", "put"},
            'modes = ["lexical"]\nload = { resume = true }',
            [
                (
                    "6: targets.0.load.resume: {fake} 'resume'; "
                    "remove it; `patience` waits for a backend within one run"
                )
            ],
        ),
        (
            {"put"},
            'modes = ["lexical"]',
            [
                "5: targets.0.modes: {fake} 'lexical'; its class declares no modes",
                "3: targets.0.layout: {fake} 'filter'; its class declares no layout",
            ],
        ),
    ],
)
def test_what_the_adapter_cannot_do(
    clean: Any, tmp_path: Path, capabilities: set[str], text: str, faults: list[str]
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f"{HEAD}{text}\n", encoding="utf-8")
    cls = type("Fake", (clean,), {"capabilities": frozenset(capabilities)})
    found = capability_faults(load_suite(path), 0, LoadedAdapter("fake", cls, "d", "1"))
    does_not = "adapter 'fake' does not support"
    assert found == [f"{path}:{fault.format(fake=does_not)}" for fault in faults]


def test_an_engine_of_the_run_cannot_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    text = 'adapter = "pgvector"\nengine = "embedded"\nload = { resume = true }\n'
    path.write_text(f'golden = "g"\ncorpus = "c"\n[[targets]]\n{text}', encoding="utf-8")
    with pytest.raises(
        InputError, match=r"s.toml:6: targets.0.load.resume: an engine started here"
    ):
        load_suite(path)


@pytest.mark.parametrize("layout", ["filter", "partition"])
def test_names_that_are_one_file_where_case_does_not_count(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "s.toml"
    entries = "".join(
        f'[[targets]]\nadapter = "memory"\nname = "{name}"\nlayout = "{layout}"\n'
        for name in ("memory", "MEMORY", "mem")
    )
    path.write_text(f'golden = "g"\ncorpus = "c"\n{entries}', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_suite(path)
    assert str(caught.value) == (
        f"{path}:9: targets.1.name: 'MEMORY' and 'memory' differ only in case; "
        "give one of them another name"
    )


@pytest.mark.parametrize(
    ("timing", "fault"),
    [
        ("concurrency = 5\nrequests = 9", "7: timing.requests: 9 a block"),
        ("concurrency = 200", "5: timing.requests: 200 a block"),  # the default
        ("concurrency = 1\nrequests = 5", "7: timing.requests: 5 a block"),
        ("concurrency = 5\nrequests = 10", None),
        ("concurrency = 1\nrequests = 6", None),
        ("enabled = false\nconcurrency = 5\nrequests = 1", None),
    ],
)
def test_a_block_has_requests_enough_for_all_its_workers(
    tmp_path: Path, timing: str, fault: str | None
) -> None:
    """One request of one of five workers was printed as 207 a second of five."""
    file = tmp_path / "suite.toml"
    file.write_text(f"{HEAD}[timing]\n{timing}\n", encoding="utf-8")
    if fault is None:
        load_suite(file)
        return
    with pytest.raises(InputError) as raised:
        load_suite(file)
    (told,) = raised.value.faults
    assert told.startswith(f"{file}:{fault} are too few for a median or a rate of")
    assert "write at least" in told


@pytest.mark.parametrize(("more", "told"), [((), True), (("unnamed_vector",), False)])
def test_a_vector_without_a_name_needs_an_adapter_that_searches_it(
    tmp_path: Path, more: tuple[str, ...], told: bool
) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(
        'golden = "g"\ncorpus = "c"\n[[targets]]\nadapter = "fake"\nmodes = ["dense"]\n'
        '[targets.attach]\nname = "d"\nid = "i"\ntenant = "t"\n'
    )
    cls = type("Fake", (), {"capabilities": frozenset({"dense", "filter", "attach", *more})})
    found = capability_faults(load_suite(path), 0, LoadedAdapter("fake", cls, "d", "1"))
    assert [fault.partition(": ")[2] for fault in found] == (
        ["targets.0.attach.vector: no vector field is named, and dense search needs one; add it"]
        if told
        else []
    )
