"""Every probe of the audit, in the order of their numbers; ids are unique."""

from __future__ import annotations

from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.probes import (
    credentials,
    everyone,
    filter_modes,
    filters,
    freshness,
    interference,
    magnets,
    names,
    owners,
    requests,
    starvation,
    state,
    surroundings,
    telling,
    unusual,
    words,
)

_FAMILIES = (
    credentials.PROBES,
    everyone.PROBES,
    filter_modes.PROBES,
    filters.PROBES,
    freshness.PROBES,
    interference.PROBES,
    magnets.PROBES,
    names.PROBES,
    owners.PROBES,
    requests.PROBES,
    starvation.PROBES,
    state.PROBES,
    surroundings.PROBES,
    telling.PROBES,
    unusual.PROBES,
    words.PROBES,
)

CATALOG: tuple[Probe, ...] = tuple(
    sorted((probe for family in _FAMILIES for probe in family), key=lambda probe: probe.id)
)
