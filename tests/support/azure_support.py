"""One caller of an Azure AI Search service, real or stand-in, for the conformance table."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import trustme

VERSION = "2026-04-01"
VISIBLE_SECONDS = 60.0
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "Edm.String", "key": True},
    {"name": "row", "type": "Edm.String", "searchable": False},
    {"name": "content", "type": "Edm.String", "analyzer": "standard.lucene"},
    {"name": "tenant", "type": "Edm.String"},
    {"name": "tags", "type": "Collection(Edm.String)"},
    {"name": "n", "type": "Edm.Int32"},
    {"name": "x", "type": "Edm.Double"},
    {"name": "open", "type": "Edm.Boolean"},
    {"name": "at", "type": "Edm.DateTimeOffset"},
    {"name": "hidden", "type": "Edm.String", "filterable": False, "searchable": False},
    {"name": "vec", "type": "Collection(Edm.Single)", "dimensions": 2, "vectorSearchProfile": "p"},
]
VECTOR_SEARCH = {
    "algorithms": [{"name": "h", "kind": "hnsw"}],
    "profiles": [{"name": "p", "algorithm": "h"}],
}
DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": "1",
        "content": "wifi and pool",
        "tenant": "O'Neil",
        "tags": ["Budget hotel", "wifi"],
        "n": 3,
        "x": 0.5,
        "open": True,
        "at": "2020-01-01T00:00:00Z",
        "vec": [1, 0],
    },
    {
        "id": "2",
        "content": "wifi luxury",
        "tenant": "o'neil",
        "tags": ["Sea View motel"],
        "n": 5,
        "x": 2.0,
        "open": False,
        "at": "2021-01-01T00:00:00+01:00",
        "vec": [0, 1],
    },
    {
        "id": "3",
        "content": "quiet pool pool",
        "tenant": "größe",
        "tags": ["a"],
        "n": 7,
        "vec": [-1, 0],
    },
    {"id": "4", "content": "nothing here", "tags": []},
]
_SHOWN_HEADERS = (
    "content-type",
    "elapsed-time",
    "retry-after",
    "odata-version",
    "content-language",
)


def definition(name: str) -> dict[str, Any]:
    """An index of FIELDS; the attributes left out are true on the server."""
    return {"name": name, "fields": FIELDS, "vectorSearch": VECTOR_SEARCH}


def vector(*values: float, k: int = 10, **more: object) -> dict[str, object]:
    """One exact vector query on the field `vec`."""
    query = {"kind": "vector", "vector": list(values), "k": k, "fields": "vec"}
    return {**query, "exhaustive": True, **more}


@dataclass(frozen=True)
class Certificate:
    """Files in PEM: a certificate for loopback, its key, and who signed it."""

    certificate: str
    key: str
    authority: str

    @property
    def options(self) -> dict[str, object]:
        """The stand-in's options that make it answer by https."""
        return {"certificate": self.certificate, "certificate_key": self.key}


def make_certificate(folder: Path) -> Certificate:
    """A throwaway authority and a certificate of its for 127.0.0.1."""
    made = Certificate(*(str(folder / f"{name}.pem") for name in ("certificate", "key", "ca")))
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(made.authority)
    issued.cert_chain_pems[0].write_to_path(made.certificate)
    issued.private_key_pem.write_to_path(made.key)
    return made


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json["error"]["message"])

    @property
    def ids(self) -> list[str]:
        assert self.status == 200, self.body
        return [hit["id"] for hit in self.json["value"]]


