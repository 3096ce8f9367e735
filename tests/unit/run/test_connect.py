"""Where a backend answers: from the suite, the environment, or an engine started here."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from retrieverbench.adapter import Secret
from retrieverbench.engines import Started
from retrieverbench.errors import BackendError, InputError, NotConfigured, Unavailable
from retrieverbench.run import Engines, TargetEntry, connect

pytestmark = pytest.mark.anyio
SECRET = "hunter2"


class FakeEngine:
    """An engine whose start and stop do what they are told."""

    FIDELITY = "engine"

    def __init__(
        self, reason: str | None = None, on_start: Any = None, on_stop: Any = None
    ) -> None:
        self.reason, self.on_start, self.on_stop = reason, on_start, on_stop
        self.log: list[str] = []

    def missing(self) -> str | None:
        return self.reason

    @asynccontextmanager
    async def start(self, options: Mapping[str, object]) -> AsyncIterator[Started]:
        self.log.append(f"start {dict(options)}")
        if self.on_start:
            raise self.on_start
        try:
            yield Started(
                "http://127.0.0.1:1", "engine", "9.9", {"api_key": Secret(SECRET)}, {"pid": 1}
            )
        finally:
            self.log.append("stop")
            if self.on_stop:
                raise self.on_stop


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    made = FakeEngine()
    monkeypatch.setattr(sys.modules[connect.__module__], "load_engine", lambda _name: made)
    return made


async def test_plain_endpoint_is_taken_as_it_is() -> None:
    found = await connect(TargetEntry("x", endpoint="http://h:1"), {}, Engines())
    assert (found.endpoint, dict(found.secrets), found.fidelity) == ("http://h:1", {}, None)


async def test_adapter_in_process_needs_nothing() -> None:
    assert (await connect(TargetEntry("x"), {}, Engines())).endpoint == ""


async def test_endpoint_from_the_environment_without_its_credentials() -> None:
    environ = {"DSN": f"postgresql://me:{SECRET}@h/db"}
    found = await connect(TargetEntry("x", endpoint_env="DSN"), environ, Engines())
    assert found.endpoint == "postgresql://h/db"
    assert SECRET not in f"{found!r} {found.secrets!s}"
    assert found.secrets["password"].reveal() == SECRET


async def test_named_secrets_win_over_those_of_the_address() -> None:
    entry = TargetEntry("x", endpoint_env="URL", secrets={"password": "PW"})
    found = await connect(entry, {"URL": "http://u:old@h", "PW": SECRET}, Engines())
    assert found.secrets["password"].reveal() == SECRET


@pytest.mark.parametrize("environ", [{}, {"URL": "", "KEY": ""}])
async def test_unset_variables_say_what_to_export(environ: dict[str, str]) -> None:
    with pytest.raises(NotConfigured, match="URL is not set; export URL=<address"):
        await connect(TargetEntry("x", endpoint_env="URL"), environ, Engines())
    entry = TargetEntry("x", secrets={"api_key": "KEY"})
    with pytest.raises(NotConfigured, match=r"KEY \(secret 'api_key'\) is not set; export KEY"):
        await connect(entry, environ, Engines())


async def test_where_credentials_come_from_is_named() -> None:
    """Of an address its variable, of secrets theirs: what a refused reader must correct."""
    environ = {"DSN": f"http://u:{SECRET}@h", "KEY": SECRET}
    both = TargetEntry("x", endpoint_env="DSN", secrets={"api_key": "KEY"})
    plain = TargetEntry("x", name="mine", endpoint="http://h")
    told = [(await connect(entry, environ, Engines())).credentials for entry in (both, plain)]
    assert told == [
        "they come from environment variable DSN, KEY",
        "neither the address nor 'secrets' of target 'mine' holds any",
    ]


async def test_address_that_cannot_be_read_is_a_failure_and_not_shown() -> None:
    environ = {"URL": f"http://u:{SECRET}#x@h"}
    with pytest.raises(Unavailable, match="URL: there is an @ behind the host") as caught:
        await connect(TargetEntry("x", endpoint_env="URL"), environ, Engines())
    assert SECRET not in str(caught.value)


async def test_equal_engines_are_shared_and_stopped_in_the_end(engine: FakeEngine) -> None:
    entry = TargetEntry("x", engine="embedded", engine_options={"b": 1, "a": 2})
    same = TargetEntry("x", engine="embedded", engine_options={"a": 2, "b": 1})
    other = TargetEntry("x", engine="embedded")
    async with Engines() as engines:
        first = await connect(entry, {}, engines)
        assert await connect(same, {}, engines) == first
        await connect(other, {}, engines)
        assert engine.log == ["start {'b': 1, 'a': 2}", "start {}"]
    assert engine.log[2:] == ["stop", "stop"]
    assert first.engine == {"version": "9.9", "pid": 1}
    assert first.fidelity == "engine"
    assert SECRET not in repr(first)


async def test_engine_that_is_missing_says_why(engine: FakeEngine) -> None:
    engine.reason = "no wheel; run: pip install it"
    async with Engines() as engines:
        for _ in range(2):
            with pytest.raises(NotConfigured, match="pip install it"):
                await connect(TargetEntry("x", engine="embedded"), {}, engines)
    assert engine.log == []


@pytest.mark.parametrize("error", [Unavailable("port taken"), OSError("port taken")])
async def test_start_that_fails_is_told_to_all_and_tried_once(
    engine: FakeEngine, error: Exception
) -> None:
    engine.on_start = error
    async with Engines() as engines:
        for _ in range(2):
            with pytest.raises(BackendError, match="port taken"):
                await connect(TargetEntry("x", engine="embedded"), {}, engines)
    assert engine.log == ["start {}"]


async def test_several_start_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two engines is ready only when the other has begun to start."""
    begun = {"a": anyio.Event(), "b": anyio.Event()}

    class Waiting(FakeEngine):
        @asynccontextmanager
        async def start(self, options: Mapping[str, object]) -> AsyncIterator[Started]:
            begun[str(options["own"])].set()
            await begun[str(options["other"])].wait()
            yield Started("http://127.0.0.1:1", "engine", "9.9")

    monkeypatch.setattr(sys.modules[connect.__module__], "load_engine", lambda _name: Waiting())
    with anyio.fail_after(30):
        async with Engines() as engines:
            engines.begin("x", {"own": "a", "other": "b"})
            engines.begin("x", {"own": "b", "other": "a"})
            assert (await engines.start("x", {"own": "a", "other": "b"})).version == "9.9"


