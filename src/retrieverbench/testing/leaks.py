"""One assertion for a team's own tests: no tenant is shown what belongs to another.

    from retrieverbench.testing.leaks import assert_no_leaks

    def test_nobody_sees_others_documents():
        assert_no_leaks(search, ["birch", "cedar"], DOCS)

`search(text, tenant, k)` is the retriever under test, sync or async; it returns ids, or (id,
score) pairs, best first. DOCS are what it holds: mappings with `id`, `tenant` (the owner) and
`text`. Who owns what is told by them alone. Needs the extra `testing`; nothing loads by itself.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from retrieverbench.errors import InputError
from retrieverbench.leaks.spellings import spellings
from retrieverbench.options import nearest
from retrieverbench.testing.documents import as_id, spread, texts_of, value_of

Retriever = Callable[[str, Any, int], Any]
Documents = Iterable[Mapping[str, Any]]
OTHERS, SPELLED = 5, 5
"""The least number of others who ask for a document; owners whose names are respelt."""
LONG, DEEP = 100, 100
"""Times that a long question repeats a text; hits asked for, more than a page of most."""
MISSING: Sequence[object] = ("", " ", None, [], 0)
ROUNDS, TOGETHER = 3, 10
"""Times that all tenants ask at once; owners in whose words they do."""


class Leaked(AssertionError):
    """A tenant was shown what is not its own; `findings` holds all of it, the first in words."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        more = f"; and {len(findings) - 1} more such hits" if len(findings) > 1 else ""
        super().__init__(f"LEAK: {findings[0]}{more}")
        self.findings = tuple(findings)


class Inconclusive(AssertionError):
    """No leak was seen, and the retriever shows so little that none could have been."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One foreign hit, in ids alone. `owner` is None for an id that no document has."""

    tenant: object
    asked: str
    id: object
    rank: int
    owner: str | None

    def __str__(self) -> str:
        whose = "is the id of no document" if self.owner is None else f"belongs to {self.owner!r}"
        return (
            f"tenant {self.tenant!r:.80}, asking {self.asked}, was shown {self.id!r:.80} "
            f"at rank {self.rank}, which {whose}"
        )


def assert_no_leaks(
    retriever: Retriever,
    tenants: Sequence[str],
    docs: Documents,
    *,
    unfiltered: Retriever | None = None,
    questions: Sequence[str] = (),
    k: int = 10,
    hostile: bool = True,
    most: int | None = None,
) -> None:
    """Ask as every tenant in the words of its own documents and of others'.

    Every document's text is asked by its owner, then by 5 other tenants in turn: by more where
    an owner has too few documents for every other tenant to ask for one of them. `most` bounds
    the documents of each owner whose texts are asked, spread evenly; None is all. `questions`
    are asked by all `tenants`, and each asks once for more than there is. With `hostile`, names
    that nobody bears ask too (other spellings, beginnings, wildcards, syntax, no name at all), in
    the words of the first document of the first 5 owners, and all `tenants` ask nothing, at length,
    in capitals, in quotes, by an id, by another's name, by a beginning, for one hit and for 100,
    and an async retriever all at once; of those an exception is a refusal.
    `unfiltered` takes the same arguments and applies no tenant: it must show each tenant
    something foreign. An id that is a whole number counts as its decimal text, in `docs` and in
    answers alike.

    Raises Leaked. Raises Inconclusive where no leak was seen and a tenant finds nothing of its
    own, a question failed, or `unfiltered` shows nothing foreign. Raises InputError for no
    `docs`, for those without owner, with an id that is no text or whole number, or with one id for
    two, for `tenants` that own none of them, and for other arguments by which nothing would be
    asked. An async retriever is run in a loop of its own; in an async test await
    `assert_no_leaks_async`.
    """
    __tracebackhide__ = True
    audit = _Audit.of(docs, tenants, questions, k, most)
    with closing(asyncio.Runner()) as runner:  # which makes its loop when it is first used
        for step in audit.steps(retriever, unfiltered, hostile=hostile):
            with audit.asked(step) as answered:
                answer = step.ask()
                audit.is_async |= inspect.isawaitable(answer)
                answered.append(_finished(answer, runner))
        if audit.is_async and hostile:
            runner.run(_ask_at_once(audit, retriever))
    audit.conclude()


async def assert_no_leaks_async(
    retriever: Retriever,
    tenants: Sequence[str],
    docs: Documents,
    *,
    unfiltered: Retriever | None = None,
    questions: Sequence[str] = (),
    k: int = 10,
    hostile: bool = True,
    most: int | None = None,
) -> None:
    """`assert_no_leaks` in the running loop, one question after the other."""
    __tracebackhide__ = True
    audit = _Audit.of(docs, tenants, questions, k, most)
    for step in audit.steps(retriever, unfiltered, hostile=hostile):
        with audit.asked(step) as answered:
            answer = step.ask()
            audit.is_async |= inspect.isawaitable(answer)
            answered.append(await _waited(answer))
    if audit.is_async and hostile:
        await _ask_at_once(audit, retriever)
    audit.conclude()


