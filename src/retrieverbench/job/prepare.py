"""Everything that can be found wrong before a backend is touched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from retrieverbench.errors import InputError, MissingClient
from retrieverbench.gate import reach_faults, rule_faults
from retrieverbench.golden import OnRead, load_set, load_vectors, select_cases
from retrieverbench.job.progress import Progress, Quiet, reading
from retrieverbench.job.scoring import chunks_per_tenant, golden_record, slice_records
from retrieverbench.metrics import parse_metric
from retrieverbench.model import Corpus, GoldenCase, GoldenSet, Rule
from retrieverbench.options import nearest
from retrieverbench.run import (
    LoadedAdapter,
    Suite,
    TargetEntry,
    address_faults,
    capability_faults,
    keys_of,
    load_adapter,
    option_faults,
)

OF_TENANT = "tenant:"
"""How the name of a secret begins that is one tenant's."""
SELECTABLE = ("category", "kind", "lang", "source", "tenant", "variant")


@dataclass(frozen=True)
class Prepared:
    """A checked suite with its data.

    `adapters` holds, per entry that is kept, its class or why there is none; `lines` the
    entry's line in the suite.
    """

    suite: Suite
    golden: GoldenSet
    corpus: Corpus
    adapters: tuple[LoadedAdapter | MissingClient, ...]
    metrics: tuple[str, ...]
    rules: tuple[Rule, ...]
    required: frozenset[str]
    lines: tuple[int, ...] = ()

    @property
    def cases(self) -> tuple[GoldenCase, ...]:
        """The selected cases."""
        return self.golden.cases

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all targets, one per entry and mode."""
        return tuple(t.label for entry in self.suite.targets for t in entry.targets())

    @property
    def needs_vectors(self) -> bool:
        """Whether any target searches by vector."""
        return any(mode != "lexical" for entry in self.suite.targets for mode in entry.modes)

    @property
    def chunks_per_tenant(self) -> Mapping[str, int]:
        """How many chunks each tenant may see."""
        return chunks_per_tenant(self.corpus)


def prepare(
    suite: Suite,
    *,
    only: frozenset[str] = frozenset(),
    required: frozenset[str] = frozenset(),
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
    served: Collection[str] = (),
) -> Prepared:
    """Read golden set and corpus, load the adapters' classes, check every request.

    `only` are the names of the entries to keep (all if empty); `required` those that must
    be measured, beside those that the suite marks. `environ` holds addresses, `served` are the
    services that are started for the run. Raises InputError with all faults found.
    """
    rules = suite.gate_rules()
    targets = [target for entry in suite.targets for target in entry.targets()]
    faults = [*_unknown("--target", only, suite), *_unknown("--require", required, suite)]
    faults += rule_faults(rules, targets, str(suite.path), suite.lines)
    kept = [entry for entry in suite.targets if not only or entry.name in only]
    adapters = _load_adapters(suite, kept, faults)
    for entry, loaded in zip(kept, adapters, strict=False):
        if isinstance(loaded, LoadedAdapter):
            number = suite.targets.index(entry)
            faults += option_faults(suite, number, loaded)
            faults += address_faults(suite, number, loaded, environ=environ or {}, served=served)
    metrics = _metrics(suite, rules, faults)
    if faults:
        raise InputError(*faults)
    on_read = reading(progress or Quiet())
    corpus, golden = load_questions(suite, on_read)
    if suite.vectors:
        corpus = load_vectors(suite.resolve(suite.vectors), corpus, on_read=on_read)
    faults = [*_attach_faults(suite, kept, corpus), *_tenant_faults(suite, kept, corpus, golden)]
    if rules:
        record = golden_record(golden, corpus, metrics)
        parts = slice_records(golden, corpus, metrics) if any(r.slice for r in rules) else ()
        slices = {(field, value): part for field, value, part in parts}
        faults += reach_faults(rules, record, suite.depth, str(suite.path), suite.lines, slices)
    if faults:
        raise InputError(*faults)
    return Prepared(
        suite=replace(suite, targets=tuple(kept)),
        golden=golden,
        corpus=corpus,
        adapters=adapters,
        metrics=metrics,
        rules=rules,
        required=required | {entry.name for entry in kept if entry.required},
        lines=tuple(suite.line("targets", suite.targets.index(entry)) for entry in kept),
    )


def load_questions(suite: Suite, on_read: OnRead | None = None) -> tuple[Corpus, GoldenSet]:
    """The corpus, and the golden set with the cases that the suite selects.

    `on_read` watches the reading of the corpus.
    Raises InputError with every fault of both files, and for a selection of nothing.
    """
    corpus, golden = load_set(
        suite.resolve(suite.golden),
        suite.resolve(suite.corpus),
        tenant_pattern=suite.tenant_pattern,
        default_tenant=suite.default_tenant,
        on_read=on_read,
    )
    return corpus, _select(suite, golden)


def _unknown(option: str, names: frozenset[str], suite: Suite) -> list[str]:
    known = {entry.name for entry in suite.targets}
    return [
        f"{option}: no target named {name!r}; {nearest(name, known)}"
        for name in sorted(names - known)
    ]


def _load_adapters(
    suite: Suite, entries: Sequence[TargetEntry], faults: list[str]
) -> tuple[LoadedAdapter | MissingClient, ...]:
    adapters: list[LoadedAdapter | MissingClient] = []
    for entry in entries:
        number = suite.targets.index(entry)
        place = f"{suite.path}:{suite.line('targets', number)}: targets.{number}.adapter"
        try:
            needs_engine = bool(entry.engine_name)
            loaded = load_adapter(entry.adapter, suite.path.parent, with_engine=needs_engine)
        except MissingClient as error:
            adapters.append(error)
        except InputError as error:
            faults += [f"{place}: {line.removeprefix('adapter: ')}" for line in error.faults]
        else:
            faults += capability_faults(suite, number, loaded)
            adapters.append(loaded)
    return tuple(adapters)


def _attach_faults(suite: Suite, kept: Sequence[TargetEntry], corpus: Corpus) -> list[str]:
    """Attached indexes whose ids do not tell the corpus's chunks apart."""
    faults: list[str] = []
    for entry in kept:
        line = suite.line("targets", suite.targets.index(entry), "attach")
        try:
            keys_of(entry, corpus.chunks)
        except InputError as error:
            faults += [f"{suite.path}:{line}: {fault}" for fault in error.faults]
    return faults


