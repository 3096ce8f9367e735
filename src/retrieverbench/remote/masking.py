"""Credentials kept out of texts, however a client, a server or a writer encoded them.

*Why not a library:* maskers of logs replace a value as it is; an `Authorization` header in a
proxy's error page shows it in base64, a JSON body escaped, an address percent-encoded.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby, takewhile
from operator import eq
from string import ascii_letters, digits
from urllib.parse import quote, quote_plus

HIDDEN = "***"
LEAST = 4
"""Characters that a credential must have: a shorter one is found in texts by chance."""

_SHORT_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
# Escaped once or several times over; bounded, so that no text takes long to search.
_ESCAPE = r"\\{1,8}"
_PERCENT = "%(?:25){0,3}"
_AND = "&(?:amp;){0,3}"
_BASE64 = frozenset(f"{ascii_letters}{digits}+/_-")
_REST = re.compile(r"[A-Za-z0-9+/_-]*(?:=|%3[dD]){0,2}")
_CUT = re.compile(r"['\"]?(?:…|\.\.\.|\Z)")

_Span = tuple[int, int]


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret in it replaced by ***.

    Found are a secret as it is; percent-encoded, JSON-, Python-, SQL- or HTML-escaped, also
    more than once; in hexadecimal; in base64, alone or as a part of `user:password`, where
    the whole word is replaced; and its first four or more characters where a text was cut.
    """
    spans = sorted({span for secret in secrets if secret for span in _spans(text, secret)})
    parts: list[str] = []
    end = 0
    for start, stop in spans:
        if start >= end:
            parts += [text[end:start], HIDDEN]
        end = max(end, stop)
    return "".join([*parts, text[end:]])


def _spans(text: str, secret: str) -> Iterator[_Span]:
    pattern, encoded, beginnings = _forms(secret)
    yield from (match.span(1) for match in pattern.finditer(text))
    for form in encoded:
        end = 0
        for match in form.finditer(text):
            if match.start() >= end:
                start, end = _whole_word(text, *match.span())
                yield start, end
    for form_cut in beginnings:
        yield from _cut_off(text, form_cut)


def _whole_word(text: str, start: int, end: int) -> _Span:
    """The whole word of base64 around a part of it."""
    while start and text[start - 1] in _BASE64:
        start -= 1
    rest = _REST.match(text, end)
    return start, rest.end() if rest else end


def _cut_off(text: str, form: str) -> Iterator[_Span]:
    """Where only the beginning of a form stands, and then the text ends or was cut."""
    start = text.find(form[:LEAST])
    while start >= 0:
        same = map(eq, form, text[start : start + len(form)])
        end = start + sum(takewhile(bool, same))
        if end - start < len(form) and _CUT.match(text, end):
            yield start, end
        start = text.find(form[:LEAST], start + 1)


@lru_cache(maxsize=256)
def _forms(secret: str) -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...], frozenset[str]]:
    """What finds a secret, what finds it in base64, and how texts cut in it may end."""
    plain = _pattern(secret)
    data = {secret.encode("utf-8", "surrogatepass")}
    if max(secret) <= "\xff":  # some clients encode the header of user and password so
        data.add(secret.encode("latin-1"))
    inner = {part for raw in data for part in _inner_base64(raw) if len(part) >= LEAST}
    hexadecimal = "|".join(f"(?i:{raw.hex()})" for raw in data if len(raw) >= LEAST)
    pattern = f"{plain}|{hexadecimal}" if hexadecimal else plain
    beginnings = {
        secret,
        quote(secret, safe="", errors="replace"),
        quote_plus(secret, errors="replace"),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        html.escape(secret),
        *inner,
    }
    # A match inside a lookahead takes no text: occurrences that overlap are all found.
    return (
        re.compile(f"(?=({pattern}))"),
        tuple(re.compile("".join(map(_in_base64, part))) for part in sorted(inner)),
        frozenset(beginnings),
    )


def _pattern(secret: str) -> str:
    """A pattern of every spelling of a text.

    Whatever `one_line` makes a blank of may be one, and at the edges it may be missing.
    """
    stretches = [(odd, "".join(group)) for odd, group in groupby(secret, _is_odd)]
    if len(stretches) == 1:
        return _spelled(secret)
    pattern = ""
    for place, (odd, stretch) in enumerate(stretches):
        if odd:
            least = 0 if place in {0, len(stretches) - 1} else 1
            spellings = "|".join(map(_spelled, sorted(set(stretch))))
            pattern += rf"(?:{spellings}|\s){{{least},{len(stretch)}}}"
        else:
            pattern += _spelled(stretch)
    return pattern


def _is_odd(character: str) -> bool:
    return character.isspace() or not character.isprintable()


def _spelled(text: str) -> str:
    return "".join(_repeated(c, len(list(group))) for c, group in groupby(text))


def _repeated(character: str, times: int) -> str:
    """A pattern of a character so many times; what may be doubled is counted as a whole."""
    if character.isascii() and character.isalnum():
        return character * times
    spellings = f"(?:{'|'.join(_spellings(character))}){{{times}}}"
    if character in "\\'\"":
        return rf"(?:{re.escape(character)}{{{times},{8 * times}}}|{spellings})"
    return spellings


def _spellings(character: str) -> Iterator[str]:
    """Patterns of one character in every encoding; longer ones before those they begin with."""
    code = ord(character)
    raw = character.encode("utf-8", "surrogatepass")
    units = character.encode("utf-16-be", "surrogatepass").hex()
    pairs = [units[start : start + 4] for start in range(0, len(units), 4)]
    name = html.escape(character)[1:]
    yield "(?i:" + "".join(rf"{_ESCAPE}u{pair}" for pair in pairs) + ")"
    yield rf"(?i:{_ESCAPE}U{code:08x})"
    yield "(?i:" + "".join(rf"{_ESCAPE}x{byte:02x}" for byte in raw) + ")"
    yield "(?i:" + "".join(f"{_PERCENT}{byte:02x}" for byte in raw) + ")"
    if code <= 0xFF:
        yield rf"(?i:{_ESCAPE}x{code:02x})"
        yield rf"(?i:{_PERCENT}{code:02x})"
    yield rf"(?i:{_AND}\#(?:0*{code}|x0*{code:x});)"
    if name:
        yield f"{_AND}{re.escape(name)}"
    if character in _SHORT_ESCAPES:
        yield rf"{_ESCAPE}{_SHORT_ESCAPES[character]}"
    if character == " ":
        yield r"\+"
    if character != "\\":
        yield rf"{_ESCAPE}{re.escape(character)}"
        yield re.escape(character)


def _inner_base64(raw: bytes) -> Iterator[str]:
    """The part of the base64 text that only `raw` decides, at each place in a group of three."""
    for before in range(3):
        encoded = b64encode(bytes(before) + raw).decode()
        yield encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]


def _in_base64(character: str) -> str:
    """A character of base64, also of the alphabet for addresses or percent-encoded there."""
    return {"+": "(?:[+-]|%2[bB])", "/": r"(?:\\{0,8}[/_]|%2[fF])"}.get(character, character)
