"""An engine behind an address that stays, killed and started again on the same folder."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from fault_proxy import FaultProxy, fault_proxy
from retrieverbench.adapter import Secret
from retrieverbench.engines import load_engine, processes, quick_start


class Killable:
    """Its secrets are new at every start."""

    def __init__(self, name: str, proxy: FaultProxy) -> None:
        self.secrets: Mapping[str, Secret] = {}
        self._name, self._proxy = name, proxy
        self._pid = 0
        self._running = AsyncExitStack()

    @property
    def endpoint(self) -> str:
        return self._proxy.endpoint

    async def start(self) -> None:
        """Once more, where it was killed."""
        await self._running.aclose()
        engine = load_engine(self._name).start(quick_start(self._name))
        started = await self._running.enter_async_context(engine)
        self._proxy.upstream, self.secrets = started.endpoint, started.secrets
        self._pid = int(str(started.details["pid"]))

    def kill(self) -> None:
        """As a machine that loses its current: nothing is written any more."""
        os.kill(self._pid, signal.SIGKILL)
        while processes.start_time(self._pid) is not None:
            time.sleep(0.002)

    async def stop(self) -> None:
        await self._running.aclose()


@asynccontextmanager
async def killable(name: str) -> AsyncIterator[Killable]:
    """The engine of that name; its folder outlives it, whatever it keeps there."""

    @asynccontextmanager
    async def same_folder(_name: str) -> AsyncIterator[Path]:
        yield Path(folder)

    with (
        tempfile.TemporaryDirectory(prefix="killable-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(processes, "private_folder", same_folder)
        async with fault_proxy("http://127.0.0.1:1") as proxy:
            engine = Killable(name, proxy)
            try:
                await engine.start()
                yield engine
            finally:
                await engine.stop()