async def _ask_at_once(audit: _Audit, retriever: Retriever) -> None:
    """What is kept on an object while it waits reaches another tenant's question."""

    async def ask(step: _Step) -> None:
        with audit.asked(step) as answered:
            answered.append(await _waited(step.ask()))

    for _ in range(ROUNDS):
        await asyncio.gather(*map(ask, audit.at_once(retriever)))


class _WrongLoop(InputError):
    """An async retriever cannot be run to its end inside a running loop."""


def _finished(answer: object, runner: asyncio.Runner) -> object:
    if not inspect.isawaitable(answer):
        return answer
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return runner.run(_waited(answer))
    if inspect.iscoroutine(answer):
        answer.close()
    raise _WrongLoop("the retriever is async and a loop is running: await assert_no_leaks_async")


async def _waited(answer: object) -> object:
    return await answer if inspect.isawaitable(answer) else answer


@dataclass(frozen=True, slots=True)
class _Step:
    """One question. `asked` says of what; `control` asks without a tenant condition."""

    retriever: Retriever
    tenant: object
    text: str
    k: int
    asked: str
    hostile: bool = False
    control: bool = False

    def ask(self) -> object:
        return self.retriever(self.text, self.tenant, self.k)

    @property
    def who(self) -> str:
        arm = "the unfiltered retriever" if self.control else "the retriever"
        return f"{arm}, asked as {self.tenant!r:.80} {self.asked},"


