"""A SQL condition, evaluated by SQLite over a table of one row.

Placeholders of the form %(name)s are bound, casts are left out, and the server's own
variables (`current_setting`) come from the recorded parameters.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping

from retrieverbench.leaks.conditions.values import MISSING, NotUnderstood

_CAST = re.compile(r"::\s*[a-z_]+(\([0-9, ]*\))?(\[\])?", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_QUOTED = re.compile(r"('(?:[^']|'')*')")


def holds(condition: str, parameters: Mapping[str, object], owner: object) -> bool:
    """Whether the condition is true, and neither false nor null, for a row of this owner."""
    bound = {name: _column(value) for name, value in parameters.items()}
    text = "".join(
        part if part.startswith("'") else _CAST.sub("", _PLACEHOLDER.sub(r":\1", part))
        for part in _QUOTED.split(condition)
    )
    database = sqlite3.connect(":memory:")
    try:
        database.execute("PRAGMA case_sensitive_like = on")
        # With one argument the server refuses the statement where the variable is not set:
        # null here, which keeps every row out as well.
        for arguments in (1, 2):
            database.create_function("current_setting", arguments, lambda name, *_: bound.get(name))
        columns = _columns(text)
        database.execute(f"CREATE TABLE t ({', '.join(columns)})")
        value = None if owner is MISSING else _column(owner)
        places = ", ".join("?" * len(columns))
        # Marks only; and the condition is what is to be evaluated, in a database of our own.
        database.execute(f"INSERT INTO t VALUES ({places})", [value] * len(columns))  # noqa: S608 - ours
        named = {name: bound[name] for name in set(re.findall(r":(\w+)", text)) & bound.keys()}
        rows = database.execute(f"SELECT 1 FROM t WHERE {text}", named)  # noqa: S608 - ours
        return rows.fetchone() is not None
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise NotUnderstood(f"the condition {condition!r}: {error}") from None
    finally:
        database.close()


def _columns(text: str) -> list[str]:
    """The names that the condition may mean by a column: those of `t`, and bare words."""
    bare = "".join(part for part in _QUOTED.split(text) if not part.startswith("'"))
    qualified = re.findall(r'"?t"?\."?(\w+)"?', bare)
    words = re.findall(r'(?<![:\w."])"?([a-z_]\w*)"?(?![\w."(])', bare, re.IGNORECASE)
    names = dict.fromkeys(n.lower() for n in [*qualified, *words] if n.upper() not in _KEYWORDS)
    return [f'"{name}"' for name in names if name != "t"] or ['"tenant"']


_KEYWORDS = frozenset(
    {"AND", "OR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE", "LIKE", "ILIKE", "ESCAPE", "BETWEEN"}
    | {"ANY", "ALL", "COLLATE", "CASE", "WHEN", "THEN", "ELSE", "END"}
)


def _column(value: object) -> str | int | float | None:
    """A value as SQLite keeps it; what SQL has no type for becomes its JSON text."""
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return json.dumps(value)
