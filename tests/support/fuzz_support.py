"""Names of tenants and texts that nobody chose, and what an adapter must make of them.

The judge keeps its own ledger and knows nothing of any adapter: who owns what is what was put
under exactly that name.
"""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from time import monotonic
from typing import Any

import anyio
from hypothesis import strategies as st

from engine_support import DIMENSION
from retrieverbench.adapter import Leg
from retrieverbench.errors import InputError, Rejected, RetrieverBenchError, Unsupported
from retrieverbench.leaks import hostile
from retrieverbench.leaks.unguarded import unchecked_tenant
from retrieverbench.model import Chunk, Mode, Query, TenantId, Value

WORD = "quokka"
"""In every chunk and every question: whatever stands beside it, a tenant finds its own."""
KEY = "said"
K = 10
WIDTH = 8
"""Questions that are in flight together; the adapter is opened for as many."""
ALMOST = 4
"""Names that are almost a tenant's, asked for in each mode."""
SHOWN = 200

_PIECES = (
    "acme", "globex", "a", "A", "1", " ", "  ", "'", "''", '"', "\\", "\\\\", "%", "_", "*", "?",
    ",", ";", "--", "/*", "*/", "#", "|", "||", "&&", "!", "~", "^", "+", "-", "(", ")", "[", "]",
    "{", "}", "<", ">", "=", ":", "/", "@", "$", "$1", "%s", "%(tenant)s", "${x}", "{{x}}", "\0",
    "\n", "\r", "\t", "\x1b", "\x7f", "\N{NO-BREAK SPACE}", "\N{ZERO WIDTH SPACE}",
    "\N{RIGHT-TO-LEFT OVERRIDE}", "\N{COMBINING ACUTE ACCENT}",
    "\N{LATIN SMALL LETTER E WITH ACUTE}", "\N{CYRILLIC SMALL LETTER A}",
    "\N{FULLWIDTH LATIN SMALL LETTER A}", "\N{LATIN SMALL LIGATURE FI}",
    "\N{GRINNING FACE}", "\uffff", "\ue000", "\x1f", " or ", " and ", " eq ", " ne ", " not ",
    " OR ", " AND ", "null", "true", "tenant", "tenant_id:", "search.in", "_exists_:", "[* TO *]",
    '{"$ne": ""}', "*:*",
)  # fmt: skip
_KNOWN = (
    *hostile.SYNTAX, *hostile.CONTROLS, *hostile.PREFIXES, *hostile.FOLDED, *hostile.UNICODE,
    *hostile.TYPED, *hostile.QUESTIONS,
)  # fmt: skip
_grammar = st.lists(st.sampled_from(_PIECES), min_size=2, max_size=8).map("".join)
_long = st.builds(
    lambda start, length, end: start + "n" * length + end,
    st.sampled_from(["", "'", "é"]),
    st.sampled_from([61, 125, 253, 509, 1_021, 8_190, 32_764, 40_000]),
    st.sampled_from(["x", "y", "'", "yy"]),
)
_free = st.text(st.characters(), min_size=1, max_size=60)
_chosen = st.sampled_from(_KNOWN)


