"""What the running probe of an audit has seen is kept, whatever ends the audit."""

from __future__ import annotations

import signal
from time import monotonic, sleep

import pytest

from bench_support import Bench, entry_of

MINE = """
import asyncio, os, time
from pathlib import Path
from retrieverbench.errors import Unavailable
from retrieverbench.model import Hit, Response
from retrieverbench_adapters.memory import Memory


class Leaking(Memory):
    \"\"\"Everybody's first chunks to the first who asks; the third question is the last.\"\"\"

    asked, uids = 0, []

    async def put(self, chunks):
        self.uids.extend(chunk.uid for chunk in chunks)
        await super().put(chunks)

    async def search(self, query):
        type(self).asked += 1
        if self.asked > 2:
            return await self.end()
        if not self.leaks:
            return await super().search(query)
        return Response([Hit(uid, 1.0) for uid in self.uids[: query.k]])

    leaks = True


class Waits(Leaking):
    async def end(self):
        Path("waiting").touch()
        await asyncio.sleep(3600)


class Clean(Waits):
    leaks = False


class Dies(Leaking):
    async def end(self):
        raise Unavailable("nobody answers")


class Blocks(Leaking):
    async def end(self):
        time.sleep(10**6)  # for good: what is tested is that it is broken off


class BreaksTheLoop(Leaking):
    async def end(self):
        os.closerange(3, 256)
        await asyncio.sleep(3600)


"""


@pytest.fixture
def mine(bench: Bench) -> Bench:
    return bench.with_file("mine.py", MINE)


def interrupted(bench: Bench, name: str) -> tuple[int | None, str]:
    """Exit code and report of an audit that got SIGINT while the third question was asked."""
    suite = bench.suite(entry_of("mine.py", name))
    with bench.started("leaks", suite, "--probe", "P01", until="probes") as process:
        begun = monotonic()
        while not (bench.folder / "waiting").exists() and monotonic() - begun < 60:
            sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _err = process.communicate(timeout=60)
    return process.returncode, out


def test_a_leak_that_was_seen_outweighs_the_interrupt(mine: Bench) -> None:
    code, out = interrupted(mine, "Waits")
    assert code == 4, out
    assert "LEAK (exit 4); also interrupted" in out
    artifact = mine.artifact()
    assert artifact["complete"] is False
    (probe,) = artifact["targets"][0]["probes"]
    assert (probe["outcome"], probe["severity"]) == ("fail", "critical")
    assert len(probe["findings"]) >= 1
    assert "it was cut off (interrupted)" in probe["limit"]
    assert "it was cut off (interrupted)" in " ".join(out.split())


def test_what_was_cut_off_clean_proves_nothing(mine: Bench) -> None:
    code, out = interrupted(mine, "Clean")
    assert code == 130, out
    assert "INTERRUPTED (exit 130)" in out
    assert "nothing was probed" not in out
    (cut,) = mine.artifact()["targets"][0]["probes"]
    why = "it was cut off before it had a conclusion: interrupted"
    assert (cut["probe"], cut["outcome"], cut["reason"]) == ("P01", "inconclusive", why)
    assert "Probes that did not pass" in out
    assert "What was asked" in out
    assert "Not probed" in out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Dies", "10 questions in a row were not answered: nobody answers"),
        ("Blocks", "search was broken off: it blocked the event loop in mine.py:"),
        ("BreaksTheLoop", "the event loop broke: [Errno 9] Bad file descriptor"),
    ],
)
def test_a_leak_outweighs_whatever_broke_the_audit_off(mine: Bench, name: str, told: str) -> None:
    suite = mine.suite(entry_of("mine.py", name))
    text = suite.read_text(encoding="utf-8")
    suite.write_text(text.replace("timeout = 20.0", "timeout = 1.0"), encoding="utf-8")
    run = mine.run if name == "Dies" else mine.process
    done = run("leaks", suite, "--probe", "P14", "--probe", "P16")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "LEAK (exit 4); also not measured" in done.stdout
    assert "Traceback" not in done.stderr
    (leaking,) = mine.artifact()["targets"]
    assert told in leaking["failure"]
    cut, not_begun = leaking["probes"]
    assert (cut["probe"], cut["outcome"], not_begun["outcome"]) == ("P14", "fail", "not probed")
    assert told in cut["limit"]
