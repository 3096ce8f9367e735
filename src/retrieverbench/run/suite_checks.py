"""What a suite's types cannot say: names, addresses and patterns that must fit together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from retrieverbench.engines import engine_names
from retrieverbench.errors import TenantError
from retrieverbench.model import MODES, parse_tenant
from retrieverbench.options import nearest
from retrieverbench.run.attach import is_field
from retrieverbench.run.endpoint import split_credentials
from retrieverbench.run.registry import LoadedAdapter
from retrieverbench.run.suite import LAYOUTS, Suite, TargetEntry

LEAST_REQUESTS = 6
"""Below this no percentile has an interval, not even the median."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def suite_faults(suite: Suite, added: Mapping[int, str] | None = None) -> Iterator[str]:
    """One line per fault: `file:line: field: what is wrong; what to do`.

    `added` says of targets that stand in no file, by number, what to call them instead.
    """
    outside = added or {}
    if not suite.targets:
        yield f"{suite.path}:1: targets: none given; add a [[targets]] entry"
    if not is_name(suite.name):
        yield f"{suite.place('name')}: {suite.name!r:.80} {_NAME_RULE}"
    yield from _tenant_faults(suite)
    yield from _timing_faults(suite)
    for probe, reason in suite.leaks.accept_inconclusive.items():
        if not reason.strip():
            place = suite.place("leaks", "accept_inconclusive", probe)
            yield f"{place}: the reason is empty; say why {probe} needs no conclusion"
    yield from _twin_faults(suite, outside)
    seen: dict[tuple[str, str], int] = {}
    for number, target in enumerate(suite.targets):
        for key, text in _target_faults(target):
            place = outside.get(number) or suite.place("targets", number, *key.split("."))
            yield f"{place}: {text}"
        first = seen.setdefault((target.name, target.layout), number)
        if first != number:
            place = outside.get(number) or suite.place("targets", number, "name")
            yield (
                f"{place}: {target.name!r} with layout "
                f"{target.layout!r} is already used by "
                f"{outside.get(first, f'targets.{first}')}; "
                f"{_ANOTHER_NAME if number in outside else 'give each entry a name of its own'}"
            )


def _twin_faults(suite: Suite, outside: Mapping[int, str]) -> Iterator[str]:
    """Names of targets that are one where the case of letters does not count, as in file names."""
    seen: dict[str, str] = {}
    for number, target in enumerate(suite.targets):
        first = seen.setdefault(target.name.casefold(), target.name)
        if first != target.name:
            place = outside.get(number) or suite.place("targets", number, "name")
            remedy = _ANOTHER_NAME if number in outside else "give one of them another name"
            yield f"{place}: {target.name!r} and {first!r} differ only in case; {remedy}"


_ANOTHER_NAME = "call the class otherwise, or write it into the suite with a name of its own"


def capability_faults(suite: Suite, number: int, loaded: LoadedAdapter) -> list[str]:
    """One line per thing that a target asks for and its adapter does not claim."""
    entry, can = suite.targets[number], loaded.cls.capabilities
    modes = ", ".join(f'"{mode}"' for mode in MODES if mode in can)
    layouts = " or ".join(f'layout = "{layout}"' for layout in LAYOUTS if layout in can)
    remedies = {
        "modes": f"write modes = [{modes}]" if modes else "its class declares no modes",
        "layout": f"write {layouts}" if layouts else "its class declares no layout",
        "attach": "remove it, and the harness loads a place of its own",
        "load.resume": "remove it; `patience` waits for a backend within one run",
    }
    asked: list[tuple[str, str]] = [
        *(("modes", mode) for mode in entry.modes),
        ("layout", entry.layout),
    ]
    if entry.attach is not None:
        asked.append(("attach", "attach"))
    if entry.load.resume:
        asked.append(("load.resume", "resume"))
    faults = [
        f"{suite.place('targets', number, *key.split('.'))}: adapter {loaded.name!r} "
        f"does not support {word!r}; {remedies[key]}"
        for key, word in asked
        if word not in can
    ]
    is_unnamed = entry.attach is not None and not entry.attach.vector
    if is_unnamed and {"dense", "hybrid"} & set(entry.modes) and "unnamed_vector" not in can:
        place = suite.place("targets", number, "attach", "vector")
        faults.append(f"{place}: no vector field is named, and dense search needs one; add it")
    return faults


