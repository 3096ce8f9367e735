"""OData filters, first pass: text to tree. Nothing is known of fields here.

Syntax errors win over everything else, so a filter is parsed to its end before it is bound
(`binding.py`). Precedence: not, comparison, and, or.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal as OneOf

from retrieverbench.engines.azure_search.replies import Refusal, invalid_expression, not_implemented

COMPARISONS = frozenset({"eq", "ne", "gt", "lt", "ge", "le"})
_MAX_DEPTH = 100
_FUNCTIONS = frozenset({"search.in"})
_UNSUPPORTED = ("search.", "geo.")
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>'(?:[^']|'')*')
    | (?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))
    | (?P<float>[+-]?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)|-INF(?![A-Za-z0-9_]))
    | (?P<integer>[+-]?\d+)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    | (?P<sign>[(),:/])
    | (?P<other>\{[^}]*\}|\S)
    )""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; `type` is its Edm type, `Null` for null."""

    value: str | int | float | bool | datetime | None
    type: str


@dataclass(frozen=True, slots=True)
class Path:
    """A field or range variable, by its segments."""

    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Two operands and one of the six comparisons."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Junction:
    """Operands joined by `and` or by `or`."""

    operator: OneOf["and", "or"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Lambda:
    """`path/any(v: body)`, `path/all(v: body)`; `any()` has neither variable nor body."""

    quantifier: OneOf["any", "all"]
    path: Path
    variable: str | None
    body: Expression | None


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the `search.` family."""

    name: str
    arguments: tuple[Expression, ...]


Expression = Constant | Path | Compare | Not | Junction | Lambda | Call


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    end: int


def parse_filter(text: str, *, flat: bool = False) -> Expression:
    """The tree of a filter; Refusal 400 with the place of the first unexpected token.

    `flat` is wrong on purpose: `and` and `or` bind alike.
    """
    return _Parser(text, "$filter", flat=flat).parse()


class _Parser:
    """Recursive descent over a list of tokens."""

    def __init__(self, text: str, parameter: str, *, flat: bool) -> None:
        self._text = text
        self._parameter = parameter
        self._flat = flat
        self._tokens = [
            _Token(str(m.lastgroup), str(m.group(str(m.lastgroup))), m.end())
            for m in _TOKEN.finditer(text.rstrip())
        ]
        self._next = 0
        self._depth = 0

    def parse(self) -> Expression:
        expression = self._either()
        if self._peek().kind != "end":
            raise self._error()
        return expression

    def _peek(self) -> _Token:
        if self._next < len(self._tokens):
            return self._tokens[self._next]
        return _Token("end", "", len(self._text))

    def _take(self, text: str) -> bool:
        token = self._peek()
        if token.kind in {"word", "sign"} and token.text == text:
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._error()

    def _error(self) -> Refusal:
        place = f"position {self._peek().end} in '{self._text}'"
        return invalid_expression(f"Syntax error at {place}.", self._parameter)

    def _either(self) -> Expression:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise invalid_expression("The filter is nested too deeply.", self._parameter)
        expression = self._from_left() if self._flat else self._joined("or", self._both)
        self._depth -= 1
        return expression

    def _both(self) -> Expression:
        return self._joined("and", self._comparison)

    def _joined(
        self, operator: OneOf["and", "or"], operand: Callable[[], Expression]
    ) -> Expression:
        operands = [operand()]
        while self._take(operator):
            operands.append(operand())
        return operands[0] if len(operands) == 1 else Junction(operator, tuple(operands))

    def _from_left(self) -> Expression:
        expression = self._comparison()
        while True:
            if self._take("and"):
                expression = Junction("and", (expression, self._comparison()))
            elif self._take("or"):
                expression = Junction("or", (expression, self._comparison()))
            else:
                return expression

    def _comparison(self) -> Expression:
        left = self._unary()
        token = self._peek()
        if token.kind == "word" and token.text in COMPARISONS:
            self._next += 1
            return Compare(token.text, left, self._unary())
        return left

    def _unary(self) -> Expression:
        negations = 0
        while self._take("not"):
            negations += 1
        expression = self._primary()
        for _ in range(negations):
            expression = Not(expression)
        return expression

    def _primary(self) -> Expression:
        if self._take("("):
            inner = self._either()
            self._expect(")")
            return inner
        constant = _constant(self._peek())
        if constant is not None:
            self._next += 1
            return constant
        if self._peek().kind != "word" or self._peek().text in COMPARISONS | {"and", "or"}:
            raise self._error()
        word = self._peek().text
        self._next += 1
        if "." in word:
            return self._call(word)
        return self._path(word)

    def _call(self, name: str) -> Expression:
        if name not in _FUNCTIONS:
            self._next -= 1
            raise not_implemented(name) if name.startswith(_UNSUPPORTED) else self._error()
        self._expect("(")
        arguments = [self._either()]
        while self._take(","):
            arguments.append(self._either())
        self._expect(")")
        return Call(name, tuple(arguments))

    def _path(self, first: str) -> Expression:
        segments = [first]
        while self._take("/"):
            token = self._peek()
            if token.kind != "word" or "." in token.text:
                raise self._error()
            self._next += 1
            if token.text in {"any", "all"} and self._take("("):
                return self._lambda(token.text, Path(tuple(segments)))
            segments.append(token.text)
        return Path(tuple(segments))

    def _lambda(self, quantifier: str, path: Path) -> Expression:
        if quantifier == "any" and self._take(")"):
            return Lambda("any", path, None, None)
        variable = self._peek()
        if variable.kind != "word":
            raise self._error()
        self._next += 1
        self._expect(":")
        body = self._either()
        self._expect(")")
        return Lambda("any" if quantifier == "any" else "all", path, variable.text, body)


def _constant(token: _Token) -> Constant | None:
    match token.kind:
        case "string":
            return Constant(token.text[1:-1].replace("''", "'"), "Edm.String")
        case "date":
            return Constant(datetime.fromisoformat(token.text), "Edm.DateTimeOffset")
        case "float":
            return Constant(float(token.text), "Edm.Double")
        case "integer":
            number = int(token.text)
            return Constant(number, "Edm.Int32" if abs(number) < 2**31 else "Edm.Int64")
    named: dict[str, Constant] = {
        "true": Constant(True, "Edm.Boolean"),
        "false": Constant(False, "Edm.Boolean"),
        "null": Constant(None, "Null"),
        "NaN": Constant(float("nan"), "Edm.Double"),
        "INF": Constant(float("inf"), "Edm.Double"),
    }
    return named.get(token.text) if token.kind == "word" else None
