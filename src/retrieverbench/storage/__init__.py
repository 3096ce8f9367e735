"""A corpus on disk: its chunks, their vectors, and look-ups, in memory that does not grow."""

from retrieverbench.storage.chunks import ChunkStore, folded, stored
from retrieverbench.storage.vectors import VectorFile

__all__ = ["ChunkStore", "VectorFile", "folded", "stored"]
