"""The example's chunks in an index of a user's, and the [[targets]] entry that names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from retrieverbench.embedding.hashing import HashingEmbedder
from retrieverbench.golden import load_set
from retrieverbench.model import Chunk
from retrieverbench.testing import UsersIndex


def entry(name: str, endpoint: str, index: UsersIndex) -> str:
    fields = index.fields
    secrets = {key: f"USERS_{key}" for key in index.secrets or {}}
    return f"""adapter = "{name}"
endpoint = "{endpoint}"
modes = ["dense", "lexical"]
secrets = {table(secrets)}
search = {table((index.options or {}).get("search", {}))}
[targets.attach]
name = "{fields.name}"
id = "{fields.id}"
tenant = "{fields.tenant}"
text = ["{fields.text[0]}"]
vector = "{fields.vector}"
matches = "uid"
"""


def table(values: Mapping[str, object]) -> str:
    """An inline table of texts."""
    inside = ", ".join(f'{key} = "{value}"' for key, value in values.items())
    return f"{{ {inside} }}"


async def with_vectors(folder: Path) -> list[Chunk]:
    """The example's chunks as a user would have loaded them, by the suite's embedder."""
    corpus, _golden = load_set(folder / "golden.v1.jsonl", folder / "corpus.jsonl")
    vectors = await HashingEmbedder().embed_documents([c.searchable_text for c in corpus.chunks])
    return [replace(c, vector=v) for c, v in zip(corpus.chunks, vectors, strict=True)]
