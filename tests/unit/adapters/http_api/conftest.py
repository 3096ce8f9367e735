"""The adapter on a real service of a team's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from http_service_support import CHUNKS, TOKENS, Service, settings
from retrieverbench_adapters.http_api import HttpApi

Open = Callable[..., AbstractAsyncContextManager[HttpApi]]


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    made = Service(CHUNKS, TOKENS)
    runner = await made.start()
    yield made
    await runner.cleanup()


@pytest.fixture
def opened(service: Service) -> Open:
    """opened(**settings): the adapter on the service."""

    @asynccontextmanager
    async def on_service(**changes: Any) -> AsyncIterator[HttpApi]:
        made = await HttpApi.open(settings(service.endpoint, **changes))
        try:
            yield made
        finally:
            await made.close()

    return on_service
