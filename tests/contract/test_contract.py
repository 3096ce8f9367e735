"""The contract of every installed adapter, on the engine that can be started here.

An adapter is under contract the moment its entry point exists; nothing names one.
"""

from __future__ import annotations

import os
import runpy
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from retrieverbench.adapter import Secret
from retrieverbench.engines import engine_names, load_engine
from retrieverbench.run import (
    Connection,
    Engines,
    LoadedAdapter,
    TargetEntry,
    adapter_names,
    connect,
    load_adapter,
)
from retrieverbench.testing import AdapterContract, UsersIndex, contract_chunks, not_run

INDEXES = Path(__file__).with_name("indexes")
"""How a user would have made an index that is attached: a file of each adapter's name."""


class TestInstalledAdapters(AdapterContract):
    @pytest.fixture(scope="class", params=adapter_names())
    @classmethod
    def loaded(cls, request: pytest.FixtureRequest) -> LoadedAdapter:
        return load_adapter(request.param)

    @pytest.fixture
    def adapter(self, loaded: LoadedAdapter) -> str:
        return loaded.name

    @pytest.fixture(scope="class")
    @classmethod
    async def connection(
        cls, request: pytest.FixtureRequest, loaded: LoadedAdapter, engines: Engines
    ) -> Connection:
        name = loaded.name
        engine = "embedded" if name in engine_names() else ""
        if engine and (reason := load_engine(name).missing()):
            not_run(request, name, reason)
        entry = TargetEntry(adapter=name, name=name, modes=("lexical",), engine=engine)
        return await connect(entry, os.environ, engines)

    @pytest.fixture
    def endpoint(self, connection: Connection) -> str:
        return connection.endpoint

    @pytest.fixture
    def secrets(self, connection: Connection) -> Mapping[str, Secret]:
        return connection.secrets

    @pytest.fixture(scope="class")
    @classmethod
    async def attached(
        cls, loaded: LoadedAdapter, connection: Connection
    ) -> AsyncIterator[UsersIndex | None]:
        path = INDEXES / f"{loaded.name}.py"
        if "attach" not in loaded.cls.capabilities or not path.exists():
            yield None
            return
        async with runpy.run_path(str(path))["make"](connection, contract_chunks()) as index:
            yield index
