"""The service: who may call, which route it is, and what answers. No network here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from retrieverbench.engines.azure_search.access import Credentials
from retrieverbench.engines.azure_search.definition import Definition, parse_definition
from retrieverbench.engines.azure_search.replies import (
    Call,
    Refusal,
    Reply,
    Silent,
    as_json,
    invalid_definition,
    not_implemented,
)
from retrieverbench.engines.azure_search.searching import lookup, search
from retrieverbench.engines.azure_search.store import Index, Options
from retrieverbench.engines.azure_search.writing import write_documents

API_VERSIONS = ("2024-07-01", "2025-09-01", "2026-04-01")
SERVICE_NAME = "stand-in"
_ROUTE = re.compile(r"/indexes(?:\('(?P<quoted>[^']*)'\)|/(?P<plain>[^/()]+))(?P<rest>/.*)?")
_KEY_ROUTE = re.compile(r"/docs(?:\('(?P<quoted>[^']*)'\)|/(?P<plain>[^/()]+))")
_OPERATIONS = {
    ("POST", "/docs/search.index"): "write",
    ("POST", "/docs/index"): "write",
    ("POST", "/docs/search.post.search"): "search",
    ("POST", "/docs/search"): "search",
    ("GET", "/docs/$count"): "count",
    ("GET", "/search.stats"): "stats",
    ("GET", "/stats"): "stats",
    ("GET", ""): "get",
    ("PUT", ""): "put",
    ("DELETE", ""): "delete",
}


@dataclass(slots=True)
class Fault:
    """A scripted failure: the next `count` calls of `route` wait, then get this answer.

    `route` is an operation's word (`search`, `write`, `count`, ...); status 0 means that
    only the delay (in seconds) is applied.
    """

    route: str
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    count: int = 1
    delay: float = 0.0


@dataclass(slots=True)
class Service:
    """One search service with its indexes and what opens it."""

    credentials: Credentials
    options: Options = field(default_factory=Options)
    faults: list[Fault] = field(default_factory=list)
    indexes: dict[str, Index] = field(default_factory=dict)
    changes: int = 0

    def fault(self, call: Call) -> Fault | None:
        """The scripted failure of this call, if there is one; it is used up."""
        operation = _route(call)[0]
        for fault in self.faults:
            if fault.route == operation and fault.count > 0:
                fault.count -= 1
                return fault
        return None

    def answer(self, call: Call) -> Reply:
        """What the service answers; errors are answers too."""
        try:
            return self._answer(call)
        except Refusal as refusal:
            return refusal.reply()
        except Silent as silent:
            return Reply(silent.status)

    def _answer(self, call: Call) -> Reply:
        operation, name, key = _route(call)
        self.credentials.check(call.headers, operation)
        if call.query.get("api-version") not in API_VERSIONS:
            raise Refusal(
                400,
                "Invalid or missing api-version query string parameter. "
                f"The stand-in knows: {', '.join(API_VERSIONS)}.",
            )
        if len(call.body) > self.options.max_body:
            raise Silent(413)
        if operation == "unknown":
            raise not_implemented(f"{call.method} {call.path}")
        if not name:
            return self._on_service(operation, call)
        if operation == "put":
            return self._put(name, call)
        if name not in self.indexes:
            raise Refusal(404, f"The index '{name}' for service '{SERVICE_NAME}' was not found.")
        if operation in {"get", "delete"}:
            return self._on_definition(operation, self.indexes[name], call)
        return self._on_documents(operation, self.indexes[name], key, call)

    def _on_service(self, operation: str, call: Call) -> Reply:
        if operation == "service stats":
            return as_json(200, self._service_statistics())
        if operation == "list":
            return as_json(200, {"value": [_shown(index) for index in self.indexes.values()]})
        definition = parse_definition(_body(call))
        if definition.name in self.indexes:
            message = f"Cannot create index '{definition.name}' because it already exists."
            raise Refusal(
                409,
                message,
                code="ResourceNameAlreadyInUse",
                details=("CannotCreateExistingIndex", message),
            )
        return self._create(definition)

    def _create(self, definition: Definition) -> Reply:
        index = Index(definition, self.options, self._etag())
        self.indexes[definition.name] = index
        headers = {"ETag": f'W/"{index.etag}"', "Location": f"/indexes('{definition.name}')"}
        return as_json(201, _shown(index), headers)

    def _put(self, name: str, call: Call) -> Reply:
        definition = parse_definition(_body(call))
        if definition.name != name:
            raise invalid_definition("The name in the URL is another one.", "InvalidName")
        index = self.indexes.get(name)
        _check_condition(index, call)
        if index is None:
            return self._create(definition)
        for present in index.definition.fields.values():
            if definition.fields.get(present.name) != present:
                raise Refusal(
                    400,
                    f"Existing field '{present.name}' cannot be changed.",
                    code="OperationNotAllowed",
                    details=("CannotChangeExistingField", present.name),
                )
        index.redefine(definition, self._etag())
        return as_json(200, _shown(index), {"ETag": f'W/"{index.etag}"'})

    def _on_definition(self, operation: str, index: Index, call: Call) -> Reply:
        if operation == "get":
            return as_json(200, _shown(index), {"ETag": f'W/"{index.etag}"'})
        _check_condition(index, call)
        del self.indexes[index.definition.name]
        return Reply(204)

    def _on_documents(self, operation: str, index: Index, key: str, call: Call) -> Reply:
        match operation:
            case "write":
                return write_documents(index, _body(call), self.options)
            case "search":
                return as_json(200, search(index, _body(call), call.path))
            case "count":
                body = f"\ufeff{index.count()}".encode()
                return Reply(200, body, {"Content-Type": "text/plain; charset=utf-8"})
            case "stats":
                return as_json(200, _statistics(index))
        document = lookup(index, key, call.query.get("$select"))
        if document is None:
            raise Silent(404)
        return as_json(200, document)

    def _etag(self) -> str:
        self.changes += 1
        return f"0x8D{self.changes:012X}"

    def _service_statistics(self) -> dict[str, Any]:
        statistics = [_statistics(index) for index in self.indexes.values()]
        used = {
            "documentCount": sum(s["documentCount"] for s in statistics),
            "indexesCount": len(statistics),
            "storageSize": sum(s["storageSize"] for s in statistics),
            "vectorIndexSize": sum(s["vectorIndexSize"] for s in statistics),
        }
        nothing = ("aliasesCount", "indexersCount", "dataSourcesCount", "synonymMaps")
        counters = {**used, **dict.fromkeys((*nothing, "skillsetCount"), 0)}
        return {
            "counters": {k: {"usage": v, "quota": None} for k, v in counters.items()},
            "limits": {
                "maxFieldsPerIndex": 1000,
                "maxFieldNestingDepthPerIndex": 10,
                "maxComplexCollectionFieldsPerIndex": 40,
                "maxComplexObjectsInCollectionsPerDocument": 3000,
            },
        }


def _route(call: Call) -> tuple[str, str, str]:
    """The operation's word, the index's name and the document's key, each "" if not there."""
    if (call.method, call.path) == ("GET", "/servicestats"):
        return "service stats", "", ""
    if call.path == "/indexes":
        return {"GET": "list", "POST": "create"}.get(call.method, "unknown"), "", ""
    found = _ROUTE.fullmatch(call.path)
    if found is None:
        return "unknown", "", ""
    name, rest = found["quoted"] or found["plain"] or "", found["rest"] or ""
    operation = _OPERATIONS.get((call.method, rest))
    if operation is not None:
        return operation, name, ""
    by_key = _KEY_ROUTE.fullmatch(rest)
    if by_key is None or call.method != "GET" or by_key["plain"] == "search":
        return "unknown", name, ""
    return "lookup", name, by_key["quoted"] or by_key["plain"] or ""


def _body(call: Call) -> Any:
    """The JSON of a body; NaN and the infinities are no JSON."""
    refuse: Callable[[str], Any] = _refuse_constant
    try:
        return json.loads(call.body, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"The request body is not valid JSON: {error}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _check_condition(index: Index | None, call: Call) -> None:
    expected = call.headers.get("if-match")
    present = None if index is None else index.etag
    stale = expected is not None and (
        present is None or expected not in {"*", f'"{present}"', f'W/"{present}"', present}
    )
    exists = call.headers.get("if-none-match") == "*" and index is not None
    if stale or exists:
        raise Refusal(
            412,
            "The precondition given in one of the request headers evaluated to false. "
            "No change was made to the resource from this request.",
        )


def _shown(index: Index) -> dict[str, Any]:
    return {"@odata.etag": f'"{index.etag}"', **index.definition.shown}


def _statistics(index: Index) -> dict[str, int]:
    documents = index.documents().values()
    fields = index.definition.fields.values()
    vectors = sum(f.dimensions * 4 for f in fields for d in documents if d.values.get(f.name))
    size = sum(len(json.dumps(d.values)) for d in documents)
    return {
        "documentCount": len(documents),
        "storageSize": size,
        "vectorIndexSize": vectors,
    }
