"""Asks a starting node whether it answers, without a client library."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

import anyio.to_thread

_SECONDS = 5.0


class Probe:
    """Whether the node called `name` with home folder `home` answers a search.

    `endpoint` and `version` are set once it does.
    """

    def __init__(self, home: Path, name: str) -> None:
        self._ports = home / "logs" / "http.ports"
        self._name = name
        self.endpoint = ""
        self.version = ""

    async def __call__(self) -> bool:
        """True when our own node, and no other process on that port, has answered a search."""
        return await anyio.to_thread.run_sync(self._answers)

    def _answers(self) -> bool:
        try:
            host, _, port = self._ports.read_text("ascii").split()[0].rpartition(":")
            root = _get(host, int(port), "/")
            if root["name"] != self._name:
                return False
            _get(host, int(port), "/_search?size=0")
        except (OSError, IndexError, ValueError, KeyError, http.client.HTTPException):
            return False
        self.version = root["version"]["number"]
        self.endpoint = f"http://{host}:{port}"
        return True


def _get(host: str, port: int, path: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body: dict[str, Any] = json.loads(answer.read())
        if answer.status != http.HTTPStatus.OK:
            raise ValueError(answer.status)
        return body
    finally:
        connection.close()
