"""Credentials leave the address before anything can show it."""

from __future__ import annotations

import pytest

from retrieverbench.run.endpoint import server_of, split_credentials

SECRET = "hunter2"


BOTH = {"user": "u", "password": SECRET}


@pytest.mark.parametrize(
    ("endpoint", "plain", "secrets"),
    [
        ("", "", {}),
        ("http://host:6333", "http://host:6333", {}),
        ("http://[::1]:9200/x", "http://[::1]:9200/x", {}),
        ("http://u:hunter2@h:1/p?a=1#f", "http://h:1/p?a=1#f", BOTH),
        ("https://u@h", "https://h", {"user": "u"}),
        ("https://:hunter2@h", "https://h", {"password": SECRET}),
        ("pg://u%40x:h%2Fx@h/d", "pg://h/d", {"user": "u@x", "password": "h/x"}),
        ("pg://u:hunter2@h1:1,h2:2/d", "pg://h1:1,h2:2/d", BOTH),
        ("pg://h/d?user=u&password=hunter2&ssl=on", "pg://h/d?ssl=on", BOTH),
        ("https://h/?api-key=hunter2", "https://h/", {"api_key": SECRET}),
        ("host=h port=1 user=u password=hunter2 dbname=d", "host=h port=1 dbname=d", BOTH),
        (r"host = h password = 'a b\'c' dbname=d", "host = h dbname=d", {"password": "a b'c"}),
        ("host=h dbname=d", "host=h dbname=d", {}),
    ],
)
def test_split(endpoint: str, plain: str, secrets: dict[str, str]) -> None:
    found, hidden = split_credentials(endpoint)
    assert found == plain
    assert {name: secret.reveal() for name, secret in hidden.items()} == secrets


@pytest.mark.parametrize(
    "endpoint",
    [
        "postgres://u:hunter2#x@host/db",
        "postgres://u:hunter2/x@host/db",
        "postgres://u:hunter2?x@host/db",
        "u:hunter2@host:9200",
        "http://[hunter2",
        "host=h password=hunter2 'x y",
    ],
)
def test_what_cannot_be_told_apart_is_refused_and_not_shown(endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"percent-encode|address|key=value") as caught:
        split_credentials(endpoint)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://localhost:6333", "http://127.0.0.1:6333/"),
        ("http://[::1]:6333", "https://LOCALHOST:6333"),
        ("postgresql://localhost/db", "host=127.0.0.1 dbname=db"),
        ("https://Search.Example.com", "https://search.example.com:443/"),
    ],
)
def test_names_that_can_be_known_to_be_of_one_server_are_one(one: str, other: str) -> None:
    assert server_of(one) == server_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://localhost:6333", "http://localhost:6334"),
        ("http://192.0.2.1:6333", "http://localhost:6333"),
        ("http://localhost:6333/a", "http://localhost:6333/b"),
        ("postgresql://localhost/a", "postgresql://localhost/b"),
        ("pg://h1:1,h2:2/d", "pg://h1:1,h2:3/d"),
        ("http://host.invalid:1", "http://localhost:1"),
    ],
)
def test_other_servers_are_others(one: str, other: str) -> None:
    assert server_of(one) != server_of(other)
