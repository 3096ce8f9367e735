"""The contract can fail: leaking adapters, and subclasses that would hide that they leak."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CASES = """
import pytest
from retrieverbench.model import Hit, Response
from retrieverbench.testing import AdapterContract, not_run
from retrieverbench_adapters.memory import Memory

class Leaky(Memory):
    capabilities = frozenset({"lexical", "filter", "put"})

    async def search(self, query):
        answers = [await Memory.search(self, replaced(query, t)) for t in self._built]
        hits = [hit for answer in answers for hit in answer.hits]
        return Response(sorted(hits, key=lambda hit: -hit.score)[: query.k])

def replaced(query, tenant):
    from dataclasses import replace
    from retrieverbench.model import TenantId
    return replace(query, tenant=TenantId(tenant))

class TestClean(AdapterContract):
    @pytest.fixture
    def adapter(self):
        return "memory"

    @pytest.fixture
    def layout(self):
        return "filter"

class Base(AdapterContract):
    @pytest.fixture
    def adapter(self):
        return Leaky

    @pytest.fixture
    def layout(self):
        return "filter"

    @pytest.fixture
    def mode(self):
        return "lexical"

class TestLeaky(Base):
    pass

class TestReplaces(Base):
    async def test_leak_foreign_text_finds_only_own(self):
        pass

@pytest.mark.xfail(reason="we know")
class TestExpects(Base):
    pass

class TestReplacesTheGuard(Base):
    def pytest_generate_tests(self, metafunc):
        pass

    async def test_leak_foreign_text_finds_only_own(self):
        pass

class TestAbsent(AdapterContract):
    @pytest.fixture
    def adapter(self, request):
        not_run(request, "absent", "no client; run: pip install absent")

    layout = mode = Base.layout
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one run of pytest says of all of them."""
    return run(tmp_path_factory.mktemp("guard"))


def run(folder: Path, *arguments: str, **variables: str) -> str:
    (folder / "test_cases.py").write_text(CASES, encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--tb=short"),
            *("--continue-on-collection-errors", *arguments, "test_cases.py"),
        ],
        cwd=folder,
        env={**os.environ, "RETRIEVERBENCH_REQUIRE": "", **variables},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode in {1, 2}, done.stdout + done.stderr
    return done.stdout


def outcomes(told: str, name: str, test: str = "") -> set[str]:
    lines = re.findall(rf"^(\w+) test_cases\.py::{name}(?:::(\S*)| |$)", told, re.MULTILINE)
    return {word for word, where in lines if test in where}


def test_a_clean_adapter_passes(told: str) -> None:
    assert outcomes(told, "TestClean") == {"PASSED"}


@pytest.mark.parametrize(
    "test", ["foreign_text", "same_id", "unknown_tenants", "k_beyond", "interleaved", "lookalike"]
)
def test_a_leaking_adapter_fails(told: str, test: str) -> None:
    assert "FAILED" in outcomes(told, "TestLeaky", f"test_leak_{test}")
    assert "LEAK: lexical search for" in told
    assert "owned by acme-corp" in told


def test_a_replaced_test_is_an_error(told: str) -> None:
    assert outcomes(told, "TestReplaces") == {"ERROR"}
    assert (
        "TestReplaces replaces tests of the contract: test_leak_foreign_text_finds_only_own" in told
    )


def test_an_expected_leak_is_an_error(told: str) -> None:
    assert outcomes(told, "TestExpects") == {"ERROR"}
    assert "is marked xfail: a leak test cannot be expected to fail" in told


def test_a_replaced_guard_is_seen_by_the_test_of_it(told: str) -> None:
    assert "FAILED" in outcomes(told, "TestReplacesTheGuard", "test_the_contract_is_whole")


def test_an_adapter_that_cannot_be_tested_is_said_aloud(told: str) -> None:
    line = "LEAK TESTS NOT RUN for absent: no client; run: pip install absent"
    assert told.count(line) == 1


def test_a_required_adapter_that_cannot_be_tested_is_an_error(tmp_path: Path) -> None:
    told = run(tmp_path, "-k", "TestAbsent", RETRIEVERBENCH_REQUIRE="other,absent")
    assert outcomes(told, "TestAbsent") == {"ERROR", "PASSED"}
    assert "absent is required by RETRIEVERBENCH_REQUIRE: no client" in told
