"""What was seen of other tenants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Proof = Literal["clean", "leak", "inconclusive", "not applicable"]
What = Literal["id", "text", "secret", "word", "name", "vector"]
_OF: dict[What, str] = {
    "id": "",
    "text": "the text of ",
    "secret": "the secret word of ",
    "word": "a word that its owner alone has of ",
    "name": "the name of the owner of ",
    "vector": "the vector of ",
}
NOT_IN_CORPUS = "not in the corpus: "
"""Before an id of an attached index that the corpus does not hold; no uid begins so."""


@dataclass(frozen=True, slots=True)
class LeakFinding:
    """One foreign or unknown chunk in an answer. Names ids and owners, never texts.

    `owner` is None when the ledger does not know the uid (unknown counts as foreign);
    `hint` says so where it looks like a mistake of the adapter's.
    `rank` counts from 1; it is 0 when a foreign canary stood elsewhere in the answer.
    `seen_in` is `quality`, `text`, `timed`, `canary`, `control`, `total` or `get` (an
    attached index was asked for a chunk by its id); a `text` that came with an own uid is of the
    quality pass, or of its questions asked once more with their texts.
    `shown` is what was shown of the chunk: its id, its text, a canary's secret word, a word or
    name that only its owner has, or its vector; `uid` is no part of the answer then, but for a
    `text` that a run saw. It came `under` the id of a hit ("" where it is part of none), in the
    field `where` of the answer ("" where that is not known).
    """

    target: str
    case_id: str
    tenant: str
    uid: str
    rank: int
    owner: str | None
    seen_in: str
    hint: str | None = None
    shown: What = "id"
    where: str = ""
    under: str = ""

    @property
    def part(self) -> str:
        """What of the chunk was shown, before its id; "" for the id itself."""
        return _OF[self.shown]

    @property
    def place(self) -> str:
        """Where that stood, behind everything else; "" for a hit's own id."""
        under = f"under the id {self.under!r}" if self.under else ""
        field = f"in the field {self.where!r}" if self.where else ""
        return "".join(f", {each}" for each in (under, field) if each)


@dataclass(frozen=True, slots=True)
class LeakCheck:
    """The leak columns of one target; a number is None where that was not looked at.

    `answers` and the `hits` in them were checked against the owner ledger, refused answers
    included; `leaking_answers` of them held a chunk of another's, None where that was not
    counted. `foreign` and `unknown` count distinct chunks per question and pass.
    `canaries_asked` counts searches for a foreign canary, `canaries_found_by_owner` of
    `canaries_owned` is the positive control. `control_foreign` counts foreign chunks that the
    unfiltered control arm showed: it must be above 0, or there was nothing to steal.
    `side_channel` says which total, told beside the hits, counted others' chunks though the
    target does not declare it, "" for none: no chunk was shown, so it is no leak.
    `control_findings` counts what that arm showed though it was never put into it. `proof` is
    `clean` only with both controls, `inconclusive` (with `reason`) without,
    `not applicable` where one tenant owns everything. `upper_bound` is on the
    share of leaking answers after `trials` distinct ones, and is there only when clean.
    """

    answers: int
    hits: int
    foreign: int
    unknown: int
    canaries_asked: int | None
    canaries_owned: int | None
    canaries_found_by_owner: int | None
    control_foreign: int | None
    proof: Proof
    reason: str | None
    findings: tuple[LeakFinding, ...]
    upper_bound: float | None
    trials: int | None = None
    leaking_answers: int | None = None
    control_findings: int = 0
    side_channel: str = ""
