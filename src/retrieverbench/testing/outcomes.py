"""How a test ends that does not run: said aloud, and an error where it was required."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import NoReturn

import pytest

REQUIRE = "RETRIEVERBENCH_REQUIRE"


def not_applicable(word: str) -> NoReturn:
    """The adapter does not claim this capability; nothing is missing."""
    pytest.skip(f"not applicable: capability {word!r} is not claimed")


def not_on_a_server() -> NoReturn:
    """The adapter has no address: there is no other port at which nobody answers."""
    pytest.skip("not applicable: it has no address; override the fixture `endpoint` if it has one")


def not_run(request: pytest.FixtureRequest, name: str, reason: str) -> NoReturn:
    """The adapter `name` cannot be tested here, its leak tests neither, and that is printed.

    Fails where the environment variable RETRIEVERBENCH_REQUIRE (names, separated by commas)
    requires it. `reason` says what is missing and the command that would bring it.
    """
    if name in os.environ.get(REQUIRE, "").split(","):
        pytest.fail(f"{name} is required by {REQUIRE}: {reason}", pytrace=False)
    _tell(request.config, f"LEAK TESTS NOT RUN for {name}: {reason}")
    pytest.skip(reason)


def _tell(config: pytest.Config, line: str) -> None:
    """Print a line, once, past the capture of output."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")
    told = config.stash.setdefault(_TOLD, set())
    if terminal is None or line in told:
        return
    told.add(line)
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        terminal.ensure_newline()
        terminal.write_line(line, yellow=True, bold=True)


_TOLD: pytest.StashKey[set[str]] = pytest.StashKey()
