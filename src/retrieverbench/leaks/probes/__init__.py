"""The catalog of probes, in the order of their numbers."""

from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.probes import magnets

CATALOG: tuple[Probe, ...] = tuple(sorted((*magnets.PROBES,), key=lambda probe: probe.id))
"""Every probe; ids are unique."""

__all__ = ["CATALOG"]
