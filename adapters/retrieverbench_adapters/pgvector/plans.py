"""Reading a plan of `EXPLAIN (ANALYZE, FORMAT JSON)`: which index, and when tenants were parted.

The rule, for each scan of the searched table:
- a table that holds one tenant alone is a condition applied `before` the search;
- an approximate index returns rows in the order of distance, and the server applies the
  condition to each as it comes: `during` when the scan goes on until there are enough
  (iterative scan), `after` when it ends with the first candidates;
- any other scan applies it `before` anything is ordered;
- `never` when no condition of the scan names the tenant.
Several scans, as in hybrid mode, count as the worst of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from retrieverbench.model import FilterTime, Plan

Node = Mapping[str, Any]
_WORST_FIRST: tuple[FilterTime, ...] = ("never", "after", "during", "before")
_CONDITIONS = ("Index Cond", "Recheck Cond", "Filter", "One-Time Filter")
_SHOWN = (
    "Order By", "Sort Key", *_CONDITIONS, "Rows Removed by Filter",
    "Rows Removed by Index Recheck", "Actual Rows", "Actual Loops", "Index Searches",
)  # fmt: skip
_LITERAL = re.compile(r"'(?:[^']|'')*'")
_LONG_VECTOR = re.compile(r"'\[[^\]]*\]'")


def read_plan(
    root: Node, *, tenant: str, iterative: bool, tables: Sequence[str], caveat: str
) -> Plan:
    """The plan's own words, shortened vectors apart, and what the rule says of them.

    `tenant` is the owner's column; `tables` are those that hold one tenant alone.
    """
    scans = [node for node in nodes(root) if "Relation Name" in node]
    times = {_filtered(node, tenant, iterative=iterative, tables=tables) for node in scans}
    approximate = [node["Index Name"] for node in scans if "Order By" in node]
    return Plan(
        lines=tuple(_lines(root, 0)),
        vector_index=approximate[0] if approximate else "",
        filtered=next((time for time in _WORST_FIRST if time in times), None),
        caveat=caveat,
    )


def _filtered(scan: Node, tenant: str, *, iterative: bool, tables: Sequence[str]) -> FilterTime:
    if scan["Relation Name"] in tables:
        return "before"
    quoted = tenant.replace('"', '""')
    name = re.compile(rf'(?<![\w"]){re.escape(tenant)}(?!\w)|"{re.escape(quoted)}"')
    parts = [scan, *(node for node in nodes(scan) if "Relation Name" not in node)]
    conditions = (str(node.get(key, "")) for node in parts for key in _CONDITIONS)
    if not any(name.search(_LITERAL.sub("", condition)) for condition in conditions):
        return "never"
    if "Order By" in scan:
        return "during" if iterative else "after"
    return "before"


def nodes(node: Node) -> Iterator[Node]:
    """The node and all below it, from the top."""
    yield node
    for inner in node.get("Plans", ()):
        yield from nodes(inner)


def _lines(node: Node, depth: int) -> Iterator[str]:
    name = " ".join(
        part
        for part in (
            node.get("Subplan Name"),
            node["Node Type"],
            f"using {node['Index Name']}" if "Index Name" in node else "",
            f"on {node['Relation Name']}" if "Relation Name" in node else "",
        )
        if part
    )
    told = "; ".join(f"{key}: {_shown(node[key])}" for key in _SHOWN if key in node)
    yield f"{'  ' * depth}{name}{f' ({told})' if told else ''}"
    for inner in node.get("Plans", ()):
        yield from _lines(inner, depth + 1)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return _LONG_VECTOR.sub(_numbers, str(value))


def _numbers(found: re.Match[str]) -> str:
    return f"'[{found[0].count(',') + 1} numbers]'"
