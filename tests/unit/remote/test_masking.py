"""Secrets are hidden in whatever way a text shows them."""

from __future__ import annotations

import html
import json
import textwrap
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieverbench.remote import LEAST, hide_secrets, one_line


def _lower_percent(secret: str) -> str:
    return "".join(f"%{byte:02x}" for byte in secret.encode())


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda s: quote(s, safe=""),
    "percent, path": quote,
    "percent, twice": lambda s: quote(quote(s, safe=""), safe=""),
    "percent, lower case": lambda s: quote(s, safe="").replace("%2F", "%2f").replace("%3A", "%3a"),
    "plus": quote_plus,
    "JSON": lambda s: json.dumps(s)[1:-1],
    "JSON, upper case": lambda s: json.dumps(s)[1:-1].replace("\\u00e", "\\u00E"),
    "JSON, not ASCII": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "JSON, twice": lambda s: json.dumps(json.dumps(s)[1:-1])[1:-1],
    "JSON, slashes": lambda s: json.dumps(s)[1:-1].replace("/", "\\/"),
    "repr": lambda s: repr(s)[1:-1],
    "repr of bytes": lambda s: repr(s.encode())[2:-1],
    "ascii": lambda s: ascii(s)[1:-1],
    "repr of repr": lambda s: repr(repr(s)[1:-1])[1:-1],
    "SQL": lambda s: s.replace("'", "''"),
    "DSN": lambda s: s.replace("\\", "\\\\").replace("'", "\\'"),
    "HTML": html.escape,
    "HTML, numbers": lambda s: "".join(c if c.isalnum() else f"&#{ord(c)};" for c in s),
    "HTML, twice": lambda s: html.escape(html.escape(s)),
    "hexadecimal": lambda s: s.encode().hex().upper(),
    "base64": lambda s: b64encode(s.encode()).decode(),
    "base64, no padding": lambda s: urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base64, percent": lambda s: quote(b64encode(s.encode()).decode(), safe=""),
    "Basic of one letter": lambda s: b64encode(f"u:{s}".encode()).decode(),
    "Basic of two": lambda s: b64encode(f"me:{s}".encode()).decode(),
    "Basic of three": lambda s: urlsafe_b64encode(f"abc:{s}".encode()).decode(),
    "Basic in Latin-1": lambda s: b64encode(f"u:{s}".encode("latin-1", "ignore")).decode(),
    "one line": one_line,
}
secret_texts = st.text(
    st.characters(codec="utf-8")
    | st.sampled_from(list("aZ09 +/%&<>\"'\\@:=\u00e9\u00df\U0001f511")),
    min_size=LEAST,
    max_size=24,
).filter(lambda s: sum(c.isprintable() and not c.isspace() for c in s) >= LEAST)


@settings(max_examples=150, deadline=None)
@given(secret_texts, st.sampled_from(sorted(ENCODINGS)))
def test_no_encoding_of_a_secret_is_left(secret: str, name: str) -> None:
    if "Latin-1" in name and max(secret) > "\xff":
        return
    shown = ENCODINGS[name](secret)
    hidden = hide_secrets(f"\u00ab{shown}\u00bb", [secret])
    assert hidden.strip("\u00ab\u00bb").strip() == "***"


@pytest.mark.parametrize("name", sorted(ENCODINGS))
def test_every_encoding_of_a_hard_one(name: str) -> None:
    secret = "p@s\"s'/w\\\u00f6rd <&>+%41"
    shown = ENCODINGS[name](secret)
    assert hide_secrets(f"tried ({shown}) at host", [secret]) == "tried (***) at host"


def test_secrets_that_hold_or_overlap_each_other() -> None:
    secrets = ["hunter", "hunter2", "", "r2-d2"]
    assert hide_secrets("a hunter2 b hunter c hunter2-d2 d", secrets) == "a *** b *** c *** d"
    assert hide_secrets("key aaaaaa.", ["aaaa"]) == "key ***."


@pytest.mark.parametrize("end", ["", "\u2026", "...", "\u2026'", "'", "\u2026 (status 403)"])
@pytest.mark.parametrize("name", ["plain", "percent", "plus", "JSON", "repr", "HTML", "base64"])
def test_the_beginning_of_one_that_was_cut_off(name: str, end: str) -> None:
    secret = "correct horse 'battery'"
    shown = ENCODINGS[name](secret)
    for length in range(LEAST, len(shown)):
        assert hide_secrets(f"with {shown[:length]}{end}", [secret]).startswith("with ***"), length
    assert hide_secrets("with corr here", [secret]) == "with corr here"


WRONG = "Tr0ub4dor&3/x\u00e9\u00c0\u20ac+"


@pytest.mark.parametrize(
    "shown",
    [
        WRONG.encode().decode("latin-1"),
        WRONG.encode().decode("cp1252", "replace"),
        one_line(WRONG.encode().decode("latin-1")),
        WRONG.encode("ascii", "replace").decode(),
        WRONG.encode("ascii", "ignore").decode(),
        WRONG.encode().decode("ascii", "replace"),
        WRONG.upper(),
        WRONG.lower(),
        f"{WRONG[:7]}\n  {WRONG[7:]}",
        f"{WRONG[:7]} {WRONG[7:]}",
        WRONG.encode().hex(":"),
        WRONG.encode().hex(" ").upper(),
        "\n".join(textwrap.wrap(b64encode(f"user:{WRONG}".encode()).decode(), 8)),
        "\\r\\n".join(textwrap.wrap(b64encode(WRONG.encode()).decode(), 16)),
    ],
)
def test_spoiled_on_its_way(shown: str) -> None:
    assert hide_secrets(f"tried ({shown}) at host", [WRONG]) == "tried (***) at host"


@pytest.mark.parametrize(
    "shown",
    [
        "\u2026{tail}", "...{tail}", "[...]{tail}", "<...> {half}", "{head} [truncated]",
        "{head}<...>",
        "{head} (12 more)", "{head}..", "{half} and so on", "{tail_half} was tried", "{head}(cut)",
    ],
)  # fmt: skip
def test_pieces_around_a_cut_and_halves_anywhere(shown: str) -> None:
    parts = {"head": WRONG[:5], "tail": WRONG[-5:], "half": WRONG[:9], "tail_half": WRONG[-9:]}
    found = hide_secrets(f"with {shown.format(**parts)}", [WRONG])
    assert "***" in found
    assert not any(part in found for part in parts.values())


def test_a_hostile_text_takes_no_long_time() -> None:
    """Nothing in the patterns can match one stretch of a text in many ways."""
    secrets = ["abcd" + "\u00c0" * 40 + "Z", "\\n" * 40 + "Z", " ".join("abcdefgh" * 4)]
    for text in ("abcd" + "\u00c3 " * 200, "\\n" * 400, "a " * 400, "abcd" + "?" * 500):
        assert "\0" not in hide_secrets(text, secrets)


def test_other_words_stay() -> None:
    text = "index 'cGFz' on http://h:1/a+b%20c: no such tenant 'caf\u00e9' \u2026"
    assert hide_secrets(text, ["hunter2", "p@ss w\u00f6rd", "a\ud800bcd", "\n\n\n\n"]) == text
    assert hide_secrets("key a\ud800bcd", ["a\ud800bcd"]) == "key ***"
    assert hide_secrets("xay", ["a"]) == "x***y"
