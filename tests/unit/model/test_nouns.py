"""The nouns are found, each in its module, and loaded only when asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from retrieverbench import model


def test_every_noun_is_found() -> None:
    for noun in model.__all__:
        assert getattr(model, noun) is not None
    assert sorted(model._MODULES) == sorted(model.__all__)


def test_a_misspelt_noun_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Artefact'"):
        model.Artefact  # type: ignore[attr-defined]  # noqa: B018


def test_scoring_loads_no_noun_of_the_other_rooms() -> None:
    program = "import sys, retrieverbench.metrics; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "retrieverbench.model.listing" in loaded
    assert (
        not {f"retrieverbench.model.{name}" for name in ("artifact", "audit", "timings")} & loaded
    )
