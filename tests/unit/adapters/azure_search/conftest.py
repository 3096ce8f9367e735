"""The stand-in as a process: shared index, by http with a key; own indexes, by https and token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from azure_adapter_support import ACME, GLOBEX, chunks_of, opened, settings
from azure_support import make_certificate
from retrieverbench.adapter import Settings
from retrieverbench.engines.azure_search import start
from retrieverbench_adapters.azure_search import AzureSearch


@pytest.fixture(scope="session", params=["filter-http-key", "index-https-token"])
async def reached(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Settings]:
    """Settings that reach a stand-in of the session's own."""
    if request.param == "filter-http-key":
        async with start({}) as started:
            yield settings(started.endpoint, started.secrets["api_key"].reveal())
        return
    made = make_certificate(tmp_path_factory.mktemp("tls"))
    async with start(made.options) as started:
        yield settings(
            started.endpoint,
            layout="index",
            secrets={"token": started.secrets["token"]},
            options={"connect": {"auth": "entra", "ca_file": made.authority}},
        )


@pytest.fixture(scope="module")
async def loaded(reached: Settings) -> AsyncIterator[AzureSearch]:
    """Two tenants with identical texts and vectors, only read."""
    async with opened(replace(reached, place="rb_loaded")) as adapter:
        await adapter.put(chunks_of(ACME) + chunks_of(GLOBEX))
        await adapter.settle()
        yield adapter
