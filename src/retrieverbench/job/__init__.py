"""The main job of a suite, from files to an artifact."""

from retrieverbench.job.audit import BegunAudit, begin_audit, cut_off_audit, run_audit
from retrieverbench.job.execute import Begun, begin_suite, cut_off, run_suite
from retrieverbench.job.interrupt import stopped_by
from retrieverbench.job.prepare import Prepared, prepare
from retrieverbench.job.progress import Advance, Progress, Quiet, fetching, reading
from retrieverbench.job.verification import verify

__all__ = [
    "Advance",
    "Begun",
    "BegunAudit",
    "Prepared",
    "Progress",
    "Quiet",
    "begin_audit",
    "begin_suite",
    "cut_off",
    "cut_off_audit",
    "fetching",
    "prepare",
    "reading",
    "run_audit",
    "run_suite",
    "stopped_by",
    "verify",
]
