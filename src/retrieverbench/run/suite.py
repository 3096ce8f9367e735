"""A suite: which golden set, which targets, how they are measured, which rules judge.

The file is TOML. Paths in it are relative to the file. Credentials never stand in it: they
are named by environment variable and resolved by the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Gt, Le

from retrieverbench.files import seen_from_here, whole_path
from retrieverbench.model import (
    DEFAULT_TENANT_PATTERN,
    Layout,
    Mode,
    Rule,
    RuleKind,
    Target,
)
from retrieverbench.run.attach import AttachEntry
from retrieverbench.run.toml_lines import KeyPath

DEFAULT_METRICS = ("nDCG@10", "Recall@10", "Precision@5", "Hit@5", "MRR")
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
DAY = 86_400.0
Workers = Annotated[int, Ge(1), Le(1_000)]
Seconds = Annotated[float, Gt(0), Le(DAY)]


@dataclass(frozen=True)
class Declares:
    """What a target is known to do: the leak audit shows it as an accepted risk.

    `shared_idf`: scores and order of words depend on other tenants' chunks. `approximate`:
    the least share of the exact answer, 0 to 1. `post_filter`: the number of nearer foreign
    chunks up to which answers must be complete. `eventual_visibility`: seconds until a
    change is searchable. `global_totals`: totals count other tenants' chunks.
    `distinguishable_absence`: what only others have is answered otherwise than what none has.
    """

    shared_idf: bool = False
    approximate: Annotated[float, Gt(0), Le(1)] | None = None
    post_filter: Annotated[int, Ge(1)] | None = None
    eventual_visibility: Seconds | None = None
    global_totals: bool = False
    distinguishable_absence: bool = False


@dataclass(frozen=True)
class Loading:
    """`[targets.load]`: how the corpus is sent to a target.

    `batch` chunks go with each `put`, `concurrency` puts are in flight. `patience` is for how
    many seconds a backend that is gone, silent or busy is waited for; what it lost meanwhile is
    sent again. With `resume` a load that was broken off goes on in the next run: the place has
    the same name in every run of this target and corpus, and stays until it was loaded whole.
    """

    batch: Annotated[int, Ge(1), Le(100_000)] = 500
    concurrency: Annotated[int, Ge(1), Le(64)] = 1
    patience: Annotated[float, Ge(0), Le(DAY)] = 0.0
    resume: bool = False


@dataclass(frozen=True)
class TargetEntry:
    """One `[[targets]]` entry: a place loaded once and searched in each of its modes.

    `engine = "embedded"` starts the adapter's engine on this machine, any other word the
    engine of that name; otherwise `endpoint` or `endpoint_env` (the name of an environment
    variable) says where the server is; an adapter in process needs neither. `secrets` maps
    the adapter's names to names of environment variables. `connect`, `place` and `search`
    are the adapter's own options. `declares` are risks that are accepted. With `attach` the
    target is an index of the user's, which is only read. `load` says how it is loaded.
    """

    adapter: str
    name: str = ""
    modes: tuple[Mode, ...] = ("dense", "lexical", "hybrid")
    layout: Layout = "filter"
    engine: str = ""
    endpoint: str = ""
    endpoint_env: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict)
    required: bool = False
    attach: AttachEntry | None = None
    engine_options: Mapping[str, object] = field(default_factory=dict)
    connect: Mapping[str, object] = field(default_factory=dict)
    place: Mapping[str, object] = field(default_factory=dict)
    search: Mapping[str, object] = field(default_factory=dict)
    declares: Declares = Declares()
    load: Loading = Loading()

    @property
    def engine_name(self) -> str:
        """The engine to start; "" for none."""
        return self.adapter if self.engine == "embedded" else self.engine

    @property
    def service(self) -> str:
        """The service of a compose file that can answer; "" where an address is given."""
        if self.endpoint or self.endpoint_env or self.attach:
            return ""
        return self.engine_name or self.adapter

    @property
    def options(self) -> Mapping[str, Mapping[str, object]]:
        """The adapter's options by group."""
        return {"connect": self.connect, "place": self.place, "search": self.search}

    def targets(self) -> tuple[Target, ...]:
        """One Target per mode."""
        return tuple(
            Target(self.name, self.adapter, mode, self.layout, self.options) for mode in self.modes
        )


@dataclass(frozen=True)
class Timing:
    """The timed pass: a closed loop of `concurrency` workers.

    Every target gets `rounds` blocks of `requests` requests each, at least two for each worker
    and six, interleaved with the other targets' blocks, after `warmup` requests per worker.
    `seconds` bounds a block. Times are void if the answers overlap less than `min_overlap` with
    those of the quality pass. `noise_floor` times one target twice.
    """

    enabled: bool = True
    concurrency: Workers = 4
    rounds: Annotated[int, Ge(1), Le(1_000)] = 4
    requests: Annotated[int, Ge(1), Le(1_000_000)] = 200
    warmup: Annotated[int, Ge(0), Le(10_000)] = 8
    seconds: Seconds = 20.0
    min_overlap: Annotated[float, Ge(0), Le(1)] = 0.95
    noise_floor: bool = True