def _tenant_faults(
    suite: Suite, kept: Sequence[TargetEntry], corpus: Corpus, golden: GoldenSet
) -> Iterator[str]:
    """Credentials of tenants that nobody asks as, by which a misspelt one would go unused."""
    known = {*chunks_per_tenant(corpus), *(case.tenant.value for case in golden.cases)}
    for entry in kept:
        number = suite.targets.index(entry)
        for name in entry.secrets:
            tenant = name.removeprefix(OF_TENANT)
            if tenant != name and tenant not in known:
                place = suite.place("targets", number, "secrets", name)
                yield f"{place}: no tenant {tenant!r:.80} in the corpus; {nearest(tenant, known)}"


def metrics_of(suite: Suite) -> tuple[str, ...]:
    """The canonical names of the metrics that a checked suite and its rules ask for."""
    return _metrics(suite, suite.gate_rules(), [])


def _metrics(suite: Suite, rules: Sequence[Rule], faults: list[str]) -> tuple[str, ...]:
    """Canonical names, with those that rules need.

    A cut deeper than the depth asked for cannot be computed and is a fault.
    """
    names = []
    asked = [(name, suite.line("metrics"), "metrics") for name in suite.metrics]
    asked += [(rule.metric, rule.line, "rules") for rule in rules if rule.metric]
    for name, line, field in asked:
        place = f"{suite.path}:{line}: {field}"
        try:
            metric = parse_metric(name)
        except InputError as error:
            faults += [f"{place}: {fault}" for fault in error.faults if field == "metrics"]
            continue
        if metric.k is not None and metric.k > suite.depth:
            faults.append(f"{place}: {name!r} needs depth {metric.k}; depth is {suite.depth}")
        names.append(metric.name)
    return tuple(dict.fromkeys(names))


def _select(suite: Suite, golden: GoldenSet) -> GoldenSet:
    """The cases that the suite's `select` keeps; an empty selection is an error."""
    place = f"{suite.path}:{suite.line('select')}: select"
    unknown = sorted(suite.select.keys() - set(SELECTABLE))
    if unknown:
        raise InputError(f"{place}.{unknown[0]}: unknown field; {nearest(unknown[0], SELECTABLE)}")
    try:
        return select_cases(golden, suite.select)
    except InputError as error:
        raise InputError(*(f"{place}: {fault}" for fault in error.faults)) from None
