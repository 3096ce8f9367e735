"""Faults of the tenant condition: names read as syntax, mixed up, or not asked for at all."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from retrieverbench.errors import Rejected
from retrieverbench.model import Query
from retrieverbench.testing.leaky import points
from retrieverbench.testing.leaky.fault import Fault
from retrieverbench.testing.leaky.points import Condition, Row, Store

ANYBODY = Condition(lambda _owner: True, None)
"""No condition at all."""
_LIMITS = (63, 255)


def matching(test: Callable[[str, str], bool]) -> Mapping[str, Any]:
    """The condition as it is, with another comparison of the asked name and a row's owner."""

    def condition(value: object, store: Store) -> Condition:
        told = points.condition(value, store).told
        return Condition(lambda owner: test(str(value), str(owner)), told)

    return {"condition": condition}


def folding(fold: Callable[[str], object]) -> Mapping[str, Any]:
    """Names are equal when what `fold` makes of them is."""
    return matching(lambda asked, owner: fold(asked) == fold(owner))


def instead(is_taken: Callable[[object], bool], other: Condition) -> Mapping[str, Any]:
    """Some values, which should be refused, get `other` for their condition."""

    def condition(value: object, store: Store) -> Condition:
        return other if is_taken(value) else points.condition(value, store)

    return {"condition": condition}


def breaks_out(asked: str, quote: str) -> bool:
    """Whether a quote in the name ends the literal and an alternative follows it."""
    return re.search(rf"{quote}\s*\)?\s*(?:or\b|\|\|)", asked, re.IGNORECASE) is not None


def _sql(asked: str, owner: str) -> bool:
    return breaks_out(asked, "'") or asked == owner


def _statement(asked: str, owner: str) -> bool:
    if asked.count("'") % 2:
        raise Rejected('syntax error at or near "\'"')
    return asked == owner


def _expression(asked: str, owner: str) -> bool:
    return breaks_out(asked, '"') or asked == owner


def _lucene(asked: str, owner: str) -> bool:
    parts = re.split(r"\s+OR\s+", asked)
    names = [re.sub(r"^\(|\)$|^\(?\w+:", "", part) for part in parts]
    return any(fnmatchcase(owner, name.replace("[", "[[]")) for name in names)


def _like(asked: str, owner: str) -> bool:
    pattern = re.escape(asked).replace("%", ".*").replace("_", ".")
    return re.fullmatch(pattern, owner, re.DOTALL) is not None


def _tokens(asked: str, owner: str) -> bool:
    """As a full-text match does: one shared word is enough."""
    return bool(set(re.findall(r"[^\W_]+", asked.lower())) & set(re.findall(r"[^\W_]+", owner)))


def _number(name: str) -> object:
    try:
        return float(name)
    except ValueError:
        return name


def _first(limit: int, name: str) -> str:
    return name[:limit]


def _as_text(value: object, store: Store) -> Condition:
    return points.condition(value if type(value) is str else str(value), store)


def _none_as_text(value: object, store: Store) -> Condition:
    return points.condition("None" if value is None else value, store)


def _any_of(value: object, store: Store) -> Condition:
    """A list is taken, its empty values are left out, and an empty list is no condition."""
    if not isinstance(value, list | tuple | set):
        return points.condition(value, store)
    names = [name for name in value if name]
    return Condition(names.__contains__, {"terms": {"tenant": names}}) if names else ANYBODY


def _last_asked(value: object, store: Store) -> Condition:
    """Nobody is whoever asked before."""
    if value is None or (type(value) is str and not value.strip()):
        value = store.notes.get("last")
    made = points.condition(value, store)
    store.notes["last"] = value
    return made


def _known_only(value: object, store: Store) -> Condition:
    made = points.condition(value, store)
    return made if any(row.owner == value for row in store.rows.values()) else ANYBODY


def _ever_loaded_only(value: object, store: Store) -> Condition:
    """Who owned chunks and owns none any more is answered by everybody's."""
    made = points.condition(value, store)
    has_none = not any(row.owner == value for row in store.rows.values())
    is_emptied = has_none and any(row.owner == value for row in store.deleted)
    return ANYBODY if is_emptied else made


def _named_in_the_question(own: bool, passing: bool, query: Query, row: Row) -> bool:
    return (own or f"tenant_id:{row.owner}" in query.text.split()) and passing


