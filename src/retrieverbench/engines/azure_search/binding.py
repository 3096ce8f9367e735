"""OData filters, second pass: tree to a condition on documents, checked against the fields."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from retrieverbench.engines.azure_search.definition import Field
from retrieverbench.engines.azure_search.mutants import Mutant, equality
from retrieverbench.engines.azure_search.odata import (
    Call,
    Compare,
    Constant,
    Expression,
    Junction,
    Lambda,
    Not,
    Path,
    parse_filter,
)
from retrieverbench.engines.azure_search.replies import (
    Refusal,
    invalid_expression,
    not_implemented,
)

Condition = Callable[[Mapping[str, Any]], bool]
Read = Callable[[Mapping[str, Any]], Any]

_NUMBERS = frozenset({"Edm.Int32", "Edm.Int64", "Edm.Double"})
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "lt": operator.lt,
    "ge": operator.ge,
    "le": operator.le,
}
_KINDS = {
    "eq": "Equal",
    "ne": "NotEqual",
    "gt": "GreaterThan",
    "lt": "LessThan",
    "ge": "GreaterThanOrEqual",
    "le": "LessThanOrEqual",
}
_FLIPPED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge", "eq": "eq", "ne": "ne"}
_SUFFIX = "in a lambda expression that iterates over a field of type Collection(Edm.String)."
_OPPOSITE = (
    "Invalid lambda expression. Found a test for equality or inequality where the opposite was "
    f"expected {_SUFFIX} For 'any', use expressions of the form 'x eq y' or 'search.in(...)'. "
    "For 'all', use expressions of the form 'x ne y', 'not (x eq y)', or 'not search.in(...)'."
)
_RANGE = (
    "Invalid lambda expression. Found a comparison operator (one of 'lt', 'le', 'gt', or 'ge'). "
    "Only equality operators are allowed in lambda expressions that iterate over fields of type "
    "Collection(Edm.String). For 'any', use expressions of the form 'x eq y'. For 'all', use "
    "expressions of the form 'x ne y' or 'not (x eq y)'."
)
_COMPLEX = (
    "Invalid lambda expression. Complex Boolean expressions are not supported in lambda "
    "expressions that iterate over fields of type Collection(Edm.String). For 'any', join "
    "subexpressions with 'or'; 'and' isn't supported. For 'all', join subexpressions with 'and'; "
    "'or' isn't supported."
)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a name may stand for: fields outside, the range variable alone inside a lambda."""

    fields: Mapping[str, Field]
    mutant: Mutant | None = None
    variable: str | None = None


def compile_filter(
    text: str, fields: Mapping[str, Field], mutant: Mutant | None = None
) -> Condition:
    """A filter as a function of a document; Refusal 400 for what the service refuses."""
    tree = parse_filter(text, flat=mutant == "or_precedence")
    return _boolean(tree, _Scope(fields, mutant))


def find_field(name: str, fields: Mapping[str, Field], parameter: str) -> Field:
    """The field of that exact name, or the service's refusal."""
    if name not in fields:
        raise invalid_expression(
            f"Could not find a property named '{name}' on type 'search.document'.", parameter
        )
    return fields[name]


def _refuse(message: str) -> Refusal:
    return invalid_expression(message, "$filter")


def _boolean(node: Expression, scope: _Scope) -> Condition:
    match node:
        case Junction(joined, operands):
            parts = [_boolean(part, scope) for part in operands]
            join = all if joined == "and" else any
            return lambda document: join(part(document) for part in parts)
        case Not(operand):
            return _negation(operand, scope)
        case Compare():
            return _comparison(node, scope)
        case Constant(value, "Edm.Boolean"):
            return lambda _: value is True
        case Path():
            read, kind = _path(node, scope)
            if kind != "Edm.Boolean":
                raise _refuse(f"A Boolean expression was expected. Found type '{kind}'.")
            return lambda document: read(document) is True
        case Lambda():
            return _lambda(node, scope)
        case Call(_, arguments):
            return _search_in(arguments, scope)
    raise _refuse("A Boolean expression was expected.")


def _negation(operand: Expression, scope: _Scope) -> Condition:
    kind = _type(operand, scope)
    if kind != "Edm.Boolean":
        raise _refuse(
            "A unary operator with an incompatible type was detected. "
            f"Found operand type '{kind}' for operator kind 'Not'."
        )
    inner = _boolean(operand, scope)
    return lambda document: not inner(document)


def _type(node: Expression, scope: _Scope) -> str:
    match node:
        case Constant(_, kind):
            return kind
        case Path():
            return _path(node, scope)[1]
    return "Edm.Boolean"


def _path(path: Path, scope: _Scope) -> tuple[Read, str]:
    """How to read a field or range variable, and its type."""
    name = path.segments[0]
    if len(path.segments) > 1:
        raise not_implemented("fields of complex type in a filter")
    if scope.variable is not None:
        if name != scope.variable:
            raise _refuse(
                f"'{name}' is not bound to the range variable '{scope.variable}'. Only bound "
                "field references are supported inside lambda expressions ('any' or 'all')."
            )
        return lambda element: element[""], "Edm.String"
    field = find_field(name, scope.fields, "$filter")
    if not field.filterable:
        raise _refuse(f"'{name}' is not a filterable field. Only filterable fields can be used.")
    if field.type == "Edm.DateTimeOffset":
        return lambda document: _moment(document.get(name)), field.type
    return lambda document: document.get(name), field.type


