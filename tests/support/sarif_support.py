"""The schema of SARIF, as a package on the package index carries it."""

from __future__ import annotations

import json
import pickle
import sqlite3
from contextlib import closing
from importlib.metadata import distribution
from typing import Any

TITLE = b"Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"


def sarif_schema() -> dict[str, Any]:
    """OASIS's schema of version 2.1.0.

    `schemastore` carries it in the file of an HTTP cache. Its own functions would ask the
    network, since all that it carries has expired.
    """
    file = distribution("schemastore").locate_file("schemastore/cache.sqlite")
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as cache:
        rows = cache.execute("SELECT value FROM responses WHERE instr(value, ?) > 0", (TITLE,))
        ((value,),) = rows.fetchall()
    schema: dict[str, Any] = json.loads(pickle.loads(value)["_content"])
    return schema
