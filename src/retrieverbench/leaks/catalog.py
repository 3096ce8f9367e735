"""Every probe of the audit, in the order of their numbers; ids are unique."""

from __future__ import annotations

from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.probes import magnets, requests, starvation

CATALOG: tuple[Probe, ...] = tuple(
    sorted(
        (
            *magnets.PROBES,
            *requests.PROBES,
            *starvation.PROBES,
        ),
        key=lambda probe: probe.id,
    )
)
