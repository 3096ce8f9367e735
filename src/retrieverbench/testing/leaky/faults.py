"""Every fault of the leaky adapter, by name."""

from __future__ import annotations

from collections.abc import Mapping

from retrieverbench.testing.leaky import answering, conditions, searching
from retrieverbench.testing.leaky.fault import Fault

FAULTS: Mapping[str, Fault] = {
    fault.name: fault for fault in (*conditions.FAULTS, *searching.FAULTS, *answering.FAULTS)
}
"""Name → fault. Each kind of the tenant audit's specification is there at least once."""
