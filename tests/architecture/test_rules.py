"""The rules of the house that neither linter nor import contracts can see."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src" / "retrieverbench"
ADAPTERS = ROOT / "adapters" / "retrieverbench_adapters"
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
Function = ast.FunctionDef | ast.AsyncFunctionDef

OPEN_TO_ADAPTERS = {"adapter", "model", "errors", "options", "remote"}
CLIENTS = {
    "qdrant_client", "psycopg", "pgvector", "elasticsearch", "azure", "openai", "opensearchpy",
}  # fmt: skip
FUNCTION_LINES, FILE_LINES, NESTING = 50, 400, 4
EXCEEDS: dict[str, str] = {}
"""`file` or `file:function` → why it may exceed a budget. The list is short or the budget wrong."""

AT_THE_EDGE: dict[str, str] = {
    "src/retrieverbench/engines/qdrant/optimizer.py": "a process of its own, told by argv",
    "src/retrieverbench/engines/processes/supervisor.py": "a process of its own, which ends itself",
    "src/retrieverbench/testing/outcomes.py": "what must not be skipped is said by the environment",
    "src/retrieverbench/embedding/minilm.py": "turns a library's telemetry off",
}
"""Files besides cli that may print, read the environment or exit, and why."""


def rooms() -> set[str]:
    """The names of all rooms, from the folder itself."""
    found = {path.stem for path in CORE.glob("*.py")} | {
        path.parent.name for path in CORE.glob("*/__init__.py")
    }
    return found - {"__init__", "__main__"}


def committed() -> list[Path]:
    """The package's Python files that are under version control; all of them without git."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "src", "adapters"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        found = [*CORE.rglob("*.py"), *ADAPTERS.rglob("*.py")]
    else:
        found = [ROOT / name for name in listed.split("\0") if name.endswith(".py")]
    return sorted(path for path in found if path.is_file())


FILES = committed()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def contract(name: str) -> dict[str, Any]:
    contracts: list[dict[str, Any]] = PYPROJECT["tool"]["importlinter"]["contracts"]
    return next(entry for entry in contracts if entry["name"] == name)


def test_no_room_is_forgotten_in_the_list_of_what_adapters_may_not_see() -> None:
    forbidden = contract("An adapter sees only the protocol")["forbidden_modules"]
    expected = {f"retrieverbench.{room}" for room in rooms() - OPEN_TO_ADAPTERS}
    assert set(forbidden) == expected


def test_no_room_is_forgotten_where_only_one_may_import_something() -> None:
    everyone = {f"retrieverbench.{room}" for room in rooms()} | {"retrieverbench_adapters"}
    engines = contract("Only engines touch engine packages")["source_modules"]
    assert set(engines) == everyone - {"retrieverbench.engines"}
    pytest_free = set(contract("Only testing imports pytest")["source_modules"])
    assert pytest_free == everyone - {"retrieverbench.testing"}


