"""A class-data archive is used whole and for its own files only, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from retrieverbench.engines import elasticsearch as engine
from retrieverbench.engines.elasticsearch import NODE
from retrieverbench.engines.fetch import cache_folder
from retrieverbench.engines.java_node.archive import Archive, archive_for, can_be_made, make
from retrieverbench.engines.java_node.jvm import Java
from retrieverbench.errors import BackendError

pytestmark = pytest.mark.anyio


@pytest.fixture
def java(tmp_path: Path) -> Java:
    command = tmp_path / "bin" / "java"
    command.parent.mkdir()
    command.touch()
    return Java(command, "25.0.2")


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "server.jar"
    path.write_bytes(b"classes")
    return path


def _made(archive: Archive) -> Archive:
    partial = archive.path.with_name("partial")
    partial.write_bytes(b"archived")
    archive.put_in_place(partial)
    return archive


async def test_a_damaged_or_half_written_one_is_not_used(
    tmp_path: Path, java: Java, jar: Path
) -> None:
    archive = archive_for(NODE, java, [jar], tmp_path)
    assert not await archive.is_whole()
    assert await _made(archive).is_whole()
    archive.path.write_bytes(b"archive!")
    assert not await archive.is_whole()
    _made(archive).path.with_suffix(".sha256").unlink()
    assert not await archive.is_whole()


async def test_other_files_or_another_java_have_another_one(
    tmp_path: Path, java: Java, jar: Path
) -> None:
    _made(archive_for(NODE, java, [jar], tmp_path))
    assert await archive_for(NODE, java, [jar], tmp_path).is_whole()
    assert not await archive_for(NODE, replace(java, version="26"), [jar], tmp_path).is_whole()
    assert not await archive_for(NODE, java, [], tmp_path).is_whole()
    await anyio.Path(jar).write_bytes(b"other classes")
    assert not await archive_for(NODE, java, [jar], tmp_path).is_whole()


def test_an_older_java_makes_none(java: Java) -> None:
    assert can_be_made(java)
    assert not can_be_made(replace(java, version="21.0.1"))


async def test_a_node_that_does_not_start_leaves_no_archive(
    tmp_path: Path, java: Java, jar: Path
) -> None:
    archive = archive_for(NODE, java, [jar], tmp_path)
    await anyio.Path(java.command).write_text("#!/bin/sh\necho out of luck\nexit 1\n", "ascii")
    await anyio.Path(java.command).chmod(0o755)
    command = [str(java.command), str(tmp_path / "node"), "name"]
    with pytest.raises(BackendError, match="out of luck"):
        await make(NODE, archive, command, tmp_path)
    assert not archive.path.exists()


async def test_what_engine_fetch_made_is_used() -> None:
    reason = engine.missing()
    if reason is None and not list(cache_folder().glob("elasticsearch-classes-*.sha256")):
        reason = "no class-data archive here; run: retrieverbench engine fetch elasticsearch"
    if reason is not None:
        pytest.skip(reason)
    await engine.prepare()
    async with engine.start({"quick_start": True}) as node:
        assert node.details["class_archive"] is True
        maps = await anyio.Path(f"/proc/{node.details['pid']}/maps").read_text("utf-8")
        assert "/elasticsearch-classes-" in maps, "the JVM has not taken it"
