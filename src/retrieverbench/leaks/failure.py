"""What a probe saw that must not be, graded by its kind and not by what the probe looks for."""

from __future__ import annotations

from dataclasses import dataclass

from retrieverbench.leaks.declared import accepted_by
from retrieverbench.model import LeakClass, Severity

TOTALS: tuple[LeakClass, Severity] = ("side channel", "medium")
"""Of a total that counts others' chunks: a number tells of them, but no chunk is shown."""
MISSING: tuple[LeakClass, Severity] = ("starvation", "high")
"""Of own chunks that are missing: nobody was shown anything."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure in words; `leak_class` and `severity` are None where they are the probe's."""

    text: str
    leak_class: LeakClass | None = None
    severity: Severity | None = None

    @property
    def is_of_totals(self) -> bool:
        """Whether it is a total of others' chunks, which no missing answer explains."""
        return self.leak_class == TOTALS[0]


def graded(text: str, severity: Severity | None, accept: str, *, missing: bool) -> Failure:
    """A failure of that severity, if it is given; `missing` says that own chunks are missing.

    `accept` names the property that would excuse it where the target declared it.
    """
    text = f"{text}; {accepted_by(accept)}" if accept else text
    if accept == "global_totals":
        return Failure(text, *TOTALS)
    if missing:
        return Failure(text, MISSING[0], severity or MISSING[1])
    return Failure(text, None, severity)
