"""Words in, exit code out."""

from retrieverbench.cli.main import main

__all__ = ["main"]
