"""What belongs to the whole process, kept from what adapters make of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def kept_surroundings() -> Iterator[None]:
    """Folder, environment, file mode mask, module path and recursion limit are put back.

    Foreign code runs inside; what comes after it writes files at the paths that the user
    named, with the modes that the user's mask leaves, and still imports.
    """
    folder = Path.cwd()
    variables, limit = dict(os.environ), sys.getrecursionlimit()
    paths, finders = list(sys.path), list(sys.meta_path)
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        yield
    finally:
        os.umask(mask)
        sys.setrecursionlimit(limit)
        sys.path[:], sys.meta_path[:] = paths, finders
        os.environ.clear()
        os.environ.update(variables)
        with suppress(OSError):  # told by whoever writes there
            os.chdir(folder)