def _kinds(*kinds: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One of them, each as often as it is named, which `one_of` does not do."""
    return st.integers(0, len(kinds) - 1).flatmap(kinds.__getitem__)


any_name = _kinds(*[_grammar] * 12, *[_free] * 6, _chosen, _long)
any_text = _kinds(*[_grammar] * 12, *[_free] * 6, _chosen, st.just(""))


@dataclass(frozen=True, repr=False)
class Draw:
    """A tenant, and what it says and asks."""

    name: str
    text: str

    def __repr__(self) -> str:
        # Hypothesis prints whole batches of what failed, and refuses to print much.
        return f"Draw({_short(self.name)}, {_short(self.text)})"


def _short(text: str) -> str:
    """As Python writes it, which may take ten characters for one; of a long one the beginning."""
    whole = repr(text)
    if len(whole) <= SHOWN:
        return whole
    return f"{whole[:SHOWN]}... ({len(text):,} characters, the last {text[-4:]!r})"


def draws(least: int, most: int) -> st.SearchStrategy[list[Draw]]:
    """Tenants of different names."""
    one = st.builds(Draw, any_name, any_text)
    return st.lists(one, min_size=least, max_size=most, unique_by=lambda drawn: drawn.name)


def others(name: str) -> list[str]:
    """Names that a careless backend takes for this one."""
    return [
        name[:-1], f"{name}x", name.upper(), name.lower(), name.strip(), f"{name} ", f"{name}'",
        f"{name}%", f"{name}*", f"{name},{name}", f"{name}\0", name.replace("\\", ""),
    ]  # fmt: skip


@dataclass
class Sent:
    """How many requests one question has caused."""

    requests: int = 0


_asking: ContextVar[Sent | None] = ContextVar("_asking", default=None)


@dataclass
class Counting:
    """A recorder that counts for the question in whose task a request is sent.

    `stray` are requests of no question: of writes, or of a task that knows of none.
    """

    stray: int = 0

    def request(self, operation: str, legs: Sequence[Leg], body: object) -> None:
        sent = _asking.get()
        if sent is None:
            self.stray += 1
        else:
            sent.requests += 1

    def response(self, operation: str, body: object) -> None:
        pass


@dataclass
class Fuzzed:
    """One place: what it holds by our own ledger, and how much was tried.

    `goal` is the number of searches after which nothing more is tried, `seconds` the time; `most`
    the number of tenants that the place is given, where each of them costs a table or an index.
    """

    adapter: Any
    recorder: Counting
    modes: Sequence[Mode]
    goal: int
    seconds: float
    most: int
    owned: dict[str, Chunk] = field(default_factory=dict, repr=False)
    refused: set[str] = field(default_factory=set, repr=False)
    searches: int = 0
    turned_away: int = 0
    start: float = field(default_factory=monotonic)

    @property
    def is_done(self) -> bool:
        """Whether enough was asked, or for long enough."""
        return self.searches >= self.goal or monotonic() - self.start > self.seconds

    async def put(self, batch: Sequence[Draw]) -> None:
        """One chunk for each new name; a name or text that no store can hold may be refused."""
        known = self.owned.keys() | self.refused
        new = [one for one in batch if one.name not in known][: self.most - len(self.owned)]
        made = [make_chunk(one, len(self.owned) + n) for n, one in enumerate(new)]
        if await self._put(made) is not None:
            for chunk in made:
                await self._put_alone(chunk)
        await self.adapter.settle()

    async def _put_alone(self, chunk: Chunk) -> None:
        error = await self._put([chunk])
        if error is not None:
            check_refusal(error)
            self.refused.add(chunk.tenant.value)

    async def _put(self, chunks: Sequence[Chunk]) -> Exception | None:
        found = await answer_of(self.adapter.put(chunks)) if chunks else None
        if isinstance(found, RetrieverBenchError):
            return found
        self.owned |= {chunk.tenant.value: chunk for chunk in chunks}
        return None

    async def ask(
        self,
        name: str,
        text: str,
        mode: Mode,
        where: Mapping[str, Value] | None = None,
        *,
        total: bool = True,
    ) -> None:
        """Exactly the tenant's own chunk, if it has one that passes; else nothing.

        A `total` is a request more where the backend counts apart.
        """
        own = self.owned.get(name)
        if own is not None and any(own.metadata.get(k) != v for k, v in (where or {}).items()):
            own = None
        wanted = [] if own is None else [own.uid]
        query = Query(
            text=f"{WORD} {text}",
            tenant=unchecked_tenant(name),
            k=K,
            mode=mode,
            vector=None if mode == "lexical" else VECTOR,
            where=where or {},
            want=frozenset({"total", "tenant"} if total else {"tenant"}),
        )
        self.searches += 1
        _asking.set(sent := Sent())
        asked = partial(_asked, mode, name, text, where)
        found = await answer_of(self.adapter.search(query))
        if isinstance(found, RetrieverBenchError):
            assert not sent.requests, f"{asked()}: after a request: {found}"
            check_refusal(found)
            self.turned_away += 1
            assert not wanted or _unencodable(text), f"{asked()}: {found}"
            return
        assert [hit.uid for hit in found.hits] == wanted, asked()
        assert {hit.tenant for hit in found.hits} <= {name}, asked()
        if total:
            assert found.total == len(wanted), f"{asked()}: total {found.total}"

    async def read(self, name: str, foreign: str) -> None:
        """By id: the own chunk and another's, of which only the own one is there."""
        asked = [self.owned[one].uid for one in {name, foreign} & self.owned.keys()]
        own = [self.owned[name].uid] if name in self.owned else []
        _asking.set(Sent())
        found = await answer_of(self.adapter.get(unchecked_tenant(name), asked))
        if isinstance(found, RetrieverBenchError):
            check_refusal(found)
            assert not own, f"{name!r:.80}: {found}"
            return
        assert [hit.uid for hit in found] == own, f"by id: {name!r:.80}"

    async def try_all(self, batch: Sequence[Draw]) -> None:
        """Put them; ask as each of them, and as names that are almost theirs, several at once."""
        await self.put(batch)
        before = self.recorder.stray
        left = self._questions(batch)

        async def work() -> None:
            for question in left:
                await question()

        async with anyio.create_task_group() as tasks:
            for _ in range(WIDTH):
                tasks.start_soon(work)
        assert self.recorder.stray == before, "a question's request was sent outside of its task"

    async def try_halves(self) -> None:
        """Half of a surrogate pair in every call: what cannot be held or sent is refused."""
        adapter, whole, half = self.adapter, unchecked_tenant("whole"), unchecked_tenant("a\ud800")
        for chunk in (
            make_chunk(Draw(half.value, ""), 0),
            replace(make_chunk(Draw("whole", ""), 0), id="\ud800"),
            make_chunk(Draw("said", "\ud800"), 0),
        ):
            await self._put_alone(chunk)
        await adapter.settle()
        uid = "whole/0"
        calls = [adapter.get(half, [uid]), adapter.get(whole, ["\ud800"])]
        if "delete" in adapter.capabilities:
            calls += [adapter.delete(half, [uid]), adapter.delete(whole, ["\ud800"])]
        if "move" in adapter.capabilities:
            calls += [adapter.move(uid, half, whole), adapter.move("\ud800", whole, half)]
        for call in calls:
            found = await answer_of(call)
            if isinstance(found, RetrieverBenchError):
                check_refusal(found)
            else:
                assert not found, found

    def _questions(self, batch: Sequence[Draw]) -> Iterator[Callable[[], Awaitable[None]]]:
        """Each tenant asks in every mode what another one has drawn, too, and reads by id."""
        for number, one in enumerate(batch):
            other, almost = batch[number - 1], others(one.name)
            for place, mode in enumerate(self.modes):
                yield partial(self.ask, one.name, batch[number - place].text, mode)
                yield partial(self.ask, one.name, one.text, mode, {KEY: other.text})
                for each in range(ALMOST):
                    name = almost[(number + len(self.modes) * each + place) % len(almost)]
                    yield partial(self.ask, name, one.text, mode, total=not each)
            yield partial(self.read, one.name, other.name)

    def told(self) -> str:
        return (
            f"{self.searches:,} searches of {len(self.owned):,} tenants; {len(self.refused):,} "
            f"names or texts refused at the load, {self.turned_away:,} searches before a request; "
            f"{monotonic() - self.start:.0f} s"
        )

    async def check_counts(self) -> None:
        """By the backend's own count of its tenant field each name is a tenant by itself."""
        told = await self.adapter.describe()
        assert dict(told.chunks) == dict.fromkeys(self.owned, 1)


VECTOR = array("f", [1.0] * DIMENSION)


def _asked(mode: Mode, name: str, text: str, where: Mapping[str, Value] | None) -> str:
    return f"{mode}: the tenant {name!r:.80} asking {text!r:.80} where {where!r:.80}"


async def answer_of(call: Awaitable[Any]) -> Any:
    """What it returns, or the error of ours that it raises."""
    try:
        return await call
    except RetrieverBenchError as error:
        return error


def make_chunk(draw: Draw, seed: int) -> Chunk:
    random = Random(seed)
    vector = array("f", [random.uniform(0.1, 1.0) for _ in range(DIMENSION)])
    tenant: TenantId = unchecked_tenant(draw.name)
    return Chunk("0", tenant, f"{WORD} {draw.text}", metadata={KEY: draw.text}, vector=vector)


def check_refusal(error: Exception) -> None:
    """One line that says what is wrong, and no failure of the server."""
    told = f"{type(error).__name__}: {error}"
    assert isinstance(error, InputError | Rejected | Unsupported), told
    assert "\n" not in str(error), told


def _unencodable(text: str) -> bool:
    """Half of a surrogate pair, which is no character: UTF-8 has no bytes for it."""
    return any(0xD800 <= ord(sign) < 0xE000 for sign in text)
