"""A suite file is read whole, and each fault has its file, line, field, value and remedy."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from retrieverbench.errors import InputError
from retrieverbench.run import Suite, load_suite, suite_faults

HEAD = 'golden = "g.jsonl"\ncorpus = "c.jsonl"\n'
TARGET = '[[targets]]\nadapter = "memory"\n'


def load(folder: Path, text: str, name: str = "my suite.toml") -> Suite:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_suite(path)


def faults(folder: Path, text: str) -> list[str]:
    """The lines of the error, without the file's name."""
    with pytest.raises(InputError) as caught:
        load(folder, text)
    prefix = f"{folder / 'my suite.toml'}:"
    assert all(fault.startswith(prefix) for fault in caught.value.faults)
    return [fault.removeprefix(prefix) for fault in caught.value.faults]


def test_smallest_suite_and_its_defaults(tmp_path: Path) -> None:
    suite = load(tmp_path, HEAD + TARGET)
    assert suite.name == "my-suite"
    assert [target.label for target in suite.targets[0].targets()] == [
        "memory/dense/filter",
        "memory/lexical/filter",
        "memory/hybrid/filter",
    ]
    assert suite.resolve("x/y") == tmp_path / "x" / "y"
    assert suite.sha256 == hashlib.sha256((HEAD + TARGET).encode()).hexdigest()
    assert suite.line("targets", 0, "adapter") == 4
    assert suite.line("nothing") == 1


