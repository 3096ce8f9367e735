"""What a subclass may not do: replace a standard test, or expect a leak test to fail.

Checked when tests are collected, where no mark can turn the finding into an expected one,
and once more by a test, so that a report shows that it was checked.
"""

from __future__ import annotations

from collections.abc import Collection
from inspect import getattr_static

import pytest

_NEVER = ("xfail", "skip", "skipif")


def standard_tests(contract: type) -> list[str]:
    """The names of the tests that a contract class has or inherits."""
    return sorted(name for name in dir(contract) if name.startswith("test_"))


def replaced(contract: type, subclass: type) -> list[str]:
    """The standard tests, and the hook that checks them, that a subclass has of its own."""
    names = [*standard_tests(contract), "pytest_generate_tests"]
    return [
        name
        for name in names
        if getattr_static(subclass, name, None) is not getattr_static(contract, name)
    ]


def check_replaced(contract: type, subclass: type) -> None:
    """Raises CollectError that names the replaced tests."""
    names = replaced(contract, subclass)
    if names:
        raise pytest.Collector.CollectError(
            f"{subclass.__name__} replaces tests of the contract: {', '.join(names)}; "
            "take them out, or do not claim the capability"
        )


def check_marks(item: pytest.Function, leak_tests: Collection[str]) -> None:
    """Raises CollectError for a mark that takes a leak test out, and for one without reason."""
    name = getattr(item, "originalname", None) or item.name
    for mark in item.iter_markers():
        if mark.name in _NEVER and name in leak_tests:
            raise pytest.Collector.CollectError(
                f"{item.nodeid} is marked {mark.name}: a leak test cannot be expected to fail "
                "nor left out; repair the adapter, or do not claim the capability"
            )
        if mark.name == "xfail" and not mark.kwargs.get("reason"):
            raise pytest.Collector.CollectError(
                f"{item.nodeid} is marked xfail without a reason; write reason='...'"
            )
