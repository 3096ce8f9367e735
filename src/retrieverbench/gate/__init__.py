"""Numbers, findings and rules become one verdict."""

from retrieverbench.gate.compare import differences
from retrieverbench.gate.judge import judge
from retrieverbench.gate.leaking import leak_of
from retrieverbench.gate.rules import rule_faults

__all__ = ["differences", "judge", "leak_of", "rule_faults"]
