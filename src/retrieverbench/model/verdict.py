"""What the gate says, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retrieverbench.model.audit import Severity

RuleKind = Literal["minimum", "maximum", "baseline", "tolerance", "counter", "must_pass"]
Word = Literal["pass", "fail", "inconclusive", "not measured", "leak", "refused", "interrupted"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a suite's `[[rules]]`.

    `targets` are labels or names of targets; empty means all. `slice` is e.g.
    {"tenant": "acme"}. `line` is the rule's line in the suite, for messages.
    """

    kind: RuleKind
    name: str
    metric: str | None = None
    counter: str | None = None
    value: float | None = None
    tolerance: float | None = None
    targets: tuple[str, ...] = ()
    slice: Mapping[str, str] = field(default_factory=dict)
    because: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule on one target. `limit` is the number `observed` was compared with.

    `implied` rules stand in no suite; they are always evaluated. `line` is the rule's line in
    the suite, 0 for those. `details` say what else is to be known of it: the cases that made it
    fail, and what differs from the baseline because it was declared.
    """

    rule: str
    kind: str
    target: str
    word: Word
    reason: str
    metric: str | None = None
    counter: str | None = None
    observed: float | None = None
    limit: float | None = None
    baseline: float | None = None
    n: int | None = None
    implied: bool = False
    line: int = 0
    details: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Reason and details in one line."""
        return "; ".join(filter(None, (self.reason, *self.details)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word, one exit code (0 to 5, or 130) and every reason, the winner first.

    `kinds` are all words that occurred beside `pass`, each once; each reason begins with
    its own. `excused` says why something needs no conclusion: by the id of a probe, or under
    `leaks` for the leak columns of a run. `fail_on` is the least severity of a failed probe that
    fails an audit; None for a run.
    """

    word: Word
    exit_code: int
    reasons: tuple[str, ...]
    rules: tuple[RuleResult, ...]
    kinds: tuple[Word, ...] = ()
    excused: Mapping[str, str] = field(default_factory=dict)
    fail_on: Severity | None = None
