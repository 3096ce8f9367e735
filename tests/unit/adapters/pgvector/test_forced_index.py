"""The planner is told to use the approximate index, and only where a suite says so."""

from __future__ import annotations

import pytest

from retrieverbench.adapter import Settings
from retrieverbench.errors import InputError
from retrieverbench_adapters.pgvector import Options, Pgvector
from retrieverbench_adapters.pgvector.describing import server_settings
from retrieverbench_adapters.pgvector.options import Search, check_settings


def test_only_a_forced_index_changes_the_planner() -> None:
    assert "enable_sort" not in server_settings(Search(), vectors=True)
    told = server_settings(Search(force_index=True), vectors=True)
    assert (told["enable_seqscan"], told["enable_sort"]) == ("off", "off")


def test_exact_search_and_a_forced_index_exclude_each_other() -> None:
    settings = Settings("", "rb_x", frozenset({"dense"}), dimension=2)
    options = Options(search=Search(exact=True, force_index=True))
    with pytest.raises(InputError, match="both are true; keep one"):
        check_settings(settings, options, Pgvector.capabilities)