def test_checksum_is_of_the_bytes_and_a_byte_order_mark_is_no_key(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    data = b"\xef\xbb\xbf" + (HEAD + TARGET).replace("\n", "\r\n").encode()
    path.write_bytes(data)
    assert load_suite(path).sha256 == hashlib.sha256(data).hexdigest()


def test_options_go_to_the_adapter_in_groups(tmp_path: Path) -> None:
    text = HEAD + TARGET + "[targets.search]\nef = 100\n[targets.place]\nlists = [1, 2]\n"
    entry = load(tmp_path, text).targets[0]
    assert entry.options == {"connect": {}, "place": {"lists": [1, 2]}, "search": {"ef": 100}}


def test_a_file_adapter_is_named_by_its_class(tmp_path: Path) -> None:
    suite = load(tmp_path, HEAD + '[[targets]]\nadapter = "./x/mine.py:Mine"\n')
    assert suite.targets[0].name == "mine"


def test_rules_get_lines_and_names_of_their_own(tmp_path: Path) -> None:
    rules = (
        '[[rules]]\nkind = "minimum"\nmetric = "MRR"\nvalue = 0.5\n'
        '[[rules]]\nkind = "minimum"\nmetric = "MRR"\nvalue = 0.6\ntargets = ["memory/dense"]\n'
        '[[rules]]\nkind = "counter"\ncounter = "ties"\nvalue = 1\nslice = { tenant = "a" }\n'
        '[[rules]]\nkind = "must_pass"\ntargets = ["memory/dense", "memory"]\n'
    )
    made = load(tmp_path, HEAD + TARGET + rules).gate_rules()
    assert [(rule.name, rule.line) for rule in made] == [
        ("minimum MRR", 5),
        ("minimum MRR on memory/dense", 9),
        ("counter ties tenant=a", 14),
        ("must_pass", 19),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD, "1: targets: none given; add a [[targets]] entry"),
        ("x = 1\n" + HEAD + TARGET, "1: x: unknown key; known: "),
        (HEAD + "depht = 3\n" + TARGET, "3: depht: unknown key; did you mean 'depth'?"),
        ('corpus = "c"\n' + TARGET, "1: golden: missing; this key is required"),
        ("golden = 3\ncorpus = 'c'\n" + TARGET, "1: golden: 3 is wrong; input should be"),
        (HEAD + "depth = 0\n" + TARGET, "3: depth: 0 is wrong; input should be greater"),
        (HEAD + "depth = 10001\n" + TARGET, "3: depth: 10001 is wrong; input should be less"),
        (HEAD + "concurrency = 1001\n" + TARGET, "3: concurrency: 1001 is wrong; input should"),
        (HEAD + "timeout = 86401\n" + TARGET, "3: timeout: 86401 is wrong; input should be less"),
        (HEAD + f"name = '{'n' * 101}'\n" + TARGET, "3: name: 'nnnnn"),
        (HEAD + TARGET + f"name = '{'n' * 101}'\n", "5: targets.0.name: 'nnnnn"),
        (HEAD + TARGET + "name = 'Größe'\n", "5: targets.0.name: 'Größe' cannot name files"),
        (HEAD + TARGET + "[timing]\nrounds = 1001\n", "6: timing.rounds: 1001 is wrong"),
        (HEAD + TARGET + "[timing]\nrequests = 1000001\n", "6: timing.requests: 1000001 is wr"),
        (HEAD + TARGET + "[timing]\nwarmup = 10001\n", "6: timing.warmup: 10001 is wrong"),
        (HEAD + TARGET + "[timing]\nconcurrency = 1001\n", "6: timing.concurrency: 1001 is wr"),
        (HEAD + TARGET + "[timing]\nseconds = 86401\n", "6: timing.seconds: 86401 is wrong"),
        (HEAD + "depth = true\n" + TARGET, "3: depth: True is wrong"),
        (HEAD + "depth = 2.5\n" + TARGET, "3: depth: 2.5 is wrong"),
        (HEAD + "timeout = inf\n" + TARGET, "3: timeout: inf is not a finite number"),
        (HEAD + "timeout = nan\n" + TARGET, "3: timeout: nan is not a finite number"),
        (HEAD + "name = 2024-01-01\n" + TARGET, "3: name: 2024-01-01 is a date; no key takes"),
        (HEAD + 'name = "../up"\n' + TARGET, "3: name: '../up' cannot name files"),
        (HEAD + "path = 'x'\n" + TARGET, "3: path: unknown key"),
        (HEAD + "lines = 'x'\n" + TARGET, "3: lines: unknown key"),
        (HEAD + 'tenant_pattern = "["\n' + TARGET, "3: tenant_pattern: '[' is no regular"),
        (HEAD + 'default_tenant = "a b"\n' + TARGET, "3: default_tenant: tenant: 'a b' does not"),
        (HEAD + 'default_tenant = ""\n' + TARGET, "3: default_tenant: tenant: '' is empty"),
        (HEAD + "x = = 3\n", "3: not valid TOML: Invalid value at column 5; "),
        (HEAD + 'x = """\nend', "4: not valid TOML: "),
        (HEAD + HEAD + TARGET, "3: not valid TOML: Cannot overwrite a value at"),
        (HEAD + "[[targets]]\n", "3: targets.0.adapter: missing"),
        (HEAD + TARGET + 'modes = ["dens"]\n', "5: targets.0.modes.0: 'dens' is unknown; did you"),
        (HEAD + TARGET + 'modes = "dense"\n', "5: targets.0.modes: 'dense' is wrong; input"),
        (HEAD + TARGET + "modes = []\n", "5: targets.0.modes: empty; name at least one"),
        (HEAD + TARGET + 'modes = ["dense", "dense"]\n', "5: targets.0.modes: 'dense' is given tw"),
        (HEAD + TARGET + 'layout = "filters"\n', "5: targets.0.layout: 'filters' is unknown; did"),
        (HEAD + TARGET + 'required = "yes"\n', "5: targets.0.required: 'yes' is wrong"),
        (HEAD + TARGET + 'engine = "embeded"\n', "5: targets.0.engine: there is no engine 'embe"),
        (HEAD + TARGET + 'name = "a/b"\n', "5: targets.0.name: 'a/b' cannot name files"),
        (HEAD + TARGET + 'engin = "x"\n', "5: targets.0.engin: unknown key; did you mean 'engine'"),
        (HEAD + TARGET + TARGET, "5: targets.1.name: 'memory' with layout 'filter' is already"),
        (HEAD + TARGET + "[timing]\nrounds = 0\n", "6: timing.rounds: 0 is wrong"),
        (HEAD + TARGET + "[timing]\nround = 1\n", "6: timing.round: unknown key; did you mean"),
        (HEAD + TARGET + '[leaks]\ninconclusive = "no"\n', "6: leaks.inconclusive: 'no' is unkn"),
        (HEAD + TARGET + '[[rules]]\nkind = "minimun"\n', "6: rules.0.kind: 'minimun' is unknown;"),
        (HEAD + TARGET + "[[rules]]\nmetric = 'MRR'\n", "5: rules.0.kind: missing"),
        (
            HEAD + TARGET + "[[rules]]\nkind = 'tolerance'\ntolerance = 1.5\n",
            "7: rules.0.tolerance: 1.5 is wrong; input should be less",
        ),
    ],
)
def test_fault(tmp_path: Path, text: str, fault: str) -> None:
    found = faults(tmp_path, text)
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    text = "depth = 0\ntimout = 3\n[[targets]]\nmodes = ['x']\n[[targets]]\nadapter = 3\n"
    lines = sorted(fault.split(":")[0] for fault in faults(tmp_path, text))
    assert lines == ["1", "1", "1", "2", "3", "4", "6"]


