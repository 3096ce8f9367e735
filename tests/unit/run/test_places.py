"""A place is opened, loaded, counted, described and closed, whatever the adapter does."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest

from retrieverbench.adapter import Adapter, Description, Secret, Settings
from retrieverbench.errors import AdapterError, BackendError, Refused, TimedOut, Unavailable
from retrieverbench.model import Chunk, Fidelity, TenantId
from retrieverbench.run import (
    Abandoned,
    Connection,
    LoadedAdapter,
    Place,
    TargetEntry,
    open_place,
    place_name,
)
from retrieverbench.run import places as places_module
from retrieverbench.run.loading import count_differences
from retrieverbench.run.suite import Loading
from stubborn_support import Stubborn

pytestmark = pytest.mark.anyio
SECRET = "hunter2"
CHUNKS = [Chunk(f"d{n}", TenantId("acme" if n % 2 else "globex"), f"text {n}") for n in range(7)]
AS_EVER = Loading()
Make = Callable[..., type[Adapter]]


def settings(timeout: float = 5.0) -> Settings:
    return Settings(
        "", "rb_x", frozenset({"lexical"}), timeout=timeout, secrets={"password": Secret(SECRET)}
    )


def opening(
    cls: type[Adapter],
    chunks: Sequence[Chunk] = CHUNKS,
    *,
    timeout: float = 5.0,
    connection: Connection | None = None,
    on_put: Callable[[int], None] = lambda _done: None,
    load: Loading = AS_EVER,
) -> Any:
    loaded = LoadedAdapter("fake", cls, "dist", "1")
    connection = connection or Connection("", {"password": Secret(SECRET)}, None)
    entry = TargetEntry("fake", load=load)
    return open_place(entry, loaded, connection, settings(timeout), chunks, on_put)


def made(cls: Any) -> Any:
    """The adapter object that was opened last."""
    return cls.opened[-1]


async def test_good_adapter_is_loaded_counted_and_closed(clean: Any) -> None:
    done: list[int] = []
    async with opening(clean, on_put=done.append, load=Loading(batch=3)) as place:
        assert place.load_seconds is not None
        assert place.settle_seconds is not None
        assert 0 <= place.load_seconds < 3600  # a difference of clock readings, in seconds
        assert 0 <= place.settle_seconds < 3600
        assert place.description.chunks == {"acme": 3, "globex": 4}
        assert place.fidelity == "engine"
        assert made(clean).closed == 0
    assert done == [3, 6, 7]
    assert made(clean).closed == 1


async def test_read_only_adapter_has_no_load_times_and_no_count(one_method: Make) -> None:
    cls = one_method(capabilities=frozenset({"lexical", "filter"}))
    async with opening(cls) as place:
        assert (place.load_seconds, place.settle_seconds) == (None, None)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"acme": 3, "globex": 3}, "'globex' 4 sent, 3 counted"),
        ({"acme": 3}, "'globex' 4 sent, 0 counted"),
        ({"acme": 3, "globex": 4, "ghost": 1}, "'ghost' 0 sent, 1 counted"),
        ({}, "'acme' 3 sent, 0 counted; 'globex' 4 sent, 0 counted"),
    ],
)
async def test_count_that_differs_is_an_error(
    one_method: Make, counts: dict[str, int], text: str
) -> None:
    async def describe(self: object) -> Description:
        return Description("s", "1", "c", "1", {}, counts)

    cls = one_method(describe=describe)
    with pytest.raises(AdapterError, match=text):
        async with opening(cls):
            pytest.fail("was opened")
    assert made(cls).closed == 1


def test_only_differing_tenants_are_named_and_long_lists_are_cut() -> None:
    expected = {f"t{n}": 1 for n in range(9)}
    counts = {f"t{n}": 1 if n < 2 else 2 for n in range(9)}
    description = Description("s", "1", "c", "1", {}, counts)
    told = count_differences(description, expected)
    assert "'t0'" not in told
    assert told.endswith("'t6' 1 sent, 2 counted; and 2 tenants more")
    fewer = replace(description, chunks=counts | {"t7": 1, "t8": 1})
    assert count_differences(fewer, expected).endswith("'t6' 1 sent, 2 counted")


async def test_an_unknown_fidelity_is_the_adapters_fault(one_method: Make, clean: Any) -> None:
    async def describe(self: Any) -> Description:
        found: Description = await clean.describe(self)
        return replace(found, fidelity="fast")  # type: ignore[arg-type]

    with pytest.raises(AdapterError, match="fidelity: 'fast' is unknown"):
        async with opening(one_method(describe=describe)):
            pytest.fail("was opened")


async def test_tenants_counted_as_0_are_no_difference(one_method: Make, clean: Any) -> None:
    async def describe(self: Any) -> Description:
        found: Description = await clean.describe(self)
        return replace(found, chunks={**found.chunks, "gone": 0})

    async with opening(one_method(describe=describe)):
        pass


async def test_a_description_is_checked_copied_and_shows_no_secret(
    one_method: Make, clean: Any
) -> None:
    settings: dict[str, object] = {"key": SECRET, "probes": 1}

    async def describe(self: Any) -> Description:
        found: Description = await clean.describe(self)
        return replace(found, settings=settings)

    async with opening(one_method(describe=describe)) as place:
        settings["probes"] = 2
        assert place.description.settings == {"key": "***", "probes": 1}
        assert (await place.describe()).settings == {"key": "***", "probes": 2}
        settings["probes"] = object()
        with pytest.raises(AdapterError, match="describe: settings: JSON cannot hold object"):
            await place.describe()


@pytest.mark.parametrize("step", ["open", "put", "settle", "describe", "close"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyError("x"), AdapterError),
        (RuntimeError(f"on\npurpose {SECRET}"), AdapterError),
        (SystemExit(0), AdapterError),
        (TimeoutError(), AdapterError),
        (asyncio.CancelledError(), AdapterError),
        (KeyboardInterrupt(), AdapterError),
        (BaseExceptionGroup("several", [KeyboardInterrupt()]), AdapterError),
        (Refused(f"bad password {SECRET}"), Refused),
    ],
)
async def test_whatever_is_raised_becomes_an_error_of_ours(
    one_method: Make, step: str, error: BaseException, kind: type[BackendError]
) -> None:
    async def broken(*_arguments: object) -> None:
        raise error

    method: Any = classmethod(broken) if step == "open" else broken
    cls: Any = one_method(**{step: method})
    with pytest.raises(kind) as caught:
        async with opening(cls):
            assert step == "close"
    assert SECRET not in f"{caught.value} {caught.value.__cause__}"
    assert "\n" not in str(caught.value)
    if kind is AdapterError:
        assert f"{step} raised {type(error).__name__}" in str(caught.value)


@pytest.mark.parametrize("step", ["open", "put", "settle", "describe", "close"])
async def test_step_that_hangs_is_given_up(
    one_method: Make, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places_module, "STEP_TIMEOUTS", 1)
    monkeypatch.setattr(places_module, "SETTLE_TIMEOUTS", 1)
    monkeypatch.setattr(places_module, "CLOSE_SECONDS", 0.05)

    async def hang(*_arguments: object) -> None:
        await asyncio.Event().wait()

    method: Any = classmethod(hang) if step == "open" else hang
    with pytest.raises(TimedOut, match=f"{step} did not end within 0.05 s"):
        async with opening(one_method(**{step: method}), timeout=0.05):
            assert step == "close"


@pytest.mark.parametrize("step", ["open", "put", "settle", "describe", "close"])
async def test_step_that_cannot_be_cancelled_is_left_behind(
    one_method: Make, step: str, stubborn: Stubborn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"STEP_TIMEOUTS": 1, "SETTLE_TIMEOUTS": 1, "CLOSE_SECONDS": 0.05}.items():
        monkeypatch.setattr(places_module, name, value)
    method: Any = classmethod(stubborn.hang) if step == "open" else stubborn.hang
    with pytest.raises(Abandoned, match=f"{step} did not end within 0.05 s and does not react"):
        async with opening(one_method(**{step: method}), timeout=0.05):
            assert step == "close"


async def test_close_is_shielded_from_cancellation(one_method: Make) -> None:
    closed = []

    async def close(self: object) -> None:
        await asyncio.sleep(0.02)
        closed.append(True)

    with anyio.move_on_after(0.05) as scope:
        async with opening(one_method(close=close)):
            await asyncio.sleep(60)
    assert scope.cancelled_caught
    assert closed == [True]


async def test_failure_to_close_does_not_hide_what_went_wrong_before(one_method: Make) -> None:
    async def settle(self: object) -> None:
        raise Unavailable("disk full")

    async def close(self: object) -> None:
        raise RuntimeError("cannot close")

    with pytest.raises(Unavailable, match=r"disk full; and afterwards: .*cannot close"):
        async with opening(one_method(settle=settle, close=close)):
            pytest.fail("was opened")


async def test_error_of_the_body_passes_through_and_closes(clean: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        async with opening(clean):
            raise ZeroDivisionError
    assert made(clean).closed == 1


async def test_adding_private_chunks_repeats_no_private_word(one_method: Make, clean: Any) -> None:
    async def put(self: Any, chunks: Sequence[Chunk]) -> None:
        if any("token" in chunk.text for chunk in chunks):
            raise Unavailable(f"rejected: {chunks[0].text}")
        await clean.put(self, chunks)

    async with opening(one_method(put=put)) as place:
        with pytest.raises(Unavailable, match=r"rejected: private \*\*\* note"):
            await place.add([Chunk("c", TenantId("acme"), "private token12 note")], ["token12"])


async def test_describing_again_is_guarded_too(one_method: Make, clean: Any) -> None:
    calls = []

    async def describe(self: Any) -> Description:
        calls.append(True)
        if len(calls) > 1:
            raise KeyError("gone")
        found: Description = await clean.describe(self)
        return found

    async with opening(one_method(describe=describe)) as place:
        with pytest.raises(AdapterError, match="describe raised KeyError"):
            await place.describe()


@pytest.mark.parametrize(
    ("launcher", "backend", "endpoint", "expected"),
    [
        (None, None, "", "engine"),
        (None, None, "http://h", "server"),
        ("engine", None, "http://h", "engine"),
        ("server", "stand-in", "http://h", "stand-in"),
        ("stand-in", "server", "http://h", "stand-in"),
        (None, "stand-in", "http://h", "stand-in"),
    ],
)
async def test_weakest_fidelity_wins(
    one_method: Make,
    clean: Any,
    launcher: Fidelity | None,
    backend: Fidelity | None,
    endpoint: str,
    expected: Fidelity,
) -> None:
    async def describe(self: Any) -> Description:
        found: Description = await clean.describe(self)
        return replace(found, fidelity=backend)

    cls = one_method(describe=describe)
    async with opening(cls, connection=Connection(endpoint, {}, launcher)) as place:
        assert isinstance(place, Place)
        assert place.fidelity == expected


def test_place_names_differ_where_entries_do() -> None:
    long = "a-very-long-name-of-a-target"
    names = ["a-b", "a_b", "A-b", "a.b", f"{long}-1", f"{long}-2", long, "memory"]
    made_names = [place_name("0badcafe", TargetEntry("x", name=name)) for name in names]
    assert len(set(made_names)) == len(names)
    assert made_names[-1] == "rb_0badcafe_memory_filter"
    for name in made_names:
        assert name.startswith("rb_")
        assert len(name) < 60
        assert name.replace("_", "").isalnum()
        assert name == name.lower()


async def test_vectors_are_passed_on_as_they_are(clean: Any) -> None:
    chunk = Chunk("d", TenantId("acme"), "t", vector=array("f", [1.0, 0.0]))
    async with opening(clean, [chunk]):
        assert made(clean).chunks["acme/d"] == chunk


async def test_chunks_overwritten_by_one_target_reach_others_unharmed(
    one_method: Make, clean: Any
) -> None:
    async def overwrite(self: Any, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            assert chunk.vector is not None
            chunk.vector[0] = 9.0
            object.__setattr__(chunk, "text", "spoilt")
        await clean.put(self, chunks)

    given = [Chunk("d", TenantId("acme"), "text", vector=array("f", [1.0, 0.0]))]
    async with opening(one_method(put=overwrite), given) as place:
        await place.add(given)
    async with opening(clean, given):
        stored = made(clean).chunks["acme/d"]
    assert (stored.vector, stored.text) == (array("f", [1.0, 0.0]), "text")
