"""What the command shows beside its own words."""

from __future__ import annotations

import subprocess
import sys

import pytest

from retrieverbench.cli.main import _show
from retrieverbench.errors import InputError, RetrieverBenchError, Unavailable


@pytest.mark.parametrize(
    ("error", "cause", "is_shown"),
    [
        (
            InputError("s.toml: cannot be read: No such file or directory; name a suite"),
            FileNotFoundError(2, "No such file or directory", "s.toml"),
            False,
        ),
        (
            InputError("r: cannot be read (No such file or directory); check the path"),
            FileNotFoundError(2, "No such file or directory", "r"),
            False,
        ),
        (
            InputError("s:7: target 'a': x: wrong", "s:7: target 'a': y: wrong"),
            InputError("x: wrong", "y: wrong"),
            False,
        ),
        (Unavailable("nobody answers"), OSError(111, "Connection refused"), True),
        (InputError("cannot be imported"), ImportError("No module named 'x'"), True),
        (InputError("cannot be imported"), ImportError(""), False),
        (InputError("wrong"), None, False),
    ],
)
def test_a_cause_is_shown_when_it_adds_words(
    error: RetrieverBenchError,
    cause: BaseException | None,
    *,
    is_shown: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    error.__cause__ = cause
    _show(error)
    told = capsys.readouterr().err
    assert ("  caused by " in told) is is_shown
    assert told.startswith("error: ")


def test_a_name_that_drives_terminals_stays_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    _show(InputError("a\nb\x1b[2J: cannot be read; name a file"))
    assert capsys.readouterr().err == "error: a\\nb\\x1b[2J: cannot be read; name a file\n"


def test_log_lines_of_libraries_are_no_output() -> None:
    """As psycopg's pool warns of every refused connection."""
    program = (
        "import logging, sys, click\n"
        "from retrieverbench.cli import main\n"
        "from retrieverbench.cli.main import command\n"
        "@command.command()\n"
        "def noisy():\n"
        "    logging.getLogger('psycopg.pool').warning('error connecting')\n"
        "    click.echo('done')\n"
        "sys.argv = ['retrieverbench', 'noisy']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_an_interrupt_while_libraries_are_loaded_is_one_line() -> None:
    program = """
import sys
from retrieverbench.cli import main

class Interrupted:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
