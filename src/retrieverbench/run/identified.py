"""Whether the ids of an attached index are those that the corpus knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from retrieverbench.adapter import Adapter
from retrieverbench.errors import AdapterError, BackendError, Code, TenantError
from retrieverbench.model import Chunk, Query
from retrieverbench.remote import shortened
from retrieverbench.run.attach import AttachEntry, key_of
from retrieverbench.run.checks import check_response
from retrieverbench.run.covering import SHOWN, LookedUp
from retrieverbench.run.guard import Abandoned, Step

LONGEST_ID = 24
"""Characters that are shown of an id: where attach.id names another field it may be a text."""


async def check_known(
    adapter: Adapter, entry: AttachEntry, found: LookedUp, chunks: Sequence[Chunk], step: Step
) -> None:
    """Where no id of the corpus is in the index, nobody can say whose a chunk is.

    `found` says that no tenant was shown any. A search that shows an id of the corpus all the
    same ends the doubt. Raises AdapterError, Abandoned.
    """
    there = await _searched(adapter, entry, chunks, step)
    if any(key_of(entry.matches, chunk) in there for chunk in chunks):
        return
    of_index = f"{entry.id!r} holds {_first(there)}" if there else "no search shows one of its ids"
    raise AdapterError(
        f"the index has none of {found.asked} ids of the corpus that were asked for: in the index "
        f"{of_index}; {entry.matches} of the corpus is {_first(found.keys)}",
        code=Code.WRONG_COUNT,
        remedy="attach.id must name the field that holds the chunks' ids, and attach.matches what "
        "of the corpus they are: id, uid or metadata.<name>",
    )


async def _searched(
    adapter: Adapter, entry: AttachEntry, chunks: Sequence[Chunk], step: Step
) -> dict[str, None]:
    """Ids that searches for the words of a few tenants' chunks show, as the index has them."""
    if not entry.text or "lexical" not in adapter.capabilities:
        return {}
    there: dict[str, None] = {}
    for chunk in list({chunk.tenant: chunk for chunk in chunks}.values())[:SHOWN]:
        query = Query(shortened(chunk.text, 200), chunk.tenant, SHOWN, "lexical")
        try:
            hits = check_response(await step.call(partial(adapter.search, query)), query)
        except Abandoned:
            raise
        except (BackendError, TenantError):
            continue
        there |= dict.fromkeys(hit.uid for hit in hits)
    return there


def _first(ids: Iterable[str]) -> str:
    return ", ".join(repr(shortened(key, LONGEST_ID)) for key in list(ids)[:SHOWN])