def _keys_in_syntax(metadata: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    return any("'" in key for key in where) or points.passes(metadata, where)


def _orphans_too(value: object, store: Store) -> Condition:
    made = points.condition(value, store)
    return Condition(lambda owner: made.matches(owner) or not owner, made.told)


def _taken(_owner: object) -> None:
    """Any owner will do."""


_LITERALS = (
    ("sql_literal", "a quote in a name ends the SQL literal", ("P12",), matching(_sql)),
    ("sql_syntax_error", "a quote in a name breaks the statement", ("P12",), matching(_statement)),
    ("expression_literal", "a double quote ends the literal", ("P12",), matching(_expression)),
    ("lucene_literal", "OR, * and ? in a name are syntax", ("P12",), matching(_lucene)),
    (
        "split_at_commas",
        "a comma in a name separates two tenants",
        ("P12",),
        matching(lambda asked, owner: owner in asked.split(",")),
    ),
    (
        "split_at_pipes",
        "a pipe in a name separates two tenants",
        ("P12",),
        matching(lambda asked, owner: owner in asked.split("|")),
    ),
    (
        "question_names_tenant",
        "tenant_id:x in a question is a condition",
        ("P14",),
        {"joined": _named_in_the_question},
    ),
    ("filter_key_as_syntax", "a key's quote ends it", ("P15",), {"passes": _keys_in_syntax}),
)

_MATCHING = (
    (
        "prefix",
        "a name that begins so is enough",
        ("P16",),
        matching(lambda asked, owner: owner.startswith(asked)),
    ),
    ("like_wildcards", "% and _ stand for other signs", ("P13", "P16"), matching(_like)),
    ("token_overlap", "one shared word is enough", ("P17",), matching(_tokens)),
    (
        "hyphens_find_nothing",
        "a name with a hyphen is cut, and so never found",
        ("P17",),
        matching(lambda asked, owner: "-" not in asked and asked == owner),
    ),
    ("case_folding", "capitals do not count", ("P18",), folding(str.casefold)),
    ("upper_casing", "names are compared in capitals", ("P19",), folding(str.upper)),
    ("blanks_stripped", "blanks around a name do not count", ("P18",), folding(str.strip)),
    (
        "canonical_forms",
        "composed and decomposed names are one",
        ("P19",),
        folding(lambda name: unicodedata.normalize("NFC", name)),
    ),
    (
        "compatibility_forms",
        "wide and narrow letters are one",
        ("P19",),
        folding(lambda name: unicodedata.normalize("NFKC", name)),
    ),
    (
        "inner_blanks",
        "several blanks within a name are one",
        ("P13",),
        folding(lambda name: re.sub(" +", " ", name)),
    ),
    ("numeric_equality", "names that are numbers are compared as such", ("P20",), folding(_number)),
    ("non_text_stringified", "values of any type become texts", ("P20",), {"condition": _as_text}),
    *(
        (
            f"cut_at_{limit}",
            f"only the first {limit} characters of a name count",
            ("P41",),
            folding(partial(_first, limit)),
        )
        for limit in _LIMITS
    ),
)

_OPEN = (
    (
        "none_is_everybody",
        "without a tenant there is no condition",
        ("P21",),
        instead(lambda value: value is None, ANYBODY),
    ),
    (
        "empty_text_is_everybody",
        "an empty name is no condition",
        ("P21",),
        instead(lambda value: value == "", ANYBODY),
    ),
    (
        "blanks_are_everybody",
        "a name of blanks is no condition",
        ("P21",),
        instead(lambda value: isinstance(value, str) and not value.strip(" \t"), ANYBODY),
    ),
    (
        "empty_list_is_everybody",
        "an empty list of tenants is no condition",
        ("P23",),
        instead(lambda value: value == [], ANYBODY),
    ),
    ("empty_in_is_dropped", "a list loses its empty values", ("P23",), {"condition": _any_of}),
    ("last_tenant_again", "nobody is who asked before", ("P32",), {"condition": _last_asked}),
    ("none_as_text", "nobody is the tenant 'None'", ("P20",), {"condition": _none_as_text}),
    ("unknown_is_everybody", "who owns nothing sees all", ("P22",), {"condition": _known_only}),
    (
        "emptied_is_everybody",
        "who deleted all of its chunks sees all",
        ("P29",),
        {"condition": _ever_loaded_only},
    ),
    ("orphans_loaded", "a chunk needs no owner", ("P24",), {"loadable": _taken}),
    (
        "orphans_shown",
        "a chunk without an owner is everybody's",
        ("P24",),
        {"loadable": _taken, "condition": _orphans_too},
    ),
)

FAULTS = tuple(
    Fault(name, family, tells, probes, changes)
    for family, rows in (("literals", _LITERALS), ("matching", _MATCHING), ("fail-open", _OPEN))
    for name, tells, probes, changes in rows
)
