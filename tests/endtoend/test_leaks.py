"""A dropped tenant condition in any adapter must end in exit 4; the clean one must not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from bench_support import Bench, write_example
from engine_support import need_engine
from fault_catalog import Server, server_of
from retrieverbench.gate import judge
from retrieverbench.model import Artifact
from retrieverbench.report import read_artifact
from retrieverbench.run import Engines

MUTANTS = Path(__file__).with_name("mutants")
NAMES = sorted(
    {
        point.name
        for point in metadata.entry_points(group="retrieverbench.adapters")
        if point.dist is not None
        and point.dist.name == "retrieverbench"
        and "put" in point.load().capabilities
    }
)
"""What cannot be loaded is a service of the user's, which has its own tests."""


LAYOUTS = {"pgvector": ("filter", "partition", "index", "rls")}
"""Layouts whose own barrier a mutant drops, where there are more than `filter`."""


@pytest.fixture(scope="module")
async def servers(
    engines: Engines,
    anyio_backend: str,  # so that tests that are no coroutines may ask for it
) -> Mapping[str, Server]:
    """The engine of each adapter; the first adapter has none."""
    for name in NAMES:
        need_engine(name)
    return {name: await server_of(name, engines) for name in NAMES}


def environ(servers: Mapping[str, Server]) -> dict[str, str]:
    return {key: value for server in servers.values() for key, value in server.environ.items()}


def test_every_adapter_has_a_mutant() -> None:
    assert {path.stem for path in MUTANTS.glob("*.py")} >= set(NAMES)


def test_clean_adapters_pass(bench: Bench, servers: Mapping[str, Server]) -> None:
    suite = bench.suite(*(f"{servers[name].entry(name=name)}\nrequired = true" for name in NAMES))
    done = bench.process("run", suite, env=environ(servers))
    assert done.returncode == 0, done.stdout + done.stderr
    proofs = {t["target"]["name"]: t["leaks"]["proof"] for t in bench.artifact()["targets"]}
    assert proofs == dict.fromkeys(NAMES, "clean")


def mutant(name: str) -> str:
    return f"{MUTANTS / name}.py:Leaky"


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory, servers: Mapping[str, Server]) -> Artifact:
    """One run of all mutants, in a process of its own, since they change their adapters."""
    bench = Bench(write_example(tmp_path_factory.mktemp("leaky")))
    suite = bench.suite(
        *(
            servers[name].entry(adapter=mutant(name), name=f"{name}_{layout}", layout=layout)
            for name in NAMES
            for layout in LAYOUTS.get(name, ("filter",))
        )
    )
    done = bench.process("run", suite, env=environ(servers))
    assert done.returncode == 4, done.stdout + done.stderr
    assert "LEAK (exit 4)" in done.stdout
    (path,) = bench.folder.glob("results/runs/*/*.json")
    return read_artifact(path)


@pytest.mark.parametrize("name", NAMES)
def test_dropped_filter_is_exit_4(leaky: Artifact, name: str) -> None:
    """Each adapter's targets by themselves."""
    own = [result for result in leaky.targets if result.target.adapter == mutant(name)]
    assert {result.target.layout for result in own} == set(LAYOUTS.get(name, ("filter",)))
    for result in own:
        alone = judge(replace(leaky, targets=(result,), verdict=None), [], {})
        assert (alone.word, alone.exit_code) == ("leak", 4), result.target
        assert result.leaks is not None
        seen = {finding.seen_in for finding in result.leaks.findings}
        assert result.leaks.proof == "leak", result.target
        assert seen - {"total"} == {"quality", "timed", "canary"}, result.target


def test_a_dropped_filter_shows_in_totals_too(leaky: Artifact) -> None:
    """In most of them: one adapter counts by a request of its own, which has the filter."""
    counting = {
        result.target.adapter
        for result in leaky.targets
        if result.leaks is not None and result.leaks.side_channel
    }
    assert len(counting) >= len(NAMES) - 1


