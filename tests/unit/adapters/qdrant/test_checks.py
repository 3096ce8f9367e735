"""What old servers cannot do is said before anything is measured."""

from __future__ import annotations

import pytest

from retrieverbench.adapter import Settings
from retrieverbench.errors import Unsupported
from retrieverbench.model import MODES
from retrieverbench_adapters.qdrant.checks import check_server
from retrieverbench_adapters.qdrant.options import Search

SETTINGS = Settings(endpoint="x", place="rb_x", modes=frozenset(MODES), dimension=4)
WEIGHTED = Search(weights=(2.0, 1.0))


@pytest.mark.parametrize(
    ("served", "search", "text"),
    [
        ("1.15.5", Search(), "1.15.5 cannot set the rank constant of RRF; use 1.16 or newer"),
        ("1.16.3", WEIGHTED, "1.16.3 cannot weight RRF; use 1.17 or newer"),
        ("unknown", Search(), "unknown cannot set the rank constant"),
    ],
)
def test_what_an_old_server_cannot_do(served: str, search: Search, text: str) -> None:
    with pytest.raises(Unsupported, match=text):
        check_server(served, SETTINGS, search)


@pytest.mark.parametrize(
    ("served", "search", "within_tenant"),
    [
        ("1.15.5", Search(fusion="dbsf"), False),
        ("1.16.0", Search(), False),
        ("1.17.0", WEIGHTED, False),
        ("1.18.3", Search(), False),
        ("1.19.0", Search(), True),
        ("2.0.0", WEIGHTED, True),
    ],
)
def test_idf_within_a_tenant_needs_a_new_server(
    served: str, search: Search, within_tenant: bool
) -> None:
    assert check_server(served, SETTINGS, search) is within_tenant
