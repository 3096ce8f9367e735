"""The compose files keep the promises that can be seen without docker."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
import yaml

from retrieverbench.engines.java_node.jars import pinned
from retrieverbench.engines.opensearch import NODE
from retrieverbench.model import Fidelity

REPOSITORY = Path(__file__).parents[3]
DOCKER = REPOSITORY / "docker"
FILES = ("compose.yaml", "compose.secure.yaml")
VARIABLE = re.compile(r"(?<!\$)\$\{(?P<name>\w+)(?P<rest>[^}]*)\}")
SECRET = re.compile(r"PASSWORD|API_KEY|TOKEN|SECRET", re.IGNORECASE)
TAG = re.compile(r"v?\d+\.\d+\.\d+([.-].+)?")
EXAMPLE_SECRET = "local-only"


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DOCKER / name).read_text(encoding="utf-8"))
    return found


def services() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for file in FILES:
        for name, service in load(file)["services"].items():
            yield file, name, service


def backends() -> set[str]:
    """Our adapters of a server that we load: they need a client, so have an extra, and `put`."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = metadata.distribution("retrieverbench").entry_points
    return {
        point.name
        for point in points
        if point.group == "retrieverbench.adapters"
        and point.name in project["optional-dependencies"]
        and "put" in point.load().capabilities
    }


each_service = pytest.mark.parametrize(
    ("file", "name", "service"), [pytest.param(*s, id=s[1]) for s in services()]
)


def test_every_adapter_with_a_server_has_its_service() -> None:
    assert set(load("compose.yaml")["services"]) == backends()


@each_service
def test_the_profile_bears_the_adapters_name(file: str, name: str, service: dict[str, Any]) -> None:
    expected = [name, "all"] if file == "compose.yaml" else ["secure"]
    assert service["profiles"] == expected


@each_service
def test_the_version_is_pinned(file: str, name: str, service: dict[str, Any]) -> None:
    if "build" in service:
        context = DOCKER / service["build"]["context"]
        text = (context / service["build"]["dockerfile"]).read_text(encoding="utf-8")
        (image,) = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    else:
        image = service["image"]
    assert TAG.fullmatch(image.rpartition(":")[2]), image


@each_service
def test_readiness_is_checked(file: str, name: str, service: dict[str, Any]) -> None:
    check = service["healthcheck"]
    assert check["test"][0] in {"CMD", "CMD-SHELL"}
    assert len(check["test"]) > 1
    assert check["retries"] > 1
    assert re.fullmatch(r"\d+s", check["interval"])
    assert re.fullmatch(r"\d+s", check["timeout"])


@each_service
def test_only_this_machine_reaches_it(file: str, name: str, service: dict[str, Any]) -> None:
    ports = service.get("ports", [])
    assert all(isinstance(port, str) and port.startswith("127.0.0.1:") for port in ports), ports
    if service.get("network_mode") == "host":
        # then the process itself must bind loopback, as our stand-in does by default
        assert "retrieverbench.engines.azure_search" in service["command"]
        assert "--host" not in service["command"]
        assert not ports
    else:
        assert ports


@each_service
def test_no_secret_stands_in_clear(file: str, name: str, service: dict[str, Any]) -> None:
    for key, value in service.get("environment", {}).items():
        assert isinstance(value, str), f"{key}: quote it, YAML reads {value!r}"
        if SECRET.search(key):
            found = VARIABLE.fullmatch(value)
            assert found, f"{key} is in clear"
            assert found["rest"].startswith((":?", f":-{EXAMPLE_SECRET}")), key


@pytest.mark.parametrize("file", FILES)
def test_the_file_is_what_the_specification_allows(file: str) -> None:
    text = (
        files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text()
    )
    validator = jsonschema.Draft202012Validator(json.loads(text))
    assert [error.message for error in validator.iter_errors(load(file))] == []
    broken = load(file)
    next(iter(broken["services"].values()))["imagine"] = "x"
    assert list(validator.iter_errors(broken))


