"""The corpus beside an attached index is the record of who owns what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.model import Chunk, TenantId
from retrieverbench.run import load_suite, uid_of
from retrieverbench.run.attach import AttachEntry, make_keys

ACME, GLOBEX = TenantId("acme"), TenantId("globex")


def entry(matches: str) -> AttachEntry:
    return AttachEntry("docs", "pk", "owner", matches=matches)


def corpus(*ids: tuple[TenantId, str, int | None]) -> Sequence[Chunk]:
    return [
        Chunk(name, tenant, "text", metadata={} if key is None else {"pk": key})
        for tenant, name, key in ids
    ]


@pytest.mark.parametrize(
    ("matches", "keys"),
    [
        ("id", {"a": "acme/a", "b": "globex/b"}),
        ("uid", {"acme/a": "acme/a", "globex/b": "globex/b"}),
        ("metadata.pk", {"7": "acme/a", "8": "globex/b"}),
    ],
)
def test_the_index_is_matched_by_the_field_that_is_named(
    matches: str, keys: dict[str, str]
) -> None:
    chunks = corpus((ACME, "a", 7), (GLOBEX, "b", 8))
    assert make_keys(entry(matches), chunks, "here") == keys


def test_an_id_of_two_tenants_names_nobody() -> None:
    with pytest.raises(InputError, match=r"^here.matches: id 'a' names two chunks .*'acme/a' and"):
        make_keys(entry("id"), corpus((ACME, "a", 7), (GLOBEX, "a", 8)), "here")


def test_a_chunk_without_the_field_is_told() -> None:
    with pytest.raises(InputError, match=r"'globex/b' of the corpus has no metadata.pk; name"):
        make_keys(entry("metadata.pk"), corpus((ACME, "a", 7), (GLOBEX, "b", None)), "here")


@pytest.mark.parametrize("key", ["acme/a", "z", ""])
def test_an_unknown_id_never_passes_for_a_chunk(key: str) -> None:
    assert uid_of(key, {"7": "acme/a"}) != "acme/a"


@pytest.mark.parametrize(
    ("attach", "more", "fault"),
    [
        ('name = ""', "", "attach.name: is empty"),
        ("", 'engine = "embedded"', "attach: engine and attach both given"),
        ("", "place = { m = 8 }", "place: place and attach both given"),
        ('matches = "pk"', "", "attach.matches: 'pk' is no field; write id, uid or metadata"),
        ("vektor = 1", "", "attach.vektor: unknown key; did you mean 'vector'?"),
        ("text = []", 'modes = ["lexical"]', "attach.text: no text field is named"),
    ],
)
def test_what_does_not_fit_is_told_with_its_line(
    tmp_path: Path, attach: str, more: str, fault: str
) -> None:
    own = attach.partition(" = ")[0]
    lines = {"name": '"docs"', "id": '"pk"', "tenant": '"owner"', "vector": '"v"', "text": '["t"]'}
    table = [f"{key} = {value}" for key, value in lines.items() if key != own]
    path = tmp_path / "suite.toml"
    path.write_text(
        'golden = "g.jsonl"\ncorpus = "c.jsonl"\n[[targets]]\nadapter = "pgvector"\n'
        + "\n".join([more, "[targets.attach]", *table, attach])
    )
    with pytest.raises(InputError) as caught:
        load_suite(path)
    (told,) = caught.value.faults
    assert f"targets.0.{fault}" in told
    assert told.startswith(f"{path}:")
