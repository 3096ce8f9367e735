"""A service behind HTTP as the page describes it: measured, audited, and caught when it leaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_support import Bench, Done
from http_service_support import Service, serving
from retrieverbench.golden import load_set

PAGE = Path(__file__).parents[2] / "docs" / "test-your-retriever.md"
(ENTRY,) = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
TOKENS = {"birch": "t0ken-of-birch", "cedar": "t0ken-of-cedar"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service of the example's chunks; each test says what is wrong with it."""
    from bench_support import write_example

    folder = write_example(tmp_path_factory.mktemp("example"))
    corpus, _golden = load_set(folder / "golden.v1.jsonl", folder / "corpus.jsonl")
    with serving(Service(corpus.chunks)) as started:
        yield started


def ask(
    bench: Bench,
    service: Service,
    command: str,
    *more: str,
    fault: str = "",
    tokens: bool = True,
    port: int | None = None,
) -> Done:
    service.fault, service.tokens = fault, TOKENS if tokens else {}
    entry = ENTRY.partition("[[targets]]\n")[2]
    suite = bench.suite(entry, head='leaks = { inconclusive = "warn" }' if command == "run" else "")
    if fault == "silent":
        suite.write_text(suite.read_text().replace("timeout = 20.0", "timeout = 0.5"))
    wrong = port and f"http://127.0.0.1:{port}"
    environ = {"OUR_SERVICE": wrong or service.endpoint}
    environ |= {f"TOKEN_OF_{name.upper()}": token for name, token in TOKENS.items()}
    done = bench.run(command, suite, *more, env=environ)
    for token in TOKENS.values():
        assert token not in done.stdout + done.stderr
    return done


def audit(
    bench: Bench,
    service: Service,
    fault: str = "",
    *more: str,
    tokens: bool = True,
) -> Done:
    """The probes that tell one fault from another."""
    chosen = (word for probe in ("P01", "P12", "P22", *more) for word in ("--probe", probe))
    return ask(bench, service, "leaks", *chosen, fault=fault, tokens=tokens)


def failed(bench: Bench) -> set[str]:
    probes: list[dict[str, Any]] = bench.artifact()["targets"][0]["probes"]
    return {probe["probe"] for probe in probes if probe["outcome"] == "fail"}


def test_a_clean_service_is_measured(bench: Bench, service: Service) -> None:
    done = ask(bench, service, "run")
    assert done.returncode == 0, done.stdout + done.stderr
    (target,) = bench.artifact()["targets"]
    assert target["scores"]["means"]["recall@10"]["value"] > 0.5
    assert target["timings"]["errors"] == {}
    assert (target["fidelity"], target["leaks"]["proof"]) == ("server", "inconclusive")


def test_a_service_without_a_filter_is_exit_4_in_a_run(bench: Bench, service: Service) -> None:
    done = ask(bench, service, "run", "--no-timing", fault="unfiltered")
    assert done.returncode == 4, done.stdout + done.stderr
    assert bench.artifact()["targets"][0]["leaks"]["foreign"] > 0


@pytest.mark.parametrize(
    ("fault", "port", "told"),
    [("broken", None, '500: {"error": "out of order"}'), ("", 9, "Connect call failed")],
)
def test_a_service_that_answers_nothing_is_not_measured_and_says_why(
    bench: Bench, service: Service, fault: str, port: int | None, told: str
) -> None:
    """As a server that cannot be reached is told, with the remedy, and no score of 0."""
    done = ask(bench, service, "run", "--no-timing", fault=fault, port=port)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Not measured" in done.stdout
    (target,) = bench.artifact()["targets"]
    assert (target["failure_kind"], target["scores"]) == ("failed", None)
    assert told in target["failure"]
    assert target["remedy"] == "check that the server runs and that its address and port are right"


def test_a_clean_service_passes_the_audit(bench: Bench, service: Service) -> None:
    done = ask(bench, service, "leaks")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Not probed" in done.stdout
    probes: list[dict[str, Any]] = bench.artifact()["targets"][0]["probes"]
    passed = {probe["probe"] for probe in probes if probe["outcome"] == "pass"}
    assert passed >= {
        "P01",
        "P04",
        "P12",
        "P14",
        "P21",
        "P22",
        "P23",
        "P31",
        "P32",
        "P33",
        "P35",
        "P47",
        "P48",
    }


def test_a_clean_service_that_trusts_who_asks_passes(bench: Bench, service: Service) -> None:
    done = audit(bench, service, tokens=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("fault", "probes"),
    [("unfiltered", {"P01"}), ("folded", {"P12"}), ("unknown", {"P01", "P22"})],
)
def test_a_leaking_service_is_exit_4_by_the_probe_for_it(
    bench: Bench, service: Service, fault: str, probes: set[str]
) -> None:
    done = audit(bench, service, fault, tokens=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert failed(bench) >= probes
    if fault == "folded":
        assert failed(bench) == probes


@pytest.mark.parametrize(
    ("fault", "probes"),
    [
        ("any credential", {"P47"}),
        ("no credential", {"P47"}),
        ("credential decides", set()),
        ("end unread", {"P47"}),
        ("half will do", {"P47"}),
        ("debug", {"P01", "P12", "P22", "P47"}),
    ],
)
def test_a_name_is_believed_only_with_its_own_credential(
    bench: Bench, service: Service, fault: str, probes: set[str]
) -> None:
    done = audit(bench, service, fault, "P47")
    assert done.returncode == (4 if probes else 0), done.stdout + done.stderr
    assert failed(bench) == probes


def test_a_service_that_is_busy_at_times_is_waited_for(bench: Bench, service: Service) -> None:
    done = audit(bench, service, "busy")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_service_that_finds_nothing_proves_nothing(bench: Bench, service: Service) -> None:
    done = audit(bench, service, "nothing")
    assert done.returncode == 5, done.stdout + done.stderr
    assert failed(bench) == set()


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("broken", 'http_api: 500: {"error": "out of order"}'),
        ("garbage", "an answer is no JSON"),
        ("silent", "gave no answer in time"),
    ],
)
def test_a_service_that_fails_is_not_accused(
    bench: Bench, service: Service, fault: str, told: str
) -> None:
    done = audit(bench, service, fault)
    assert done.returncode == 3, done.stdout + done.stderr
    assert told in " ".join(done.stdout.split())
    assert failed(bench) == set()