def is_name(text: str) -> bool:
    """Whether a suite or a target may be called so: names become names of files."""
    return _NAME.fullmatch(text) is not None


_NAME_RULE = (
    "cannot name files and rules; use at most 100 of the letters A to Z, digits, '.', '_' "
    "and '-', beginning with a letter or digit"
)


def _tenant_faults(suite: Suite) -> Iterator[str]:
    try:
        re.compile(suite.tenant_pattern)
    except re.error as error:
        yield (
            f"{suite.place('tenant_pattern')}: {suite.tenant_pattern!r:.80} is no regular "
            f"expression: {error}; correct it or leave it out"
        )
        return
    if suite.default_tenant is not None:
        try:
            parse_tenant(suite.default_tenant, suite.tenant_pattern)
        except TenantError as error:
            yield f"{suite.place('default_tenant')}: {error}"


def _timing_faults(suite: Suite) -> Iterator[str]:
    """A block that is over before all workers are busy has no throughput of so many workers."""
    timing = suite.timing
    least = max(LEAST_REQUESTS, 2 * timing.concurrency)
    if timing.enabled and timing.requests < least:
        yield (
            f"{suite.place('timing', 'requests')}: {timing.requests} a block are too few for a "
            f"median or a rate of {timing.concurrency} workers; write at least {least}, or lower "
            "timing.concurrency"
        )


def _target_faults(target: TargetEntry) -> Iterator[tuple[str, str]]:
    """The key and what is wrong with it. Nothing that may be a credential is shown."""
    if not is_name(target.name):
        yield "name", f"{target.name!r:.80} {_NAME_RULE}"
    if not target.modes:
        yield "modes", "empty; name at least one of dense, lexical, hybrid"
    for mode in sorted({mode for mode in target.modes if target.modes.count(mode) > 1}):
        yield "modes", f"{mode!r} is given twice; name each mode once"
    if target.engine and (target.endpoint or target.endpoint_env):
        yield "engine", "engine and endpoint both given; keep one"
    if target.endpoint and target.endpoint_env:
        yield "endpoint", "endpoint and endpoint_env both given; keep one"
    yield from _attach_faults(target)
    if target.load.resume and (target.engine or target.attach):
        yield (
            "load.resume",
            (
                "an engine started here ends with the run, and nothing is loaded into an "
                "attached index; remove it, or give the endpoint of a server"
            ),
        )
    if target.engine_name and target.engine_name not in engine_names():
        yield (
            "engine",
            (
                f"there is no engine {target.engine_name!r:.80} to start; "
                f"{nearest(target.engine_name, ['embedded', *engine_names()])}, or give an endpoint"
            ),
        )
    yield from _secret_faults(target)


def _attach_faults(target: TargetEntry) -> Iterator[tuple[str, str]]:
    if target.attach is None:
        return
    if target.engine:
        yield (
            "attach",
            "engine and attach both given: an engine started here is empty; keep one",
        )
    if target.place:
        yield "place", "place and attach both given: nothing is made beside an attached index"
    if not is_field(target.attach.matches):
        yield "attach.matches", f"{target.attach.matches!r:.80} is no field; {_MATCHES}"
    for key in ("name", "id", "tenant"):
        if not getattr(target.attach, key):
            yield f"attach.{key}", "is empty; name the index and its fields"
    if not target.attach.text and set(target.modes) & {"lexical", "hybrid"}:
        yield "attach.text", "no text field is named, and lexical search needs one; add it"


_MATCHES = "write id, uid or metadata.<name>"


def _secret_faults(target: TargetEntry) -> Iterator[tuple[str, str]]:
    variables = dict(target.secrets)
    if target.endpoint_env:
        variables["endpoint_env"] = target.endpoint_env
    for name, variable in variables.items():
        if not _VARIABLE.fullmatch(variable):
            key = name if name == "endpoint_env" else f"secrets.{name}"
            yield (
                key,
                (
                    "is not the name of an environment variable (letters, digits and '_'); "
                    "name the variable that holds the value, never the value itself"
                ),
            )
    try:
        _, found = split_credentials(target.endpoint)
    except ValueError as error:
        yield "endpoint", str(error)
        return
    held = sorted(found.keys() - {"user"})
    if held:
        yield (
            "endpoint",
            (
                f"holds a credential ({', '.join(held)}); put the whole address into an "
                "environment variable and name that as endpoint_env"
            ),
        )
