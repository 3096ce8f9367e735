"""What every engine of this distribution has in common."""

from __future__ import annotations

import pytest

from retrieverbench.engines import engine_names, load_engine, quick_start
from retrieverbench.errors import InputError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", engine_names())
async def test_an_unknown_option_is_wrong_input(name: str) -> None:
    """Not a failed backend: a suite that misspells one must end with wrong input."""
    engine = load_engine(name)
    reason = engine.missing()
    if reason is not None:
        pytest.skip(reason)
    with pytest.raises(InputError, match=rf"engine {name}: .*foo: unknown key"):
        async with engine.start({"foo": 1}):
            pytest.fail("started")


@pytest.mark.parametrize("name", engine_names())
async def test_the_options_of_a_quick_start_are_known(name: str) -> None:
    """They would end an audit as wrong input that no suite holds."""
    engine = load_engine(name)
    reason = engine.missing()
    if reason is not None:
        pytest.skip(reason)
    with pytest.raises(InputError) as raised:
        async with engine.start({**quick_start(name), "foo": 1}):
            pytest.fail("started")
    (fault,) = raised.value.faults
    assert "foo: unknown key" in fault
