"""`python -m retrieverbench`: the command where its script is not in PATH or cannot be run."""

from __future__ import annotations

from retrieverbench.cli import main

if __name__ == "__main__":
    main()
