"""Answers that break the protocol are named, and what they show is kept for the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from retrieverbench.errors import Code
from retrieverbench.model import Hit, Query, Response, TenantId
from retrieverbench.run import BadAnswer, check_response, read_response
from retrieverbench.run.checks import MOST_READ, readable_answer

QUERY = Query("text", TenantId("acme"), 2, "lexical")


def hit(uid: Any = "acme/1", score: Any = 1.0) -> Hit:
    return Hit(uid, score)


def test_good_answers_pass() -> None:
    for hits in ([], [hit()], [hit(), hit("acme/2", 0)], [hit(score=-1e300)]):
        assert check_response(Response(hits), QUERY) == hits


ODD_TIMES: list[Any] = [float("nan"), float("inf"), -0.5, 10**400, "2.0", True, [1.0]]
ODD_TOTALS: list[Any] = [-1, 2.0, "2", True, float("nan")]
ODD_FLAGS: list[Any] = [None, 0, 1, "no", []]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "search returned NoneType, not a Response"),
        ([hit()], "search returned list, not a Response"),
        (Response(None), "hits is NoneType, not a list"),  # type: ignore[arg-type]
        (Response((hit(),)), "hits is tuple, not a list"),  # type: ignore[arg-type]
        (Response([hit(), hit("b"), hit("c")]), "search returned 3 hits for k = 2"),
        (Response([{"uid": "a"}]), "hit 1: is dict, not a Hit"),  # type: ignore[list-item]
        (Response([hit(), hit(7)]), "hit 2: uid 7 is not text"),
        (Response([hit("")]), "hit 1: uid '' is not text"),
        (Response([hit("acme/\ud800")]), "hit 1: uid 'acme/\\ud800' is not Unicode"),
        (Response([hit(score=float("nan"))]), "hit 1: score nan is not a finite number"),
        (Response([hit(score=float("inf"))]), "hit 1: score inf is not a finite number"),
        (Response([hit(score=10**400)]), "is not a finite number"),
        (Response([hit(score=True)]), "hit 1: score True is bool, not float"),
        (Response([hit(score="1.0")]), "hit 1: score '1.0' is str, not float"),
        (Response([hit(score=None)]), "hit 1: score None is NoneType, not float"),
        *(
            (Response([hit()], server_ms=value), f"server_ms {value!r:.80} is not")
            for value in ODD_TIMES
        ),
        *((Response([hit()], total=value), f"total {value!r} is not") for value in ODD_TOTALS),
        *((Response([hit()], partial=value), f"partial {value!r} is") for value in ODD_FLAGS),
    ],
)
def test_broken_answers_are_refused(answer: object, text: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        check_response(answer, QUERY)
    assert text in str(caught.value)
    assert caught.value.code is Code.BAD_ANSWER


def test_fields_beside_the_hits_may_be_there() -> None:
    for told in (0, 0.0, 7, 2.5):
        assert check_response(Response([hit()], server_ms=told, total=0), QUERY) == [hit()]


def test_a_numpy_score_is_named_by_its_type() -> None:
    numpy = pytest.importorskip("numpy")
    with pytest.raises(BadAnswer, match="float32, not float"):
        check_response(Response([hit(score=numpy.float32(0.5))]), QUERY)
    assert check_response(Response([hit(score=numpy.float64(0.5))]), QUERY)


def test_incomplete_answers_have_a_code_of_their_own() -> None:
    with pytest.raises(BadAnswer, match="incomplete") as caught:
        check_response(Response([hit()], partial=True), QUERY)
    assert caught.value.code is Code.PARTIAL
    assert caught.value.uids == ("acme/1",)


def test_refused_answers_keep_what_can_be_read() -> None:
    many = [hit("acme/1"), hit("globex/9"), hit("acme/2", float("nan"))]
    with pytest.raises(BadAnswer) as caught:
        check_response(Response(many), QUERY)
    assert caught.value.uids == ("acme/1", "globex/9", "acme/2")


@pytest.mark.parametrize(
    ("answer", "uids"),
    [
        (None, ()),
        ("text", ()),
        (Response(None), ()),  # type: ignore[arg-type]
        ([hit("a"), {"uid": "b"}, hit(3), None], ("a",)),
        ((hit("a"),), ("a",)),
        (iter([hit("a")]), ("a",)),
        ([hit("\ud800")], ("\\ud800",)),
    ],
)
def test_readable_uids(answer: object, uids: tuple[str, ...]) -> None:
    assert readable_answer(answer).uids == uids


def endless() -> Iterator[str]:
    while True:
        yield "globex/9"


@pytest.mark.parametrize(
    "answer",
    [
        Response([("globex/9", 1.0)]),  # type: ignore[list-item]
        Response(["globex/9"]),  # type: ignore[list-item]
        Response({hit("acme/1").uid: 1.0, "globex/9": 0.5}),  # type: ignore[arg-type]
        pytest.param(Response(endless()), id="endless"),  # type: ignore[arg-type]
        Response("globex/9"),  # type: ignore[arg-type]
        {"hits": [{"uid": "globex/9", "score": 1.0}]},
        [[{"source": {"id": b"globex/9"}}]],
        "globex/9",
    ],
    ids=repr,
)
def test_a_known_uid_counts_wherever_it_stands_in_an_answer_of_a_wrong_shape(
    answer: object,
) -> None:
    with pytest.raises(BadAnswer) as caught:
        check_response(answer, QUERY)
    assert caught.value.shown({"globex/9"}) == ["globex/9"]
    assert caught.value.shown(()) == []


class Raising(Hit):
    """A hit that is fetched when it is read, and cannot be."""

    @property
    def uid(self) -> str:
        raise KeyboardInterrupt

    @uid.setter
    def uid(self, value: str) -> None:
        """Accepted, as the constructor sets it."""


class LazyResponse(Response):
    @property
    def partial(self) -> bool:
        raise ValueError("lazy failure")

    @partial.setter
    def partial(self, value: bool) -> None:
        """Accepted, as the constructor sets it."""


class LazyList(list[Hit]):
    def __iter__(self) -> Iterator[Hit]:
        yield Hit("acme/1", 1.0)
        raise ValueError("lazy list failed")


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    ("answer", "text", "uids"),
    [
        (Response([hit("globex/9"), Raising("a", 1.0)]), "raised KeyboardInterrupt", ("globex/9",)),
        (LazyResponse([hit("globex/9")]), "raised ValueError.*lazy failure", ("globex/9",)),
        (Response(LazyList([hit("globex/9")])), "hits is LazyList", ("acme/1", "globex/9")),
        (Response([hit("globex/9", Mute())]), "raised RuntimeError.*no repr", ("globex/9",)),
    ],
    ids=["hit", "response", "list", "score"],
)
def test_answers_that_raise_when_read_are_bad_answers(
    answer: object, text: str, uids: tuple[str, ...]
) -> None:
    with pytest.raises(BadAnswer, match=text) as caught:
        check_response(answer, QUERY)
    assert caught.value.uids == uids


def test_hits_changed_later_change_nothing() -> None:
    given = hit()
    checked = check_response(Response([given]), QUERY)
    given.uid = "globex/9"
    assert checked == [hit()]


class Text(str):
    """Equal to everything, and another text whatever it is asked."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("acme/1")

    def __str__(self) -> str:
        return "acme/1"

    def encode(self, *_arguments: Any, **_options: Any) -> bytes:
        return b"acme/1"


