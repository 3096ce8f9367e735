"""Questions that foreign chunks answer best (P01, P02, P03, P22, P26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieverbench.errors import plural
from retrieverbench.leaks.asking import Asked
from retrieverbench.leaks.elsewhere import Told
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.questions import ask_everything
from retrieverbench.leaks.scene import Scene
from retrieverbench.leaks.seen import Seen
from retrieverbench.model import Chunk, TenantId

TOTAL = frozenset({"text", "tenant", "total"})
_FILTER = "every leg of the search must carry the tenant condition"


async def canary_twin(scene: Scene) -> None:
    """Each tenant's canary, asked for by its owner and by the next tenant.

    Where there are none, in a place that is only read, chunks that questions of the golden set
    find stand for them, and every such question is asked, too.
    """
    tenants = scene.world.tenants
    private = [(owner, canary) for owner in tenants for canary in scene.world.private(owner)]
    following = dict(zip(tenants, tenants[1:] + tenants[:1], strict=True))
    for (owner, canary), own in zip(private, await _own(scene, private), strict=True):
        told = f"chunk {canary.uid!r} by a question" if scene.world.exported else "canary"
        scene.control(canary.uid in own.uids, f"{owner.value!r} finds its own {told}", own)
    await scene.ask_all([Asked(following[o].value, c.text, c.vector) for o, c in private])
    for tenant, uids in scene.world.shown:
        scene.judge(tenant, uids, Told())
    if scene.world.questions:
        await ask_everything(scene)


async def _own(scene: Scene, chunks: Sequence[tuple[TenantId, Chunk]]) -> list[Seen]:
    """Owners ask for their chunks, all of them before any other tenant: a cache then holds them."""
    return await scene.ask_all([Asked(o.value, c.text, c.vector) for o, c in chunks])


async def lexical_magnet(scene: Scene) -> None:
    """A word that only foreign chunks hold."""
    owners = scene.world.tenants
    askers = owners[1:] + owners[:1]
    asked = [
        Asked(owner.value, scene.world.only[owner], scene.world.chunks[owner][0].vector)
        for owner in owners
    ]
    for owner, own in zip(owners, await scene.ask_all(asked), strict=True):
        scene.control(bool(own.uids), f"{owner.value!r} finds chunks by its own word", own)
    asked = [replace(one, tenant=asker.value) for one, asker in zip(asked, askers, strict=True)]
    for asker, seen in zip(askers, await scene.ask_all(asked), strict=True):
        if scene.mode == "lexical":
            scene.expect(
                not seen.uids,
                f"{asker.value!r} got {plural(len(seen.uids), 'own chunk')} without the word",
                severity="medium",  # a search by parts of words does so; foreign ones are findings
            )


async def dense_magnet(scene: Scene) -> None:
    """A query vector that is a foreign chunk's own."""
    owners = scene.world.tenants
    chunks = [(owner, scene.world.chunks[owner][0]) for owner in owners]
    words = "the vector of its question" if scene.world.exported else "its vector"
    for (owner, chunk), own in zip(chunks, await _own(scene, chunks), strict=True):
        scene.control(chunk.uid in own.uids, f"{owner.value!r} finds its chunk by {words}", own)
    # A word of the asker's own chunks would let their lexical ranks hide a foreign one.
    word, askers = scene.draw.words("absent")[0], owners[1:] + owners[:1]
    foreign = zip(askers, chunks, strict=True)
    await scene.ask_all([Asked(asker.value, word, chunk.vector) for asker, (_, chunk) in foreign])


async def unknown_tenant(scene: Scene) -> None:
    """A well-formed name that nobody bears."""
    asker = scene.world.tenants[0]
    chunk = scene.world.chunks[asker][0]
    scene.shelf = scene.shelf and scene.shelf.anew()
    own = await scene.ask(asker.value, chunk.text, chunk.vector)
    scene.control(bool(own.uids), "a known tenant finds chunks by the same question", own)
    (name,) = scene.draw.words("nobody")
    seen = await scene.ask(name, chunk.text, chunk.vector, want=TOTAL)
    scene.expect(not seen.uids, f"an unknown tenant got {plural(len(seen.uids), 'chunk')}")
    scene.expect(seen.error is None, f"an unknown tenant got an error: {seen.error}")


async def identical_text(scene: Scene) -> None:
    """The same text and vector in every tenant: each gets its own copies."""
    canaries = list(scene.world.canaries.items())
    for (tenant, canary), own in zip(canaries, await _own(scene, canaries), strict=True):
        scene.control(
            canary.uid in own.uids, f"{tenant.value!r} finds a chunk by its own text", own
        )
    twins = [(tenant, twin) for tenant, own in scene.world.twins.items() for twin in own]
    for (tenant, twin), seen in zip(twins, await _own(scene, twins), strict=True):
        scene.expect(
            twin.uid in seen.uids,
            f"{tenant.value!r} does not find its own copy {twin.uid!r}",
            missing=True,
        )


PROBES = (
    Probe(
        "P01",
        "canary twin",
        "leak",
        "critical",
        f"A tenant was shown another's private text; {_FILTER}.",
        canary_twin,
        asks_only=True,
        read_title="questions of others",
    ),
    Probe(
        "P02",
        "foreign lexical magnet",
        "leak",
        "critical",
        f"Words that only others use found their chunks; {_FILTER}.",
        lexical_magnet,
        modes=("lexical", "hybrid"),
    ),
    Probe(
        "P03",
        "foreign dense magnet",
        "leak",
        "critical",
        f"A vector that is another's found its chunk; {_FILTER}.",
        dense_magnet,
        asks_only=True,
        modes=("dense", "hybrid"),
    ),
    Probe(
        "P22",
        "unknown tenant",
        "fail-open",
        "critical",
        "A tenant that owns nothing must be answered with nothing, not with everything.",
        unknown_tenant,
        asks_only=True,
    ),
    Probe(
        "P26",
        "identical text in several tenants",
        "leak",
        "high",
        "Deduplication works across tenants, or the copies replace each other: "
        "keys and deduplication must include the tenant.",
        identical_text,
    ),
)
