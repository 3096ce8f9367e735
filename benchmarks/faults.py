"""A table of faults: each fault of a real adapter, and the probes of the audit that found it.

PYTHONPATH=tests/support python benchmarks/faults.py >> results/faults.md
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from bench_support import Bench, write_example
from fault_catalog import FAULTS, Server, found_by, server_of, small_crowds
from retrieverbench.run import Engines

PROBES = sorted({fault.probe for faults in FAULTS.values() for fault in faults})


def table(server: Server) -> None:
    """A line for each fault of one adapter."""
    with tempfile.TemporaryDirectory() as folder, small_crowds():
        bench = Bench(write_example(Path(folder)))
        for fault in FAULTS[server.name]:
            found = found_by(bench, server, fault, PROBES)
            by = fault.probe if fault.probe in found else "**missed**"
            others = ", ".join(probe for probe in found if probe != fault.probe) or "-"
            cells = (server.name, fault.layout, fault.mode, fault.told, by, others)
            print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    print("| adapter | layout | mode | fault | found by | and by |\n|---|---|---|---|---|---|")
    # The command wants the main thread, for its signals; the engine has another one.
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Engines()) as engines,
    ):
        for name in sys.argv[1:] or FAULTS:
            table(portal.call(server_of, name, engines))


if __name__ == "__main__":
    main()