@dataclass
class Record:
    """What was asked and answered, row by row; `row` is the one that runs."""

    row: str = ""
    exchanges: list[dict[str, Any]] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    lags: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Api:
    """A caller with a credential, on one index; `row` scopes what a row writes and finds."""

    endpoint: str
    credential: Mapping[str, str]
    index: str
    live: bool = False
    others: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    record: Record = field(default_factory=Record, repr=False)
    row: str = "shared"

    def of_row(self, row: str) -> Api:
        """The same caller, with documents of its own in the index."""
        return replace(self, row=row)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        credential: Mapping[str, str] | None = None,
        version: str | None = VERSION,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        given = {**(self.credential if credential is None else credential), **(headers or {})}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        joint = "&" if "?" in path else "?"
        url = quote(path, safe="/()'$?=&,%") + (f"{joint}api-version={version}" if version else "")
        connection = self._connection()
        try:
            connection.request(method, url, content if body is not None else None, given)
            got = connection.getresponse()
            answer = Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()
        self._remember(method, url, body, answer)
        return answer

    def path(self, rest: str = "") -> str:
        return f"/indexes('{self.index}'){rest}"

    def write(self, *actions: Mapping[str, object]) -> Answer:
        """One batch as it is."""
        return self.call("POST", self.path("/docs/search.index"), {"value": list(actions)})

    def load(self, *documents: Mapping[str, object]) -> None:
        """Upload documents of this row, their ids made the row's own, and wait for them."""
        before = self.visible()
        for begin in range(0, len(documents), 1000):
            part = documents[begin : begin + 1000]
            answer = self.write(*({**d, "id": self.id(d["id"]), "row": self.row} for d in part))
            assert answer.status == 200, answer.body
        self.wait(lambda: self.visible() == before + len(documents))

    def id(self, name: object) -> str:
        return f"{self.row}-{name}"

    def search(self, **body: object) -> Answer:
        """A search as it is, over all rows."""
        return self.call("POST", self.path("/docs/search.post.search"), body)

    def find(self, *, filter: str = "", **body: object) -> Answer:  # noqa: A002 - as in the body
        """A search among the documents of this row."""
        own = f"row eq '{self.row}'"
        return self.search(filter=f"{own} and ({filter})" if filter else own, **body)

    def names(self, answer: Answer) -> list[str]:
        """The ids of hits without the row's prefix."""
        return [id_.removeprefix(f"{self.row}-") for id_ in answer.ids]

    def filter(self, text: str) -> list[str]:
        """Which documents of this row fulfil a filter, in order of their names."""
        return sorted(self.names(self.find(filter=text, search="*")))

    def visible(self) -> int:
        return int(self.find(search="*", top=0, count=True).json["@odata.count"])

    def wait(self, condition: Callable[[], bool]) -> float:
        """Ask until a write can be seen; seconds until it was."""
        begin = time.monotonic()
        while not condition():
            assert time.monotonic() - begin < VISIBLE_SECONDS, "the write never became visible"
            time.sleep(0.5 if self.live else 0.01)
        return time.monotonic() - begin

    def believed(self, condition: bool, what: str) -> None:
        """Must hold for the stand-in; for the service nobody knows, so it is recorded."""
        if not self.live:
            assert condition, what
        elif not condition:
            self.record.differences.append(f"{self.record.row}: {what}")

    def _connection(self) -> HTTPConnection:
        host = urlsplit(self.endpoint).netloc
        if self.endpoint.startswith("http://"):
            return HTTPConnection(host, timeout=60)
        return HTTPSConnection(host, timeout=60, context=self.tls)

    def _remember(self, method: str, url: str, body: object, answer: Answer) -> None:
        if not self.live:
            return
        host = urlsplit(self.endpoint).netloc
        names = {self.index: "INDEX", host: "HOST", host.partition(".")[0]: "SERVICE"}

        def plain(text: str) -> str:
            for name, word in names.items():
                text = text.replace(name, word)
            return text

        sent = "" if isinstance(body, bytes) or body is None else json.dumps(body)
        self.record.exchanges.append(
            {
                "row": self.record.row,
                "request": plain(f"{method} {url}"),
                "sent": plain(sent)[:1000],
                "status": answer.status,
                "headers": {h: answer.headers[h] for h in _SHOWN_HEADERS if h in answer.headers},
                "body": plain(answer.body.decode("utf-8", "replace"))[:4000],
            }
        )
