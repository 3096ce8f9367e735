"""Turns a BEIR query into the fields of a golden case."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from retrieverbench.golden.cases import KINDS, SPELLINGS, VARIANTS
from retrieverbench.golden.faults import Faults
from retrieverbench.golden.fields import Record, check_known, spell
from retrieverbench.golden.lines import Line

_KNOWN = frozenset({"_id", "text", "metadata"})
_SPELLINGS = {**SPELLINGS, "id": ("_id",), "query": ("text",)}


def query_record(line: Line, faults: Faults, *, ignore_tenants: bool) -> Record:
    """The line with the fields of a case lifted out of `metadata`, the rest as `meta`.

    Metadata that has the name of a field and is not of its kind is somebody else's and
    stays in `meta`; a tenant is always lifted, so that a wrong one is refused. BEIR's
    `answerable: false` is our `unanswerable: true`.
    """
    raw = Record(line.data, line.number, faults)
    check_known(raw, _KNOWN, "metadata")
    metadata = raw.mapping("metadata")
    data: dict[str, object] = {k: line.data[k] for k in ("_id", "text") if k in line.data}
    meta: dict[str, object] = {}
    for name, value in metadata.items():
        if name in SPELLINGS["tenant"]:
            if not ignore_tenants:
                data[name] = value
        elif name == "answerable" and isinstance(value, bool) and "unanswerable" not in metadata:
            data["unanswerable"] = not value
        elif name in _LIFTED and _LIFTED[name](value):
            data[name] = value
        else:
            meta[name] = value
    if meta:
        data["meta"] = meta
    return spell(data, line.number, faults, _SPELLINGS)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


_LIFTED: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(("answer", "category", "source", "parent", "lang", "notes"), _is_text),
    **dict.fromkeys(("unanswerable", "must_pass", "needs_review"), _is_flag),
    **dict.fromkeys(("forbidden", *SPELLINGS["forbidden_docs"]), _is_list_of_text),
    **dict.fromkeys(("review", "anchors"), _is_mapping),
    "kind": KINDS.__contains__,
    "variant": VARIANTS.__contains__,
}
