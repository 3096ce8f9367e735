"""One question: adapter name → class. Nothing is imported until it is asked for."""

from __future__ import annotations

import inspect
import re
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import FrameType, ModuleType

from retrieverbench.adapter import CAPABILITIES, Adapter
from retrieverbench.errors import InputError, MissingClient
from retrieverbench.files import whole_path
from retrieverbench.options import nearest
from retrieverbench.run.own_file import import_file
from retrieverbench.run.text import one_line

GROUP = "retrieverbench.adapters"
OWN = "retrieverbench"
"""The distribution whose extra `engines` holds what starts engines."""
_COROUTINES = ("open", "search", "describe", "close")
_FURTHER = {
    "put": ("put", "settle"),
    "remove": ("remove",),
    "get": ("get",),
    "delete": ("delete",),
    "move": ("move",),
    "explain": ("explain",),
}
"""What a capability needs beside them."""
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)[ \t]*(?:\[(?P<extras>[^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class LoadedAdapter:
    """An adapter's class and the distribution it came from (`file` for a plain file)."""

    name: str
    cls: type[Adapter]
    distribution: str
    version: str


def adapter_names() -> list[str]:
    """The names of all installed adapters, ours and those of plugins."""
    return sorted(_entry_points())


def load_adapter(name: str, base: Path = Path(), *, with_engine: bool = False) -> LoadedAdapter:
    """The adapter of an entry point's name, or of a file: `./mine.py:Mine`.

    A relative file is looked for from `base`. `with_engine` where its engine is started too:
    the pip line then names both extras. Raises InputError for an unknown name, a
    name given by two distributions, a broken plugin or a class that breaks the protocol;
    MissingClient when its import fails and a package of its extra is not installed.
    """
    if is_file(name):
        return _load_file(name, base)
    points = _entry_points()
    if name not in points:
        raise InputError(f"adapter: no adapter named {name!r}; {nearest(name, points)}")
    found = points[name]
    if len(found) > 1:
        owners = " and ".join(" ".join(_owner(point)) for point in found)
        raise InputError(f"adapter: {name!r} is given by {owners}; uninstall one of them")
    distribution, version = _owner(found[0])
    try:
        with _importing():
            return LoadedAdapter(name, _checked(found[0].load(), name), distribution, version)
    except (InputError, _Interrupt):
        raise
    except BaseException as error:  # whatever a plugin may raise, it is its defect
        raise _unusable(name, distribution, version, error, with_engine=with_engine) from error


class _Interrupt(KeyboardInterrupt):
    """The user's own Ctrl-C, which no `raise KeyboardInterrupt` of an adapter is."""


@contextmanager
def _importing() -> Iterator[None]:
    """Tell Ctrl-C from what an adapter raises: it may raise KeyboardInterrupt itself."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    try:
        signal.signal(signal.SIGINT, _interrupted)
    except ValueError:  # not in the main thread, which no signal reaches
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    raise _Interrupt


def is_file(name: str) -> bool:
    """Whether an adapter's name means a file and not an entry point."""
    return name.endswith(".py") or ".py:" in name


def _entry_points() -> dict[str, list[metadata.EntryPoint]]:
    """By name; one distribution found twice on the path, as editable installs are, is one."""
    points: dict[str, list[metadata.EntryPoint]] = {}
    for point in metadata.entry_points(group=GROUP):
        others = points.setdefault(point.name, [])
        if _owner(point) not in [_owner(other) for other in others]:
            others.append(point)
    return points


def _owner(point: metadata.EntryPoint) -> tuple[str, str]:
    return (point.dist.name, point.dist.version) if point.dist else ("unknown", "unknown")


def _unusable(
    name: str, distribution: str, version: str, error: BaseException, *, with_engine: bool
) -> Exception:
    """The pip line where a failed import has packages to blame; else the plugin is broken."""
    extra = name.replace("_", "-")
    missing = _not_installed(extra, distribution) if isinstance(error, ImportError) else []
    if missing:
        extra += ",engines" * (with_engine and distribution == OWN)
        return MissingClient(
            f"adapter {name!r} needs {', '.join(missing)}; "
            f"run: pip install '{distribution}[{extra}]'"
        )
    return InputError(
        f"adapter: {name!r} of {distribution} {version} cannot be imported: "
        f"{type(error).__name__}: {one_line(error)}; repair or uninstall it"
    )


def _not_installed(extra: str, distribution: str) -> list[str]:
    """The distributions that an extra asks for, also by extras of theirs, and that are absent.

    Conditions beside the extra, such as on the platform, are taken as met.
    """
    missing = set()
    pending = [(extra, distribution)]
    for inner, owner in pending:  # grows while it is read
        for name, extras in _asked_by_extra(inner, owner):
            try:
                metadata.distribution(name)
            except metadata.PackageNotFoundError:
                missing.add(name)
            pending += [step for part in extras if (step := (part, name)) not in pending]
    return sorted(missing)


def _asked_by_extra(extra: str, distribution: str) -> Iterator[tuple[str, list[str]]]:
    """Each requirement of an extra: the distribution's name and the extras asked of it."""
    try:
        lines = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return
    for line in lines:
        requirement, _, marker = line.partition(";")
        if f'"{_plain(extra)}"' not in _plain(marker.replace("'", '"')):
            continue
        found = _REQUIREMENT.match(requirement.strip())
        if found:
            extras = (found["extras"] or "").split(",")
            yield _plain(found["name"]), [part.strip() for part in extras if part.strip()]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _load_file(name: str, base: Path) -> LoadedAdapter:
    file_name, _, attribute = name.rpartition(":") if ".py:" in name else (name, "", "")
    path = whole_path(base / file_name)
    if not attribute:
        raise InputError(f"adapter: {name!r} names no class; write '{file_name}:ClassName'")
    if not path.is_file():
        raise InputError(
            f"adapter: {file_name!r} is not there ({path.name} in {path.parent.name}/); "
            "name a .py file, relative to the suite"
        )
    try:
        with _importing():
            cls = _class_of(import_file(path, file_name), file_name, attribute)
            return LoadedAdapter(name, _checked(cls, name), "file", path.name)
    except (InputError, _Interrupt):
        raise
    except BaseException as error:  # the user's file may raise anything
        raise InputError(
            f"adapter: {file_name + _line_of(error, path)!r} cannot be imported: "
            f"{type(error).__name__}: {one_line(error)}; {_remedy(error)}"
        ) from error


def _remedy(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return "install it, or put it beside the file"
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        return "put an __init__.py into its folder, or leave the dot out"
    return "repair the file"


def _class_of(module: ModuleType, file_name: str, attribute: str) -> type:
    classes = {key: value for key, value in vars(module).items() if isinstance(value, type)}
    if attribute not in classes:
        own = [key for key, value in classes.items() if value.__module__ == module.__name__]
        raise InputError(
            f"adapter: {file_name!r} has no class {attribute!r}; {nearest(attribute, own)}"
        )
    return classes[attribute]


def _line_of(error: BaseException, path: Path) -> str:
    """The last line of the file that was running or could not be read, as `:12`."""
    lines = [line for file, line in _places(error) if file == str(path)]
    return f":{lines[-1]}" if lines else ""


def _places(error: BaseException) -> Iterator[tuple[str, int | None]]:
    yield from (
        (entry.filename, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)
    )
    if isinstance(error, SyntaxError) and error.filename:
        yield error.filename, error.lineno


def _checked(cls: object, name: str) -> type[Adapter]:
    """The class itself, if it has what the protocol asks for."""
    if not isinstance(cls, type):
        raise InputError(f"adapter: {name!r} is not a class; an entry point names a class")
    capabilities = getattr(cls, "capabilities", None)
    if not isinstance(capabilities, frozenset) or not capabilities:
        raise InputError(f"adapter: {name!r} lacks capabilities, a frozenset of words")
    parts = _COROUTINES + tuple(
        part for word, more in _FURTHER.items() if word in capabilities for part in more
    )
    absent = [part for part in parts if not callable(getattr(cls, part, None))]
    if absent:
        raise InputError(f"adapter: {name!r} lacks {', '.join(absent)}; see retrieverbench.adapter")
    plain = [part for part in parts if not _is_coroutine(getattr(cls, part))]
    if plain:
        raise InputError(
            f"adapter: {name!r}: {', '.join(plain)} is no coroutine; write 'async def {plain[0]}'"
        )
    unknown = sorted(map(str, capabilities - CAPABILITIES.keys()))
    if unknown:
        raise InputError(
            *(
                f"adapter: {name!r} claims {word!r}; {nearest(word, CAPABILITIES)}"
                for word in unknown
            )
        )
    return cls


def _is_coroutine(function: object) -> bool:
    """Whether calling it can be awaited, seen through well-behaved decorators."""
    plain = inspect.unwrap(function) if callable(function) else function
    return inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(
        getattr(plain, "__func__", plain)
    )