def test_engine_beside_an_endpoint(tmp_path: Path) -> None:
    text = HEAD + TARGET + 'engine = "qdrant"\nendpoint = "http://h"\nendpoint_env = "URL"\n'
    assert faults(tmp_path, text) == [
        "5: targets.0.engine: engine and endpoint both given; keep one",
        "6: targets.0.endpoint: endpoint and endpoint_env both given; keep one",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('endpoint = "http://u:hunter2@h"', "5: targets.0.endpoint: holds a credential (password)"),
        ('endpoint = "host=h password=hunter2"', "5: targets.0.endpoint: holds a credential"),
        ('endpoint = "http://u:hunter2#@h"', "5: targets.0.endpoint: there is an @ behind"),
        ('endpoint_env = "http://u:hunter2@h"', "5: targets.0.endpoint_env: is not the name"),
        ('secrets = { api_key = "sk-hunter2" }', "5: targets.0.secrets.api_key: is not the name"),
        ('[targets.secrets]\npassword = "hunter2!"', "6: targets.0.secrets.password: is not the"),
        ('modes = { endpoint = "http://u:hunter2@h" }', "5: targets.0.modes: a table is wrong"),
    ],
)
def test_a_credential_in_the_file_is_refused_and_not_shown(
    tmp_path: Path, text: str, fault: str
) -> None:
    found = faults(tmp_path, f"{HEAD}{TARGET}{text}\n")
    assert found[0].startswith(fault)
    assert "hunter2" not in "".join(found)


def test_targets_as_one_table_show_nothing_of_it(tmp_path: Path) -> None:
    (found,) = faults(
        tmp_path, HEAD + '[targets]\nadapter = "x"\nendpoint = "http://u:hunter2@h"\n'
    )
    assert found == "3: targets: a table is wrong; input should be a valid array"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.toml: cannot be read: No such file.*init"):
        load_suite(tmp_path / "no.toml")
    with pytest.raises(InputError, match=r"cannot be read: Is a directory"):
        load_suite(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(HEAD.encode() + "name = 'é'".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.toml:3: byte 0xE9 at column 9 is not UTF-8"):
        load_suite(path)


def test_keys_that_are_refused_are_not_offered(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "xyzzyx = 1\n" + HEAD + TARGET)
    known = fault.partition("known: ")[2].split(", ")
    assert {"golden", "rules", "targets"} <= set(known)
    assert not {"lines", "path", "sha256"} & set(known)


def test_targets_of_the_command_line_are_checked_under_their_own_name(tmp_path: Path) -> None:
    suite = load(tmp_path, HEAD + TARGET)
    same = replace(suite.targets[0])
    wrong = replace(same, name="_Under")
    both = replace(suite, targets=(*suite.targets, same, wrong, wrong))
    found = list(suite_faults(both, {n: f"--adapter a{n}" for n in (1, 2, 3)}))
    assert [fault.split(": ")[0] for fault in found] == [
        "--adapter a1",
        "--adapter a2",
        "--adapter a3",
        "--adapter a3",
    ]
    assert "'memory' with layout 'filter' is already used by targets.0" in found[0]
    assert "already used by --adapter a2" in found[3]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"x = {'[' * 5000}", "1: nested too deeply"),
        (f"x = {'{ a = ' * 5000}", "1: nested too deeply"),
        (f"{'a.' * 5000}a = 1\n{HEAD}", "1: a: the value is nested too deeply; use at most 50"),
        (f"{HEAD}depth = {'9' * 5000}\n{TARGET}", "1: Exceeds the limit (4300 digits)"),
        (f'{HEAD}results = "a\\u0000b"\n', "3: results: the value is text with a NUL character"),
        ('golden = "a\\u0000b"\n', "1: golden: the value is text with a NUL character; remove"),
    ],
)
def test_what_no_parser_or_system_takes_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    assert faults(tmp_path, text)[0].startswith(fault)


def test_what_a_target_declares_has_a_line(tmp_path: Path) -> None:
    text = f"{HEAD}{TARGET}[targets.declares]\nshared_idf = true\napproximate = 0.9\n"
    suite = load(tmp_path, text)
    declared = suite.targets[0].declares
    assert (declared.shared_idf, declared.approximate) == (True, 0.9)
    assert suite.line("targets", 0, "declares", "approximate") == 7
    (fault,) = faults(tmp_path, f"{HEAD}{TARGET}[targets.declares]\nshared_id = true\n")
    assert fault.endswith("unknown key; did you mean 'shared_idf'?")


def test_a_probe_is_let_off_with_a_reason_only(tmp_path: Path) -> None:
    found = faults(tmp_path, f'{HEAD}[leaks.accept_inconclusive]\nP34 = " "\n{TARGET}')
    assert found == [
        "4: leaks.accept_inconclusive.P34: the reason is empty; say why P34 needs no conclusion"
    ]
