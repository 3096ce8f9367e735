"""Nothing in the repository depends on the machine or the registry that it was made with."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

REPOSITORY = Path(__file__).parents[2]
HOME = re.compile(r"(?<![\w.~/-])/(?:home|root|Users)/\w")
REGISTRY = re.compile(r"://[^/\s'\"]*(?:pypi|pythonhosted|maven|npmjs|registry|mirror|artifactory)")
RECORDING_LOCKS = {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "package-lock.json"}
"""Lock files of tools that write down where each file was downloaded from."""


def tracked() -> list[Path]:
    """Every tracked file; the working tree's, so that a fault shows before it is committed."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a clone, so nothing is tracked; run: git clone, then make test")
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    paths = (REPOSITORY / name for name in done.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def configured_hosts() -> set[str]:
    """The hosts that pip is told to ask on this machine."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        check=False,
    )
    hosts = (urlsplit(address).hostname for address in re.findall(r"\w+://[^\s']+", done.stdout))
    return {host for host in hosts if host}


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(REPOSITORY)}:{number}: {line[:120]}"
        for path in tracked()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_folder_of_the_machine() -> None:
    machine = {REPOSITORY, Path.home(), Path(sys.prefix), Path(sys.base_prefix)}
    told = {folder for folder in machine if len(folder.parts) > 2 and "usr" not in folder.parts}
    here = (re.escape(str(folder)) + r"(?![\w.-])" for folder in told)
    assert lines_with(re.compile("|".join([HOME.pattern, *here]))) == []


def test_no_file_names_a_registry() -> None:
    hosts = map(re.escape, configured_hosts())
    assert lines_with(re.compile("|".join([REGISTRY.pattern, *hosts]))) == []


def test_locks_hold_versions_and_hashes_and_no_address() -> None:
    files = tracked()
    assert [path for path in files if path.name in RECORDING_LOCKS] == []
    locks = [path for path in files if path.parent == REPOSITORY / "requirements"]
    assert {path.name for path in locks} >= {"run.txt", "test.txt", "lowest.txt"}
    pinned = re.compile(r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==\S+( ; .+)? \\")
    for path in locks:
        entries = re.sub(r"^ *#.*$", "", path.read_text("utf-8"), flags=re.MULTILINE)
        for line in filter(str.strip, entries.splitlines()):
            hashed = re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line)
            assert hashed or pinned.fullmatch(line), f"{path.name}: {line}"


@pytest.mark.parametrize(
    "line",
    [
        "cache = /" + "home/someone/cache",
        "index-url = https:" + "//a.pypi.example/simple",
        "repository = https:" + "//repo.maven.example/x",
    ],
)
def test_the_patterns_find_what_they_are_for(line: str) -> None:
    assert HOME.search(line) or REGISTRY.search(line)
