"""The services that the conformance table runs against: the stand-in twice, and a real one.

The real one is given by AZURE_SEARCH_ENDPOINT and AZURE_SEARCH_API_KEY (or AZURE_SEARCH_TOKEN,
a bearer token); AZURE_SEARCH_QUERY_KEY and AZURE_SEARCH_READER_TOKEN serve the rows about
rights. One index is used for all rows, AZURE_LIVE_INDEX or rb-conformance-table, and deleted
at the end unless AZURE_LIVE_KEEP is 1. AZURE_LIVE_RECORD names the JSON file for what was
answered (azure-live.json), which holds no address, key or token. With AZURE_LIVE_REQUIRED=1
a missing service is a failure.
"""

from __future__ import annotations

import json
import os
import re
import ssl
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from azure_support import DOCUMENTS, Api, Record, definition, make_certificate
from retrieverbench.engines.azure_search import start

_PREFIX = "rb-conformance-"
_NOT_GIVEN = (
    "the conformance table did not run against a real service, for none was given; run: "
    "AZURE_SEARCH_ENDPOINT=https://NAME.search.windows.net AZURE_SEARCH_API_KEY=... "
    "pytest -m azure_live"
)
_GIVEN = bool(
    os.environ.get("AZURE_SEARCH_ENDPOINT")
    and (os.environ.get("AZURE_SEARCH_API_KEY") or os.environ.get("AZURE_SEARCH_TOKEN"))
)
_LIVE = [pytest.param("live", marks=pytest.mark.azure_live)] if _GIVEN else []
_outcomes = pytest.StashKey[dict[str, str]]()


@pytest.fixture(scope="session", params=["http-key", "https-token", *_LIVE])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Api]:
    """Each service once for the session, its index made and loaded with DOCUMENTS."""
    if request.param == "live":
        yield from _live(request.session)
        return
    certificate = make_certificate(tmp_path_factory.mktemp("tls"))
    options = certificate.options if request.param == "https-token" else {}
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(start(options)) as started,
    ):
        secrets = {name: secret.reveal() for name, secret in started.secrets.items()}
        token = {"Authorization": f"Bearer {secrets['token']}"}
        api = Api(
            endpoint=started.endpoint,
            credential={"api-key": secrets["api_key"]} if not options else token,
            index=f"{_PREFIX}table",
            others={
                "query key": {"api-key": secrets["query_key"]},
                "reader token": {"Authorization": f"Bearer {secrets['reader_token']}"},
            },
            tls=ssl.create_default_context(cafile=certificate.authority),
        )
        assert api.call("POST", "/indexes", definition(api.index)).status == 201
        api.load(*DOCUMENTS)
        yield api


@pytest.fixture
def live_is_given() -> None:
    """Say that no real service was given, or fail where one is required."""
    if _GIVEN:
        return
    if os.environ.get("AZURE_LIVE_REQUIRED") == "1":
        pytest.fail(_NOT_GIVEN)
    pytest.skip(_NOT_GIVEN)


@pytest.fixture
def api(service: Api, request: pytest.FixtureRequest) -> Iterator[Api]:
    """A caller whose own documents are those of the row that the test is about."""
    row = _row_of(request.node.name)
    service.record.row = row
    yield service.of_row(row.lower())
    service.record.row = ""


@pytest.fixture
def shared_api(api: Api) -> Api:
    """A caller whose own documents are DOCUMENTS, which no row changes."""
    return api.of_row("shared")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep each live row's outcome for the record."""
    report = yield
    if item.get_closest_marker("azure_live") and (report.when == "call" or report.failed):
        outcomes = item.session.stash.setdefault(_outcomes, {})
        outcomes[item.name] = report.outcome
    return report


def _row_of(name: str) -> str:
    found = re.match(r"test_az_(\d\d)_", name)
    assert found is not None, f"{name}: the tests of this folder are rows of the table"
    return f"AZ-{found[1]}"


def _live(session: pytest.Session) -> Iterator[Api]:
    endpoint = os.environ["AZURE_SEARCH_ENDPOINT"].rstrip("/")
    key, token = (os.environ.get(f"AZURE_SEARCH_{name}", "") for name in ("API_KEY", "TOKEN"))
    index = os.environ.get("AZURE_LIVE_INDEX", f"{_PREFIX}table")
    if not index.startswith(_PREFIX):
        pytest.fail(f"AZURE_LIVE_INDEX: {index!r} does not begin with {_PREFIX!r}")
    others = {}
    if query_key := os.environ.get("AZURE_SEARCH_QUERY_KEY"):
        others["query key"] = {"api-key": query_key}
    if reader := os.environ.get("AZURE_SEARCH_READER_TOKEN"):
        others["reader token"] = {"Authorization": f"Bearer {reader}"}
    credential = {"api-key": key} if key else {"Authorization": f"Bearer {token}"}
    tls = ssl.create_default_context()
    api = Api(endpoint, credential, index, live=True, others=others, tls=tls)
    api.call("DELETE", api.path())
    assert api.call("POST", "/indexes", definition(index)).status == 201
    try:
        api.load(*DOCUMENTS)
        yield api
    finally:
        if os.environ.get("AZURE_LIVE_KEEP") != "1":
            api.call("DELETE", api.path())
        _write(api.record, session.stash.get(_outcomes, {}))


def _write(record: Record, outcomes: dict[str, str]) -> None:
    told: dict[str, Any] = {
        "agreement": outcomes,
        "differences": record.differences,
        "seconds_until_visible": record.lags,
        "exchanges": record.exchanges,
    }
    path = Path(os.environ.get("AZURE_LIVE_RECORD", "azure-live.json"))
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False), encoding="utf-8")
