"""Every question of a golden set by its own tenant, and some of others' by every owner.

For a place that is only read: a service may show one tenant everything, and a tenant that does not
ask is not told so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from retrieverbench.leaks.columns import MAX_KEPT_FINDINGS
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.leaks.unguarded import shown_tenant
from retrieverbench.leaks.world import Question
from retrieverbench.model import TenantId
from retrieverbench.storage import stored

MOST_FOREIGN, MOST_PAIRS = 8, 2_000
"""Questions of others that a tenant asks; pairs in all, though every tenant asks one at least."""


async def ask_everything(scene: Scene) -> None:
    """Ask as far as the findings stay few; `scene.limit` says what was not asked.

    A question without an answer, or a tenant that finds nothing by any of its own, proves nothing
    of itself: the control fails.
    """
    questions, owners = scene.world.questions, list(stored(scene.world.exported).per_tenant)
    asked = [(question.tenant, question) for question in questions]
    further = list(foreign_pairs(scene, owners))
    blind = {question.tenant for question in questions if question.answerable}
    unanswered: list[str] = []
    number = 0
    for tenant, question in (*asked, *further):
        if len(scene.findings) >= MAX_KEPT_FINDINGS:
            break
        number += 1
        seen = await scene.ask(tenant.value, question.text, question.vector, k=question.depth)
        if why := _unanswered(scene, tenant, seen):
            unanswered.append(f"{shown_tenant(tenant)!r}: {why:.200}")
        elif seen.uids and tenant == question.tenant:
            blind.discard(tenant)
    if unanswered:
        told = f"{len(unanswered)} of {number} got none; the first as {unanswered[0]}"
        scene.control(False, "every question gets an answer", told)
    if blind and number >= len(asked):
        first = min(shown_tenant(tenant) for tenant in blind)
        told = f"{len(blind)} find nothing by any of them; one is {first!r}"
        scene.control(False, "every tenant finds something by its questions", told)
    scene.limit = _limit(owners, questions, number)


def foreign_pairs(scene: Scene, owners: Sequence[TenantId]) -> Iterator[tuple[TenantId, Question]]:
    """For every owner some questions of others, other ones for the next; drawn by the seed."""
    questions = list(scene.world.questions)
    scene.draw.random("questions of others").shuffle(questions)
    each = max(1, min(MOST_FOREIGN, MOST_PAIRS // len(owners)))
    for number, owner in enumerate(owners):
        start = number * each % len(questions)
        turned = (*questions[start:], *questions[:start])
        foreign = (question for question in turned if question.tenant != owner)
        for question in islice(foreign, each):
            yield owner, question


def _unanswered(scene: Scene, tenant: TenantId, seen: Seen) -> str:
    """Why there is no answer, "" if there is one; strangers may be turned away."""
    if seen.error is not None:
        return str(seen.error)
    return "refused" if seen.refused and scene.owns(tenant) else ""


def _limit(owners: Sequence[TenantId], questions: Sequence[Question], asked: int) -> str:
    """How many questions of the golden set, and pairs with another tenant, were left out."""
    own = min(asked, len(questions))
    known = set(owners)
    pairs = len(owners) * len(questions) - sum(each.tenant in known for each in questions)
    parts = []
    if own < len(questions):
        parts.append(
            f"{len(questions) - own} of {len(questions)} questions were not asked by their own "
            f"tenants: it ended after {MAX_KEPT_FINDINGS} findings"
        )
    if asked - own < pairs:
        parts.append(
            f"{pairs - (asked - own)} of {pairs} pairs of a tenant and a question of another were "
            f"left out: each of the {len(owners)} tenants asked {MOST_FOREIGN} of them at most"
        )
    return "; ".join(parts)