IMPORT_ALL = """
import importlib, json, pkgutil, sys
import retrieverbench
def parts_of(path, prefix):
    for module in pkgutil.iter_modules(path, prefix):
        if module.name != "retrieverbench.testing":
            yield module
            if module.ispkg:
                package = importlib.import_module(module.name)
                yield from parts_of(package.__path__, module.name + ".")
for module in parts_of(retrieverbench.__path__, "retrieverbench."):
    if module.name.split(".")[-1] != "__main__":
        importlib.import_module(module.name)
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


def test_importing_the_whole_core_imports_no_client_and_no_pytest() -> None:
    """In a process of its own; what is imported by a string counts too."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))
    assert "retrieverbench" in loaded
    assert loaded & (CLIENTS | {"pytest", "retrieverbench_adapters"}) == set()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_paths_are_made_whole_by_one_function(path: Path) -> None:
    """`Path.resolve` raises for a loop of links and where the folder one is in is gone."""
    calls = [
        node.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and not (node.args or node.keywords)
        and node.func.attr == "resolve"
    ]
    assert calls == [], "use retrieverbench.files.whole_path"


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """Lines from `def` to the end, blank ones included and the docstring not."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or 0) - first.lineno + 1
    return lines


def nesting(node: ast.AST, depth: int = 0) -> int:
    """How deep blocks stand in each other; an `elif` stands beside its `if`."""
    deepest = depth
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, Function | ast.Lambda):
                continue
            opens = isinstance(
                child,
                ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try
                | ast.Match,
            )  # fmt: skip
            is_elif = isinstance(node, ast.If) and field == "orelse" and isinstance(child, ast.If)
            deepest = max(deepest, nesting(child, depth + (opens and not is_elif)))
    return deepest


def over_budget() -> dict[str, str]:
    """`file` or `file:function` → what exceeds."""
    found = {}
    for path in FILES:
        name = name_of(path)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES:
            found[name] = f"{lines} lines > {FILE_LINES}"
        for function in functions(tree_of(path)):
            key = f"{name}:{function.name}"
            if length(function) > FUNCTION_LINES:
                found[key] = f"{length(function)} lines > {FUNCTION_LINES}"
            if nesting(function) > NESTING:
                found[key] = f"nested {nesting(function)} deep > {NESTING}"
    return found


def test_budgets_are_kept() -> None:
    over = over_budget()
    assert {key: text for key, text in over.items() if key not in EXCEEDS} == {}
    assert [key for key in EXCEEDS if key not in over] == [], "no longer needed"


def test_budgets_are_measured_as_they_are_said() -> None:
    text = (
        "def f(a):\n"
        '    """One\n\n    two."""\n'
        "    if a:\n"
        "        pass\n"
        "    elif a > 1:\n"
        "        for _ in a:\n"
        "            with a:\n"
        "                pass\n"
    )
    (function,) = functions(ast.parse(text))
    assert length(function) == 7
    assert nesting(function) == 3


PAGES = sorted(path for path in FILES if path.name == "__init__.py" and CORE in path.parents)


def exported(tree: ast.Module) -> set[str]:
    """The public names that a page imports, if only for checkers of types, or defines."""
    names: set[str] = set()
    body = list(tree.body)
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "typing.TYPE_CHECKING":
            body += node.body
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
    return {name for name in names if not name.startswith("_")}


def declared(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            found: list[str] = ast.literal_eval(node.value)
            return found
    return None


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_public_page_declares_what_it_exports(path: Path) -> None:
    tree = tree_of(path)
    names = declared(tree)
    is_page = not any(isinstance(node, Function | ast.ClassDef) for node in tree.body)
    if names is None:
        assert not is_page or exported(tree) == set(), "imports names and has no __all__"
        return
    assert names == sorted(names, key=order)
    assert len(names) == len(set(names))
    if is_page:
        assert set(names) == exported(tree)


def edge_uses(tree: ast.Module) -> Iterator[str]:
    """Prints, reads of argv and the environment, and exits."""
    attributes = {
        ("os", "environ"), ("os", "getenv"), ("os", "_exit"),
        ("sys", "exit"), ("sys", "argv"), ("sys", "stdout"), ("sys", "stderr"),
    }  # fmt: skip
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"print", "exit", "quit"}
        ):
            yield f"line {node.lineno}: {node.func.id}()"
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and (node.value.id, node.attr) in attributes
        ):
            yield f"line {node.lineno}: {node.value.id}.{node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module in {"os", "sys"}:
            yield from (
                f"line {node.lineno}: from {node.module} import {alias.name}"
                for alias in node.names
                if (node.module, alias.name) in attributes
            )


def test_only_cli_prints_reads_the_environment_and_exits() -> None:
    inside = CORE / "cli"
    found = {
        name_of(path): uses
        for path in FILES
        if inside not in path.parents and (uses := list(edge_uses(tree_of(path))))
    }
    assert {name: uses for name, uses in found.items() if name not in AT_THE_EDGE} == {}
    assert [name for name in AT_THE_EDGE if name not in found] == [], "no longer needed"


def test_metrics_and_gate_are_synchronous() -> None:
    pure = [path for path in FILES if {CORE / "metrics", CORE / "gate"} & set(path.parents)]
    assert len(pure) > 10
    waits = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    found = [
        f"{name_of(path)}:{getattr(node, 'lineno', 0)}"
        for path in pure
        for node in ast.walk(tree_of(path))
        if isinstance(node, waits)
    ]
    assert found == []


ENTRY_POINTS: dict[str, str] = PYPROJECT["project"]["entry-points"]["retrieverbench.adapters"]
WITHOUT_EXTRA = {"memory": "runs on what a bare installation has"}


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_one_name_for_file_and_extra(name: str) -> None:
    module = ENTRY_POINTS[name].partition(":")[0]
    assert module == f"retrieverbench_adapters.{name}"
    assert (ADAPTERS / f"{name}.py").is_file() or (ADAPTERS / name / "__init__.py").is_file()
    extras = PYPROJECT["project"]["optional-dependencies"]
    assert (name in extras) is (name not in WITHOUT_EXTRA)
    if name in extras:
        (everything,) = extras["all"]
        assert name.replace("_", "-") in everything.partition("[")[2]


def test_engines_have_the_names_of_adapters() -> None:
    from retrieverbench.engines import engine_names

    assert set(engine_names()) <= set(ENTRY_POINTS)


def test_every_adapter_file_is_an_entry_point() -> None:
    files = {path.stem for path in ADAPTERS.glob("*.py")} | {
        path.parent.name for path in ADAPTERS.glob("*/__init__.py")
    }
    assert files - {"__init__"} == set(ENTRY_POINTS)