async def test_one_that_cannot_start_does_not_stop_the_others(engine: FakeEngine) -> None:
    async with Engines() as engines:
        engine.on_start = Unavailable("port taken")
        engines.begin("x", {"first": True})
        with pytest.raises(Unavailable, match="port taken"):
            await engines.start("x", {"first": True})
        engine.on_start = None
        await engines.start("x", {})
        assert "stop" not in engine.log


async def test_wrong_option_is_the_suites_fault(engine: FakeEngine) -> None:
    engine.on_start = InputError("heap: unknown key")
    async with Engines() as engines:
        with pytest.raises(InputError, match="heap: unknown key"):
            await connect(TargetEntry("x", engine="embedded"), {}, engines)


async def test_leaving_ends_what_is_still_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    class Endless(FakeEngine):
        @asynccontextmanager
        async def start(self, options: Mapping[str, object]) -> AsyncIterator[Started]:
            log.append("start")
            try:
                await anyio.sleep(3600)
                yield Started("", "engine", "9.9")
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.lowlevel.checkpoint()
                log.append("removed")

    monkeypatch.setattr(sys.modules[connect.__module__], "load_engine", lambda _name: Endless())
    with anyio.fail_after(30):
        async with Engines() as engines:
            engines.begin("x", {})
            await anyio.lowlevel.checkpoint()
            assert log == ["start"]
    assert log == ["start", "removed"]
    assert engines.faults == []


async def test_cancelled_run_keeps_its_engine_until_the_places_are_closed(
    engine: FakeEngine,
) -> None:
    async with anyio.create_task_group() as tasks, Engines() as engines:
        try:
            await connect(TargetEntry("x", engine="embedded"), {}, engines)
            tasks.cancel_scope.cancel()
            await anyio.sleep(3600)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
                engine.log.append("places closed")
    assert engine.log == ["start {}", "places closed", "stop"]


async def test_stop_that_fails_is_told_and_loses_nothing(engine: FakeEngine) -> None:
    engine.on_stop = OSError("still busy")
    async with Engines() as engines:
        await connect(TargetEntry("x", engine="embedded"), {}, engines)
    assert engines.faults == ["engine 'x' could not be stopped: still busy"]


async def test_what_ends_the_run_reaches_the_engine_and_passes_on(engine: FakeEngine) -> None:
    engines = Engines()

    async def run() -> None:
        async with engines:
            await connect(TargetEntry("x", engine="embedded"), {}, engines)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run()
    assert engine.log[-1] == "stop"
    assert engines.faults == []