def test_a_service_that_leaks_by_itself_is_exit_4(bench: Bench) -> None:
    """The adapter is right, its filter sent; the store does not obey it in one leg of hybrid."""
    need_engine("azure_search")
    entry = 'adapter = "azure_search"\nengine = "embedded"\nrequired = true'
    broken = 'engine_options = { BROKEN_ON_PURPOSE = "text_leg_unfiltered" }'
    done = bench.run("run", bench.suite(f"{entry}\n{broken}"))
    assert done.returncode == 4, done.stdout + done.stderr
    assert "the stand-in is broken on purpose" in " ".join(done.stdout.split())
    for target in bench.artifact()["targets"]:
        assert "broken on purpose (text_leg_unfiltered)" in target["backend"]["weaknesses"][0]
    proofs = {t["target"]["mode"]: t["leaks"]["proof"] for t in bench.artifact()["targets"]}
    assert proofs == {"dense": "clean", "lexical": "clean", "hybrid": "leak"}


BESIDE = """
from retrieverbench_adapters.memory import Memory


class Joined(Memory):
    \"\"\"The asker's own uids, with texts that were looked up without the tenant.\"\"\"

    async def put(self, chunks):
        self.texts = {**getattr(self, "texts", {}), **{c.id: c.text for c in chunks}}
        await super().put(chunks)

    async def search(self, query):
        answer = await super().search(query)
        for hit in answer.hits:
            hit.text = self.texts[hit.uid.partition("/")[2]]
        return answer


class Counting(Memory):
    \"\"\"Own hits, and a total that is counted without the tenant.\"\"\"

    chunks = 0

    async def put(self, chunks):
        self.chunks += len(chunks)
        await super().put(chunks)

    async def search(self, query):
        answer = await super().search(query)
        answer.total = self.chunks if self.tells(query) else None
        return answer

    def tells(self, query):
        return "total" in query.want


class Unasked(Counting):
    \"\"\"The same in every answer, and nothing of it is declared.\"\"\"

    capabilities = Counting.capabilities - {"total"}

    def tells(self, query):
        return True


class Misshapen(Memory):
    \"\"\"No answer that counts as one; what each shows is another's all the same.\"\"\"

    async def search(self, query):
        return [("birch/leave/annual#1",), ("cedar/leave/annual#1",)]
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Joined", "got the text of a chunk of "),
        ("Misshapen", "failed: none of 5 questions was answered; the first error: "),
    ],
)
def test_what_stands_beside_own_hits_can_be_a_leak(bench: Bench, name: str, told: str) -> None:
    (bench.folder / "beside.py").write_text(BESIDE)
    target = f'adapter = "beside.py:{name}"\nmodes = ["lexical"]'
    done = bench.run("run", bench.suite(target))
    assert done.returncode == 4, done.stdout + done.stderr
    assert told in done.stdout
    (path,) = bench.folder.glob("results/runs/test/*.json")
    accepted = bench.run("baseline", "accept", path)
    assert "leaks.findings" not in accepted.stderr, "it counts what it lists"
    declared = bench.run("run", bench.suite(f"{target}\ndeclares = {{ global_totals = true }}"))
    assert declared.returncode == 4, declared.stdout


@pytest.mark.parametrize("name", ["Counting", "Unasked"])
def test_a_total_is_judged_alike_by_run_and_audit(bench: Bench, name: str) -> None:
    """No chunk is shown: a side channel, exit 1, and nothing where it is declared."""
    (bench.folder / "beside.py").write_text(BESIDE)
    target = f'adapter = "beside.py:{name}"\nmodes = ["lexical"]'
    for declares, code in (("", 1), ("declares = { global_totals = true }", 0)):
        suite = bench.suite(f"{target}\n{declares}")
        for command in (("run",), ("leaks", "--probe", "P39", "--probe", "P22")):
            done = bench.run(command[0], suite, *command[1:])
            assert done.returncode == code, done.stdout + done.stderr
            said = " ".join(done.stdout.split())
            assert ("side channel: " in said) == bool(code)
            assert ("declares = { global_totals = true } in the target accepts it" in said) == (
                bool(code)
            )
