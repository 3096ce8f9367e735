"""Places beside the one that the audit opened first: fresh ones, and those that are shared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Protocol

from retrieverbench.adapter import Adapter
from retrieverbench.errors import BackendError
from retrieverbench.leaks.asking import GIVEN_UP
from retrieverbench.leaks.world import World
from retrieverbench.model import Arm, Chunk, Mode
from retrieverbench.run import Abandoned

MOST_UNANSWERED = 10
"""Questions in a row that time out, find no connection or are too many; then the audit ends."""


@dataclass(frozen=True, slots=True)
class Variant:
    """How a place differs from what the suite says; options are laid over the target's own.

    `concurrency` is the number of searches that may be in flight, None for the suite's.
    """

    place: Mapping[str, object] = field(default_factory=dict)
    search: Mapping[str, object] = field(default_factory=dict)
    concurrency: int | None = None


AS_IS = Variant()


class OpenAdapter(Protocol):
    """Opens a fresh place that holds these chunks and is removed on leaving."""

    def __call__(
        self, chunks: Sequence[Chunk], variant: Variant = AS_IS, /
    ) -> AbstractAsyncContextManager[Adapter]:
        """Entered and left in one task."""
        ...


@dataclass(frozen=True, slots=True)
class Shelf:
    """Places that several probes read: opened when first needed, closed with the audit.

    One that could not be opened is not tried again. `asked` are the questions that some probe
    has asked already, by mode and arm; `unanswered` the errors of the last ones, if those were
    not answered at all; `counted` the modes and arms in which a total was seen that counts
    others' chunks: the first probe that sees it tells it for all.
    """

    stack: AsyncExitStack
    kept: dict[str, tuple[Adapter, World] | BackendError] = field(default_factory=dict)
    asked: defaultdict[tuple[Mode, Arm], set[int]] = field(default_factory=lambda: defaultdict(set))
    unanswered: list[str] = field(default_factory=list)
    counted: set[tuple[Mode, Arm]] = field(default_factory=set)

    async def get(self, name: str, make: MakePlace) -> tuple[Adapter, World]:
        """The place of that name, made now if nobody asked before; its BackendError again."""
        if name not in self.kept:
            try:
                self.kept[name] = await make(self.stack)
            except BackendError as error:
                self.kept[name] = error
        kept = self.kept[name]
        if isinstance(kept, BackendError):
            raise kept
        return kept

    def anew(self) -> Shelf:
        """The same for a probe that looks for totals: it tells what others have told, too."""
        return replace(self, counted=set())

    def answered(self, error: BackendError | None) -> None:
        """End the audit of a backend that has stopped to answer; each question waits so long."""
        if error is None or error.code not in GIVEN_UP:
            self.unanswered.clear()
            return
        self.unanswered.append(str(error))
        if len(self.unanswered) == MOST_UNANSWERED:
            raise Abandoned(
                f"{MOST_UNANSWERED} questions in a row were not answered: {error.reason}",
                remedy=error.remedy or error.advice,
            )


MakePlace = Callable[[AsyncExitStack], Awaitable[tuple[Adapter, World]]]
"""Opens a place, whose end the stack takes over, and says what it holds."""
