"""Pinned artifacts of Maven repositories, fetched once into the user's cache folder.

A pin is a coordinate and a sha256 sum, so it does not matter who serves the file. Which
repository is asked is the choice of the `maven-artifact` package or of the caller; proxies,
certificates and credentials are those that its HTTP client finds.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.from_thread
import anyio.to_thread

from retrieverbench.errors import BackendError, Code, MissingClient, Unavailable

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and the name of the file that grew."""

_BLOCK = 1 << 18
_AT_ONCE = 8
_TIMEOUT = 15.0  # seconds without a byte; an interrupted fetch waits no longer than that


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned file. `coordinate` is `group:artifact:extension:version`, `size` in bytes."""

    coordinate: str
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        """The name in the cache folder; differs for different coordinates."""
        group, artifact, extension, version = self.coordinate.split(":")
        return f"{group}.{artifact}-{version}.{extension}"


def cache_folder(override: str | Path | None = None) -> Path:
    """Where fetched files lie: `override`, else the user's cache folder of this system."""
    if override is not None:
        return Path(override).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("retrieverbench") / "artifacts"


async def fetch(
    artifacts: Sequence[Artifact],
    folder: Path,
    *,
    repository: str | None = None,
    on_progress: Progress | None = None,
) -> list[Path]:
    """The files of `artifacts` in `folder`, in order, each checked by its sum on every call.

    The sums guard against another file than the pinned one and against damage, not against
    who may write into the user's cache folder. 50 MB take 0.06 s of CPU: no record of an
    earlier check, which could be out of date, is worth that.

    Files that are absent or damaged are fetched, several at a time, and appear under their
    name only when they are whole and right. A second process waits for the first. Progress
    counts what is fetched now; nothing is reported when all is there. Raises Unavailable
    when the repository cannot be reached or lacks a file, BackendError for wrong content,
    both with file, coordinate, cache folder and remedy.
    """
    absent = await _absent(artifacts, folder)
    if absent:
        async with locked(folder):
            absent = await _absent(absent, folder)  # another process may have fetched them
            await _fetch_all(absent, folder, repository, on_progress)
    return [folder / artifact.file_name for artifact in artifacts]


@asynccontextmanager
async def locked(folder: Path) -> AsyncIterator[None]:
    """Make the folder if need be and hold its lock; the system frees it at our death."""
    import fcntl

    lock = _open_lock(folder)
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await anyio.sleep(0.1)
        yield
    finally:
        os.close(lock)


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BackendError(
            f"cache folder {folder}: cannot be written ({error.strerror}); "
            "make it writable or name another one by the engine's option 'cache'"
        ) from error


async def _absent(artifacts: Sequence[Artifact], folder: Path) -> list[Artifact]:
    def check() -> list[Artifact]:
        return [a for a in artifacts if _sha256(folder / a.file_name) != a.sha256]

    return await anyio.to_thread.run_sync(check)


async def _fetch_all(
    artifacts: Sequence[Artifact],
    folder: Path,
    repository: str | None,
    on_progress: Progress | None,
) -> None:
    total = sum(artifact.size for artifact in artifacts)
    done: dict[str, int] = {}
    failures: list[BackendError] = []
    at_once = anyio.CapacityLimiter(_AT_ONCE)

    def grew(artifact: Artifact, size: int) -> None:
        done[artifact.coordinate] = min(size, artifact.size)
        if on_progress is not None:
            on_progress(sum(done.values()), total, artifact.file_name)

    async def one(artifact: Artifact) -> None:
        work = partial(_fetch_one, artifact, folder, repository, partial(grew, artifact))
        try:
            await anyio.to_thread.run_sync(work, limiter=at_once)
        except BackendError as error:
            failures.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for artifact in sorted(artifacts, key=lambda a: -a.size):
            tasks.start_soon(one, artifact)
    if failures:
        raise failures[0]


def _fetch_one(
    artifact: Artifact,
    folder: Path,
    repository: str | None,
    grew: Callable[[int], None],
) -> None:
    """In a worker thread: fetch, check, put in place; a second try after any failure."""
    partial_file = folder / f"{artifact.file_name}.partial"
    for path in (folder / artifact.file_name, partial_file):
        if path.is_dir():
            raise BackendError(
                f"{path} is a folder where the file of {artifact.coordinate} belongs; remove it"
            )
    try:
        for last in (False, True):
            try:
                _download(artifact, partial_file, repository, grew)
            except OSError as error:  # the HTTP client's own errors are OSErrors as well
                _close_answer(error)
                if last:
                    raise Unavailable(
                        _failure(artifact, _text(error, repository)),
                        remedy=_remedy(folder, error),
                    ) from None
                continue
            found = _sha256(partial_file)
            if found == artifact.sha256:
                partial_file.replace(folder / artifact.file_name)
                return
    finally:
        partial_file.unlink(missing_ok=True)
    wrong = f"the file served has sha256 {found}, pinned is {artifact.sha256}"
    remedy = _remedy(folder)
    raise BackendError(_failure(artifact, wrong), code=Code.BAD_ANSWER, remedy=remedy)


def _close_answer(error: OSError) -> None:
    """An answer that was an error is still open: it was asked for as a stream."""
    answer = getattr(error, "response", None)
    if answer is not None:
        answer.close()


def _download(
    artifact: Artifact, target: Path, repository: str | None, grew: Callable[[int], None]
) -> None:
    try:
        from maven_artifact import Artifact as Coordinate
        from maven_artifact import Downloader
    except ModuleNotFoundError as error:
        raise MissingClient(
            "fetching artifacts needs maven-artifact; run: pip install 'retrieverbench[engines]'"
        ) from error
    # The package's own `download` prints and cannot tell its progress.
    downloader = Downloader() if repository is None else Downloader(base=repository)
    url = downloader.resolver.uri_for_artifact(Coordinate.parse(artifact.coordinate))
    with (
        downloader.requestor.request(url, None, stream=True, timeout=_TIMEOUT) as answer,
        target.open("wb") as file,
    ):
        size = 0
        for block in answer.iter_content(_BLOCK):
            anyio.from_thread.check_cancelled()
            file.write(block)
            size += len(block)
            anyio.from_thread.run_sync(grew, size)


def _failure(artifact: Artifact, reason: str) -> str:
    return f"{artifact.file_name} ({artifact.coordinate}) could not be fetched: {reason}"


def _remedy(folder: Path, error: OSError | None = None) -> str:
    """What to do; the client obeys REQUESTS_CA_BUNDLE and not SSL_CERT_FILE (measured)."""
    from requests.exceptions import ProxyError, SSLError

    check = "check the network"
    if isinstance(error, SSLError):
        check = (
            "if a proxy or mirror has a certificate of your own authority, "
            "export REQUESTS_CA_BUNDLE=<its PEM file> (SSL_CERT_FILE is not read)"
        )
    elif isinstance(error, ProxyError):
        check = "check HTTPS_PROXY and NO_PROXY"
    return (
        f"{check}; or name a mirror by the engine's option 'repository', or put "
        f"the files that another machine has fetched into the cache folder {folder}"
    )


def _text(error: OSError, repository: str | None) -> str:
    """The error's own words in one line, without credentials of the repository's address."""
    text = " ".join(str(error).split()) or type(error).__name__
    credentials, at, _ = urlsplit(repository or "").netloc.rpartition("@")
    return text.replace(credentials + at, "") if at else text


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