def _moment(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


def _comparison(node: Compare, scope: _Scope) -> Condition:
    kind, left, right = node.operator, node.left, node.right
    if isinstance(left, Constant):
        kind, left, right = _FLIPPED[kind], right, left
    if isinstance(left, Not):
        _negation(left.operand, scope)  # `not n gt 5` is (not n) gt 5, and `not n` is refused
    if not isinstance(right, Constant) or not isinstance(left, Path):
        raise _refuse("One side of a comparison must be a field, the other a constant.")
    read, field_type = _path(left, scope)
    _check_types(node, kind, field_type, right)
    wanted = right.value
    compare = equality(scope.mutant) if kind == "eq" else _OPERATORS[kind]
    if kind in {"eq", "ne"}:
        return lambda document: compare(read(document), wanted)

    def in_range(document: Mapping[str, Any]) -> bool:
        value = read(document)
        return value is not None and compare(value, wanted)

    return in_range


def _check_types(node: Compare, kind: str, field_type: str, constant: Constant) -> None:
    both_numbers = field_type in _NUMBERS and constant.type in _NUMBERS
    fits = both_numbers or constant.type in {field_type, "Null"}
    if field_type == "Edm.Boolean" or constant.type == "Null":
        fits = fits and kind in {"eq", "ne"}
    if field_type.startswith("Collection("):
        fits = False
    value = constant.value
    if field_type in {"Edm.Int32", "Edm.Int64"} and isinstance(value, float):
        fits = fits and math.isfinite(value)
    if not fits:
        types = [field_type, constant.type]
        if isinstance(node.left, Constant):
            types.reverse()
        raise _refuse(
            "A binary operator with incompatible types was detected. Found operand types "
            f"'{types[0]}' and '{types[1]}' for operator kind '{_KINDS[node.operator]}'."
        )


def _search_in(arguments: tuple[Expression, ...], scope: _Scope) -> Condition:
    if len(arguments) not in {2, 3} or not isinstance(arguments[0], Path):
        raise _refuse("search.in takes a field, a string of values and a string of delimiters.")
    read, kind = _path(arguments[0], scope)
    texts = [a.value for a in arguments[1:] if isinstance(a, Constant) and type(a.value) is str]
    if kind != "Edm.String" or len(texts) != len(arguments) - 1:
        raise _refuse("search.in takes a field and constants of type Edm.String.")
    listed, delimiters = texts[0], (texts[1] if len(texts) == 2 else " ,")
    if scope.mutant == "search_in_default_delimiters":
        delimiters = " ,"
    for delimiter in delimiters[1:]:
        listed = listed.replace(delimiter, delimiters[0])
    pieces = listed.split(delimiters[0]) if delimiters else [listed]
    values = frozenset(piece for piece in pieces if piece)
    if scope.mutant is None:
        return lambda document: read(document) in values
    equal = equality(scope.mutant)
    return lambda document: any(equal(read(document), value) for value in values)


def _lambda(node: Lambda, scope: _Scope) -> Condition:
    if scope.variable is not None or len(node.path.segments) > 1:
        raise not_implemented("fields of complex type in a filter")
    name = node.path.segments[0]
    field = find_field(name, scope.fields, "$filter")
    if not field.filterable:
        raise _refuse(f"'{name}' is not a filterable field. Only filterable fields can be used.")
    if not field.is_collection:
        raise _refuse(f"'{node.quantifier}' needs a collection; '{name}' is {field.type}.")
    if node.body is None:
        return lambda document: bool(document.get(name))
    if field.element != "Edm.String":
        raise not_implemented(f"'{node.quantifier}' over {field.type}")
    body = _boolean(node.body, _Scope(scope.fields, scope.mutant, node.variable))
    _check_lambda(node.body, node.quantifier, negated=False)
    quantify = any if node.quantifier == "any" else all
    return lambda document: quantify(body({"": item}) for item in document.get(name) or ())


def _check_lambda(body: Expression, quantifier: str, *, negated: bool) -> None:
    """What the service allows over strings: `any` of equalities, `all` of inequalities."""
    positive = quantifier == "any"
    match body:
        case Junction(joined, operands):
            if negated or joined != ("or" if positive else "and"):
                raise _refuse(_COMPLEX)
            for operand in operands:
                _check_lambda(operand, quantifier, negated=False)
        case Not(operand):
            _check_lambda(operand, quantifier, negated=not negated)
        case Compare(kind):
            if kind not in {"eq", "ne"}:
                raise _refuse(_RANGE)
            if ((kind == "eq") != negated) != positive:
                raise _refuse(_OPPOSITE)
        case Call():
            if negated == positive:
                raise _refuse(_OPPOSITE)
        case _:
            raise _refuse(_COMPLEX)
