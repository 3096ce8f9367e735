"""The user's own index: which chunk of the corpus each of its ids names.

A corpus file beside an attached index is the user's export of it: the record of who owns
what. An id of the index that the corpus does not hold is unknown, and unknown is foreign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retrieverbench.adapter import Attached
from retrieverbench.errors import InputError
from retrieverbench.model import NOT_IN_CORPUS

if TYPE_CHECKING:
    from retrieverbench.model import Chunk

METADATA = "metadata."


@dataclass(frozen=True)
class AttachEntry:
    """`[targets.attach]`: an index of the user's, and what its fields are called.

    `id` names a chunk, `tenant` its owner, `text` what lexical mode and `vector` what dense mode
    searches (left out where it has no name, as it may in Qdrant), `metadata` the fields of
    filters by their names in the corpus file. `matches` says what of the corpus the index's `id`
    field holds: `id` (the chunk's id, which must then be unique over all tenants), `uid`
    (tenant/id) or `metadata.<name>`.
    """

    name: str
    id: str
    tenant: str
    text: tuple[str, ...] = ()
    vector: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    matches: str = "id"

    @property
    def attached(self) -> Attached:
        """The same as an adapter takes it."""
        return Attached(self.name, self.id, self.tenant, self.text, self.vector, self.metadata)


def make_keys(entry: AttachEntry, chunks: Iterable[Chunk], place: str) -> dict[str, str]:
    """The uid of every chunk by what the index's `id` field holds of it.

    Raises InputError, with `place` before it, where the field is missing from a chunk or
    names two.
    """
    keys: dict[str, str] = {}
    for chunk in chunks:
        key = key_of(entry.matches, chunk)
        if key is None:
            raise InputError(
                f"{place}.matches: chunk {chunk.uid!r} of the corpus has no {entry.matches}; "
                "name a field that every chunk has: id, uid or metadata.<name>"
            )
        other = keys.setdefault(key, chunk.uid)
        if other != chunk.uid:
            raise InputError(
                f"{place}.matches: {entry.matches} {key!r:.80} names two chunks of the corpus, "
                f"{other!r} and {chunk.uid!r}; name a field that is unique over all tenants: "
                "uid or metadata.<name>"
            )
    return keys


def key_of(matches: str, chunk: Chunk) -> str | None:
    """What the index's id field holds of a chunk; None where the chunk has no such thing."""
    if matches == "uid":
        return chunk.uid
    if matches == "id":
        return chunk.id
    value = chunk.metadata.get(matches.removeprefix(METADATA))
    return None if value is None else str(value)


def is_field(matches: str) -> bool:
    """Whether `matches` names something of a chunk."""
    return matches in {"id", "uid"} or (matches.startswith(METADATA) and matches != METADATA)


def uid_of(key: str, keys: Mapping[str, str]) -> str:
    """The chunk's uid; an unknown key stays recognisable and can never pass for a chunk."""
    return keys.get(key) or f"{NOT_IN_CORPUS}{key}"
