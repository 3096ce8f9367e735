"""A file of the user's becomes a module, which may import what lies beside it.

As with pytest, a file in a package is a module of it. Unlike there, the folder comes last on the
import path, so that no file of it hides what is installed; what would be hidden by that is refused.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from retrieverbench.errors import InputError
from retrieverbench.files import whole_path
from retrieverbench.run.text import OWN_FILE


def import_file(path: Path, file_name: str) -> ModuleType:
    """The module of a file, whose folder stays on the import path.

    Of a file in a package it is the package's folder, and beside that its own where it imports
    without a dot what lies beside it.

    Raises InputError where an import of the file, or of one beside it, names a file beside it and
    Python finds another, or where another retriever's folder holds a module of the same name;
    and whatever the file raises.
    """
    package = _package_of(path)
    beside = list(_beside(path, _imported_by))
    folders = [path.parents[len(package)]]
    if package and beside:
        folders.append(path.parent)
    _refuse_shared(folders, path, file_name)
    for folder in map(str, folders):
        if folder not in sys.path:
            sys.path.append(folder)
    if package:
        _refuse_other(package[0], folders[0], file_name)
    for name in beside:
        _refuse_other(name, path.parent, file_name)
    if package:
        module = importlib.import_module(".".join((*package, path.stem)))
        vars(module)[OWN_FILE] = folders
        return module
    return _import_alone(path, file_name, folders)


def _import_alone(path: Path, file_name: str, folders: list[Path]) -> ModuleType:
    """By a name of its own: two files may be called the same."""
    module_name = f"retrieverbench_file_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    specification = importlib.util.spec_from_file_location(module_name, path)
    if specification is None or specification.loader is None:
        raise InputError(f"adapter: {file_name!r} is not a Python file; name a .py file")
    module = importlib.util.module_from_spec(specification)
    vars(module)[OWN_FILE] = folders
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


def _beside(path: Path, names_in: Callable[[Path], Iterable[str]]) -> Iterator[str]:
    """Names that a file or what lies beside it and is named holds, and that lie beside it."""
    seen: set[str] = set()
    pending = [path]
    for file in pending:  # grows while it is read
        for name in names_in(file):
            sources = _sources(path.parent, name)
            if name not in seen and sources:
                seen.add(name)
                pending.extend(sources)
                yield name


def _sources(folder: Path, name: str) -> list[Path]:
    """The files of a module or package in a folder; a package needs no __init__.py."""
    alone = folder / f"{name}.py"
    return [alone] if alone.is_file() else sorted((folder / name).rglob("*.py"))


def _imported_by(file: Path) -> Iterator[str]:
    """Top-level names that import statements name."""
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _named_by(file: Path) -> Iterator[str]:
    """Those, and what a text names, which an import by a function may mean."""
    yield from _imported_by(file)
    for node in _nodes(file):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(".")[0]
            if name.isidentifier():
                yield name


def _nodes(file: Path) -> Iterator[ast.AST]:
    """Of a file that cannot be read or parsed none, which its import tells."""
    with suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        yield from ast.walk(ast.parse(file.read_bytes()))


def _refuse_shared(folders: Sequence[Path], path: Path, file_name: str) -> None:
    """InputError where what the file needs could be taken from another retriever's folder.

    Python keeps one module of a name, whoever imports it, and imports may come at any time: the
    second retriever would be measured with the first one's. The file itself is loaded by a name
    of its own.
    """
    others = {folder for module in _own_files() for folder in vars(module)[OWN_FILE]}
    for name, other in itertools.product(_beside(path, _named_by), others.difference(folders)):
        if name != path.stem and _sources(other, name):
            raise InputError(
                f"adapter: {file_name!r} and another retriever of this run each have a "
                f"{name!r} beside them ({path.parent}, {other}), and Python would take one for "
                "both; rename one, or measure them in two runs"
            )


def _own_files() -> list[ModuleType]:
    loaded = [*sys.modules.values()]
    return [module for module in loaded if OWN_FILE in getattr(module, "__dict__", ())]


def _refuse_other(name: str, folder: Path, file_name: str) -> None:
    """InputError where Python finds another module of this name than the one in the folder."""
    own = {whole_path(folder / f"{name}.py"), whole_path(folder / name / "__init__.py")}
    for found in _found(name):
        if whole_path(Path(found)) not in {*own, whole_path(folder / name)}:
            raise InputError(
                f"adapter: {file_name!r} needs {name!r} of {folder.name}/, and Python finds "
                f"another one ({found}); rename it in {folder.name}/"
            )


def _found(name: str) -> list[str]:
    """Where Python finds a module: its file, or all folders of a package without one."""
    specification: ModuleSpec | None = None
    with suppress(ImportError, ValueError):  # loaded by hand, without a specification
        specification = importlib.util.find_spec(name)
    if specification is None:
        return []
    if specification.origin is not None:
        return [specification.origin]
    return [*(specification.submodule_search_locations or ())]
