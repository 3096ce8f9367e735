"""A store gives back what was put in, and finds it."""

from __future__ import annotations

import gc
import os
from array import array
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.model import Chunk, TenantId
from retrieverbench.storage import ChunkStore, VectorFile, stored

ACME, GLOBEX, ODD = TenantId("acme"), TenantId("globex"), TenantId("a/b%2F")
CHUNKS = (
    Chunk("a", ACME, "one text", "Title", "d"),
    Chunk("a", GLOBEX, "one text", doc_id="d", status="superseded"),
    Chunk("ä\0x/y", ODD, "", "Nur ein Titel", None, ("H", "h"), 3, (0, 9), "superseded"),
    Chunk("B", ACME, "2", metadata={"n": 1, "f": 0.1, "b": True, "s": "x", "big": 2**70}),
    Chunk("b", ACME, "2"),
)


def lined(*chunks: Chunk) -> ChunkStore:
    return ChunkStore((chunk, line) for line, chunk in enumerate(chunks, 1))


STORE = lined(*CHUNKS)


def test_what_comes_out_is_what_went_in() -> None:
    assert tuple(STORE) == CHUNKS
    assert (len(STORE), STORE[1], STORE[-1]) == (5, CHUNKS[1], CHUNKS[4])
    assert STORE[1:3] == list(CHUNKS[1:3])
    assert STORE[::2] == list(CHUNKS[::2])
    with pytest.raises(IndexError):
        STORE[5]
    assert not lined()


def test_more_than_a_page_comes_in_order() -> None:
    many = tuple(Chunk(f"{n}", ACME, "") for n in range(1_234))
    assert tuple(stored(many)) == many


def test_nobody_can_spoil_anothers_chunk() -> None:
    store = stored([Chunk("a", ACME, "", metadata={"n": 1}, vector=array("f", [1, 2]))])
    store[0].metadata["n"] = 2  # type: ignore[index]
    (store[0].vector or [0.0])[0] = 9.0
    assert (store[0].metadata, store[0].vector) == ({"n": 1}, array("f", [1, 2]))


def test_tenants_are_counted_in_the_order_of_their_first_chunks() -> None:
    assert list(STORE.per_tenant.items()) == [(ACME, 3), (GLOBEX, 1), (ODD, 1)]
    assert STORE.first_line(GLOBEX) == 2


@pytest.mark.parametrize("chunk", CHUNKS)
def test_every_uid_has_its_owner(chunk: Chunk) -> None:
    assert STORE.owner(chunk.uid) == chunk.tenant
    assert STORE.own(chunk.tenant, chunk.id) == chunk


@pytest.mark.parametrize(
    "uid",
    ["acme/c", "a/a", "globex/b", "", "a", "acme", "/a", "acme%2Fa", "\ud800/a", "acme/\ud800"],
)
def test_what_is_no_uid_has_no_owner(uid: str) -> None:
    assert STORE.owner(uid) is None


def test_only_the_spelling_that_is_made_is_a_uid() -> None:
    assert STORE.owner(CHUNKS[2].uid.replace("%2F", "%2f", 1)) is None


def test_superseded_ones() -> None:
    assert STORE.superseded == 2
    assert STORE.superseded_among(["acme/a", "globex/a", "none/a"]) == {"globex/a"}
    assert lined(CHUNKS[0]).superseded_among(["acme/a"]) == frozenset()


def test_owners_of_a_text_with_and_without_its_title() -> None:
    assert STORE.owners_of_text("one text") == {ACME, GLOBEX}
    assert STORE.owners_of_text("Title\none text") == {ACME}
    assert STORE.owners_of_text("one tex") == frozenset()
    assert STORE.owners_of_text("\ud800") == frozenset()
    assert STORE.holds(ACME, "itle\none te")
    assert not STORE.holds(GLOBEX, "Title")
    assert not STORE.holds(TenantId("nobody"), "one text")


def test_repeated_ids_name_the_first_line() -> None:
    store = lined(CHUNKS[0], CHUNKS[1], CHUNKS[0], CHUNKS[0])
    assert list(store.repeated_ids()) == [((ACME, "a", 3), 1), ((ACME, "a", 4), 1)]
    assert list(STORE.repeated_ids()) == []


def test_twins_are_of_one_tenant() -> None:
    assert list(STORE.twins()) == [(ACME, "B", 4), (ACME, "b", 5)]
    assert list(lined(*CHUNKS[:3]).twins()) == []


def test_equal_texts_are_of_one_tenant() -> None:
    assert STORE.equal_texts() == (1, ["B", "b"])
    assert lined(*CHUNKS[:3]).equal_texts() == (0, [])


def test_chunks_are_taken_out_by_line_and_the_others_move_up() -> None:
    store = lined(*CHUNKS)
    assert store.of_document("B") == [CHUNKS[3]]
    assert store.take_out([2, 4]) == ["a", "B"]
    assert tuple(store) == (CHUNKS[0], CHUNKS[2], CHUNKS[4])
    assert list(store.per_tenant.items()) == [(ACME, 2), (ODD, 1)]
    assert store.of_document("B") == []


def test_a_corpus_has_vectors_of_one_length_or_none() -> None:
    vector = array("f", [1, 2])
    with pytest.raises(InputError, match="vectors of 0 and 2 numbers in one corpus"):
        stored([Chunk("a", ACME, "", vector=vector), Chunk("b", ACME, "")])


def test_vectors_are_read_where_they_were_written() -> None:
    vectors = VectorFile(2)
    vectors.write(1, [array("f", [3, 4]), array("f", [5, 6])])
    vectors.write(0, array("f", [1, 2]).tobytes())
    assert vectors.read(0, 3) == [array("f", row) for row in ([1, 2], [3, 4], [5, 6])]
    store = STORE.with_vectors(vectors)
    assert [chunk.vector for chunk in store[1:3]] == vectors.read(1, 2)
    assert STORE[1].vector is None


def test_files_go_with_the_objects() -> None:
    def open_files() -> set[str]:
        return {str(p.readlink()) for p in Path("/proc/self/fd").iterdir() if p.is_symlink()}

    gc.collect()
    before = open_files()
    text = os.urandom(8_000_000).hex()  # more than SQLite keeps in memory
    store = stored([Chunk("a", ACME, text, vector=array("f", [1]))])
    assert len(open_files() - before) == 2
    assert all(name.endswith("(deleted)") for name in open_files() - before)
    del store
    gc.collect()
    assert open_files() - before == set()


def test_no_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(InputError, match="No space left on device; make room, or name another"):
        VectorFile(1).write(0, [array("f", [1])])
