"""What is known of one suite entry while the job goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrieverbench.adapter import Description
from retrieverbench.errors import BackendError
from retrieverbench.leaks import (
    CanaryResult,
    ControlResult,
    TextResult,
    ToldTotals,
    TotalResult,
)
from retrieverbench.load import TimedResult
from retrieverbench.model import Chunk, LeakFinding, Mode, Plan, Query, Run, Target
from retrieverbench.run import LoadedAdapter, Opened, Place, TargetEntry


@dataclass(slots=True)
class EntryState:
    """One entry: its line in the suite, what was opened, what each of its modes gave so far.

    `failure` is why it could not be measured; nothing is asked of it after that.
    `unmeasured` says the same of single modes, `unanswered` of those in which every question
    of the quality pass failed: leaks that they showed count all the same. `is_gone` when its
    adapter can be asked no more: what was measured before stays.
    """

    entry: TargetEntry
    line: int
    loaded: LoadedAdapter | None = None
    failure: BackendError | None = None
    unmeasured: dict[Mode, BackendError] = field(default_factory=dict)
    unanswered: dict[Mode, BackendError] = field(default_factory=dict)
    is_gone: bool = False
    opened: Opened | None = None
    place: Place | None = None
    plans: dict[Mode, Plan] = field(default_factory=dict)
    after: Description | None = None
    queries: dict[Mode, list[Query]] = field(default_factory=dict)
    runs: dict[Mode, Run] = field(default_factory=dict)
    findings: dict[Mode, list[LeakFinding]] = field(default_factory=dict)
    timed: dict[Mode, TimedResult] = field(default_factory=dict)
    texts: dict[Mode, TextResult] = field(default_factory=dict)
    canaries: dict[Mode, CanaryResult] = field(default_factory=dict)
    control: dict[Mode, ControlResult] = field(default_factory=dict)
    canary_chunks: Sequence[Chunk] = ()
    totals: dict[Mode, TotalResult] = field(default_factory=dict)
    told_totals: dict[Mode, ToldTotals] = field(default_factory=dict)
    probes_stopped: str | None = None
    late_failure: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that can be measured."""
        return tuple(mode for mode in self.entry.modes if mode not in self.unmeasured)

    @property
    def usable(self) -> Place | None:
        """The open place, unless something failed."""
        return None if self.failure or self.is_gone else self.place

    def target(self, mode: Mode) -> Target:
        """The Target of one mode."""
        return next(target for target in self.entry.targets() if target.mode == mode)
