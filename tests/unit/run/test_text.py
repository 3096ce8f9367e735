"""Error texts: one printable line, and nothing hidden in it."""

from __future__ import annotations

import traceback

import pytest

from retrieverbench.adapter import Secret
from retrieverbench.errors import BackendError, InputError, NotConfigured, Refused, Unavailable
from retrieverbench.run.text import (
    LONGEST_REASON,
    hidden_values,
    hide_in,
    one_line,
    reason_and_remedy,
    refuse_short,
    text_of,
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\r\n  c", "a b c"),
        ("\x1b[31mred\x07", "[31mred"),
        ("", "ValueError"),
        ("a" * 300 + "b" * 300, "a" * 166 + "…" + "a" * 33 + "b" * 300),
        ("bidi\u202eabc", "bidi abc"),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(ValueError(text)) == line


def test_a_remedy_is_told_apart_and_outlives_every_cut() -> None:
    """Given apart, split from what is not there, or the advice of the kind; never in the reason."""
    apart = Unavailable("x" * 3_000 + " innermost", remedy="start it")
    reason, remedy = reason_and_remedy(apart)
    assert reason.endswith(" innermost")
    assert len(reason) == LONGEST_REASON
    assert remedy == "start it"
    assert one_line(apart).endswith("innermost; start it")
    assert reason_and_remedy(NotConfigured("no address; export URL")) == (
        "no address",
        "export URL",
    )
    told = Unavailable("down; hint: server's own words")
    assert reason_and_remedy(told) == (str(told), Unavailable.advice)


def test_a_secret_in_a_remedy_is_hidden() -> None:
    error = Refused("no", remedy="not hunter2")
    hide_in(error, ["hunter2"])
    assert str(error) == "no; not ***"


def test_user_is_no_secret() -> None:
    secrets = {"user": Secret("postgres"), "password": Secret("hunter2")}
    assert hidden_values(secrets) == ("hunter2",)


@pytest.mark.parametrize("kind", [BackendError, InputError])
def test_hide_in_reaches_message_faults_and_cause(kind: type[Exception]) -> None:
    error = kind("wrong password hunter2")
    error.__cause__ = ValueError("dsn://u:hunter2@h")
    hide_in(error, ["hunter2"])
    shown = f"{error} {getattr(error, 'faults', '')} {error.__cause__}"
    assert "hunter2" not in shown
    assert "wrong password ***" in shown


def test_hide_in_keeps_a_harmless_cause() -> None:
    error = BackendError("x")
    cause = error.__cause__ = ValueError("nothing here")
    hide_in(error, ["hunter2"])
    assert error.__cause__ is cause


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_error_that_cannot_be_read_has_a_text_of_ours() -> None:
    assert text_of(Mute()) == one_line(Mute()) == "(its text cannot be read: RuntimeError)"
    error = BackendError("x")
    error.__cause__ = Mute()
    hide_in(error, ["hunter2"])
    assert str(error) == "x"


def test_hide_in_reaches_notes_and_what_an_error_was_raised_upon() -> None:
    error = BackendError("x")
    error.add_note("tried hunter2")
    error.__context__ = ValueError("harmless")
    error.__context__.__cause__ = ValueError("Basic dTpodW50ZXIy")
    hide_in(error, ["hunter2"])
    assert "hunter2" not in (shown := "".join(traceback.format_exception(error)))
    assert "dTpodW50ZXIy" not in shown
    assert "tried ***" in shown


def test_a_credential_too_short_to_be_hidden_is_refused() -> None:
    refuse_short({"user": Secret("u"), "password": Secret("four")}, "target 'x'")
    with pytest.raises(NotConfigured) as caught:
        refuse_short({"password": Secret("pw1")}, "target 'x'")
    assert str(caught.value) == (
        "target 'x': secret 'password' is shorter than 4 characters, so that texts cannot be "
        "kept free of it; set a longer one"
    )
