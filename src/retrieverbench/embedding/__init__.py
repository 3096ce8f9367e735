"""Texts into vectors, with a cache on disk."""

from retrieverbench.embedding.cache import VectorCache
from retrieverbench.embedding.config import EmbeddingConfig, known_identity, open_embedder
from retrieverbench.embedding.corpus import embed_corpus, embed_queries
from retrieverbench.embedding.hashing import HashingEmbedder
from retrieverbench.embedding.identity import check_dimension, compare_identities, probe_embedder
from retrieverbench.embedding.minilm import MiniLM
from retrieverbench.embedding.openai_endpoint import Endpoint, OpenAIEmbedder
from retrieverbench.embedding.shipped import Shipped

__all__ = [
    "EmbeddingConfig",
    "Endpoint",
    "HashingEmbedder",
    "MiniLM",
    "OpenAIEmbedder",
    "Shipped",
    "VectorCache",
    "check_dimension",
    "compare_identities",
    "embed_corpus",
    "embed_queries",
    "known_identity",
    "open_embedder",
    "probe_embedder",
]
