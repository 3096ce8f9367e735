"""Foreign error texts made fit for one line, with nothing in them that must stay hidden."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from retrieverbench.adapter import Secret
from retrieverbench.errors import BackendError, InputError, MissingClient, NotConfigured, Refused
from retrieverbench.remote import LEAST, hide_secrets, shortened

OWN_FILE = "__retrieverbench_file__"
"""What modules hold that are made of users' files."""
LONGEST_REASON = 2_000
"""Characters of a reason, and of a remedy, that an artifact keeps; reports show fewer."""
_LOG = logging.getLogger(__name__)


def text_of(error: BaseException | str) -> str:
    """An error's whole text; a foreign class may raise when it is asked for it."""
    try:
        return "".join(str(error)) or type(error).__name__
    except BaseException as second:  # noqa: BLE001 - a foreign class may raise anything
        return f"(its text cannot be read: {type(second).__name__})"


def one_line(error: BaseException | str, limit: int = 500) -> str:
    """An error's text in one printable line of at most `limit` characters, "…" where cut."""
    text = "".join(c if c.isprintable() else " " for c in text_of(error))
    line = " ".join(text.split())
    return shortened(line, limit) or type(error).__name__


def reason_and_remedy(error: BackendError) -> tuple[str, str]:
    """What is wrong and what to do about it, each in one line.

    The texts of what is not there (no client, no address) are `reason; remedy` where they name
    none apart; whatever tells none gets the advice of its kind.
    """
    reason, remedy = text_of(error), error.remedy
    if remedy:
        reason = reason.removesuffix(f"; {remedy}")
    elif isinstance(error, MissingClient | NotConfigured):
        reason, _, remedy = reason.partition("; ")
    return one_line(reason, LONGEST_REASON), one_line(remedy or error.advice, LONGEST_REASON)


def place_in_file(error: BaseException) -> str:
    """Where in a user's own file an error came from, as ` (mine.py:12)`; "" if in none."""
    place = ""
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        if OWN_FILE in frame.f_globals:
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


def refuse_short(secrets: Mapping[str, Secret], where: str) -> None:
    """Raise NotConfigured for a credential so short that hiding it would ruin every text.

    One character replaced everywhere makes texts unreadable, and where it was replaced tells
    what it is.
    """
    for name, secret in secrets.items():
        if name != "user" and len(secret.reveal()) < LEAST:
            raise NotConfigured(
                f"{where}: secret {name!r} is shorter than {LEAST} characters, so that texts "
                "cannot be kept free of it; set a longer one"
            )


def refuse_words(secrets: Mapping[str, Secret], words: Iterable[str], where: str) -> None:
    """Raise Refused for a credential that is one of the words that a report cannot do without.

    Hidden, they make it unreadable, and tell by their absence what the credential is.
    """
    known = {word.casefold() for word in words}
    for name, secret in secrets.items():
        if name != "user" and secret.reveal().casefold() in known:
            raise Refused(
                f"{where}: secret {name!r} is a word that reports need (a tenant, target, suite, "
                "adapter, mode, layout or scheme), so that texts cannot be kept free of it",
                remedy="set another one",
            )


def hide_in(error: BaseException, hidden: Iterable[str]) -> None:
    """Remove hidden values from an error's text; a cause that shows one is dropped."""
    values = tuple(hidden)
    error.args = tuple(
        hide_secrets(part, values) if isinstance(part, str) else part for part in error.args
    )
    if isinstance(error, BackendError):
        error.remedy = hide_secrets(error.remedy, values)
    if isinstance(error, InputError):
        error.faults = tuple(hide_secrets(line, values) for line in error.faults)
    if hasattr(error, "__notes__"):
        error.__notes__ = [hide_secrets(str(note), values) for note in error.__notes__]
    if any(_shows(link, values) for link in _links(error)):
        error.__cause__ = None
        error.__suppress_context__ = True


def shows_in_chain(error: BaseException, hidden: Sequence[str]) -> bool:
    """Whether the text of an error, or of one that Python shows above it, holds a hidden value."""
    return any(_shows(link, hidden) for link in (error, *_links(error)))


def _shows(error: BaseException, hidden: Sequence[str]) -> bool:
    return hide_secrets(text_of(error), hidden) != text_of(error)


def _links(error: BaseException) -> Iterator[BaseException]:
    """The errors that Python shows above this one: its cause, the cause of that, ..."""
    seen = {id(error)}
    while True:
        hidden = error.__suppress_context__ or error.__context__ is None
        link = error.__cause__ if hidden or error.__cause__ is not None else error.__context__
        if link is None or id(link) in seen:
            return
        seen.add(id(link))
        yield link
        error = link