@pytest.mark.parametrize("name", sorted(load("compose.yaml")["services"]))
def test_its_labels_say_how_it_is_reached(name: str) -> None:
    service = load("compose.yaml")["services"][name]
    labels = {
        key.removeprefix("retrieverbench."): value for key, value in service["labels"].items()
    }
    port = re.search(r":(\$\{\w+:-\d+\}|\{port\})(/|$)", labels.pop("endpoint"))
    assert port
    published = [mapping.rpartition(":")[0] for mapping in service.get("ports", ())]
    if "ready_file" in labels:
        mounted = service["volumes"][0].partition(":")
        ready = service["command"][service["command"].index("--ready-file") + 1]
        told = labels.pop("ready_file")
        assert told == f"{mounted[0]}{ready.removeprefix(mounted[2])}"
    else:
        assert f"127.0.0.1:{port[1]}" in published
        environment = service.get("environment", {})
        secrets = {key: word for key, word in labels.items() if key.startswith("secret.")}
        assert set(secrets.values()) <= environment.keys()
    assert labels.pop("fidelity", "server") in get_args(Fidelity)
    assert all(key.startswith("secret.") for key in labels)


def test_the_secured_file_alone_asks_for_variables() -> None:
    """A variable that must be set is asked for by every command on its file."""
    must = {file: re.findall(r"\$\{(\w+):\?", (DOCKER / file).read_text("utf-8")) for file in FILES}
    assert must == {"compose.yaml": [], "compose.secure.yaml": ["RB_ES_PASSWORD"]}


def test_named_volumes_are_declared() -> None:
    for file in FILES:
        mounts = [
            mount.partition(":")[0]
            for service in load(file)["services"].values()
            for mount in service.get("volumes", [])
        ]
        named = {source for source in mounts if not source.startswith((".", "/"))}
        assert named == set(load(file).get("volumes", {}))


def test_the_example_names_every_variable_with_its_default() -> None:
    text = (DOCKER / ".env.example").read_text(encoding="utf-8")
    told = dict(re.findall(r"^#? ?(RB_\w+)=(.*)$", text, re.MULTILINE))
    used: dict[str, str] = {}
    for file in FILES:
        for found in VARIABLE.finditer((DOCKER / file).read_text(encoding="utf-8")):
            rest = found["rest"]
            used[found["name"]] = rest.removeprefix(":-") if rest.startswith(":-") else ""
    assert told == used


def test_the_same_image_with_and_without_security() -> None:
    plain = load("compose.yaml")["services"]["elasticsearch"]["image"]
    assert load("compose.secure.yaml")["services"]["elasticsearch-secure"]["image"] == plain


def test_the_server_has_the_clients_major_version() -> None:
    image = load("compose.yaml")["services"]["elasticsearch"]["image"]
    client = metadata.version("elasticsearch")
    assert image.rpartition(":")[2].split(".")[0] == client.split(".")[0]


def test_the_image_is_of_the_version_that_is_tested() -> None:
    """By the engine that is started from jars of the same release."""
    image = load("compose.yaml")["services"]["opensearch"]["image"]
    pins = {pin.coordinate.rpartition(":")[::2] for pin in pinned(NODE)}
    assert ("org.opensearch:opensearch:jar", image.rpartition(":")[2]) in pins


def test_what_the_stand_ins_image_copies_is_there() -> None:
    service = load("compose.yaml")["services"]["azure_search"]
    text = (DOCKER / "azure_search" / "Dockerfile").read_text(encoding="utf-8")
    assert (DOCKER / service["build"]["context"]).resolve() == REPOSITORY
    for sources in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        for source in sources.split():
            assert (REPOSITORY / source).exists(), source
    script = service["healthcheck"]["test"][2]
    assert Path(script).name == "ready.py"
    assert f"WORKDIR {Path(script).parent}" in text
    ready_file = service["command"][service["command"].index("--ready-file") + 1]
    assert service["healthcheck"]["test"][3] == ready_file
