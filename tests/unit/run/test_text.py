"""Error texts: one printable line, and nothing hidden in it."""

from __future__ import annotations

import pytest

from retrieverbench.adapter import Secret
from retrieverbench.errors import BackendError, InputError
from retrieverbench.run.text import hidden_values, hide, hide_in, one_line, text_of


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\r\n  c", "a b c"),
        ("\x1b[31mred\x07", "[31mred"),
        ("", "ValueError"),
        ("x" * 400, "x" * 300),
        ("bidi\u202eabc", "bidi abc"),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(ValueError(text)) == line


def test_hide_knows_the_encoded_form_too() -> None:
    assert hide("dsn p@ss w/p%40ss and pass", ["p@ss", ""]) == "dsn *** w/*** and pass"


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


def test_a_secret_that_is_no_unicode_is_hidden_too() -> None:
    assert hide("key a\ud800b", ["a\ud800b"]) == "key ***"
