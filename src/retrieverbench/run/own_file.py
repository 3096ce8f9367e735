"""A file of the user's becomes a module, which may import what lies beside it.

As with pytest, a file in a package is a module of it. Unlike there, the folder comes last on the
import path, so that no file of it hides what is installed; what would be hidden by that is refused.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from retrieverbench.errors import InputError
from retrieverbench.files import whole_path
from retrieverbench.run.text import OWN_FILE


def import_file(path: Path, file_name: str) -> ModuleType:
    """The module of a file, whose folder, and that of its package, stay on the import path.

    Raises InputError where an import of the file, or of one beside it, names a file beside it and
    Python finds another; and whatever the file raises.
    """
    package = _package_of(path)
    top = path.parents[len(package)]
    for folder in dict.fromkeys((str(top), str(path.parent))):
        if folder not in sys.path:
            sys.path.append(folder)
    if package:
        _refuse_other(package[0], top, file_name)
    for name in _imported_beside(path):
        _refuse_other(name, path.parent, file_name)
    if package:
        module = importlib.import_module(".".join((*package, path.stem)))
        vars(module)[OWN_FILE] = True
        return module
    return _import_alone(path, file_name)


def _import_alone(path: Path, file_name: str) -> ModuleType:
    """By a name of its own: two files may be called the same."""
    module_name = f"retrieverbench_file_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    specification = importlib.util.spec_from_file_location(module_name, path)
    if specification is None or specification.loader is None:
        raise InputError(f"adapter: {file_name!r} is not a Python file; name a .py file")
    module = importlib.util.module_from_spec(specification)
    vars(module)[OWN_FILE] = True
    sys.modules[module_name] = module  # dataclasses in the file look for it there
    try:
        specification.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(module_name, None)
        raise
    return module


def _package_of(path: Path) -> tuple[str, ...]:
    """The package that a file is in, outermost name first; () if in none."""
    names: list[str] = []
    folder = path.parent
    while path.stem.isidentifier() and folder.name.isidentifier() and _is_package(folder):
        names.insert(0, folder.name)
        folder = folder.parent
    return tuple(names)


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()


def _imported_beside(path: Path) -> Iterator[str]:
    """Names that a file imports, directly or by files beside it, and that lie beside it."""
    seen = {path.stem}
    pending = [path]
    for file in pending:  # grows while it is read
        for name in _imported_by(file):
            beside = path.parent / f"{name}.py"
            if name in seen or not (beside.is_file() or _is_package(beside.with_suffix(""))):
                continue
            seen.add(name)
            pending.append(beside)
            yield name


def _imported_by(file: Path) -> Iterator[str]:
    """Top-level names; of a file that cannot be read or parsed none, which its import tells."""
    with suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def _refuse_other(name: str, folder: Path, file_name: str) -> None:
    """InputError where Python finds another module of this name than the one in the folder."""
    found = _found(name)
    own = (folder / f"{name}.py", folder / name / "__init__.py")
    if found is None or whole_path(Path(found)) in map(whole_path, own):
        return
    raise InputError(
        f"adapter: {file_name!r} needs {name!r} of {folder.name}/, and Python finds another one "
        f"({found}); rename it in {folder.name}/"
    )


def _found(name: str) -> str | None:
    """Where Python finds a module, None if nowhere."""
    specification: ModuleSpec | None = None
    with suppress(ImportError, ValueError):  # loaded by hand, without a specification
        specification = importlib.util.find_spec(name)
    if specification is None:
        return None
    return specification.origin or "a package in several folders"