@dataclass(frozen=True)
class LeakColumns:
    """What is asked beside the golden set: canary chunks and the unfiltered control arm.

    `inconclusive` says what an unproven clean result does: `stop` ends with exit 5, `warn`
    is printed only. `accept_inconclusive` maps ids of single probes to the reason why they
    need no conclusion. `fail_on` is the least severity of a failed probe that is exit 1;
    a critical one is always exit 4.
    """

    canaries: bool = True
    control: bool = True
    inconclusive: Literal["stop", "warn"] = "stop"
    accept_inconclusive: Mapping[str, str] = field(default_factory=dict)
    fail_on: Literal["high", "medium", "low"] = "medium"


@dataclass(frozen=True)
class RuleEntry:
    """One `[[rules]]` entry: what must hold, on all targets or on those that `targets` names.

    `minimum` and `maximum` compare `metric` with `value`; `counter` allows at most `value` of
    `counter`; `baseline` wants no less of `metric` than the accepted run has, `tolerance` at
    most `tolerance` less; `must_pass` names the cases marked so. `slice` is one field and its
    value, as `{ tenant = "acme" }`: that part of the cases is judged. `because` is printed.
    """

    kind: RuleKind
    name: str = ""
    metric: str | None = None
    counter: str | None = None
    value: float | None = None
    tolerance: Annotated[float, Ge(0), Le(1)] | None = None
    targets: tuple[str, ...] = ()
    slice: Mapping[str, str] = field(default_factory=dict)
    because: str = ""


@dataclass(frozen=True)
class Suite:
    """A whole suite file. Paths in it are relative to the file.

    `golden` holds the questions, `corpus` the chunks, `vectors` the chunks' vectors where they
    are shipped. `depth` results are asked for. `concurrency` questions are in flight in the
    quality pass, and a search may take `timeout` seconds. `seed` orders the timed requests and
    picks the questions of the leak columns. `select` takes the cases of one `tenant`,
    `category`, `kind`, `lang` or `source`. `results` is the folder of runs and baselines.
    `tenant_pattern` is what a tenant's name looks like; chunks and questions without one
    belong to `default_tenant`.
    """

    golden: str
    corpus: str
    name: str = ""
    targets: tuple[TargetEntry, ...] = ()
    rules: tuple[RuleEntry, ...] = ()
    vectors: str = ""
    metrics: tuple[str, ...] = DEFAULT_METRICS
    depth: Annotated[int, Ge(1), Le(10_000)] = 10
    concurrency: Workers = 4
    timeout: Seconds = 30.0
    seed: Annotated[int, Ge(0)] = 0
    select: Mapping[str, str] = field(default_factory=dict)
    results: str = "results"
    tenant_pattern: str = DEFAULT_TENANT_PATTERN
    default_tenant: str | None = None
    embedding: Mapping[str, object] = field(default_factory=lambda: {"kind": "minilm"})
    timing: Timing = Timing()
    leaks: LeakColumns = LeakColumns()
    # What `load_suite` fills in; `sha256` is over the bytes of the file.
    path: Path = Path()
    sha256: str = ""
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def resolve(self, name: str) -> Path:
        """A path of the suite, seen from the suite's own folder; told as the suite's own is."""
        whole = whole_path(self.path.parent / name)
        is_whole = self.path.is_absolute() or Path(name).is_absolute()
        return whole if is_whole else Path(seen_from_here(whole))

    def line(self, *key: str | int) -> int:
        """The line of a key in the file; 1 when it does not stand there."""
        return self.lines.get(key, 1)

    def place(self, *key: str | int) -> str:
        """`file:line: key.path`, with the line of the longest part that stands in the file."""
        known = (key[:end] for end in range(len(key), 0, -1) if key[:end] in self.lines)
        line = self.lines.get(next(known, ()), 1)
        return f"{self.path}:{line}: {'.'.join(map(str, key))}"

    def gate_rules(self) -> tuple[Rule, ...]:
        """The rules as the gate takes them, named and with their lines."""
        names = _rule_names(self.rules)
        return tuple(
            Rule(
                kind=entry.kind,
                name=names[number],
                metric=entry.metric,
                counter=entry.counter,
                value=entry.value,
                tolerance=entry.tolerance,
                targets=entry.targets,
                slice=entry.slice,
                because=entry.because,
                line=self.line("rules", number),
            )
            for number, entry in enumerate(self.rules)
        )


def _rule_names(rules: Sequence[RuleEntry]) -> list[str]:
    """Names of those that have none: with their targets only where two would be called the same."""
    short = [entry.name or _rule_name(entry) for entry in rules]
    return [
        name
        if entry.name or short.count(name) == 1 or not entry.targets
        else f"{name} on {', '.join(entry.targets)}"
        for entry, name in zip(rules, short, strict=True)
    ]


def _rule_name(entry: RuleEntry) -> str:
    subject = entry.metric or entry.counter or ""
    where = ",".join(f"{key}={value}" for key, value in sorted(entry.slice.items()))
    return " ".join(part for part in (entry.kind, subject, where) if part)
