"""Whatever an adapter raises, in a class of its own too, is an error of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest

from retrieverbench.errors import AdapterError, BackendError, Code, InputError, Interrupted, Refused
from retrieverbench.run.guard import Abandoned, Step, is_sound, is_stop
from stubborn_support import Stubborn

pytestmark = pytest.mark.anyio


class Panic(BaseException):
    """What an extension written in Rust raises is no Exception either."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class MuteRefused(Refused):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Numbered(BackendError):
    code = 400  # type: ignore[assignment]  # what an adapter's author might write


class Formatted(Refused):
    def __str__(self) -> str:
        return "the key hunter2 is refused"


FOREIGN = [
    Panic("boom"),
    BaseExceptionGroup("several", [Panic("boom")]),
    GeneratorExit(),
    KeyboardInterrupt(),
    SystemExit(0),
    asyncio.CancelledError(),
    Mute(),
    MuteRefused("x"),
    Numbered("x"),
    Interrupted("x"),
]


def raising(error: BaseException) -> Callable[[], Awaitable[None]]:
    """A coroutine function that raises this."""

    async def function() -> None:
        raise error

    return function


def step(word: str = "put") -> Step:
    return Step("fake", word, 5.0, ("hunter2",))


@pytest.mark.parametrize("error", FOREIGN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("word", ["open", "put"])
async def test_foreign_exceptions_become_adapter_errors(error: BaseException, word: str) -> None:
    text = f"'fake': {word} raised {type(error).__name__}: "
    with pytest.raises(AdapterError, match=text):
        await step(word).call(raising(error))


async def test_only_the_opening_may_blame_the_users_options() -> None:
    wrong = raising(InputError("unknown option"))
    with pytest.raises(InputError, match="unknown option"):
        await step("open").call(wrong)
    with pytest.raises(AdapterError, match="put raised InputError"):
        await step().call(wrong)


async def test_promised_errors_pass_as_they_are() -> None:
    error = Refused("not allowed")
    with pytest.raises(Refused) as caught:
        await step().call(raising(error))
    assert caught.value is error


async def test_a_text_of_the_classs_own_shows_no_secret() -> None:
    text = r"the key \*\*\* is refused"
    with pytest.raises(AdapterError, match=text) as caught:
        await step().call(raising(Formatted("x")))
    assert caught.value.__cause__ is None


async def test_a_secret_cut_in_half_by_the_limit_is_hidden() -> None:
    with pytest.raises(AdapterError) as caught:
        await step().call(raising(ValueError("x" * 296 + "hunter2")))
    assert "hunt" not in str(caught.value)


async def test_a_real_cancellation_passes_through() -> None:
    with anyio.move_on_after(0.01) as scope:
        await step().call(asyncio.Event().wait)
    assert scope.cancelled_caught


async def test_what_is_no_coroutine_at_all_is_the_adapters_fault() -> None:
    def none() -> Awaitable[None]:
        return None  # type: ignore[return-value]  # what an adapter's decorator might do

    with pytest.raises(AdapterError, match="put raised TypeError"):
        await step().call(none)


async def test_a_call_that_cannot_be_cancelled_says_so(stubborn: Stubborn) -> None:
    text = r"put did not end within 0\.01 s and does not react to cancellation"
    with pytest.raises(Abandoned, match=text) as caught:
        await Step("fake", "put", 0.01).call(stubborn.hang)
    assert caught.value.code is Code.TIMEOUT


def test_a_coroutine_that_no_loop_runs_may_be_closed() -> None:
    assert is_stop(GeneratorExit())
    assert not is_stop(KeyboardInterrupt())


def test_an_error_that_says_ok_is_not_sound() -> None:
    assert is_sound(BackendError("x", code=Code.THROTTLED))
    assert not is_sound(BackendError("x", code=Code.OK))
    assert not is_sound(ValueError("x"))
