"""What the leak audit found, probe by probe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retrieverbench.model.leaks import LeakFinding
from retrieverbench.model.search import Mode, Plan

Outcome = Literal["pass", "fail", "inconclusive", "not applicable", "not probed"]
LeakClass = Literal["leak", "fail-open", "starvation", "interference", "side channel"]
Severity = Literal["critical", "high", "medium", "low", "info"]
Arm = Literal["guarded", "below the guard"]

SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")


@dataclass(frozen=True, slots=True)
class Risk:
    """A property that the target declares, and what was seen of it.

    `place` is where it is declared. `found` is False where the probe that looks for it saw
    nothing of it: then the declaration may be stale.
    """

    name: str
    place: str
    effect: str
    found: bool = True


@dataclass(frozen=True, slots=True)
class WrongLabel:
    """A hit whose own tenant label is not that of its owner by our record.

    Told, and never a judgement: a label may be made of the request, or never have been moved.
    """

    uid: str
    label: str
    owner: str


@dataclass(frozen=True, slots=True)
class FilterMode:
    """What small tenants found beside crowds, in one of the ways to filter that an adapter names.

    `name` is "" for the way that the target itself uses. `options` set it, by group; the target's
    own are those of the named mode whose settings it has, {} if it has those of none. `facts` are
    named as those of the probes that judge the same of the target alone (P08, P09, P34). `plan` is
    that of the question beside the largest crowd, None where the backend tells none. `note` says
    what could not be measured and why, "" if everything was.
    """

    name: str
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    facts: Mapping[str, int | float | str] = field(default_factory=dict)
    plan: Plan | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One probe of one target in one mode and arm.

    `mode` is None where a probe looks at the place and not at a search. `leak_class` and
    `severity` are the catalog's, or those of the gravest failure where its kind has others
    (missing own chunks: `starvation`, `high`); `leak` and `critical` with any finding. `trials`
    counts distinct (query, tenant, mode, path) that no probe before it had asked; `control`
    says what the positive control showed. `reason` is why it did not pass, "" if it did.
    `facts` are what was measured, such as the crowd size at which answers become short.
    `risks` are the declared properties that excuse what was seen, of severity medium or low,
    or set the threshold of a high one; what they excuse is no failure. None excuses a finding.
    `labels` are the hits whose tenant label disagrees with our record, each once. `limit` is
    what the probe does not look at though its title may promise it, "" if nothing. `tried` are the
    largest `k` and the numbers of `tenants` (or what stood for one) and `texts` that were asked.
    `filter_modes` are told and never judged, but for what is foreign.
    """

    probe: str
    title: str
    target: str
    mode: Mode | None
    arm: Arm
    outcome: Outcome
    leak_class: LeakClass
    severity: Severity
    reason: str = ""
    control: str = ""
    trials: int = 0
    requests: int | None = None
    findings: tuple[LeakFinding, ...] = ()
    facts: Mapping[str, int | float | str] = field(default_factory=dict)
    risks: tuple[Risk, ...] = ()
    seconds: float = 0.0
    labels: tuple[WrongLabel, ...] = ()
    limit: str = ""
    tried: Mapping[str, int] = field(default_factory=dict)
    filter_modes: tuple[FilterMode, ...] = ()


@dataclass(frozen=True, slots=True)
class Unchosen:
    """A probe that there is and that an audit was not told to ask, of any target."""

    probe: str
    title: str
    leak_class: LeakClass
    severity: Severity


@dataclass(frozen=True, slots=True)
class LeakBound:
    """How strong the clean result of one arm is.

    `upper_bound` is on the share of leaking answers among questions like the `trials` that
    were asked, with 95 % confidence; None unless every probe passed.
    """

    arm: Arm
    trials: int
    upper_bound: float | None
