"""The nouns: frozen, plain, without behaviour beyond their own consistency."""

from retrieverbench.model.artifact import (
    SCHEMA,
    Artifact,
    BackendRecord,
    FailureKind,
    GoldenRecord,
    TargetResult,
)
from retrieverbench.model.audit import (
    SEVERITIES,
    Arm,
    LeakBound,
    LeakClass,
    Outcome,
    ProbeResult,
    Risk,
    Severity,
)
from retrieverbench.model.baseline import BASELINE_SCHEMA, Baseline, BaselineCase
from retrieverbench.model.corpus import Chunk, ChunkStatus, Corpus, make_uid
from retrieverbench.model.golden import CaseKind, GoldenCase, GoldenSet
from retrieverbench.model.leaks import LeakCheck, LeakFinding, Proof
from retrieverbench.model.listing import Listing
from retrieverbench.model.run import CaseResult, CaseStatus, Run, Target
from retrieverbench.model.scores import CaseValue, Mean, Scores, Slice
from retrieverbench.model.search import (
    MODES,
    Fidelity,
    FilterTime,
    Hit,
    Layout,
    Mode,
    Plan,
    Query,
    Response,
    Value,
)
from retrieverbench.model.tenant import (
    DEFAULT_TENANT_PATTERN,
    TenantId,
    parse_tenant,
)
from retrieverbench.model.timings import (
    Agreement,
    Noise,
    Percentile,
    Repeat,
    Round,
    Signal,
    Timings,
)
from retrieverbench.model.verdict import Rule, RuleKind, RuleResult, Verdict, Word

__all__ = [
    "BASELINE_SCHEMA",
    "DEFAULT_TENANT_PATTERN",
    "MODES",
    "SCHEMA",
    "SEVERITIES",
    "Agreement",
    "Arm",
    "Artifact",
    "BackendRecord",
    "Baseline",
    "BaselineCase",
    "CaseKind",
    "CaseResult",
    "CaseStatus",
    "CaseValue",
    "Chunk",
    "ChunkStatus",
    "Corpus",
    "FailureKind",
    "Fidelity",
    "FilterTime",
    "GoldenCase",
    "GoldenRecord",
    "GoldenSet",
    "Hit",
    "Layout",
    "LeakBound",
    "LeakCheck",
    "LeakClass",
    "LeakFinding",
    "Listing",
    "Mean",
    "Mode",
    "Noise",
    "Outcome",
    "Percentile",
    "Plan",
    "ProbeResult",
    "Proof",
    "Query",
    "Repeat",
    "Response",
    "Risk",
    "Round",
    "Rule",
    "RuleKind",
    "RuleResult",
    "Run",
    "Scores",
    "Severity",
    "Signal",
    "Slice",
    "Target",
    "TargetResult",
    "TenantId",
    "Timings",
    "Value",
    "Verdict",
    "Word",
    "make_uid",
    "parse_tenant",
]
