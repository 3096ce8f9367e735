"""How strong a clean result is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrieverbench.model import LeakBound, ProbeResult

CONFIDENCE = 0.95


def upper_bound(trials: int) -> float | None:
    """With that confidence, the most that the share of leaking answers can be.

    After `trials` independent questions without a finding: 1 - 0.05^(1/n), which is just below
    3/n (Hanley and Lippman-Hand, JAMA 1983). None without any trial.
    """
    return 1.0 - (1.0 - CONFIDENCE) ** (1.0 / trials) if trials > 0 else None


def bounds_of(probes: Sequence[ProbeResult]) -> Iterator[LeakBound]:
    """One per arm. Questions of probes that passed count; any other outcome leaves no bound."""
    for arm in dict.fromkeys(probe.arm for probe in probes):
        of_arm = [probe for probe in probes if probe.arm == arm]
        trials = sum(probe.trials for probe in of_arm if probe.outcome == "pass")
        is_clean = not any(probe.outcome in {"fail", "inconclusive"} for probe in of_arm)
        yield LeakBound(arm, trials, upper_bound(trials) if is_clean else None)
