"""Bodies of a limited size."""

from __future__ import annotations

from retrieverbench.remote import batches


def test_batches_are_capped_by_bytes() -> None:
    """What is longer than the cap goes alone; nothing is lost and the order stays."""
    items = [b"aaa", b"bbb", b"ccc", b"d" * 9, b"e", b"f"]
    found = list(batches(items, 6, measure=len))
    assert found == [[b"aaa", b"bbb"], [b"ccc"], [b"d" * 9], [b"e", b"f"]]


def test_batches_are_capped_by_number() -> None:
    assert list(batches("abcde", 100, measure=len, most=2)) == [["a", "b"], ["c", "d"], ["e"]]


def test_no_items_are_no_batches() -> None:
    assert list(batches([], 6, measure=len)) == []