class Float(float):
    def __float__(self) -> float:
        return float("nan")

    def __lt__(self, other: object) -> bool:
        return False


class Int(int):
    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        raise SystemExit(0)

    def __int__(self) -> int:
        return 0


def test_what_is_read_is_a_copy_of_plain_types() -> None:
    odd = Hit(Text("globex/9"), Float(2.5), Text("globex"), Text("whose it is"))
    read = read_response(Response([odd], Float(1.5), total=Int(7)), 2)
    assert repr(read) == repr(
        Response([Hit("globex/9", 2.5, "globex", "whose it is")], 1.5, total=7)
    )
    (copy,) = read.hits
    values = [copy.uid, copy.score, copy.tenant, copy.text, read.server_ms, read.total]
    assert [type(value) for value in values] == [str, float, str, str, float, int]


@pytest.mark.parametrize(
    "answer",
    [
        Response([hit(score=Float("nan"))]),
        Response([hit()], server_ms=Float("nan")),
        Response([hit()], server_ms=Float(-1.0)),
        Response([hit()], total=Int(-1)),
        Response([hit(Text("acme/\udcff"))]),
    ],
    ids=repr,
)
def test_what_a_value_says_of_itself_is_not_believed(answer: Response) -> None:
    with pytest.raises(BadAnswer):
        check_response(answer, QUERY)


def test_a_refused_answer_shows_what_its_texts_hold() -> None:
    with pytest.raises(BadAnswer) as caught:
        check_response(Response([Hit(Text("globex/9"), float("nan"))]), QUERY)
    assert [*map(repr, caught.value.uids)] == ["'globex/9'"]


def test_of_an_answer_without_measure_so_much_is_read() -> None:
    with pytest.raises(BadAnswer, match="20000 hits") as caught:
        check_response(Response([hit()] * 20_000), QUERY)
    assert len(caught.value.uids) == MOST_READ
