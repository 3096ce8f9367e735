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
_DOTS = r"(?:…|\.{2,})"
_WORDS = r"(?:trunc|abbrev|omit|snip|cut|more|chars|bytes|len)"
_CUT = re.compile(
    rf"['\"]?(?:{_DOTS}|\Z|\s?[\[(<{{](?:{_DOTS}|[^\])>}}]{{0,30}}?{_WORDS}))", re.IGNORECASE
)
# Of a text that is read backwards, before which its beginning was cut off.
_CUT_BEFORE = re.compile(r"['\"]?[\])>}]?(?:…|\.{2,})")
_LONG = 8
"""From so many characters on a secret is also found in other case, broken and in part."""
_BREAK = r"\s{0,3}"
"""Where a writer broke a line, or made blanks of it; bounded, as escapes are."""
_BASE64_BREAK = r"(?:\s|\\[rn]){0,4}"

_Span = tuple[int, int]


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret in it replaced by ***.

    Found are a secret as it is; percent-encoded, JSON-, Python-, SQL- or HTML-escaped, also
    more than once; in hexadecimal; in base64, alone or as a part of `user:password`, where
    the whole word is replaced; with characters that were read or written in a wrong encoding,
    or could not be; and its first or last four or more characters where a text was cut, as
    three dots or words such as "truncated" tell. One of eight characters or more also in other
    case, broken over lines, and its first or last half wherever it stands.

    Not found are other encodings (base32, octal, quoted-printable), a secret encoded twice in
    base64, one letter by letter or backwards, and pieces of less than those lengths.
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
    backwards = text[::-1]
    for form_cut in beginnings:
        yield from _cut_off(text, form_cut, _CUT)
        for start, end in _cut_off(backwards, form_cut[::-1], _CUT_BEFORE):
            yield len(text) - end, len(text) - start


def _whole_word(text: str, start: int, end: int) -> _Span:
    """The whole word of base64 around a part of it."""
    while start and text[start - 1] in _BASE64:
        start -= 1
    rest = _REST.match(text, end)
    return start, rest.end() if rest else end


def _cut_off(text: str, form: str, cut: re.Pattern[str]) -> Iterator[_Span]:
    """Where only the beginning of a form stands: before a cut, or if it is half of a long one."""
    enough = max(_LONG, (len(form) + 1) // 2)
    start = text.find(form[:LEAST])
    while start >= 0:
        same = map(eq, form, text[start : start + len(form)])
        end = start + sum(takewhile(bool, same))
        found = end - start
        if found < len(form) and (found >= enough or cut.match(text, end)):
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
    hexadecimal = "|".join(
        f"(?i:{'[ :]?'.join(f'{byte:02x}' for byte in raw)})" for raw in data if len(raw) >= LEAST
    )
    if not secret.isascii() and _is_enough(secret):
        plain += f"|{_lossy(secret)}"
    pattern = f"{plain}|{hexadecimal}" if hexadecimal else plain
    beginnings = {
        secret,
        quote(secret, safe="", errors="replace"),
        quote_plus(secret, errors="replace"),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        html.escape(secret),
        *(raw.hex() for raw in data),
        *(raw.hex().upper() for raw in data),
        *inner,
    }
    # A match inside a lookahead takes no text: occurrences that overlap are all found.
    return (
        re.compile(f"(?=({pattern}))"),
        tuple(re.compile(_BASE64_BREAK.join(map(_in_base64, part))) for part in sorted(inner)),
        frozenset(beginnings),
    )


def _pattern(secret: str) -> str:
    """A pattern of every spelling of a text.

    Whatever `one_line` makes a blank of may be one, and at the edges it may be missing.
    """
    stretches = [(odd, "".join(group)) for odd, group in groupby(secret, _is_odd)]
    between = _BREAK if len(secret) >= _LONG else ""
    if len(stretches) == 1:
        pattern = _spelled(secret, between)
        return f"(?i:{pattern})" if between else pattern
    pattern = ""
    for place, (odd, stretch) in enumerate(stretches):
        if odd:
            least = 0 if place in {0, len(stretches) - 1} else 1
            spellings = "|".join(_spelled(c, "") for c in sorted(set(stretch)))
            pattern += rf"(?:{spellings}|\s){{{least},{len(stretch)}}}"
        else:
            pattern += _spelled(stretch, between)
    return f"(?i:{pattern})" if between else pattern


def _lossy(secret: str) -> str:
    """A pattern of a text whose characters beyond ASCII could not be written or read.

    One stretch of them is one count, so that there is one way to match it.
    """
    pattern = ""
    for lost, group in groupby(secret, lambda c: not c.isascii() or c == "?"):
        stretch = "".join(group)
        least, most = stretch.count("?"), len(stretch.encode("utf-8", "surrogatepass"))
        pattern += f"[?\ufffd]{{{least},{most}}}" if lost else re.escape(stretch)
    return pattern


def _is_enough(text: str) -> bool:
    """Whether letters and digits of ASCII alone are enough to be no chance."""
    return sum(character.isascii() and character.isalnum() for character in text) >= LEAST


def _is_odd(character: str) -> bool:
    return character.isspace() or not character.isprintable()


def _spelled(text: str, between: str) -> str:
    return between.join(_repeated(c, len(list(group)), between) for c, group in groupby(text))


def _repeated(character: str, times: int, between: str) -> str:
    """A pattern of a character so many times; what may be doubled is counted as a whole."""
    if character.isascii() and character.isalnum():
        return between.join(character * times)
    found = list(_spellings(character))
    if not character.isascii():
        found += _wrongly_read(character)
    one = f"(?:{'|'.join(found)})"
    spellings = one + rf"(?:{between}{one}){{{times - 1}}}" if times > 1 else one
    if character in "\\'\"":
        return rf"(?:{re.escape(character)}{{{times},{8 * times}}}|{spellings})"
    return spellings


def _wrongly_read(character: str) -> Iterator[str]:
    """Patterns of a character that was read in an encoding that is not its own."""
    raw = character.encode("utf-8", "surrogatepass")
    for encoding in ("latin-1", "cp1252"):
        yield "".join(
            re.escape(c) if c.isprintable() and not c.isspace() else rf"(?:{re.escape(c)}|\s)?+"
            for c in raw.decode(encoding, "replace")
        )


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
