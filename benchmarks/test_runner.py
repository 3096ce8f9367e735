"""The runner's own cost per request, over a null adapter and over a raw socket.

    python -m pytest benchmarks/test_runner.py --benchmark-only -s

CPU time of this process and calls, of a block and of the bare loop that asks the same
questions with as many workers. Blocks of both alternate as BARE RUNNER RUNNER BARE in one
process with one client, so that noise of the machine meets both; an A/A ratio of bare
against bare, in the same order, says how much of a difference is noise. Over the socket many
short blocks decide, since what a request costs there hangs on how many answers one wake-up of
the loop finds, which other work on the machine moves from one second to the next. `times and
record` is measured with answers without rows, `with ordinals` with answers of ten.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from overhead_support import UIDS, K, Null, block_plan, calls_per_request, run_bare
from retrieverbench.load import BlockPlan, run_block
from retrieverbench.load.block import Search
from retrieverbench.model import Hit, Query, Response

NULL_ROUNDS, SOCKET_ROUNDS = 10, 75
NULL_REQUESTS, SOCKET_REQUESTS, PROFILED = 10_000, 1_000, 1_000
SOCKET_GOAL = 1.10
CPU, WALL = 0, 1
Interval = tuple[float, float, float]
NULL_WORKERS, SOCKET_WORKERS = 4, 16
QUESTION, ANSWER = b"q" * 200, b"a" * 4_900
ROWS = {"times and record": 0, "with ordinals": K}

SERVER = f"""
import asyncio

