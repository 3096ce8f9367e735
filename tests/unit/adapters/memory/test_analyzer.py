"""Terms are Lucene's."""

from __future__ import annotations

import pytest

from retrieverbench_adapters.memory.analyzer import Analyzer


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The company's refunds aren't possible", ["compani", "refund", "aren't", "possibl"]),
        ("James\u2019s O'Neil DOG'S", ["jame", "o'neil", "dog"]),
        (
            "technology biology embedded trekking us",
            ["technolog", "biologi", "embed", "trek", "us"],
        ),
        ("v2.0.1-rc1 1,000.5 foo_bar a:b", ["v2.0.1", "rc1", "1,000.5", "foo_bar", "a:b"]),
        ("U.S.A. C++ node.js x@y.com", ["u.s.a", "c", "node.j", "x", "y.com"]),
        ("漢字かなカナ ﾊﾝｶｸ", ["漢", "字", "か", "な", "カナ", "ﾊﾝｶｸ"]),
        ("ΣΑΣ İx", ["\u03c3\u03b1\u03c3", "ix"]),
        ("สวัสดี ครับ", ["สวัสดี", "ครับ"]),
        ("🇩🇪🇫🇷 👍🏽★", ["🇩🇪", "🇫🇷", "👍🏽", "★"]),
        ("z" * 256, ["z" * 255, "z"]),
    ],
)
def test_the_english_analyzer_makes_lucenes_terms(text: str, terms: list[str]) -> None:
    """Each expected list is the output of Lucene 10.5's EnglishAnalyzer."""
    assert Analyzer("english").terms(text) == terms


def test_the_standard_analyzer_neither_stops_nor_stems() -> None:
    assert Analyzer("standard").terms("The dogs' JAMES's") == ["the", "dogs", "james's"]
