"""Pinned artifacts from a repository on loopback."""

from __future__ import annotations

import gc
import hashlib
import json
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import pytest
import trustme

from retrieverbench.engines.fetch import Artifact, cache_folder, fetch
from retrieverbench.engines.processes import free_port
from retrieverbench.errors import BackendError, Unavailable
from tls_support import terminated

pytestmark = pytest.mark.anyio


@dataclass
class Repository:
    """Serves `answers[path]` one after another, the last one for ever; counts requests."""

    url: str = ""
    answers: dict[str, list[bytes]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    stall: threading.Event | None = None

    def add(self, name: str, content: bytes, *before: bytes) -> Artifact:
        """Pin `content` as `org.example:name:jar:1.0`; `before` is what is served first."""
        self.answers[f"/org/example/{name}/1.0/{name}-1.0.jar"] = [*before, content]
        sha256 = hashlib.sha256(content).hexdigest()
        return Artifact(f"org.example:{name}:jar:1.0", sha256, len(content))


@pytest.fixture
def repository() -> Iterator[Repository]:
    served = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers = served.answers.get(self.path)
            served.asked[self.path] += 1
            if answers is None:
                self.send_error(404)
                return
            body = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if served.stall is not None:
                self.wfile.write(body[:1])
                served.stall.wait(20)
            else:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_address[1]}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield served
        if served.stall is not None:
            served.stall.set()
        server.shutdown()
        thread.join()


async def test_files_are_fetched_once(repository: Repository, tmp_path: Path) -> None:
    """The second call finds the files and asks nobody."""
    pins = [repository.add(name, name.encode() * 1000) for name in ("a", "b", "c")]
    first = await fetch(pins, tmp_path / "new", repository=repository.url)
    second = await fetch(pins, tmp_path / "new", repository=repository.url)
    assert first == second
    assert [path.read_bytes() for path in first] == [b"a" * 1000, b"b" * 1000, b"c" * 1000]
    assert set(repository.asked.values()) == {1}


async def test_a_damaged_file_is_fetched_again(repository: Repository, tmp_path: Path) -> None:
    """A file that is there under the right name with other content is not used."""
    pin = repository.add("a", b"right")
    (tmp_path / pin.file_name).write_bytes(b"wrong")
    (path,) = await fetch([pin], tmp_path, repository=repository.url)
    assert path.read_bytes() == b"right"


async def test_a_foreign_answer_is_asked_for_once_more(
    repository: Repository, tmp_path: Path
) -> None:
    pin = repository.add("a", b"right", b"<html>log in</html>")
    (path,) = await fetch([pin], tmp_path, repository=repository.url)
    assert path.read_bytes() == b"right"
    assert sum(repository.asked.values()) == 2


async def test_foreign_content_is_refused(repository: Repository, tmp_path: Path) -> None:
    """Nothing stays in the cache, and the text names both sums."""
    pin = repository.add("a", b"right", b"wrong", b"wrong")
    with pytest.raises(BackendError) as caught:
        await fetch([pin], tmp_path, repository=repository.url)
    assert pin.sha256 in str(caught.value)
    assert hashlib.sha256(b"wrong").hexdigest() in str(caught.value)
    assert _names(tmp_path) == ["lock"]


@pytest.mark.parametrize("reached", [True, False])
async def test_a_failure_names_everything_needed(
    repository: Repository, tmp_path: Path, reached: bool
) -> None:
    """File, coordinate, cache folder and remedy; never the credentials of the address."""
    address = repository.url if reached else f"http://127.0.0.1:{free_port()}/"
    secret = address.replace("http://", "http://someone:hunter2@")
    pin = Artifact("org.example:absent:jar:1.0", "0" * 64, 1)
    with pytest.raises(Unavailable) as caught:
        await fetch([pin], tmp_path, repository=secret)
    text = str(caught.value)
    for needed in (pin.file_name, pin.coordinate, str(tmp_path), "'repository'"):
        assert needed in text
    assert "hunter2" not in text
    assert "\n" not in text
    del caught
    gc.collect()  # a connection left open would be a warning, and so an error


