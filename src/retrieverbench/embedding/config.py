"""From the suite's [embedding] table to an embedder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt

from retrieverbench.adapter import Secret
from retrieverbench.embedding.hashing import HashingEmbedder
from retrieverbench.embedding.minilm import IDENTITY, MiniLM
from retrieverbench.embedding.openai_endpoint import Endpoint, OpenAIEmbedder, endpoint_identity
from retrieverbench.embedding.shipped import Shipped
from retrieverbench.errors import InputError
from retrieverbench.options import nearest
from retrieverbench.stages import Embedder

Kind = Literal["minilm", "openai", "hashing", "shipped"]
_KEYS: Mapping[Kind, frozenset[str]] = {
    "minilm": frozenset({"threads", "batch_size"}),
    "openai": frozenset(
        {"model", "base_url", "azure_api_version", "dimensions", "batch_size", "timeout"}
    ),
    "hashing": frozenset({"dimensions"}),
    "shipped": frozenset({"queries"}),
}
_OF_ALL = frozenset({"kind", "cache"})
_NEEDED: Mapping[Kind, tuple[str, ...]] = {
    "openai": ("model", "base_url"),
    "shipped": ("queries",),
}


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """Which embedder, and its settings; None is the embedder's own default.

    `minilm` takes threads and batch_size; `openai` model, base_url, azure_api_version,
    dimensions, batch_size, timeout (seconds) and the secret `api_key`; `hashing` (unit tests
    only) dimensions; `shipped` the file `queries`. `cache` is a folder, "" for the user's
    own cache folder. `secrets` maps names to those of environment variables.
    """

    kind: Kind = "minilm"
    model: str | None = None
    base_url: str | None = None
    azure_api_version: str | None = None
    dimensions: Annotated[int, Ge(1)] | None = None
    batch_size: Annotated[int, Ge(1)] | None = None
    timeout: Annotated[float, Gt(0)] | None = None
    threads: Annotated[int, Ge(0)] | None = None
    queries: str | None = None
    cache: str = ""


async def open_embedder(
    config: EmbeddingConfig, secrets: Mapping[str, Secret], folder: Path = Path()
) -> Embedder:
    """The embedder of `config.kind`, tried as far as it can be before any text is embedded.

    `folder` is what a relative `queries` is seen from. Raises InputError for a key that the
    kind does not take or lacks, MissingClient when a package is missing, and the
    BackendError that fits when a server does not answer.
    """
    faults = _faults(config, secrets)
    if faults:
        raise InputError(*faults)
    given = _given(config)
    match config.kind:
        case "minilm":
            return MiniLM(**given)
        case "openai":
            return await OpenAIEmbedder.open(Endpoint(**given), secrets.get("api_key"))
        case "hashing":
            return HashingEmbedder(*given.values())
        case "shipped":
            return Shipped.read(folder / given["queries"])


def known_identity(config: EmbeddingConfig, folder: Path = Path()) -> Mapping[str, str]:
    """What its embedder says that it is, without a package, a secret or a server.

    Of an endpoint all but `dimension`, which only the server knows.
    """
    given = _given(config)
    match config.kind:
        case "minilm":
            return IDENTITY
        case "openai":
            return endpoint_identity(Endpoint(**given))
        case "hashing":
            return HashingEmbedder(*given.values()).identity
        case "shipped":
            return Shipped.read(folder / given["queries"]).identity


def _given(config: EmbeddingConfig) -> dict[str, Any]:
    """The settings that its embedder takes and that are set."""
    return {
        field.name: value
        for field in fields(config)
        if field.name in _KEYS[config.kind] and (value := getattr(config, field.name)) is not None
    }


def _faults(config: EmbeddingConfig, secrets: Mapping[str, Secret]) -> list[str]:
    where = f"embedding {config.kind!r}"
    allowed = _KEYS[config.kind] | _OF_ALL
    given = {f.name for f in fields(config) if getattr(config, f.name) != f.default}
    faults = [
        f"{where}: {name}: not a setting of this kind; {nearest(name, allowed)}"
        for name in sorted(given - allowed)
    ]
    faults += [
        f"{where}: {name}: missing; this kind needs it"
        for name in _NEEDED.get(config.kind, ())
        if not getattr(config, name)
    ]
    takes = {"api_key"} if config.kind == "openai" else set()
    faults += [
        f"{where}: secret {name!r} is not used; {nearest(name, takes)}"
        for name in sorted(secrets.keys() - takes)
    ]
    return faults
