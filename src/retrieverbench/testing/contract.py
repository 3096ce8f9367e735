"""The one class that an adapter's author inherits from."""

from __future__ import annotations

import pytest

from retrieverbench.testing.error_tests import ErrorTests
from retrieverbench.testing.fixtures import ContractFixtures
from retrieverbench.testing.guard import check_marks, check_replaced, replaced, standard_tests
from retrieverbench.testing.leak_tests import LeakTests
from retrieverbench.testing.life_tests import LifeTests
from retrieverbench.testing.ranking_tests import RankingTests
from retrieverbench.testing.request_tests import RequestTests

LEAK_PREFIX = "test_leak_"


class AdapterContract(
    LeakTests, RankingTests, LifeTests, ErrorTests, RequestTests, ContractFixtures
):
    """What every adapter promises, as tests; what it does not claim is not applicable.

        class TestMine(AdapterContract):
            @pytest.fixture
            def adapter(self): return Mine

    Fixtures `endpoint`, `secrets`, `options`, `stored` and `attached` say what it is opened
    with, each with a default. Standard tests cannot be replaced, and leak tests can neither
    be expected to fail nor be left out.
    """

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Refuse, while collecting, what the guard of the contract does not allow."""
        assert metafunc.cls is not None
        check_replaced(AdapterContract, metafunc.cls)
        leaks = {name for name in standard_tests(AdapterContract) if name.startswith(LEAK_PREFIX)}
        check_marks(metafunc.definition, leaks)

    def test_the_contract_is_whole(self) -> None:
        """No standard test was replaced by one of the subclass.

        If it fails, take the named tests out of the subclass.
        """
        assert replaced(AdapterContract, type(self)) == []
