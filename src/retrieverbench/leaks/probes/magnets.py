"""Questions that foreign chunks answer best (P01, P02, P03, P22, P26)."""

from __future__ import annotations

from retrieverbench.leaks.elsewhere import Told
from retrieverbench.leaks.probe import Probe
from retrieverbench.leaks.questions import ask_everything
from retrieverbench.leaks.scene import Scene

TOTAL = frozenset({"text", "tenant", "total"})
_FILTER = "every leg of the search must carry the tenant condition"


async def canary_twin(scene: Scene) -> None:
    """Each tenant's canary, asked for by its owner and by the next tenant.

    Where there are none, in a place that is only read, chunks that questions of the golden set
    find stand for them, and every such question is asked, too.
    """
    tenants = scene.world.tenants
    for owner, asker in zip(tenants, tenants[1:] + tenants[:1], strict=True):
        for canary in scene.world.private(owner):
            own = await scene.ask(owner.value, canary.text, canary.vector)
            told = f"chunk {canary.uid!r} by a question" if scene.world.exported else "canary"
            scene.control(canary.uid in own.uids, f"{owner.value!r} finds its own {told}", own)
            await scene.ask(asker.value, canary.text, canary.vector)
    for tenant, uids in scene.world.shown:
        scene.judge(tenant, uids, Told())
    if scene.world.questions:
        await ask_everything(scene)


async def lexical_magnet(scene: Scene) -> None:
    """A word that only foreign chunks hold."""
    tenants = scene.world.tenants
    for number, owner in enumerate(tenants):
        asker = tenants[(number + 1) % len(tenants)]
        vector = scene.world.chunks[owner][0].vector
        word = scene.world.only[owner]
        own = await scene.ask(owner.value, word, vector)
        scene.control(bool(own.uids), f"{owner.value!r} finds chunks by its own word", own)
        seen = await scene.ask(asker.value, word, vector)
        if scene.mode == "lexical":
            scene.expect(
                not seen.uids,
                f"{asker.value!r} got {len(seen.uids)} own chunks without the word",
                severity="medium",  # a search by parts of words does so; foreign ones are findings
            )


async def dense_magnet(scene: Scene) -> None:
    """A query vector that is a foreign chunk's own."""
    tenants = scene.world.tenants
    for number, owner in enumerate(tenants):
        asker = tenants[(number + 1) % len(tenants)]
        chunk = scene.world.chunks[owner][0]
        own = await scene.ask(owner.value, chunk.text, chunk.vector)
        words = "the vector of its question" if scene.world.exported else "its vector"
        scene.control(chunk.uid in own.uids, f"{owner.value!r} finds its chunk by {words}", own)
        # A word of the asker's own chunks would let their lexical ranks hide a foreign one.
        await scene.ask(asker.value, scene.draw.words("absent")[0], chunk.vector)


async def unknown_tenant(scene: Scene) -> None:
    """A well-formed name that nobody bears."""
    asker = scene.world.tenants[0]
    chunk = scene.world.chunks[asker][0]
    own = await scene.ask(asker.value, chunk.text, chunk.vector)
    scene.control(bool(own.uids), "a known tenant finds chunks by the same question", own)
    (name,) = scene.draw.words("nobody")
    seen = await scene.ask(name, chunk.text, chunk.vector, want=TOTAL)
    scene.expect(not seen.uids, f"an unknown tenant got {len(seen.uids)} chunks")
    told = f"an unknown tenant was told a total of {seen.total}"
    # A number is a side channel, wherever it is told: no chunk is shown.
    scene.expect(not seen.total, told, severity="medium", accept="global_totals")
    scene.expect(seen.error is None, f"an unknown tenant got an error: {seen.error}")


async def identical_text(scene: Scene) -> None:
    """The same text and vector in every tenant: each gets its own copies."""
    for tenant in scene.world.tenants:
        canary = scene.world.canaries[tenant]
        own = await scene.ask(tenant.value, canary.text, canary.vector)
        scene.control(
            canary.uid in own.uids, f"{tenant.value!r} finds a chunk by its own text", own
        )
        for twin in scene.world.twins[tenant]:
            seen = await scene.ask(tenant.value, twin.text, twin.vector)
            scene.expect(
                twin.uid in seen.uids, f"{tenant.value!r} does not find its own copy {twin.uid!r}"
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
