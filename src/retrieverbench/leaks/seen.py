"""What one question of a probe brought."""

from __future__ import annotations

from dataclasses import dataclass

from retrieverbench.errors import BackendError, plural
from retrieverbench.leaks.record import Request
from retrieverbench.run import one_line


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer. `refused` is True when the guard or the adapter called the question wrong.

    `requests` are those that went out meanwhile, None where the adapter records nothing.
    `seconds` is the time until the answer or the error.
    """

    uids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    total: int | None = None
    error: BackendError | None = None
    refused: bool = False
    requests: tuple[Request, ...] | None = None
    seconds: float = 0.0

    @property
    def is_refusal(self) -> bool:
        """Whether it was turned away before any request, as far as that can be seen."""
        return self.refused and not self.requests

    @property
    def told(self) -> str:
        """What came, in words, for those who expected something else."""
        if self.error is not None:
            return f"an error: {one_line(self.error):.200}"
        if self.refused:
            return "a refusal"
        many = plural(len(self.uids), "chunk")
        return f"{many} without all that was expected" if self.uids else "no chunk"
