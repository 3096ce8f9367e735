"""A reference adapter that leaks on purpose, in one known way at a time.

It proves an audit, and shows what a finding looks like. Clean, it passes every probe; each
of FAULTS must be caught. A team uses it in three ways.

See `retrieverbench leaks` fail, and what the report then says. Save this as `leaky.py`,

    from retrieverbench.testing import LeakyAdapter

and give a target of the suite

    adapter = "./leaky.py:LeakyAdapter"
    place = { fault = "lexical_leg_open" }

Prove that a test of yours can fail, with a fault of the kind that you fear: hand
`LeakyAdapter.with_fault("postfilter_top_k")` to whatever audits your own retriever.

Prove a probe of your own: with `audit_leaky(fault, [probe])` it must pass without a fault,
and fail with those that it is made for (`caught_by`). A fault that no probe catches is a
missing probe.

The adapter shares no code with any other and none with the audit's oracle.
"""

from retrieverbench.testing.leaky.adapter import LeakyAdapter
from retrieverbench.testing.leaky.audit import audit_leaky, caught_by
from retrieverbench.testing.leaky.fault import Fault
from retrieverbench.testing.leaky.faults import FAULTS

__all__ = ["FAULTS", "Fault", "LeakyAdapter", "audit_leaky", "caught_by"]
