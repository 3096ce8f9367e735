"""The contract of an adapter as tests, for the authors of adapters.

    import pytest
    from retrieverbench.testing import AdapterContract

    class TestMine(AdapterContract):
        @pytest.fixture
        def adapter(self):
            return Mine

Tests ask for capabilities, never for names. The corpus, the record of who owns what and the
brute force are the contract's own. Where a client or server is missing the tests are skipped,
which is printed; the names in the environment variable RETRIEVERBENCH_REQUIRE must not be.

`retrieverbench.testing.leaks.assert_no_leaks` needs no adapter: one assertion on a function.
`LeakyAdapter` leaks on purpose, in one of the ways that FAULTS names, to prove that an audit
can fail; see `retrieverbench.testing.leaky`.
Needs the extra `testing`.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in (
            "contract", "error_tests", "leak_tests", "life_tests", "place", "ranking_tests",
            "request_tests",
        )
    )
)  # fmt: skip

from retrieverbench.testing.contract import AdapterContract  # noqa: E402
from retrieverbench.testing.corpus import contract_chunks  # noqa: E402
from retrieverbench.testing.leaky import FAULTS, Fault, LeakyAdapter, audit_leaky, caught_by  # noqa: E402
from retrieverbench.testing.outcomes import not_run  # noqa: E402
from retrieverbench.testing.place import UsersIndex  # noqa: E402

__all__ = [
    "FAULTS",
    "AdapterContract",
    "Fault",
    "LeakyAdapter",
    "UsersIndex",
    "audit_leaky",
    "caught_by",
    "contract_chunks",
    "not_run",
]
