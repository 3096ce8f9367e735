"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from platformdirs import user_cache_path

from retrieverbench.run import Engines
from shared_engines import Keeper, SharedEngines
from summary_support import write_azure_score, write_matrix, write_told

# A shell that starts us in the background lets SIGINT be ignored, here and in every child; what
# the tests start is ended by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast examples are made says something about the machine, not about the code.
# Explaining a failure follows every line that runs, which can take minutes.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=set(Phase) - {Phase.explain},
)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Clients are asyncio-only, so anyio runs on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests leave at servers is not remembered among what the user's own runs left.

    All else in the user's cache, which took a network to fill, is used by way of links.
    """
    ours = tmp_path_factory.mktemp("cache")
    (ours / "retrieverbench").mkdir()
    users = user_cache_path()
    for name in ("artifacts", "vectors"):
        (users / "retrieverbench" / name).mkdir(parents=True, exist_ok=True)
        (ours / "retrieverbench" / name).symlink_to(users / "retrieverbench" / name)
    for other in users.iterdir():
        if other.name != "retrieverbench":
            (ours / other.name).symlink_to(other)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(ours))
        yield


@pytest.fixture
def folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test stands in it, though it was removed."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    return gone


@pytest.fixture(scope="session")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Keeper:
    """The started engines of this test run; its workers are children of the run's process."""
    folder, run = tmp_path_factory.getbasetemp(), os.getpid()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder, run = folder.parent, os.getppid()
    return Keeper(folder, run)


@pytest.fixture(scope="session")
def engines(keeper: Keeper) -> Engines:
    """Each engine is started once for the whole run, when the first test asks for it."""
    return SharedEngines(keeper)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of conformance cases and public data sets beside the repository."""
    default = Path(__file__).parents[1] / ".." / "shared"
    path = Path(os.environ.get("RETRIEVERBENCH_SHARED", default)).resolve()
    if not path.is_dir():
        pytest.skip(f"no shared data at {path}; run: RETRIEVERBENCH_SHARED=<folder> make test")
    return path


def pytest_terminal_summary(terminalreporter: Any) -> None:
    write_told(terminalreporter)
    write_azure_score(terminalreporter)
    write_matrix(terminalreporter)
