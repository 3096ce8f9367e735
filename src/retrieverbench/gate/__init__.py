"""Numbers, findings and rules become one verdict."""

from retrieverbench.gate.auditing import alike, fails_audit, judge_audit, names_of
from retrieverbench.gate.compare import CHANGES, differences
from retrieverbench.gate.evaluate import against_mean
from retrieverbench.gate.failures import unmeasured
from retrieverbench.gate.judge import conclude, crashed, evaluate_all, judge
from retrieverbench.gate.leaking import finding_text, leak_of
from retrieverbench.gate.rules import reach_faults, rule_faults
from retrieverbench.gate.vanished import VANISHED, WITH_BASELINE, comparing, is_left_out

__all__ = [
    "CHANGES",
    "VANISHED",
    "WITH_BASELINE",
    "against_mean",
    "alike",
    "comparing",
    "conclude",
    "crashed",
    "differences",
    "evaluate_all",
    "fails_audit",
    "finding_text",
    "is_left_out",
    "judge",
    "judge_audit",
    "leak_of",
    "names_of",
    "reach_faults",
    "rule_faults",
    "unmeasured",
]
