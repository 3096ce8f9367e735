"""One collection: the engine's shard, what was declared of it, and its optimiser.

The engine has no background optimiser, and its `optimize()` holds Python's lock from
beginning to end, so that a server calling it would answer nobody. It is therefore run in
a process of its own (`optimizer`) on the closed shard. When: after a write, as soon as
somebody asks for the collection's state, or sends the server's own request for it (an
empty `PATCH`). Meanwhile the state is `yellow`, and reads and writes wait, which a
vendor's server would not let them do. A few points are optimised in place, at once.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from retrieverbench.engines.qdrant.bodies import Refusal, wrong
from retrieverbench.engines.qdrant.declared import Declared, to_edge_index

if TYPE_CHECKING:
    import qdrant_edge as edge

T = TypeVar("T")
_QUICK = 1000
"""Points whose optimisation takes less time than the start of a process."""


class Collection:
    """Owns the shard in `folder`, which must not exist yet."""

    def __init__(self, folder: Path, declared: Declared) -> None:
        import qdrant_edge as edge

        folder.mkdir()
        self._folder = folder
        self.declared = declared
        self._shard = edge.EdgeShard.create(str(folder), declared.to_edge())
        self._indexes: dict[str, Mapping[str, Any]] = {}
        self._operations = 0
        self._unoptimized = False
        self._optimizer: asyncio.Task[None] | None = None
        self._broken: str | None = None
        self._counts = self._read_counts()

    def part(self, selector: Any) -> Collection:
        """Itself, for a write: an automatically sharded collection has no shard keys."""
        if selector is not None:
            raise wrong(f"Shard key {selector} not found")
        return self

    def parts(self, selector: Any) -> list[Collection]:
        """Itself, for a read."""
        if selector is not None:
            raise Refusal(400, f"Bad request: Shard key {selector} not found")
        return [self]

    async def read(self, work: Callable[[edge.EdgeShard], T]) -> T:
        """Run `work` on the shard; Refusal with the server's words when it fails."""
        await self._idle()
        return self._guarded(work)

    async def write(self, operation: Callable[[], edge.UpdateOperation]) -> int:
        """Apply an update; its number."""
        await self._idle()
        self._guarded(lambda shard: shard.update(operation()))
        self._unoptimized = True
        self._operations += 1
        return self._operations

    async def create_index(self, field: str, schema: Mapping[str, Any]) -> int:
        """Make an index on a payload field, or replace the one there is."""
        import qdrant_edge as edge

        number = await self.write(
            lambda: edge.UpdateOperation.create_field_index(field, to_edge_index(schema))
        )
        self._indexes[field] = schema
        return number

    def optimize(self) -> None:
        """Optimise what was written: a few points at once, many in the background."""
        if not self._unoptimized or self._optimizer is not None or self._broken is not None:
            return
        self._unoptimized = False
        if self._read_counts()[0] <= _QUICK:
            self._guarded(lambda shard: shard.optimize())
        else:
            self._optimizer = asyncio.create_task(self._run_optimizer())

    def information(self) -> dict[str, Any]:
        """The result of `GET /collections/{name}`; starts the optimiser if need be."""
        self.optimize()
        busy = self._optimizer is not None
        if not busy and self._broken is None:
            self._counts = self._read_counts()
        points, indexed, segments, by_field = self._counts
        status = "red" if self._broken else "yellow" if busy else "green"
        return {
            "status": status,
            "optimizer_status": {"error": self._broken} if self._broken else "ok",
            "indexed_vectors_count": indexed,
            "points_count": points,
            "segments_count": segments,
            "config": self.declared.to_json(),
            "payload_schema": {
                field: {
                    "data_type": schema["type"],
                    "params": dict(schema),
                    "points": by_field.get(field, 0),
                }
                for field, schema in self._indexes.items()
            },
            "update_queue": {"length": 0},
        }

    async def remove(self, quiet: Callable[[], Awaitable[None]]) -> None:
        """Stop the optimiser; when `quiet` returns release the shard and remove its files."""
        if self._optimizer is not None:
            self._optimizer.cancel()
            await asyncio.wait([self._optimizer])
            self._broken = self._broken or "removed"
        await quiet()
        if self._broken is None:
            self._shard.close()
        await asyncio.to_thread(shutil.rmtree, self._folder)

    async def _idle(self) -> None:
        while self._optimizer is not None:
            await asyncio.wait([self._optimizer])
        if self._broken is not None:
            raise Refusal(500, f"Service internal error: {self._broken}")

    async def _run_optimizer(self) -> None:
        import qdrant_edge as edge

        try:
            self._shard.close()
            await _optimize_elsewhere(self._folder)
            self._shard = edge.EdgeShard.load(str(self._folder))
        except Exception as error:  # noqa: BLE001 - told to every later caller
            self._broken = f"optimizer failed: {error}"
        finally:
            self._optimizer = None

    def _guarded(self, work: Callable[[edge.EdgeShard], T]) -> T:
        try:
            return work(self._shard)
        except Refusal:
            raise
        except Exception as error:
            raise _refusal(error) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            self._broken = f"the engine panicked: {error}"  # the next good write would be lost
            raise Refusal(500, f"Service internal error: {self._broken}") from error

    def _read_counts(self) -> tuple[int, int, int, dict[str, int]]:
        info = self._shard.info()
        by_field = {field: one.points for field, one in info.payload_schema.items()}
        return info.points_count, info.indexed_vectors_count, info.segments_count, by_field


async def _optimize_elsewhere(folder: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "retrieverbench.engines.qdrant.optimizer",
        str(folder),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, stderr = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        last = stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise OSError(f"exit code {process.returncode}: {''.join(last)}")


def _refusal(error: Exception) -> Refusal:
    """The engine's words, with what the server puts before and in place of them."""
    text = str(error)
    if text.startswith("No point with id"):
        return Refusal(404, f"Not found: {text.removesuffix(' found')} found")
    if text.startswith("Wrong usage of sparse vectors"):
        return wrong("Conversion between sparse and regular vectors failed")
    return wrong(text)
