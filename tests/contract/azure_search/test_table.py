"""The table as a whole: every row has its test, and a real service was asked or not."""

from __future__ import annotations

import json
import os
import re
import sys
from http.client import HTTPConnection
from pathlib import Path

import anyio
import pytest

from retrieverbench.engines.azure_search import start

ROWS = range(1, 64)
ROOT = Path(__file__).parents[3]
FOLDER = str(Path(__file__).parent)


def test_every_row_has_its_test() -> None:
    """Rows 41 (recorded scores) and 52 (scripted failures) need a stand-in in this process."""
    own = "\n".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    rows = [int(number) for number in re.findall(r"^def test_az_(\d\d)_", own, re.MULTILINE)]
    assert sorted(rows) == [row for row in ROWS if row not in {41, 52}]
    unit = [*ROOT.glob("tests/unit/engines/**/*.py"), *ROOT.glob("tests/unit/adapters/**/*.py")]
    elsewhere = "\n".join(path.read_text("utf-8") for path in unit)
    assert "def test_az_41_" in elsewhere
    assert "def test_az_52_" in elsewhere


@pytest.mark.azure_live
@pytest.mark.usefixtures("live_is_given")
def test_a_real_service_was_asked() -> None:
    """Passes where the rows above ran against a real service too; otherwise says how."""


@pytest.mark.anyio
async def test_the_live_run_itself(tmp_path: Path) -> None:
    """A stand-in in the service's place that folds case: rows pass, are recorded, and fail."""
    record = tmp_path / "record.json"
    async with start({"BROKEN_ON_PURPOSE": "ci_eq"}) as started:
        key = started.secrets["api_key"].reveal()
        given = {
            "AZURE_SEARCH_ENDPOINT": started.endpoint,
            "AZURE_SEARCH_API_KEY": key,
            "AZURE_LIVE_RECORD": str(record),
        }
        rows = ["-m", "azure_live", "-k", "az_01 or az_33 or az_53 or real_service"]
        done = await anyio.run_process(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *rows, FOLDER],
            cwd=ROOT,
            env={**os.environ, **given},
            check=False,
        )
        said = done.stdout.decode()
        assert done.returncode == 1, said
        assert "3 failed, 5 passed" in said
        connection = HTTPConnection(started.endpoint.removeprefix("http://"))
        connection.request("GET", "/indexes?api-version=2026-04-01", headers={"api-key": key})
        left = json.loads(connection.getresponse().read())["value"]
        connection.close()
    assert left == []
    text = record.read_text("utf-8")
    told = json.loads(text)
    failed = {name for name, outcome in told["agreement"].items() if outcome == "failed"}
    assert {name.partition("[")[0] for name in failed} == {"test_az_33_strings_are_exact"}
    assert told["seconds_until_visible"].keys() == {"upload", "delete"}
    assert {exchange["row"] for exchange in told["exchanges"]} >= {"AZ-01", "AZ-33", "AZ-53"}
    assert key not in text
    assert "127.0.0.1" not in text