class Answering(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.seen = transport, 0
    def data_received(self, data):
        self.seen += len(data)
        while self.seen >= {len(QUESTION)}:
            self.seen -= {len(QUESTION)}
            self.transport.write(b"a" * {len(ANSWER)})

async def main():
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class Connection(asyncio.Protocol):
    """One question at a time, answered by a fixed number of bytes."""

    def __init__(self) -> None:
        self.missing = 0
        self.waiting: asyncio.Future[None] | None = None
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.missing -= len(data)
        if self.missing == 0 and self.waiting is not None:
            self.waiting.set_result(None)


class RawSocket:
    """The least that a network client can do: no serialising, no parsing, no pool logic."""

    def __init__(self, connections: list[Connection], rows: int) -> None:
        self._free = connections
        self._new_future = asyncio.get_running_loop().create_future
        self._answer = Response([Hit(uid, 1.0) for uid in UIDS[:rows]])

    async def search(self, query: Query) -> Response:  # noqa: ARG002 - the protocol's name
        connection = self._free.pop()
        connection.missing = len(ANSWER)
        connection.waiting = self._new_future()
        connection.transport.write(QUESTION)
        await connection.waiting
        self._free.append(connection)
        return self._answer


@asynccontextmanager
async def sockets() -> AsyncIterator[list[Connection]]:
    """As many connections as workers, to a server in another process."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        port = int(await server.stdout.readline())
        loop = asyncio.get_running_loop()
        made = [
            (await loop.create_connection(Connection, "127.0.0.1", port))[1]
            for _ in range(SOCKET_WORKERS)
        ]
        yield made
        for connection in made:
            connection.transport.close()
    finally:
        server.kill()
        await server.communicate()


@dataclass(frozen=True)
class Pairs:
    """(CPU µs, wall µs) per request of two kinds of blocks that ran between each other."""

    first: list[tuple[float, float]]
    second: list[tuple[float, float]]

    def ratio(self, clock: int) -> Interval:
        return interval([b[clock] / a[clock] for a, b in zip(self.first, self.second, strict=True)])

    def added(self) -> Interval:
        return interval([b[CPU] - a[CPU] for a, b in zip(self.first, self.second, strict=True)])

    def median(self) -> float:
        return statistics.median(cpu for cpu, _wall in self.first)


def interval(values: list[float]) -> Interval:
    """The median with its 95 % bootstrap interval over the pairs."""
    draws = np.random.default_rng(1).choice(values, size=(2_000, len(values)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    return statistics.median(values), float(low), float(high)


def decision(found: Interval, noise: Interval, goal: float) -> str:
    """What the interval says of a goal: both of its ends, and the noise around them, on one side.

    The noise is how far the A/A interval reaches from 1.
    """
    _, low, high = found
    floor = max(abs(noise[1] - 1), abs(noise[2] - 1))
    return "met" if high + floor <= goal else "missed" if low - floor > goal else "not decided"


async def clocked(work: Callable[[], Awaitable[object]], requests: int) -> tuple[float, float]:
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    await work()
    spent = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    return spent[CPU] / requests / 1e3, spent[WALL] / requests / 1e3


def mean_of(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return (one[CPU] + other[CPU]) / 2, (one[WALL] + other[WALL]) / 2


async def pairs(search: Search, plan: BlockPlan, count: int, *, same: bool = False) -> Pairs:
    """`count` times BARE RUNNER RUNNER BARE, the mean of two blocks against that of two.

    What drifts evenly meanwhile cancels out. `same` puts a bare block in the runner's place.
    """

    async def bare() -> tuple[float, float]:
        return await clocked(lambda: run_bare(search, plan), len(plan.order))

    async def runner() -> tuple[float, float]:
        return await clocked(lambda: run_block(search, plan), len(plan.order))

    second = bare if same else runner
    await bare(), await second()
    found = Pairs([], [])
    for _ in range(count):
        before, one, other, after = await bare(), await second(), await second(), await bare()
        found.first.append(mean_of(before, after))
        found.second.append(mean_of(one, other))
    return found


def show(name: str, measured: Pairs, extra: dict[str, Any], verdict: str = "") -> None:
    added, ratio, wall = measured.added(), measured.ratio(CPU), measured.ratio(WALL)
    smallest = min(measured.first)[CPU], min(measured.second)[CPU]
    print(
        f"| {name} | {measured.median():.2f} | {text(added, '+.2f')} | {text(ratio, '.3f')} "
        f"| {text(wall, '.3f')} | {smallest[0]:.2f} → {smallest[1]:.2f} | {verdict} |"
    )
    extra[name] = {"bare_us": measured.median(), "added_us": added, "ratio": ratio, "wall": wall}


def text(found: Interval, form: str) -> str:
    middle, low, high = (format(value, form) for value in found)
    return f"{middle} [{low}, {high}]"


async def measure_cpu(extra: dict[str, Any]) -> None:
    print(f"\n\nload average {os.getloadavg()[0]:.1f}\n")
    print("| | bare, CPU µs | added CPU µs | CPU ratio | wall ratio | smallest CPU µs | goal |")
    print("|---|---|---|---|---|---|---|")
    plan = block_plan(NULL_REQUESTS, NULL_WORKERS)
    for word, rows in ROWS.items():
        show(f"null, {word}", await pairs(Null(rows).search, plan, NULL_ROUNDS), extra)
    show("null, A/A", await pairs(Null(0).search, plan, NULL_ROUNDS, same=True), extra)
    plan = block_plan(SOCKET_REQUESTS, SOCKET_WORKERS)
    async with sockets() as connections:
        search = RawSocket(connections, 0).search
        same = await pairs(search, plan, SOCKET_ROUNDS, same=True)
        show("raw socket, A/A", same, extra)
        for word, rows in ROWS.items():
            found = await pairs(RawSocket(connections, rows).search, plan, SOCKET_ROUNDS)
            met = decision(found.ratio(CPU), same.ratio(CPU), SOCKET_GOAL)
            show(f"raw socket, {word}", found, extra, "" if rows else f"{met} (≤ {SOCKET_GOAL})")
    print(f"\nload average {os.getloadavg()[0]:.1f}")


async def measure_calls(extra: dict[str, Any]) -> None:
    print("\n\n| calls per request | bare | runner | added |\n|---|---|---|---|")
    for clients in ("null", "raw socket"):
        async with sockets() as connections:
            for word, rows in ROWS.items():
                search = (
                    Null(rows).search if clients == "null" else RawSocket(connections, rows).search
                )
                plan = block_plan(PROFILED, NULL_WORKERS)
                bare = await calls_per_request(search, plan, bare=True)
                runner = await calls_per_request(search, plan, bare=False)
                name = f"{clients}, {word}"
                print(f"| {name} | {bare:.2f} | {runner:.2f} | {runner - bare:+.2f} |")
                extra[name] = {"bare": bare, "runner": runner}


@pytest.mark.timeout(900)
def test_cpu_per_request(benchmark: Any) -> None:
    benchmark.pedantic(lambda: asyncio.run(measure_cpu(benchmark.extra_info)), rounds=1)


def test_calls_per_request(benchmark: Any) -> None:
    benchmark.pedantic(lambda: asyncio.run(measure_calls(benchmark.extra_info)), rounds=1)