@dataclass(slots=True)
class _Audit:
    """What the documents say, and what was seen so far."""

    tenants: Sequence[str]
    owners: Mapping[str, str]
    texts: Mapping[str, Sequence[tuple[str, str]]]
    questions: Sequence[str]
    k: int
    most: int | None
    findings: list[Finding] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    found_own: set[str] = field(default_factory=set)
    stolen: dict[str, int] = field(default_factory=dict)
    is_async: bool = False

    @classmethod
    def of(
        cls,
        docs: Documents,
        tenants: Sequence[str],
        questions: Sequence[str],
        k: int,
        most: int | None,
    ) -> _Audit:
        """Raises InputError for what cannot be judged by, or would ask nothing."""
        owners: dict[str, str] = {}
        texts: dict[str, list[tuple[str, str]]] = {}
        for number, doc in enumerate(docs):
            id_, owner, text = (value_of(doc, key, number) for key in ("id", "tenant", "text"))
            if owners.setdefault(id_, owner) != owner:
                raise InputError(
                    f"docs[{number}]: the id {id_!r:.80} is a document of {owners[id_]!r} and of "
                    f"{owner!r}; give ids that are unique over all tenants"
                )
            texts.setdefault(owner, []).append((id_, text))
        if not owners:
            raise InputError("docs: there is none; without one nobody owns what a retriever shows")
        names = list(dict.fromkeys(texts_of("tenants", tenants)))
        for name in names:
            if name not in texts:
                raise InputError(
                    f"tenants: {name!r:.80} owns no document of docs, so that nothing can be "
                    f"told of it; {nearest(name, texts)}"
                )
        for argument, given in (("k", k), ("most", most)):
            if given is not None and (type(given) is not int or given < 1):
                raise InputError(
                    f"{argument}: {given!r:.80} is no whole number of 1 or more; nothing would "
                    "be asked"
                )
        return cls(names, owners, texts, texts_of("questions", questions), k, most)

    def steps(
        self,
        retriever: Retriever,
        unfiltered: Retriever | None,
        *,
        hostile: bool,
    ) -> Iterator[_Step]:
        """Owners first: what a cache keeps of their answers must not reach the next asker."""
        for number, (owner, own) in enumerate(self.texts.items()):
            others = [name for name in self.tenants if name != owner]
            asked_for = spread(own, self.most)
            each = min(len(others), max(OTHERS, -(-len(others) // len(asked_for))))
            for turn, (id_, text) in enumerate(asked_for):
                asked = f"in the words of {id_!r:.80}"
                start = (number + turn) * each
                askers = [others[(start + n) % len(others)] for n in range(each)]
                for asker in (owner, *askers):
                    yield _Step(retriever, asker, text, self.k, asked)
            if hostile and number < SPELLED:
                yield from self._hostile(retriever, owner)
        for asker in self.tenants:
            for number, text in enumerate(self.questions):
                yield _Step(retriever, asker, text, self.k, f"questions[{number}]")
            firsts = ((name, *own[0]) for name, own in self.texts.items() if name != asker)
            other, id_, first = next(firsts, ("", "", ""))
            most = len(self.owners) + 1
            yield _Step(retriever, asker, first, most, "for more than there is", hostile=True)
            if hostile:
                yield from self._unusual(retriever, asker, first)
                yield from self._naming(retriever, asker, other, id_, first)
            if unfiltered is not None:
                self.stolen[asker] = 0
                yield _Step(unfiltered, asker, first, self.k, "in others' words", control=True)

    def _unusual(self, retriever: Retriever, asker: str, text: str) -> Iterator[_Step]:
        """What few tests ask, in others' words; an exception is a refusal."""
        for asked, words, k in (
            ("nothing", "", self.k),
            ("a blank", " ", self.k),
            ("in capitals of others' words", text.upper(), self.k),
            ("at length in others' words", " ".join([text] * LONG), self.k),
            ("for one hit in others' words", text, 1),
            (f"for {DEEP} hits in others' words", text, DEEP),
        ):
            yield _Step(retriever, asker, words, k, asked, hostile=True)

    def _naming(
        self, retriever: Retriever, asker: str, other: str, id_: str, text: str
    ) -> Iterator[_Step]:
        """What names another tenant or its document, or says its words in another way."""
        for asked, words in (
            (f"for {other!r:.80} by name", f"{text} for {other}"),
            (f"by the name {other!r:.80}", other),
            (f"by the id {id_!r:.80}", id_),
            ("in quotes in others' words", f'"{text}"'),
            ("by the beginning of others' words", text[:5]),
        ):
            yield _Step(retriever, asker, words, self.k, asked, hostile=True)

    def at_once(self, retriever: Retriever) -> list[_Step]:
        """All tenants in the same words, which find something of each of the first owners."""
        text = " ".join(own[0][1] for own in list(self.texts.values())[:TOGETHER])
        asked = "at once with others, in the words of all"
        return [_Step(retriever, name, text, self.k, asked, hostile=True) for name in self.tenants]

    def _hostile(self, retriever: Retriever, owner: str) -> Iterator[_Step]:
        id_, text = self.texts[owner][0]
        other = next((name for name in self.tenants if name != owner), owner)
        known = {*self.tenants, *self.texts}
        names = [name for name in spellings(owner, other) if name not in known]
        for name in (*names, *MISSING, [owner, other]):
            asked = f"in the words of {id_!r:.80}"
            yield _Step(retriever, name, text, self.k, asked, hostile=True)

    @contextmanager
    def asked(self, step: _Step) -> Iterator[list[object]]:
        """Judges the answer that is put into the list.

        Whatever a team's own code raises is a refusal of a hostile question, else a failure.
        """
        answered: list[object] = []
        try:
            yield answered
        except _WrongLoop:
            raise
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            if not step.hostile:
                text = f"raised {type(error).__name__}: {error!s:.200}"
                self.failures.append(f"{step.who} {text}")
        for answer in answered:
            self.judge(step, answer)

    def judge(self, step: _Step, answer: object) -> None:
        """Every id of an answer by the record of owners; what is no answer is a failure."""
        if answer is None and step.hostile:
            return
        if isinstance(answer, str | bytes) or not isinstance(answer, Sequence):
            kind = type(answer).__name__
            self.failures.append(f"{step.who} returned {kind}, not a list of ids")
            return
        for rank, hit in enumerate(answer, start=1):
            id_ = as_id(hit[0] if isinstance(hit, tuple | list) and len(hit) == 2 else hit)
            if not isinstance(id_, str):
                self.failures.append(f"{step.who} returned {type(id_).__name__}, not an id")
                continue
            owner = self.owners.get(id_)
            if step.control:
                self.stolen[str(step.tenant)] += owner not in {None, step.tenant}
            elif owner is None or owner != step.tenant:
                self.findings.append(Finding(step.tenant, step.asked, id_, rank, owner))
            else:
                self.found_own.add(owner)

    def conclude(self) -> None:
        """Raise what was seen, the worst first; return where nothing is wrong."""
        __tracebackhide__ = True
        if self.findings:
            raise Leaked(self.findings)
        for reason in self._unproven():
            raise Inconclusive(f"INCONCLUSIVE, no leak was seen: {reason}")

    def _unproven(self) -> Iterator[str]:
        if self.failures:
            more = f"; and {len(self.failures) - 1} more" if len(self.failures) > 1 else ""
            yield f"{self.failures[0]}{more}"
        if len(self.texts) < 2 or len(self.tenants) < 2:
            yield "there is nobody to leak to: name two tenants that own documents"
        if not self.found_own:
            yield "the retriever gave no tenant anything of its own: empty answers prove nothing"
        blind = [name for name in self.tenants if name in self.texts and name not in self.found_own]
        if blind:
            yield f"{', '.join(map(repr, blind[:5]))} found nothing in the words of its own"
        locked = [name for name, seen in self.stolen.items() if not seen]
        if locked:
            yield f"the unfiltered retriever showed {locked[0]!r} nothing foreign to be stolen"
