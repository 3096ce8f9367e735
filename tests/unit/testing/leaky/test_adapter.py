"""Clean, the leaky adapter keeps the whole contract; a fault is chosen by class or by option."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from retrieverbench.adapter import OWN_PREFIX, Adapter, Settings
from retrieverbench.errors import InputError
from retrieverbench.model import MODES, Chunk, Query, TenantId
from retrieverbench.testing import AdapterContract, LeakyAdapter


class TestLeaky(AdapterContract):
    @pytest.fixture
    def adapter(self) -> type[Adapter]:
        return LeakyAdapter


def settings(**place: Any) -> Settings:
    return Settings(
        "", f"{OWN_PREFIX}leaky", frozenset(MODES), dimension=2, options={"place": place}
    )


async def found(adapter: LeakyAdapter) -> set[str]:
    """What one of two tenants finds."""
    mine, other = TenantId("mine"), TenantId("other")
    await adapter.put(
        [Chunk("1", who, "words", vector=array("f", [1, 0])) for who in (mine, other)]
    )
    await adapter.settle()
    answer = await adapter.search(Query("words", mine, 10, "dense", array("f", [1, 0])))
    return {hit.uid for hit in answer.hits}


@pytest.mark.anyio
async def test_a_fault_is_chosen_by_class_or_by_option() -> None:
    assert await found(await LeakyAdapter.open(settings())) == {"mine/1"}
    for opened in (
        await LeakyAdapter.open(settings(fault="dense_leg_open")),
        await LeakyAdapter.with_fault("dense_leg_open").open(settings()),
    ):
        assert await found(opened) == {"mine/1", "other/1"}
    assert LeakyAdapter.fault == ""


@pytest.mark.anyio
async def test_an_unknown_fault_is_told_with_the_nearest() -> None:
    with pytest.raises(InputError, match="'dense_leg_opne' is unknown; did you mean 'dense_leg_op"):
        LeakyAdapter.with_fault("dense_leg_opne")
    with pytest.raises(InputError, match=r"place\.fault: 'x' is unknown"):
        await LeakyAdapter.open(settings(fault="x"))
