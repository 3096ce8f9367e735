"""One probe at work: what it asks, what comes back, what it concludes.

Whatever a probe looks for, every answer is judged: a foreign or unknown uid, or a foreign
token anywhere in a response, is a finding. A probe passes only when its positive control
has shown that there was something to find.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from retrieverbench.adapter import Adapter, Description
from retrieverbench.errors import BackendError, TenantError
from retrieverbench.leaks.accusing import findings_of, over_counted
from retrieverbench.leaks.asking import (
    WANTED,
    Answer,
    Asked,
    K,
    at_once,
    fetch,
    may_be_of_the_moment,
    of_the_moment,
    told_by,
)
from retrieverbench.leaks.declared import Declared
from retrieverbench.leaks.draw import Draw
from retrieverbench.leaks.elsewhere import Told
from retrieverbench.leaks.failure import Failure, graded
from retrieverbench.leaks.ledger import wrong_labels
from retrieverbench.leaks.patience import until_answered
from retrieverbench.leaks.places import AS_IS, MakePlace, OpenAdapter, Shelf, Variant
from retrieverbench.leaks.record import RequestLog, Sent
from retrieverbench.leaks.refusal import is_refusal
from retrieverbench.leaks.seen import Seen
from retrieverbench.leaks.tried import Tried
from retrieverbench.leaks.unguarded import unchecked_tenant
from retrieverbench.leaks.world import World
from retrieverbench.model import (
    DEFAULT_TENANT_PATTERN,
    Arm,
    Fidelity,
    FilterMode,
    Layout,
    LeakFinding,
    Mode,
    Query,
    Risk,
    Severity,
    TenantId,
    Value,
    WrongLabel,
    parse_tenant,
)
from retrieverbench.run import Misplaced, Step, uid_of

WRITE_TIMEOUTS = 20
"""A call that is no search is given up after so many times the search timeout."""

T = TypeVar("T")


@dataclass(slots=True)
class Scene:
    """What one probe has in hand, for one target, mode and arm.

    `world` is what the place holds, `draw` what all worlds of ours are made of. `open` makes
    further places, for probes that write or need chunks of their own. `log` is None where the
    adapter records no requests; `sent` counts those that it saw. `moved` overrides the ledger
    while owners change: uid → owner, None once deleted. `left_out` says why the probe makes no
    sense here, "" if it does.
    `moving` are uids whose owner is changing, so that for a while nobody's seeing them is wrong.
    `declared` are properties that the target is known to have, by name; `description` is what
    the adapter said of the place that was opened first. `keys` translates the ids of an attached
    index to uids; None where hits carry uids. `limit` is what this run of the probe left out,
    with its numbers, "" for nothing. `unanswered` are errors of questions that had no answer, or
    none at first, for reasons of the moment: what was missed then says nothing. `asker` is who
    really asks, where that is not who a question names; `hint` is what findings say of it.
    `misplaced` chunks were given to others than their owners by id before. `width` questions may
    be under way together; `unjudged` are those answered so far. `options` are the target's.
    """

    adapter: Adapter
    open: OpenAdapter
    world: World
    draw: Draw
    target: str
    probe: str
    mode: Mode
    arm: Arm
    timeout: float
    log: RequestLog | None = None
    layout: Layout = "filter"
    shelf: Shelf | None = None
    capabilities: frozenset[str] = frozenset()
    pattern: str = DEFAULT_TENANT_PATTERN
    trials: int = 0
    sent: int = 0
    findings: list[LeakFinding] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)
    uncontrolled: list[str] = field(default_factory=list)
    facts: dict[str, int | float | str] = field(default_factory=dict)
    moved: dict[str, TenantId | None] = field(default_factory=dict)
    left_out: str = ""
    risks: list[Risk] = field(default_factory=list)
    moving: set[str] = field(default_factory=set)
    declared: Mapping[str, Declared] = field(default_factory=dict)
    keys: Mapping[str, str] | None = None
    labels: list[WrongLabel] = field(default_factory=list)
    description: Description | None = None
    fidelity: Fidelity | None = None
    limit: str = ""
    unanswered: list[str] = field(default_factory=list)
    asker: TenantId | None = None
    hint: str | None = None
    misplaced: Sequence[Misplaced] = ()
    width: int = 1
    tried: Tried = field(default_factory=Tried)
    unjudged: list[Callable[[], Seen]] = field(default_factory=list)
    filter_modes: list[FilterMode] = field(default_factory=list)
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def expect(
        self,
        condition: bool,  # noqa: FBT001 - reads as a sentence
        otherwise: str,
        *,
        severity: Severity | None = None,
        accept: str = "",
        missing: bool = False,
    ) -> None:
        """What must be so; `otherwise` says what was seen instead, in one line.

        `severity` is that of this failure where it is not the probe's. `accept` names the
        property that makes it an accepted risk where the target declares it, as the failure says.
        `missing` is True where own chunks are missing and nothing else is wrong: starvation.
        """
        if condition:
            return
        if accept in self.declared:
            self.accept(accept, otherwise)
            return
        self.failures.append(graded(otherwise, severity, accept, missing=missing))

    def accept(self, name: str, effect: str, *, found: bool = True) -> None:
        """What was seen, or not, of a declared property; nothing where it is not declared."""
        if name in self.declared:
            self.risks.append(Risk(name, self.declared[name].place, effect, found))

    def control(
        self,
        condition: bool,  # noqa: FBT001 - as above
        told: str,
        came: Seen | str = "",
    ) -> None:
        """The positive control: what must be found for a clean result to mean something.

        `told` says what is expected, `came` what the answer was, if it was another.
        """
        if condition:
            self.controls.append(told)
            return
        came = f"the answer was {came.told}" if isinstance(came, Seen) else came
        self.uncontrolled.append(f"expected that {told}, but {came or 'that was not so'}")

    @asynccontextmanager
    async def staged(self, world: World) -> AsyncIterator[Scene]:
        """The same probe on a fresh place that holds another world; what it sees counts here."""
        async with self.open(world.all_chunks()) as adapter:
            with self._at(adapter, world) as other:
                yield other

    @asynccontextmanager
    async def shared(self, name: str, make: MakePlace) -> AsyncIterator[Scene]:
        """The same probe on a place of that name, which `make` opens once for all probes."""
        assert self.shelf is not None, "an audit has a shelf"
        with self._at(*await self.shelf.get(name, make)) as other:
            yield other

    @asynccontextmanager
    async def loaded(
        self, name: str, make_world: Callable[[], World], variant: Variant = AS_IS
    ) -> AsyncIterator[Scene]:
        """The same probe on a place of that name, whose world no other probe sees changed."""

        async def make(stack: AsyncExitStack) -> tuple[Adapter, World]:
            world = make_world()
            return await stack.enter_async_context(self.open(world.all_chunks(), variant)), world

        async with self.shared(name, make) as other:
            other.width = min(self.width, variant.concurrency or self.width)
            yield other

    @contextmanager
    def _at(self, adapter: Adapter, world: World) -> Iterator[Scene]:
        # The lists are shared: findings, failures and controls of both are one.
        other = replace(self, adapter=adapter, world=world, moved={}, moving=set())
        try:
            yield other
        finally:
            self.trials, self.sent = other.trials, other.sent

    @contextmanager
    def unrecorded(self) -> Iterator[Scene]:
        """The same probe while several questions are in flight: no request is attributed."""
        other = replace(self, log=None)
        try:
            yield other
        finally:
            self.trials = other.trials
            if self.log is not None:
                self.log.take()

    async def call(self, word: str, function: Callable[[], Awaitable[T]]) -> T:
        """Any other call of the adapter; BackendError for whatever it raises."""
        return await Step(self.target, word, WRITE_TIMEOUTS * self.timeout).call(function)

    async def ask(
        self,
        tenant: object,
        text: str,
        vector: Sequence[float] | None = None,
        *,
        k: int = K,
        where: Mapping[str, Value] | None = None,
        want: frozenset[str] = WANTED,
    ) -> Seen:
        """One search as `tenant`, through this arm, judged by the ledger and all tokens."""
        asked = Asked(tenant, text, vector, k, where or {}, want)
        return (await self.ask_all([asked]))[0]

    async def ask_all(self, questions: Sequence[Asked]) -> list[Seen]:
        """Searches that do not depend on one another, several under way if each is told apart.

        They are judged in their order, whichever is answered first. What is only read, or records
        nothing, is asked one after the other: it is a user's own, and may stand no more (P31).
        """
        self._before()
        if self.log is None or self.abreast == 1 or len(questions) == 1:
            return [self._judged(one, await self._attempts(one, alone=True)) for one in questions]
        found = await at_once([partial(self._kept, one) for one in questions], self.abreast)
        self.unjudged.clear()
        seen = [self._judged(*each) for each in zip(questions, found, strict=True)]
        return await self.ask_all(questions) if self.log.claim(Sent()) else seen

    async def _kept(self, asked: Asked) -> list[Answer]:
        came = await self._attempts(asked)
        self.unjudged.append(partial(self._judged, asked, came))
        return came

    def judge_left(self) -> None:
        """Answers that were there when the others of their kind were broken off."""
        for judge in self.unjudged:
            judge()
        self.unjudged.clear()

    @property
    def abreast(self) -> int:
        """How many questions or writes may be under way together: one of what is only read."""
        can = "put" in self.capabilities and self.log is not None and self.log.is_told_apart
        return self.width if can else 1

    async def _attempts(self, asked: Asked, *, alone: bool = False) -> list[Answer]:
        """All that came; asked again where an error may have lain in the moment.

        Nothing where the guard refuses.
        """
        try:
            query = asked.query(self.tenant(asked.tenant), self.mode)
        except TenantError:
            return []
        came: list[Answer] = []

        async def ask() -> Answer:
            came.append(await self._search(query, alone=alone))
            return came[-1]

        # A backend that asks for fewer questions is waited for; what it then answers is whole.
        first = await until_answered(ask, self.timeout)
        self._note(first.error)
        if may_be_of_the_moment(first):
            self._note((await until_answered(ask, self.timeout)).error)
        return came

    def _note(self, error: BackendError | None) -> None:
        if self.shelf is not None:
            self.shelf.answered(error)

    def _judged(self, asked: Asked, attempts: Sequence[Answer]) -> Seen:
        self._count(asked)
        if not attempts:
            return Seen(refused=True, requests=None if self.log is None else ())
        *_, seen = [self._seen(answer) for answer in attempts]
        if error := of_the_moment(attempts):
            self.unanswered.append(str(error))
        return seen

    def _count(self, asked: Asked) -> None:
        """A trial, unless this or another probe has asked the same: repeating proves nothing."""
        question = hash((id(self.world), asked.number(self.mode)))
        known = self.shelf.asked[self.mode, self.arm] if self.shelf else set[int]()
        self.trials += question not in known
        known.add(question)
        self.tried.count(asked.tenant, asked.text, asked.k)

    def tenant(self, raw: object) -> TenantId:
        """The tenant as this arm makes it; TenantError where the guard refuses."""
        if isinstance(raw, TenantId):
            return raw
        if self.arm == "guarded":
            return parse_tenant(raw, self.pattern)
        return unchecked_tenant(raw)

    async def _search(self, query: Query, *, alone: bool) -> Answer:
        loads = "put" in self.capabilities
        refusing = partial(is_refusal, loads=loads, owns=self.owns(query.tenant))
        with self.log.apart() if self.log else nullcontext() as sent:
            answer = await fetch(self.adapter, query, self.timeout, refusing)
        if alone and self.log and sent:
            self.log.claim(sent)
        return replace(answer, sent=sent)

    def _seen(self, answer: Answer) -> Seen:
        """What it shows, judged."""
        query, error = answer.query, answer.error
        shown = [self.uid(hit.uid) for hit in answer.hits]
        wrong = wrong_labels(answer.hits, shown, self._ledger())
        self.labels += [each for each in wrong if each.uid not in self.moving]
        told = told_by(answer, loads="put" in self.capabilities)
        asker = self.asker or query.tenant
        uids = answer.uids(self._ledger() if self.keys is None else ())
        self.judge(asker, [self.uid(key) for key in uids], told)
        self._judge_total(asker, answer.bad.total if answer.bad else answer.total)
        self.sent += len(answer.sent.requests) if answer.sent else 0
        return Seen(
            uids=tuple(shown),
            scores=tuple(hit.score for hit in answer.hits),
            total=answer.total,
            error=error,
            refused=answer.refused,
            requests=tuple(answer.sent.requests) if answer.sent else None,
            seconds=answer.seconds,
        )

    def _judge_total(self, asker: TenantId, total: int | None) -> None:
        """Above all that the asker ever owned it counts others' chunks, whatever was asked."""
        told = over_counted(total, asker, self.world, self.moved, self.moving)
        counted = self.shelf.counted if self.shelf else set[tuple[Mode, Arm]]()
        if told and (self.mode, self.arm) not in counted:
            counted.add((self.mode, self.arm))
            self.expect(False, told, accept="global_totals")

    def owns(self, tenant: TenantId) -> bool:
        """Whether a chunk of the place is the tenant's, which below the guard may be anything."""
        value: object = tenant.value
        return isinstance(value, str) and value in self.world.owners

    def uid(self, key: str) -> str:
        """The uid of what a hit carries."""
        return key if self.keys is None else uid_of(key, self.keys)

    def key(self, uid: str) -> str:
        """What the place calls a chunk; of one that it does not know the uid itself."""
        keys = self.keys or {}
        return next((key for key, known in keys.items() if known == uid), uid)

    def _before(self) -> None:
        """What went out since the last question belongs to none."""
        if self.log is not None:
            self.sent += len(self.log.take()[0])

    def judge(self, tenant: TenantId, uids: Sequence[str], told: Told) -> None:
        """Foreign `uids` of hits by the ledger, and whatever else the answer shows of others."""
        self.findings += findings_of(
            [uid for uid in uids if uid not in self.moving],
            told,
            tenant,
            world=self.world,
            ledger=self._ledger(),
            target=self.target,
            probe=self.probe,
            hint=self.hint,
            texts_stay=not self.moved and not self.moving,
            known={finding.uid for finding in self.findings} | self.moving,
        )

    def _ledger(self) -> Mapping[str, TenantId]:
        if not self.moved:
            return self.world.ledger
        now = {**self.world.ledger, **self.moved}
        return {uid: owner for uid, owner in now.items() if owner is not None}
