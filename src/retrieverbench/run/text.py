"""Foreign error texts made fit for one line, with nothing in them that must stay hidden."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from retrieverbench.adapter import Secret
from retrieverbench.errors import InputError

HIDDEN = "***"
FILE_MODULE = "retrieverbench_file_"
"""How the names of modules begin that are made of users' files."""
_LOG = logging.getLogger(__name__)


def text_of(error: BaseException | str) -> str:
    """An error's whole text; a foreign class may raise when it is asked for it."""
    try:
        return "".join(str(error)) or type(error).__name__
    except BaseException as second:  # noqa: BLE001 - a foreign class may raise anything
        return f"(its text cannot be read: {type(second).__name__})"


def one_line(error: BaseException | str, limit: int = 300) -> str:
    """An error's text in one printable line of at most `limit` characters."""
    text = "".join(c if c.isprintable() else " " for c in text_of(error))
    return " ".join(text.split())[:limit] or type(error).__name__


def place_in_file(error: BaseException) -> str:
    """Where in a user's own file an error came from, as ` (mine.py:12)`; "" if in none."""
    place = ""
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        if str(frame.f_globals.get("__name__", "")).startswith(FILE_MODULE):
            place = f" ({Path(frame.f_code.co_filename).name}:{step.tb_lineno})"
        step = step.tb_next
    return place


def log_frames(error: BaseException) -> None:
    """Where an adapter's error came from, for `--debug`; not its text, which may hold secrets."""
    if _LOG.isEnabledFor(logging.DEBUG):
        frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
        _LOG.debug("%s was raised here:\n%s", type(error).__name__, frames)


def hidden_values(secrets: Mapping[str, Secret]) -> tuple[str, ...]:
    """What no text may show of some credentials; the name of a user is no secret."""
    return tuple(secret.reveal() for name, secret in secrets.items() if name != "user")


def hide(text: str, hidden: Iterable[str]) -> str:
    """The text without any of the hidden values, as they are or percent-encoded."""
    for value in sorted(hidden, key=len, reverse=True):
        for form in {value, quote(value, safe="", errors="backslashreplace")} - {""}:
            text = text.replace(form, HIDDEN)
    return text


def hide_in(error: BaseException, hidden: Iterable[str]) -> None:
    """Remove hidden values from an error's text; a cause that shows one is dropped."""
    values = tuple(hidden)
    error.args = tuple(hide(part, values) if isinstance(part, str) else part for part in error.args)
    if isinstance(error, InputError):
        error.faults = tuple(hide(line, values) for line in error.faults)
    cause = error.__cause__
    if cause is not None and hide(text_of(cause), values) != text_of(cause):
        error.__cause__ = None
        error.__suppress_context__ = True
