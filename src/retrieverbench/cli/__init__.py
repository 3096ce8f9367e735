"""The command."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command and exit; Ctrl-C while its libraries are still loaded is told, too."""
    try:
        from retrieverbench.cli.main import main as command
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    command()
