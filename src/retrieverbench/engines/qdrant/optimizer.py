"""Optimises one closed shard and ends: `python -m retrieverbench.engines.qdrant.optimizer F`."""

from __future__ import annotations

import sys


def main(folder: str) -> None:
    """Build the indexes of the shard in `folder`; its caller must have closed it."""
    import qdrant_edge as edge

    shard = edge.EdgeShard.load(folder)
    shard.optimize()
    shard.close()


if __name__ == "__main__":
    main(sys.argv[1])
