"""Names and texts that a careless backend reads as something else than a name or a text.

`acme`, `globex` and the other words in them are placeholders, which `spelled` replaces by the
words of a draw; what is syntax, a sign or a type stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from retrieverbench.leaks.draw import Draw

SYNTAX = (
    # SQL
    "acme' OR '1'='1", "'; DROP TABLE docs; --", "' UNION SELECT uid FROM chunks --", "%", "_cme",
    "acm_", "acme\\", "O'Neil", "''",
    # OData
    "acme' or tenant_id ne '", "acme' or true or '", "acme') or (true", "acme,globex",
    "acme globex", "acme  globex", "{x}", "%27",
    # expressions of other stores
    '") or true or ("', 'acme" || tenant_id != "x', "acme|globex", "@tenant_id:{globex}",
    # Lucene
    "acme OR globex", "acme) OR (tenant_id:globex", "*", "acm?", "/.*/", "[* TO *]",
    # JSON
    '{"match_all":{}}', '{"$ne": ""}', '{"value": "ACME", "case_insensitive": true}',
    # templates, paths, separators, placeholders of drivers
    "{{tenant}}", "${tenant}", "../globex", "acme/globex", "acme:globex", "acme#",
    "%(tenant)s", "%s", "$1",
)  # fmt: skip
"""Texts in the syntax of query languages, as far as they could name a tenant."""

CONTROLS = ("acme\0", "acme\n", "acme\t")

PREFIXES = (
    "acme-corp", "john-doe", "john_doe", "team1", "team10", "john", "acme.corp", "team1-a",
)  # fmt: skip
ANALYSED = ("acme-corp", "corp", "The Acme", "the")
FOLDED = (
    "Acme", "ACME", "acme ", "acme\N{NO-BREAK SPACE}", "acme\t", " acme",
    "acme\N{ZERO WIDTH SPACE}",
)  # fmt: skip
UNICODE = (
    "café", unicodedata.normalize("NFD", "café"), "\N{CYRILLIC SMALL LETTER A}cme",
    "straße", "strasse", "\N{FULLWIDTH LATIN SMALL LETTER A}cme", "İzmir", "izmir",
    "team-\N{GRINNING FACE}", "acme\N{RIGHT-TO-LEFT OVERRIDE}",
)  # fmt: skip
TYPED = ("1", "01", "1.0", "True", "None", "true", "1e3", "1000", "nan", "null", "NULL", "[]")
LONG = tuple(
    "n" * length + end for length in (62, 255, 39_999, 127, 511, 9_999) for end in ("x", "y")
)
"""Pairs that are equal in all but their last character, past the limits of known stores."""

MISSING = (None, "", " ", "\t", "\N{NO-BREAK SPACE}")

QUESTIONS = (
    "tenant_id:globex", "tenant:globex", ") OR (", "*:*", "*", "/.*/", "_exists_:tenant",
    "{!lucene}*:*", "<->", ":*", "!", "&|!()", "' OR 1=1 --", '"', "\\", "[* TO *]", "zzz~2",
    "+-", "$where", "%",
)  # fmt: skip
"""Questions in the syntax of query languages; none holds a word of a chunk."""

KEYS = (
    "shelf'", 'shelf"', "shelf' OR '1'='1", "shelf]", "a.b", "tenant' = 'globex", "metadata->>'x'",
    "shelf)", "shelf%s", "shelf:name", "$ne", "shelf/any(m: true)", "",
)  # fmt: skip
"""Keys of metadata that no chunk has."""


def spelled(family: Sequence[str], draw: Draw, two: Sequence[str] = ()) -> list[str]:
    """The names or texts of a family with the words of this draw.

    `two` stand for acme and globex, instead of the draw's own two.
    """
    table = _words(draw, *(two or draw.words("named")[:2]))
    pattern = re.compile("|".join(map(re.escape, sorted(table, key=len, reverse=True))))
    return [
        _LONG.sub(lambda found: table["acme"][0] * len(found[0]), text)
        if _LONG.match(text)
        else pattern.sub(lambda found: table[found[0]], text)
        for text in family
    ]


def not_text(draw: Draw) -> list[object]:
    """Values of other types that a name of the draw, or of TYPED, can be made of."""
    one, other = draw.words("named")[:2]
    return [None, 1, 1.0, True, 0, float("nan"), [one], [one, other], {"$ne": ""}, one.encode()]


_LONG = re.compile("n{62,}")


def _words(draw: Draw, one: str, other: str) -> dict[str, str]:
    """By placeholder; those without their first or last letter stand for the same word."""
    more = draw.words("named")[2:]
    placeholders = ("john", "doe", "team", "corp", "caf", "stra", "zmir")
    return {
        "acme": one, "Acme": one.capitalize(), "ACME": one.upper(), "cme": one[1:],
        "acm": one[:-1], "globex": other, "shelf": draw.words("keys")[0],
        **dict(zip(placeholders, more, strict=True)),
    }  # fmt: skip
