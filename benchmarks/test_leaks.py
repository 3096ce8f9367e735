"""What an audit of one target costs, in three modes: all probes, and the critical ones (`--fast`).

    python -m pytest benchmarks/test_leaks.py -s -k "fast and pgvector"

The command runs as a process of its own, with the engine that it starts. CPU seconds are those of
the command and of all processes that it has started and waited for. On a machine that does other
work, too, wall time says little.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("retrieverbench")
SETS = Path(__file__).parent
ENGINES = ("memory", "pgvector", "qdrant", "elasticsearch", "azure_search", "opensearch")
SUITE = """
golden = "{sets}/golden/demo.v1.jsonl"
corpus = "{sets}/corpora/demo.jsonl"
timeout = 20.0
embedding = {{ kind = "hashing" }}
[[targets]]
adapter = "{adapter}"
{engine}
"""


@pytest.mark.parametrize("adapter", ENGINES)
@pytest.mark.parametrize("options", [("--fast",), ()], ids=["fast", "full"])
def test_one_target(adapter: str, options: tuple[str, ...], tmp_path: Path) -> None:
    engine = "" if adapter == "memory" else 'engine = "embedded"'
    suite = tmp_path / "suite.toml"
    suite.write_text(SUITE.format(sets=SETS, adapter=adapter, engine=engine), encoding="utf-8")
    start = time.monotonic()
    with (tmp_path / "out.txt").open("wb") as out:
        command = [str(COMMAND), "leaks", str(suite), "--plain", *options]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=out)
        _pid, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall, busy = time.monotonic() - start, used.ru_utime + used.ru_stime
    load = os.getloadavg()[0]
    name = f"{adapter} {'fast' if options else 'full'}"
    sys.stdout.write(f"\n| {name} | {wall:.0f} | {busy:.0f} | {load:.1f} |\n")
    assert process.returncode == 0, (tmp_path / "out.txt").read_text(encoding="utf-8")
