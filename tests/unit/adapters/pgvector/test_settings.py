"""What may be set, and what the server tells of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from pgvector_support import (
    ACME,
    DIMENSION,
    ask,
    loaded,
    make_chunks,
    make_query,
    needs_server,
    settings_for,
)
from retrieverbench.adapter import Secret
from retrieverbench.engines import Started
from retrieverbench.errors import BackendError, InputError, Rejected
from retrieverbench.model import MODES
from retrieverbench_adapters.pgvector import Options, Pgvector

pytestmark = [pytest.mark.anyio, needs_server]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"place": "public"}, "place: 'public' does not begin with 'rb_'"),
        ({"layout": "cluster"}, "layout: 'cluster' is not there"),
        ({"dimension": 0}, "dimension: 0 with a mode that needs vectors"),
        ({"secrets": {"api_key": Secret("x")}}, "'api_key' is unknown"),
        ({"endpoint": "host:5432 password=open-sesame"}, "endpoint: this is no address"),
        ({"options": {"search": {"ef_serch": 1}}}, "search.ef_serch: unknown key.*'ef_search'"),
        ({"options": {"search": {"ef_search": 0}}}, "search.ef_search: 0 is wrong"),
        ({"options": {"search": {"ranking": "bm25"}}}, "search.ranking: 'bm25' is"),
    ],
)
async def test_wrong_settings_are_named(
    server: Started, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        await Pgvector.open(settings_for(server, **changes))
    assert "open-sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"search": {"work_mem": "plenty"}}, Rejected, "work_mem"),
        ({"place": {"text_search_config": "klingon"}}, Rejected, "klingon"),
        ({"place": {"m": 100, "ef_construction": 100}}, Rejected, "ef_construction"),
    ],
)
async def test_what_the_server_refuses_is_told_in_its_words(
    server: Started,
    options: Mapping[str, Mapping[str, object]],
    error: type[BackendError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        async with loaded(server, make_chunks(ACME, 3), options=options):
            pytest.fail("settled")
    left = await ask(server, "SELECT count(*) FROM pg_namespace WHERE nspname = 'rb_test'")
    assert left == [(0,)]


async def test_every_option_sent_is_read_back(server: Started) -> None:
    options: dict[str, dict[str, object]] = {
        "connect": {"connect_timeout": 5, "settle_timeout": 60},
        "place": {
            "index": "hnsw", "m": 5, "ef_construction": 33, "text_search_config": "german",
            "maintenance_work_mem": "77MB", "metric": "l2", "quantization": "halfvec",
        },
        "search": {
            "exact": False, "ef_search": 77, "iterative_scan": "relaxed_order",
            "max_scan_tuples": 12345, "scan_mem_multiplier": 2.5, "work_mem": "33MB",
            "plan_cache_mode": "auto", "ranking": "ts_rank", "normalization": 1, "rrf_k": 9,
            "depth": 50, "probes": 7, "oversampling": 3, "dense_weight": 2.0,
            "lexical_weight": 0.5, "tenant_setting": "app.owner",
        },
    }  # fmt: skip
    assert options["place"].keys() == Options().place.__dataclass_fields__.keys()
    forced = {"force_index"}  # the server knows it as enable_seqscan and enable_sort
    assert options["search"].keys() | forced == Options().search.__dataclass_fields__.keys()
    chunks = make_chunks(ACME, 10)
    async with loaded(server, chunks, options=options, concurrency=3) as adapter:
        before = await adapter.describe()
        told = {name.rpartition("hnsw.")[2]: str(value) for name, value in before.settings.items()}
        told["probes"] = told["ivfflat.probes"]
        for name, value in {**options["place"], **options["search"]}.items():
            assert told[name] == str(value), name
        assert before.properties == {"approximate"}
        assert before.settings["tenant_column"] == "text collate C not null"
        assert before.settings["vector_column"] == f"vector({DIMENSION})"
        assert re.fullmatch(r"\d+\.\d+.*, pgvector \d+\.\d+\.\d+", before.server_version)
        for mode in MODES:
            await adapter.search(make_query(ACME, mode))
        assert await adapter.describe() == before


async def test_a_setting_lost_on_one_connection_is_seen(server: Started) -> None:
    async with loaded(server, make_chunks(ACME, 3), concurrency=2) as adapter:
        before = await adapter.describe()
        async with adapter._searchers.take() as connection:
            await connection.execute("RESET ALL")
        after = await adapter.describe()
        assert before.settings["work_mem"] == "64MB"
        assert after.settings["work_mem"] == "4MB and 64MB"
