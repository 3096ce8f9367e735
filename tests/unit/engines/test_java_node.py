"""Real nodes: what they say of themselves, and that nothing of them stays."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil
import pytest

from retrieverbench.engines import Started, opensearch
from retrieverbench.engines import elasticsearch as engine
from retrieverbench.engines.elasticsearch import NODE
from retrieverbench.engines.java_node import JavaNode, jars, jvm
from retrieverbench.engines.processes import free_port
from retrieverbench.errors import BackendError, InputError, Unavailable

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _startable() -> None:
    reason = engine.missing()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that others start meanwhile stay out of sight."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def _ask(endpoint: str) -> dict[str, Any]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(endpoint, timeout=10) as answer:
        body: dict[str, Any] = json.load(answer)
        return body


def _exists(path: Path) -> bool:
    return path.exists()


def _folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("retrieverbench-*search-*"))


async def test_nodes_side_by_side_and_nothing_of_them_stays() -> None:
    """Each answers as itself, on loopback only; afterwards no process and no folder is there."""
    before = _folders()
    small = {"heap_mb": 256, "quick_start": True}
    async with engine.start(small) as one, opensearch.start({"quick_start": True}) as two:
        nodes = [one, two]
        said = [_ask(node.endpoint) for node in nodes]
        folders = _folders() - before
        processes = [_process(node) for node in nodes]
        assert len(folders) == 2
        for process in processes:
            listening = [c for c in process.net_connections("inet") if c.status == "LISTEN"]
            # An IPv6 socket of the JVM shows the address of IPv4 in its mapped form.
            found = {c.laddr.ip.removeprefix("::ffff:") for c in listening}
            assert {ipaddress.ip_address(address).is_loopback for address in found} == {True}
    assert [node["version"]["number"] for node in said] == [node.version for node in nodes]
    assert [node["version"]["build_type"] for node in said] == ["embedded", "unknown"]
    assert [node.fidelity for node in nodes] == ["engine"] * 2
    assert one.details["heap_mb"] == 256
    assert not [process for process in processes if process.is_running()]
    assert not [folder for folder in folders if _exists(folder)]


def _process(node: Started) -> psutil.Process:
    return psutil.Process(int(str(node.details["pid"])))


@pytest.mark.parametrize(
    ("name", "ending"),
    [("elasticsearch", signal.SIGKILL), ("opensearch", signal.SIGINT)],
)
async def test_nothing_stays_when_the_parent_is_ended(name: str, ending: signal.Signals) -> None:
    """Neither the JVM nor its supervisor nor their folder."""
    program = (
        "import anyio\n"
        f"from retrieverbench.engines import {name}\n"
        "async def main():\n"
        f"    async with {name}.start({{'quick_start': True}}) as node:\n"
        "        print(node.details['pid'], flush=True)\n"
        "        await anyio.sleep(60)\n"
        "anyio.run(main)\n"
    )
    before = _folders()
    parent = await anyio.open_process([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    async with parent:
        assert parent.stdout is not None
        node = psutil.Process(int(await parent.stdout.receive()))
        supervisor = node.parent()
        assert supervisor is not None
        (folder,) = _folders() - before
        parent.send_signal(ending)
        await parent.wait()
    both = [node, supervisor]
    _, alive = await anyio.to_thread.run_sync(lambda: psutil.wait_procs(both, timeout=20))
    assert alive == []
    assert not _exists(folder)


async def test_once_fetched_no_network_is_needed() -> None:
    """A repository that cannot be reached is not asked when all jars are there."""
    await engine.fetch()
    folder = await engine.fetch(repository=f"http://127.0.0.1:{free_port()}/")
    assert all((folder / pin.file_name).is_file() for pin in jars.pinned(NODE))


async def test_without_a_network_the_first_start_says_what_is_missing(tmp_path: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(Unavailable, match="could not be fetched") as caught:
        async with engine.start({"cache": str(tmp_path), "repository": nowhere}):
            pass
    assert str(tmp_path) in str(caught.value)


async def test_unknown_options_are_refused() -> None:
    with pytest.raises(InputError, match=r"engine elasticsearch: options: heap: unknown key.*mb"):
        async with engine.start({"heap": 512}):
            pass


@pytest.mark.parametrize("option", ["cache", "repository"])
async def test_an_option_of_fetching_that_is_no_text_is_refused(option: str) -> None:
    """A suite's options reach `fetch` before they reach `start`, and unchecked."""
    options: dict[str, Any] = {option: 1}
    with pytest.raises(InputError, match=rf"engine elasticsearch: options: {option}: 1 is wrong"):
        await engine.fetch(**options)


