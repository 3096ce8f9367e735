"""Whatever command or option a text names is one that exists."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from retrieverbench.cli.main import command

ROOT = Path(__file__).parents[2]
TEXTS = (".md", ".toml", ".yaml", ".json", "Makefile", ".ci/run")
OTHERS = ("src/retrieverbench/engines/", "src/retrieverbench/job/machine.py")
"""Files that also name options of other programs."""

NO_COMMANDS = {"retrieverbench memory": "what the adapter in process calls its server"}


def commands(group: click.Group, above: str = "") -> dict[str, click.Command]:
    """Every command by its words, groups included: `golden`, `golden check`."""
    found: dict[str, click.Command] = {}
    for name, part in group.commands.items():
        found[f"{above}{name}"] = part
        if isinstance(part, click.Group):
            found |= commands(part, f"{above}{name} ")
    return found


COMMANDS = commands(command)
GROUPS = {name for name, part in COMMANDS.items() if isinstance(part, click.Group)}
OPTIONS = {"--help", "--version", "--debug"} | {
    word for part in COMMANDS.values() for option in part.params for word in option.opts
}
NAMED = re.compile(
    # `retrieverbench x y`, but neither an import nor what follows the name in prose
    r"(?<!from )(?<!import )\bretrieverbench[ ]+(?P<whole>[a-z][a-z-]*(?:[ ]+[a-z][a-z-]*)?)"
    # 'golden x' in quotes
    rf"|[`'\"](?P<part>(?:{'|'.join(sorted(GROUPS))}) [a-z][a-z-]*)"
)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def unknown_commands(text: str) -> list[str]:
    """What the text names as a command and is none."""
    named = (match["whole"] or match["part"] for match in NAMED.finditer(text))
    return [words for words in named if not is_command(words.split())]


def is_command(words: list[str]) -> bool:
    """The first word is a command; after a group the second is one of its own."""
    if words[0] in GROUPS and len(words) > 1:
        return " ".join(words) in COMMANDS
    return words[0] in COMMANDS


def unknown_options(text: str) -> list[str]:
    return [word for word in OPTION.findall(text) if word not in OPTIONS]


def listed(*patterns: str) -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, capture_output=True, check=True, text=True,
    )  # fmt: skip
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def strings(path: Path) -> Iterator[str]:
    """The texts of a Python file: messages, parts of them, docstrings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def texts() -> Iterator[tuple[str, str]]:
    """File and text of all that a user may read."""
    for path in listed("src", "adapters", "README.md", "CHANGELOG.md", "Makefile", "docker"):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py":
            yield from ((name, text) for text in strings(path))
        elif name.endswith(TEXTS):
            yield name, path.read_text(encoding="utf-8")


def test_every_command_that_a_text_names_exists() -> None:
    found = [
        f"{name}: {words}"
        for name, text in texts()
        if text not in NO_COMMANDS
        for words in unknown_commands(text)
    ]
    assert found == []


def test_every_option_that_a_message_names_exists() -> None:
    """Options given to other programs stand alone, as a word of a list."""
    found = [
        f"{name}: {word}"
        for name, text in texts()
        if name.startswith("src/") and not name.startswith(OTHERS) and " " in text
        for word in unknown_options(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("run: retrieverbench golden check x", []),
        ("use 'golden import'", ["golden import"]),
        ("see `baseline reject`", ["baseline reject"]),
        ("then: retrieverbench baseline accept <file>", []),
        ("retrieverbench golden remap", ["golden remap"]),
        ("retrieverbench runs", ["runs"]),
        ("retrieverbench run suite.toml", []),
        ("`retrieverbench engine start pgvector`", []),
        ("from retrieverbench import engines; a retrieverbench_x", []),
    ],
)
def test_the_finder_finds(text: str, unknown: list[str]) -> None:
    assert unknown_commands(text) == unknown


def test_the_finder_of_options_finds() -> None:
    assert unknown_options("say --allow-dirty or --suite x, not --allow-dirt or a--b") == [
        "--allow-dirt"
    ]
