"""What is said of places that nobody could look for."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from retrieverbench.cli.leftovers import leftovers

SUITE = """
golden = "golden.jsonl"
corpus = "corpus.jsonl"
[[targets]]
adapter = "pgvector"
"""


def test_nothing_is_said_of_a_server_that_could_not_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # what others left is not looked for
    suite = tmp_path / "suite.toml"
    suite.write_text(SUITE, encoding="utf-8")
    assert CliRunner().invoke(leftovers, [str(suite)]).output == "nothing is left\n"
    suite.write_text(f'{SUITE}endpoint_env = "IS_NOT_SET"\n', encoding="utf-8")
    done = CliRunner().invoke(leftovers, [str(suite)], standalone_mode=False)
    assert done.return_value == 3
    assert "nothing is left" not in done.output
    assert "IS_NOT_SET is not set" in done.output
