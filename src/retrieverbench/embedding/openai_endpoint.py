"""Embeddings over HTTP, from any server that speaks OpenAI's or Azure OpenAI's protocol."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self

from retrieverbench.adapter import Secret
from retrieverbench.errors import (
    AdapterError,
    BackendError,
    Code,
    InputError,
    MissingClient,
    Refused,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
    plural,
)
from retrieverbench.remote import hide_secrets

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAIError

_RETRIES = 2  # embedding is not timed, so the client may try again


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model answers and as what.

    `base_url` is that of an OpenAI-compatible server (`https://api.openai.com/v1`), or the
    resource's when `azure_api_version` is given; then `model` is the deployment.
    `dimensions` asks the model to shorten its vectors. `timeout` is in seconds and per
    request of at most `batch_size` texts.
    """

    model: str
    base_url: str
    azure_api_version: str = ""
    dimensions: int | None = None
    batch_size: int = 64
    timeout: float = 60.0


class OpenAIEmbedder:
    """Vectors of a served model, L2-normalised. Make it with `open`."""

    def __init__(self, endpoint: Endpoint, key: Secret | None, dimension: int) -> None:
        self._endpoint = endpoint
        self._key = key
        self._dimension = dimension

    @classmethod
    async def open(cls, endpoint: Endpoint, key: Secret | None = None) -> Self:
        """Ask for one vector: the key is tried, and the dimension known, before any work."""
        if find_spec("openai") is None:
            raise MissingClient(
                "embedding 'openai' needs openai; run: pip install 'retrieverbench[openai]'"
            )
        (vector,) = await cls(endpoint, key, 0).embed_queries(["dimension"])
        if endpoint.dimensions not in {None, len(vector)}:
            raise InputError(
                f"embedding 'openai': dimensions: {endpoint.dimensions} asked for, "
                f"{endpoint.model!r} gives {len(vector)}; leave `dimensions` out or choose "
                "another model"
            )
        return cls(endpoint, key, len(vector))

    @property
    def identity(self) -> Mapping[str, str]:
        """Model, where it is served, and the length of its vectors."""
        return {**endpoint_identity(self._endpoint), "dimension": str(self._dimension)}

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return self._dimension

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        """One unit vector per text, in order; a BackendError that fits when it fails."""
        return await self._embed(texts)

    async def embed_queries(self, texts: Sequence[str]) -> list[array[float]]:
        """The same as for documents: the protocol makes no difference."""
        return await self._embed(texts)

    async def _embed(self, texts: Sequence[str]) -> list[array[float]]:
        from openai import OpenAIError

        vectors: list[array[float]] = []
        try:
            async with _client(self._endpoint, self._key) as client:
                for start in range(0, len(texts), self._endpoint.batch_size):
                    batch = texts[start : start + self._endpoint.batch_size]
                    vectors += await _request(client, self._endpoint, batch)
        except OpenAIError as error:
            text = str(error.__cause__ or "") or "no more is told"
            text = f"embedding 'openai' at {self._endpoint.base_url}: {error} ({text})"
            shown = hide_secrets(text, [self._key.reveal()] if self._key else [])
            if shown != text:  # then the cause holds the key too, and is left out
                raise _mapped(error, shown) from None
            raise _mapped(error, text) from error
        return vectors


def _client(endpoint: Endpoint, key: Secret | None) -> AsyncOpenAI:
    """A client that never takes address or key from the environment, but as it is told."""
    from openai import AsyncAzureOpenAI, AsyncOpenAI

    api_key = key.reveal() if key else "none"
    if endpoint.azure_api_version:
        return AsyncAzureOpenAI(
            azure_endpoint=endpoint.base_url,
            azure_deployment=endpoint.model,
            api_version=endpoint.azure_api_version,
            api_key=api_key,
            timeout=endpoint.timeout,
            max_retries=_RETRIES,
        )
    return AsyncOpenAI(
        base_url=endpoint.base_url,
        api_key=api_key,
        timeout=endpoint.timeout,
        max_retries=_RETRIES,
    )


async def _request(
    client: AsyncOpenAI, endpoint: Endpoint, texts: Sequence[str]
) -> list[array[float]]:
    from openai import omit

    answer = await client.embeddings.create(
        model=endpoint.model,
        input=list(texts),
        dimensions=endpoint.dimensions or omit,
        encoding_format="float",  # every compatible server knows it; base64 is not so common
    )
    items = sorted(answer.data or [], key=lambda item: item.index)
    if [item.index for item in items] != list(range(len(texts))):
        raise AdapterError(
            f"embedding 'openai' at {endpoint.base_url}: {plural(len(texts), 'text')} gave "
            f"{plural(len(items), 'vector')} or wrong positions; the server breaks the protocol"
        )
    return [_unit(item.embedding, endpoint) for item in items]


def _unit(numbers: Sequence[float], endpoint: Endpoint) -> array[float]:
    length = math.hypot(*numbers)
    if not math.isfinite(length) or length == 0:
        raise AdapterError(
            f"embedding 'openai' at {endpoint.base_url}: a vector of length {length}, "
            "which has no direction"
        )
    return array("f", (number / length for number in numbers))


def _mapped(error: OpenAIError, text: str) -> BackendError:
    import openai

    match error:
        case openai.APITimeoutError():
            return TimedOut(text)
        case openai.APIConnectionError():
            return Unavailable(text)
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return Refused(text)
        case openai.RateLimitError():
            return Throttled(text, retry_after=_seconds(error.response.headers.get("retry-after")))
        case openai.InternalServerError():
            return Unavailable(text, code=Code.HTTP_5XX)
        case openai.APIStatusError():
            return Rejected(text)
    return AdapterError(text)


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:  # a date, which says no more than "later"
        return None


def endpoint_identity(endpoint: Endpoint) -> dict[str, str]:
    """The model and where it is served."""
    return {
        "model": endpoint.model,
        "endpoint": endpoint.base_url.rstrip("/"),
        "pooling": "by the server, L2",
    }
