"""Runs the front: `python -m retrieverbench.engines.qdrant --ready-file FILE`."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import socket
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import FrameType

from retrieverbench.engines.qdrant.access import Keys
from retrieverbench.engines.qdrant.collections import Collections
from retrieverbench.engines.qdrant.server import make_app


def main() -> None:
    """Serve until SIGTERM or SIGINT; the data folder is ours and is removed."""
    parser = argparse.ArgumentParser(prog="python -m retrieverbench.engines.qdrant")
    parser.add_argument("--ready-file", type=Path, required=True, help="url, port, keys, pid")
    parser.add_argument("--refuse-unknown-keys", action="store_true", help="the server does not")
    parser.add_argument("--shard-keys", action="store_true", help="as in distributed mode")
    parser.add_argument("--prefix", default="", help="path under which everything lies")
    parser.add_argument("--faults", action="store_true", help="let tests arm faults")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)
    with tempfile.TemporaryDirectory(prefix="shards-", dir=chosen.ready_file.parent) as data:
        try:
            _serve(chosen, Path(data))
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        finally:
            chosen.ready_file.unlink(missing_ok=True)


def _serve(chosen: argparse.Namespace, data: Path) -> None:
    import uvicorn

    keys = Keys(manage=secrets.token_urlsafe(24), read=secrets.token_urlsafe(24))
    app = make_app(
        Collections(data, cluster=chosen.shard_keys),
        f"qdrant-edge-py {version('qdrant-edge-py')}",
        keys,
        strict=chosen.refuse_unknown_keys,
        faults=chosen.faults,
        prefix=chosen.prefix,
    )
    # Named as TCP, or asyncio leaves TCP_NODELAY off and answers wait for acknowledgements.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    _tell(chosen.ready_file, listener.getsockname()[1], chosen.prefix, keys)
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _tell(path: Path, port: int, prefix: str, keys: Keys) -> None:
    """Write the ready file, whole or not at all, for our eyes only."""
    told = {
        "url": f"http://127.0.0.1:{port}{prefix}",
        "port": port,
        "prefix": prefix,
        "api_key": keys.manage,
        "read_only_api_key": keys.read,
        "pid": os.getpid(),
    }
    partial = path.with_suffix(".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(told, file)
    partial.rename(path)


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
