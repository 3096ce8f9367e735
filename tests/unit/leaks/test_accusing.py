"""A finding says what of a chunk was shown, under which id and in which field."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from retrieverbench.leaks import Draw, make_world
from retrieverbench.leaks.accusing import findings_of, over_counted
from retrieverbench.leaks.elsewhere import Told
from retrieverbench.leaks.unguarded import unchecked_tenant
from retrieverbench.model import Hit, LeakFinding, Response

WORLD = make_world(Draw(5, ("acme", "globex")))
MINE, OTHER = WORLD.tenants[:2]
OWN, FOREIGN = WORLD.chunks[MINE][0], WORLD.chunks[OTHER][1]
CANARY, TOKEN = WORLD.canaries[OTHER], WORLD.tokens[OTHER]


def found(told: Told, uids: Sequence[str] = ()) -> LeakFinding:
    (first, *_) = findings_of(
        *(uids, told, MINE),
        world=WORLD,
        ledger=WORLD.ledger,
        target="fake",
        probe="P01",
        hint=None,
        texts_stay=True,
        known=(),
    )
    return first


def test_a_foreign_id_of_a_hit_is_an_id() -> None:
    first = found(Told(), [OWN.uid, FOREIGN.uid])
    assert (first.shown, first.uid, first.rank, first.place) == ("id", FOREIGN.uid, 2, "")


def test_a_text_under_an_own_id_is_a_text_and_names_both() -> None:
    answer = Response([Hit("x", 1.0), Hit(OWN.uid, 1.0, text=FOREIGN.text)])
    first = found(Told([answer]))
    assert (first.shown, first.uid, first.under) == ("text", FOREIGN.uid, OWN.uid)
    assert first.where == "hits[1].text"
    assert first.place == f", under the id {OWN.uid!r}, in the field 'hits[1].text'"


@pytest.mark.parametrize(
    ("told", "shown", "where"),
    [
        (Told([[{"related": [{"body": FOREIGN.text}]}]]), "text", "[0].related[0].body"),
        (Told([{"next": FOREIGN.uid}]), "id", "next"),
        (Told([{"marked": f"<b>{TOKEN}</b>"}]), "secret", "marked"),
        (Told(error=f"no chunk {FOREIGN.uid}"), "id", "an error's text"),
        (Told([{"v": list(FOREIGN.vector or ())}]), "vector", ""),
    ],
)
def test_the_field_is_named_where_an_answer_has_one(told: Told, shown: str, where: str) -> None:
    first = found(told)
    assert (first.shown, first.where, first.under) == (shown, where, "")


def test_a_total_may_count_all_that_the_asker_ever_owned() -> None:
    own, gone, given = WORLD.owned(MINE), {OWN.uid: None}, {FOREIGN.uid: MINE}
    assert over_counted(None, MINE, WORLD, {}, ()) == ""
    assert over_counted(own, MINE, WORLD, gone, ()) == "", "it may be counted still"
    assert over_counted(own + 1, MINE, WORLD, given, ()) == ""
    assert over_counted(own + 1, MINE, WORLD, {}, {FOREIGN.uid, OWN.uid}) == "", "on its way"
    assert over_counted(own + 1, MINE, WORLD, gone, ()) == (
        f"{MINE.value!r} was told a total of {own + 1} chunks, and it owns {own}"
    )
    told = over_counted(1, unchecked_tenant([]), WORLD, {}, ())
    assert told == "'list []' was told a total of 1 chunk, and it owns 0"
