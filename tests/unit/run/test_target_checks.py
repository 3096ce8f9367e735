"""What an adapter's class tells of its options and address is compared with the suite."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from retrieverbench.run import LoadedAdapter, load_suite
from retrieverbench.run.target_checks import address_faults, option_faults


@dataclass(frozen=True)
class Search:
    words: int = 1


@dataclass(frozen=True)
class Options:
    search: Search = field(default_factory=Search)


class Broken(type):
    @property
    def options(cls) -> Any:
        raise ZeroDivisionError


def adapter(**told: Any) -> LoadedAdapter:
    return LoadedAdapter("mine", cast("Any", type("Mine", (), told)), "file", "mine.py")


def faults(folder: Path, entry: str, loaded: LoadedAdapter, **more: Any) -> list[str]:
    path = folder / "s.toml"
    head = 'golden = "g"\ncorpus = "c"\n[[targets]]\nadapter = "./mine.py:Mine"\nname = "m"\n'
    path.write_text(head + entry, encoding="utf-8")
    suite = load_suite(path)
    found = [
        *option_faults(suite, 0, loaded),
        *address_faults(suite, 0, loaded, environ={"PLACE": "host:1"}, **more),
    ]
    return [fault.removeprefix(f"{path}:") for fault in found]


@pytest.mark.parametrize(
    ("told", "entry", "beginning"),
    [
        ({"options": Options}, "[targets.search]\nwords = 'x'\n", "7: targets.0.search.words: 'x'"),
        ({"options": Options}, "connect = { a = 1 }\n", "6: targets.0.connect"),
        ({"address": "http://HOST"}, "", "4: targets.0.adapter: './mine.py:Mine' asks a server"),
        (
            {"address": "http://HOST"},
            'endpoint = "host:1"\n',
            "6: targets.0.endpoint: 'h",
        ),
        (
            {"address": "http://HOST"},
            'endpoint_env = "PLACE"\n',
            "6: targets.0.endpoint_env",
        ),
    ],
)
def test_each_fault_has_the_line_of_its_key(
    tmp_path: Path, told: dict[str, Any], entry: str, beginning: str
) -> None:
    (fault,) = faults(tmp_path, entry, adapter(**told))
    assert fault.startswith(beginning)


@pytest.mark.parametrize(
    ("told", "entry"),
    [
        ({"options": Options}, "search = { words = 2 }\n"),
        ({"options": dict}, "search = { words = 'x' }\n"),
        ({}, "search = { words = 'x' }\n"),
        ({"address": "http://HOST"}, 'endpoint_env = "NOT_SET"\n'),
        ({"address": "http://HOST"}, 'endpoint = "https://host"\n'),
        ({"address": "postgresql://HOST"}, 'endpoint = "host=a"\n'),
        ({"address": 7}, ""),
    ],
)
def test_what_is_right_or_not_told_is_no_fault(
    tmp_path: Path, told: dict[str, Any], entry: str
) -> None:
    assert faults(tmp_path, entry, adapter(**told)) == []


def test_a_service_started_for_the_run_is_an_address(tmp_path: Path) -> None:
    loaded = adapter(address="http://HOST")
    assert faults(tmp_path, "", loaded, served={"./mine.py:Mine"}) == []


def test_a_class_that_breaks_when_it_is_asked_is_judged_when_it_is_opened(tmp_path: Path) -> None:
    broken = LoadedAdapter("mine", cast("Any", Broken("Mine", (), {})), "file", "mine.py")
    assert faults(tmp_path, "search = { words = 'x' }\n", broken) == []
