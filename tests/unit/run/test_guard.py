"""Whatever an adapter raises, in a class of its own too, is an error of ours."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from retrieverbench.errors import AdapterError, BackendError, Code, InputError, Interrupted, Refused
from retrieverbench.run.guard import Step, is_sound, is_stop

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


def step(word: str = "put") -> Step:
    return Step("fake", word, 5.0, ("hunter2",))


@pytest.mark.parametrize("error", FOREIGN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("word", ["open", "put"])
async def test_foreign_exceptions_become_adapter_errors(error: BaseException, word: str) -> None:
    text = f"'fake': {word} raised {type(error).__name__}: "
    with pytest.raises(AdapterError, match=text), step(word).guarded():
        raise error


async def test_only_the_opening_may_blame_the_users_options() -> None:
    with pytest.raises(InputError, match="unknown option"), step("open").guarded():
        raise InputError("unknown option")
    with pytest.raises(AdapterError, match="put raised InputError"), step().guarded():
        raise InputError("unknown option")


async def test_promised_errors_pass_as_they_are() -> None:
    error = Refused("not allowed")
    with pytest.raises(Refused) as caught, step().guarded():
        raise error
    assert caught.value is error


async def test_a_text_of_the_classs_own_shows_no_secret() -> None:
    text = r"the key \*\*\* is refused"
    with pytest.raises(AdapterError, match=text) as caught, step().guarded():
        raise Formatted("x")
    assert caught.value.__cause__ is None


async def test_a_secret_cut_in_half_by_the_limit_is_hidden() -> None:
    with pytest.raises(AdapterError) as caught, step().guarded():
        raise ValueError("x" * 296 + "hunter2")
    assert "hunt" not in str(caught.value)


async def test_a_real_cancellation_passes_through() -> None:
    with anyio.move_on_after(0.01) as scope, step().guarded():
        await asyncio.Event().wait()
    assert scope.cancelled_caught


def test_a_coroutine_that_no_loop_runs_may_be_closed() -> None:
    assert is_stop(GeneratorExit())
    assert not is_stop(KeyboardInterrupt())


def test_an_error_that_says_ok_is_not_sound() -> None:
    assert is_sound(BackendError("x", code=Code.THROTTLED))
    assert not is_sound(BackendError("x", code=Code.OK))
    assert not is_sound(ValueError("x"))
