"""The command: its group, and what every way of ending it means for the exit code.

0 passed, 1 the gate failed, 2 wrong input, 3 a backend failed, 4 a tenant leak, 5 nothing
valid was measured or the harness itself crashed, 130 interrupted.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback

import click

from retrieverbench.cli.baseline import baseline
from retrieverbench.cli.crash import why_it_ended
from retrieverbench.cli.ending import INTERRUPTED, Ending
from retrieverbench.cli.engine import engine
from retrieverbench.cli.golden import golden
from retrieverbench.cli.init import init
from retrieverbench.cli.leaks import leaks
from retrieverbench.cli.leftovers import leftovers
from retrieverbench.cli.lists import adapters, engines, keys, probes
from retrieverbench.cli.output import (
    close_streams,
    is_fault_of_writing,
    open_streams,
    printable,
    reason,
    tell,
    unbroken,
)
from retrieverbench.cli.run import run
from retrieverbench.cli.score import score
from retrieverbench.cli.supervised import Supervision
from retrieverbench.errors import InputError, RetrieverBenchError

CRASH = 5
_WORD = re.compile(r"\w+")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="retrieverbench")
@click.option("--debug", is_flag=True, help="Show where expected errors came from.")
def command(*, debug: bool) -> None:  # the arguments themselves are read
    """Measure retrievers: quality, latency and cross-tenant leakage in one run.

    Exit codes: 0 passed; 1 a rule failed; 2 wrong input; 3 a backend failed; 4 a tenant
    leak; 5 nothing valid was measured; 130 interrupted.
    """


_LISTS = (adapters, engines, probes, keys)
for part in (run, leaks, score, golden, *_LISTS, engine, init, baseline, leftovers):
    command.add_command(part)


def main() -> None:
    """Run the command and exit; the only place that does."""
    ending = Ending(CRASH)
    open_streams()
    supervision = Supervision()
    code = _exit_code(supervision)
    supervision.send(code)
    if not close_streams():
        code = code or CRASH
    ending.soon(code)
    sys.exit(code)


def _exit_code(supervision: Supervision | None = None) -> int:
    """Of the command that the arguments name; jobs get a process of their own if supervised."""
    debug = "--debug" in sys.argv
    if debug:
        _log_to_stderr()
    # Without any handler Python writes libraries' warnings to stderr, as if we said them.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        result = command.main(standalone_mode=False, obj=supervision)
    except click.ClickException as error:
        with unbroken(sys.stderr):
            error.show()
        return InputError.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        tell("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Click exits by itself when the reader of our output went away, as `head` does: not
        # an error of anybody. A run never comes here: it ends with what it found.
        return 0
    except RetrieverBenchError as error:
        with unbroken(sys.stderr):
            if debug:
                traceback.print_exc()
            _show(error)
        return error.exit_code
    except BaseException as error:  # noqa: BLE001 - a crash must not read as a regression
        if is_fault_of_writing(error):
            tell(f"error: the output cannot be written: {reason(error)}")
            return CRASH
        if debug:
            with unbroken(sys.stderr):
                traceback.print_exc()
        tell(f"error: {why_it_ended(error)}")
        return CRASH
    return result if isinstance(result, int) else 0


class _Once(logging.Filter):
    """Lets each text through once: a broken retriever fails at every question alike."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this text is new."""
        text = record.getMessage()
        if text in self._seen:
            return False
        self._seen.add(text)
        return True


def _log_to_stderr() -> None:
    """Show what our own code logs: where adapters' errors came from."""
    handler = logging.StreamHandler()
    handler.addFilter(_Once())
    logger = logging.getLogger("retrieverbench")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)


def _show(error: RetrieverBenchError) -> None:
    """One line per fault; the causes below, indented."""
    lines = error.faults if isinstance(error, InputError) else (str(error),)
    for line in map(printable, lines):
        click.echo(line if line.startswith("warning: ") else f"error: {line}", err=True)
    cause = error.__cause__
    if cause is not None and _adds_words(cause, error):
        click.echo(f"  caused by {type(cause).__name__}: {' '.join(str(cause).split())}", err=True)


def _adds_words(cause: BaseException, error: BaseException) -> bool:
    """Whether the cause says anything that the error does not say itself."""
    text = str(cause)
    if isinstance(cause, OSError) and cause.strerror:
        text = f"{cause.strerror} {cause.filename or ''}"
    return not set(_WORD.findall(text.lower())) <= set(_WORD.findall(str(error).lower()))