async def test_a_foreign_certificate_tells_how_to_trust_it(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remedy names the variable that the client obeys, and it works."""
    pin = repository.add("a", b"right")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with terminated(repository.url, context) as address:
        with pytest.raises(Unavailable) as caught:
            await fetch([pin], tmp_path / "cache", repository=f"{address}/")
        assert "CERTIFICATE_VERIFY_FAILED" in caught.value.reason
        for named in ("REQUESTS_CA_BUNDLE", "'repository'", str(tmp_path / "cache")):
            assert named in caught.value.remedy
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        (path,) = await fetch([pin], tmp_path / "cache", repository=f"{address}/")
    assert path.read_bytes() == b"right"
    del caught
    gc.collect()


async def test_an_address_that_is_none_is_named_without_its_secret(tmp_path: Path) -> None:
    pin = Artifact("org.example:absent:jar:1.0", "0" * 64, 1)
    with pytest.raises(Unavailable) as caught:
        await fetch([pin], tmp_path, repository="nonsense://someone:hunter2@host/")
    assert "hunter2" not in str(caught.value)


async def test_progress_ends_at_the_total(repository: Repository, tmp_path: Path) -> None:
    """Bytes done never shrink and end at the total; files already there do not count."""
    there = repository.add("there", b"x" * 50)
    pins = [there, repository.add("a", b"a" * 700_000), repository.add("b", b"b" * 10)]
    (tmp_path / there.file_name).write_bytes(b"x" * 50)
    seen: list[tuple[int, int, str]] = []
    await fetch(
        pins,
        tmp_path,
        repository=repository.url,
        on_progress=lambda done, total, name: seen.append((done, total, name)),
    )
    done = [entry[0] for entry in seen]
    assert done == sorted(done)
    assert done[-1] == 700_010
    assert {entry[1] for entry in seen} == {700_010}
    assert {entry[2] for entry in seen} == {pin.file_name for pin in pins[1:]}


async def test_two_processes_at_once_fetch_each_file_once(
    repository: Repository, tmp_path: Path
) -> None:
    pins = [repository.add(f"p{number}", bytes([number]) * 200_000) for number in range(12)]
    program = (
        "import sys, json, anyio, pathlib\n"
        "from retrieverbench.engines.fetch import Artifact, fetch\n"
        "pins = [Artifact(*p) for p in json.loads(sys.argv[1])]\n"
        "async def main():\n"
        "    await fetch(pins, pathlib.Path(sys.argv[2]), repository=sys.argv[3])\n"
        "anyio.run(main)\n"
    )
    order = json.dumps([[pin.coordinate, pin.sha256, pin.size] for pin in pins])
    command = [sys.executable, "-c", program, order, str(tmp_path), repository.url]
    children = [await anyio.open_process(command, stderr=subprocess.PIPE) for _ in range(2)]
    assert [await child.wait() for child in children] == [0, 0]
    for child in children:
        await child.aclose()
    assert set(repository.asked.values()) == {1}


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BackendError, match="option 'cache'") as caught:
        await fetch([Artifact("g:a:jar:1", "0" * 64, 1)], tmp_path / "file" / "cache")
    assert str(tmp_path / "file") in str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".partial"])
async def test_a_folder_in_place_of_a_file_is_named(
    repository: Repository, tmp_path: Path, suffix: str
) -> None:
    pin = repository.add("a", b"content")
    wrong = tmp_path / (pin.file_name + suffix)
    wrong.mkdir()
    with pytest.raises(
        BackendError, match=r"is a folder where .*org\.example:a.*remove it"
    ) as caught:
        await fetch([pin], tmp_path, repository=repository.url)
    assert str(wrong) in str(caught.value)


async def test_cancelling_leaves_no_partial_file(repository: Repository, tmp_path: Path) -> None:
    """And frees the lock, so that the next call can go on."""
    pin = repository.add("a", b"a" * 600_000)
    repository.stall = threading.Event()
    with anyio.move_on_after(0.5) as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_set_after, repository.stall, 0.8)
            await fetch([pin], tmp_path, repository=repository.url)
    assert scope.cancelled_caught
    assert _names(tmp_path) == ["lock"]
    repository.stall = None
    (path,) = await fetch([pin], tmp_path, repository=repository.url)
    assert path.stat().st_size == pin.size


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def _set_after(event: threading.Event, seconds: float) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.sleep(seconds)
    event.set()


def test_the_cache_folder_can_be_chosen(tmp_path: Path) -> None:
    assert cache_folder(tmp_path) == tmp_path
    assert cache_folder(None).parts[-2:] == ("retrieverbench", "artifacts")
