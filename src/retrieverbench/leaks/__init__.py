"""What was seen of other tenants, judged by our own ledger."""

from retrieverbench.leaks.audit import AuditPlan, UnderWay, audit_target, not_asked, unchosen
from retrieverbench.leaks.bound import bounds_of
from retrieverbench.leaks.canary import (
    ASKERS_PER_CANARY,
    Canary,
    CanaryResult,
    make_canaries,
    probe_canaries,
)
from retrieverbench.leaks.catalog import CATALOG
from retrieverbench.leaks.columns import MAX_KEPT_FINDINGS, TimedCounts, leak_columns
from retrieverbench.leaks.control import (
    CONTROL_CASES,
    ControlResult,
    ask_control,
    control_cases,
    control_chunks,
    control_tenant,
)
from retrieverbench.leaks.crowds import ORDERS
from retrieverbench.leaks.declared import Declared
from retrieverbench.leaks.draw import Draw, new_seed
from retrieverbench.leaks.exported import find_questions
from retrieverbench.leaks.ledger import (
    CorpusLedger,
    Ledger,
    check_result,
    foreign_hits,
    foreign_texts,
    make_ledger,
)
from retrieverbench.leaks.places import AS_IS, Variant
from retrieverbench.leaks.plans import plan_of_judged
from retrieverbench.leaks.probe import ARMS, Probe
from retrieverbench.leaks.record import RequestLog
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.texts import TextResult, ask_texts, questions_for_texts
from retrieverbench.leaks.totals import (
    ToldTotals,
    TotalResult,
    ask_total,
    ask_unfiltered_total,
    total_question,
)
from retrieverbench.leaks.world import DIMENSION, World, make_world

__all__ = [
    "ARMS",
    "ASKERS_PER_CANARY",
    "AS_IS",
    "CATALOG",
    "CONTROL_CASES",
    "DIMENSION",
    "MAX_KEPT_FINDINGS",
    "ORDERS",
    "AuditPlan",
    "Canary",
    "CanaryResult",
    "ControlResult",
    "CorpusLedger",
    "Declared",
    "Draw",
    "Ledger",
    "Probe",
    "RequestLog",
    "Scene",
    "TextResult",
    "TimedCounts",
    "ToldTotals",
    "TotalResult",
    "UnderWay",
    "Variant",
    "World",
    "ask_control",
    "ask_texts",
    "ask_total",
    "ask_unfiltered_total",
    "audit_target",
    "bounds_of",
    "check_result",
    "control_cases",
    "control_chunks",
    "control_tenant",
    "find_questions",
    "foreign_hits",
    "foreign_texts",
    "leak_columns",
    "make_canaries",
    "make_ledger",
    "make_world",
    "new_seed",
    "not_asked",
    "plan_of_judged",
    "probe_canaries",
    "questions_for_texts",
    "total_question",
    "unchosen",
]
