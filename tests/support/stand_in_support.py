"""The Azure stand-in in this process, without a network: for rules beside the table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from azure_support import VERSION, definition
from retrieverbench.engines.azure_search.access import OWNER, READER, Credentials
from retrieverbench.engines.azure_search.replies import Call, Reply
from retrieverbench.engines.azure_search.service import Service
from retrieverbench.engines.azure_search.store import Options

ADMIN_KEY, QUERY_KEY, TOKEN, READER_TOKEN = "admin-key", "query-key", "the-token", "a-reader"
CREDENTIALS = Credentials(ADMIN_KEY, QUERY_KEY, {TOKEN: OWNER, READER_TOKEN: READER})


@dataclass(frozen=True)
class InProcess:
    """A service with one index `tt` of azure_support.FIELDS."""

    service: Service

    def call(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Reply:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"api-key": ADMIN_KEY} if headers is None else headers
        return self.service.answer(Call(method, path, {"api-version": VERSION}, given, content))

    def write(self, *actions: object) -> Reply:
        return self.call("POST", "/indexes('tt')/docs/index", {"value": list(actions)})

    def search(self, **body: object) -> Reply:
        return self.call("POST", "/indexes('tt')/docs/search", body)

    def ids(self, **body: object) -> list[str]:
        reply = self.search(**body)
        assert reply.status == 200, reply.body
        return [hit["id"] for hit in parsed(reply)["value"]]


def in_process(**options: Any) -> InProcess:
    """A fresh service with its index."""
    made = InProcess(Service(CREDENTIALS, Options(**options)))
    assert made.call("POST", "/indexes", definition("tt")).status == 201
    return made


def parsed(reply: Reply) -> Any:
    """The JSON of a reply; None of an empty one."""
    return json.loads(reply.body.decode("utf-8-sig") or "null")


def message(reply: Reply) -> str:
    """The text of an error."""
    return str(parsed(reply)["error"]["message"])