@pytest.mark.parametrize(
    ("version", "words"), [("17.0.15", "not a Java of at least 21"), ("no", "no")]
)
async def test_an_old_java_is_refused(tmp_path: Path, version: str, words: str) -> None:
    java = _fake_java(tmp_path, version)
    with pytest.raises(BackendError, match=words):
        await jvm.find(NODE, str(java))


async def test_a_java_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="java_home") as caught:
        await jvm.find(NODE, str(tmp_path))
    assert str(tmp_path / "bin" / "java") in str(caught.value)


async def test_a_given_java_is_used() -> None:
    wheel = await jvm.find(NODE, None)
    given = await jvm.find(NODE, str(wheel.command.parents[1]))
    assert given.command == wheel.command
    assert given.version.split(".")[0] == wheel.version.split(".")[0]


async def test_a_node_that_does_not_start_shows_its_log(tmp_path: Path) -> None:
    wheel = await jvm.find(NODE, None)
    folder = await engine.fetch()
    await jars.class_path(NODE, wheel.command, await jars.fetch_jars(NODE, folder), folder)
    java = _fake_java(tmp_path, "21.0.1")
    with pytest.raises(Unavailable, match="out of luck"):
        async with engine.start({"java_home": str(java)}):
            pass


async def test_a_launcher_that_does_not_compile_says_why(tmp_path: Path) -> None:
    wheel = await jvm.find(NODE, None)
    broken = jars.Jars([], [], tmp_path / "absent.jar")
    with pytest.raises(BackendError, match=r"absent\.jar"):
        await jars.class_path(NODE, wheel.command, broken, tmp_path)


async def test_a_damaged_launcher_is_compiled_anew(tmp_path: Path) -> None:
    """The same folder afterwards, with the same jar; a whole one is left as it is."""
    wheel = await jvm.find(NODE, None)
    fetched = await jars.fetch_jars(NODE, await engine.fetch())
    paths = await jars.class_path(NODE, wheel.command, fetched, tmp_path)
    made = paths[0].parent
    whole = _classes(made)
    for damage in (_empty, _replace_folder):
        damage(made, min(whole))
        assert await jars.class_path(NODE, wheel.command, fetched, tmp_path) == paths
        assert _classes(made) == whole
    no_java = tmp_path / "absent"
    assert await jars.class_path(NODE, no_java, fetched, tmp_path) == paths


def _empty(classes: Path, name: str) -> None:
    (classes / name).write_bytes(b"")


def _replace_folder(classes: Path, _: str) -> None:
    shutil.rmtree(classes)
    classes.touch()


def _classes(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.jar")}


@pytest.mark.parametrize(
    ("node", "files", "group", "versions"),
    [
        (NODE, 54, "org.elasticsearch", {"9.5.3"}),
        (opensearch.NODE, 79, "org.opensearch", {"2.19.6", "2.19.6.0"}),
    ],
    ids=["elasticsearch", "opensearch"],
)
def test_every_jar_is_pinned(node: JavaNode, files: int, group: str, versions: set[str]) -> None:
    """One version of the server, no artifact twice, whole sums."""
    pins = jars.pinned(node)
    assert len({pin.coordinate.rpartition(":")[0] for pin in pins}) == len(pins) == files
    assert all(re.fullmatch(r"[0-9a-f]{64}", pin.sha256) and pin.size > 0 for pin in pins)
    ours = {p.coordinate.rpartition(":")[2] for p in pins if p.coordinate.startswith(group)}
    assert ours == versions


def _fake_java(home: Path, version: str) -> Path:
    """A Java that says its version, and fails at everything else."""
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/bin/sh\n"
        f"""[ "$1" = -version ] && echo 'openjdk version "{version}"' >&2 && exit 0\n"""
        "echo out of luck >&2\nexit 1\n"
    )
    java.chmod(0o755)
    assert os.access(java, os.X_OK)
    return home
