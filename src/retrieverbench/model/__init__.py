"""The nouns: frozen, plain, without behaviour beyond their own consistency.

The module of a noun is loaded when the noun is first asked for: the classes take most of the
time of a start, and scoring needs few of them. Checkers of types read the imports below; at run
time `__getattr__` does their work.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from retrieverbench.model.artifact import (
        SCHEMA,
        Artifact,
        BackendRecord,
        CommandLine,
        FailureKind,
        GoldenRecord,
        TargetResult,
    )
    from retrieverbench.model.audit import (
        SEVERITIES,
        Arm,
        FilterMode,
        LeakBound,
        LeakClass,
        Outcome,
        ProbeResult,
        Risk,
        Severity,
        Unchosen,
        WrongLabel,
    )
    from retrieverbench.model.baseline import BASELINE_SCHEMA, Baseline, BaselineCase, baseline_file
    from retrieverbench.model.corpus import Chunk, ChunkStatus, Corpus, make_uid
    from retrieverbench.model.golden import CaseKind, GoldenCase, GoldenSet
    from retrieverbench.model.leaks import NOT_IN_CORPUS, LeakCheck, LeakFinding, Proof, What
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
    "NOT_IN_CORPUS",
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
    "CommandLine",
    "Corpus",
    "FailureKind",
    "Fidelity",
    "FilterMode",
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
    "Unchosen",
    "Value",
    "Verdict",
    "What",
    "Word",
    "WrongLabel",
    "baseline_file",
    "make_uid",
    "parse_tenant",
]

_NOUNS = {
    "artifact": "SCHEMA Artifact BackendRecord CommandLine FailureKind GoldenRecord TargetResult",
    "audit": (
        "SEVERITIES Arm FilterMode LeakBound LeakClass Outcome ProbeResult Risk Severity "
        "Unchosen WrongLabel"
    ),
    "baseline": "BASELINE_SCHEMA Baseline BaselineCase baseline_file",
    "corpus": "Chunk ChunkStatus Corpus make_uid",
    "golden": "CaseKind GoldenCase GoldenSet",
    "leaks": "NOT_IN_CORPUS LeakCheck LeakFinding Proof What",
    "listing": "Listing",
    "run": "CaseResult CaseStatus Run Target",
    "scores": "CaseValue Mean Scores Slice",
    "search": "MODES Fidelity FilterTime Hit Layout Mode Plan Query Response Value",
    "tenant": "DEFAULT_TENANT_PATTERN TenantId parse_tenant",
    "timings": "Agreement Noise Percentile Repeat Round Signal Timings",
    "verdict": "Rule RuleKind RuleResult Verdict Word",
}
_MODULES = {noun: module for module, nouns in _NOUNS.items() for noun in nouns.split()}

if not typing.TYPE_CHECKING:  # else every misspelt noun would be one of type object

    def __getattr__(noun: str) -> object:
        """Load the module of a noun."""
        if noun not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {noun!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_MODULES[noun]}"), noun)
        globals()[noun] = value
        return value
