"""What an adapter's class tells of its options and its address, before anything is started."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import is_dataclass

from retrieverbench.engines import engine_names
from retrieverbench.errors import InputError
from retrieverbench.options import parse_options
from retrieverbench.run.registry import LoadedAdapter
from retrieverbench.run.suite import Suite


def option_faults(suite: Suite, number: int, loaded: LoadedAdapter) -> list[str]:
    """One line, with that of its key, per option that the adapter's class does not take.

    What the class tells in another way than a dataclass is judged where it is opened.
    """
    place = f"{suite.path}:"
    own = ("targets", number)
    lines = {key[2:]: line for key, line in suite.lines.items() if key[:2] == own}
    try:
        options = getattr(loaded.cls, "options", None)
        if isinstance(options, type) and is_dataclass(options):
            given = {group: kept for group, kept in suite.targets[number].options.items() if kept}
            parse_options(options, given, str(suite.path), lines)
    except InputError as error:
        told = (fault.removeprefix(place).partition(": ") for fault in error.faults)
        return [f"{place}{line}: targets.{number}.{rest}" for line, _, rest in told]
    except (Exception, SystemExit):  # noqa: BLE001 - of a foreign class: its `open` may take them
        return []
    return []


def address_faults(
    suite: Suite,
    number: int,
    loaded: LoadedAdapter,
    *,
    environ: Mapping[str, str],
    served: Collection[str] = (),
) -> Iterator[str]:
    """Whether an adapter that needs a server has no address of one, or no whole one.

    `served` are the services that are started for the run. What an environment variable holds is
    not shown. One that is not set here may be set elsewhere: that is a row of the report.
    """
    form = getattr(loaded.cls, "address", None)
    entry = suite.targets[number]
    if not isinstance(form, str) or not form or entry.engine_name or entry.service in served:
        return
    if not entry.endpoint and not entry.endpoint_env:
        if entry.attach is None:
            engine = ' or engine = "embedded"' if entry.adapter in engine_names() else ""
            yield (
                f"{suite.place('targets', number, 'adapter')}: {entry.adapter!r} asks a server; "
                f"give endpoint or endpoint_env (an address as {form}){engine}"
            )
        return
    given = entry.endpoint or environ.get(entry.endpoint_env, "")
    if given and form.startswith("http") and "://" not in given:
        key = "endpoint" if entry.endpoint else "endpoint_env"
        shown = repr(entry.endpoint) if entry.endpoint else f"what {entry.endpoint_env} holds"
        yield (
            f"{suite.place('targets', number, key)}: {shown:.80} begins with no scheme; write "
            f"it as {form}"
        )
