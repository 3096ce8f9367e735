"""What a probe tried at most is counted, and no probe claims to have no limit."""

from __future__ import annotations

import pytest

from retrieverbench.leaks import ARMS, CATALOG
from retrieverbench.leaks.probes.unusual import DEPTHS
from retrieverbench.testing import audit_leaky


def test_no_probe_is_without_a_limit() -> None:
    assert all(probe.limit for probe in CATALOG)


@pytest.mark.anyio
async def test_what_was_tried_at_most_is_counted_as_it_is_asked() -> None:
    named = [probe for probe in CATALOG if probe.id in {"P48", "P22", "P27"}]
    found = {
        result.probe: result.tried
        for result in await audit_leaky("", named, ("lexical",), ARMS[1:])
    }
    assert found["P48"]["k"] == DEPTHS[-1]
    assert found["P48"]["texts"] > 5
    assert found["P22"]["tenants"] == 2, "one that is known and one that is not"
    assert found["P27"] == {}, "it asks no search"
