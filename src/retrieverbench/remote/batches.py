"""Many items as bodies of a limited size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(
    items: Iterable[T], size: int, *, measure: Callable[[T], int], most: int | None = None
) -> Iterator[list[T]]:
    """Runs of items, in order, of at most `size` bytes and `most` items; a longer item alone.

    `measure` gives the bytes of one item.
    """
    batch: list[T] = []
    filled = 0
    for item in items:
        length = measure(item)
        if batch and (filled + length > size or len(batch) == most):
            yield batch
            batch, filled = [], 0
        batch.append(item)
        filled += length
    if batch:
        yield batch
