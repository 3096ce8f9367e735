"""The page on testing one's own retriever is executed, and its retriever made to leak."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "test-your-retriever.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
(EXAMPLE,) = (body for word, body in BLOCKS if word == "python")
(SAID,) = (body for word, body in BLOCKS if word == "text")
COMMAND = "python -m pytest -q test_tenants.py"


def run_example(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_tenants.py").write_text(text, encoding="utf-8")
    words = [sys.executable, *COMMAND.split()[1:], "-p", "no:cacheprovider"]
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )


def test_the_example_passes_and_without_a_tenant_fails_as_printed(tmp_path: Path) -> None:
    assert any(COMMAND in body for word, body in BLOCKS if word == "sh")
    done = run_example(tmp_path, EXAMPLE)
    assert done.returncode == 0, done.stdout + done.stderr
    leaky = EXAMPLE.replace(' if doc["tenant"] == tenant', "")
    assert leaky != EXAMPLE
    done = run_example(tmp_path, leaky)
    assert done.returncode == 1
    assert SAID.strip() in done.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/write-an-adapter.md"])
def test_other_pages_lead_to_it(page: str) -> None:
    assert "test-your-retriever.md)" in (ROOT / page).read_text(encoding="utf-8")
