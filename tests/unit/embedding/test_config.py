"""From the suite's table to an embedder."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieverbench.adapter import Secret
from retrieverbench.embedding import EmbeddingConfig, HashingEmbedder, Shipped, open_embedder
from retrieverbench.errors import InputError, Unavailable
from retrieverbench.options import parse_options

pytestmark = pytest.mark.anyio


async def test_the_kind_decides(tmp_path: Path) -> None:
    hashing = await open_embedder(EmbeddingConfig("hashing", dimensions=16), {})
    assert isinstance(hashing, HashingEmbedder)
    assert hashing.dimension == 16
    (tmp_path / "q.jsonl").write_text('{"query": "x", "vector": [1, 0]}')
    shipped = await open_embedder(EmbeddingConfig("shipped", queries="q.jsonl"), {}, tmp_path)
    assert isinstance(shipped, Shipped)


async def test_a_server_is_asked_when_it_is_opened() -> None:
    config = EmbeddingConfig("openai", model="m", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(Unavailable):
        await open_embedder(config, {"api_key": Secret("x")})


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        (EmbeddingConfig("minilm", model="x"), "'minilm': model: not a setting of this kind"),
        (EmbeddingConfig("hashing", threads=2), "threads: not a setting"),
        (EmbeddingConfig("openai", model="m"), "base_url: missing"),
        (EmbeddingConfig("shipped"), "queries: missing"),
    ],
)
async def test_a_key_of_another_kind_or_a_missing_one_is_refused(
    config: EmbeddingConfig, fault: str
) -> None:
    with pytest.raises(InputError, match=fault):
        await open_embedder(config, {})


async def test_a_secret_that_is_not_used_is_refused_without_its_value() -> None:
    config = EmbeddingConfig("openai", model="m", base_url="http://127.0.0.1:1")
    with pytest.raises(InputError, match="secret 'api_kee'") as caught:
        await open_embedder(config, {"api_kee": Secret("hidden")})
    assert "hidden" not in str(caught.value)


def test_the_table_of_a_suite_is_checked() -> None:
    config = parse_options(EmbeddingConfig, {"kind": "minilm", "threads": 2}, "s: embedding")
    assert config == EmbeddingConfig(threads=2)
    with pytest.raises(InputError, match="kind"):
        parse_options(EmbeddingConfig, {"kind": "mini"}, "s: embedding")
    with pytest.raises(InputError, match="batch_size: 0"):
        parse_options(EmbeddingConfig, {"batch_size": 0}, "s: embedding")
