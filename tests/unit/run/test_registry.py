"""Names become classes, and whatever is wrong with one is said in one line."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import pytest

from retrieverbench.errors import InputError, MissingClient
from retrieverbench.run import adapter_names, load_adapter

GOOD = """
from retrieverbench.adapter import Description
from retrieverbench.model import Response

class Mine:
    capabilities = frozenset({"lexical", "filter"})

    @classmethod
    async def open(cls, settings):
        return cls()

    async def search(self, query):
        return Response([])

    async def describe(self):
        return Description("s", "1", "c", "1", {}, {})

    async def close(self):
        pass
"""


def write_plugin(
    folder: Path, distribution: str, points: str, requires: str = "", version: str = "1.2"
) -> None:
    """An installed distribution as the import system sees one: its metadata folder."""
    info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n{requires}\n"
    )
    (info / "entry_points.txt").write_text(f"[retrieverbench.adapters]\n{points}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path for plugins."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def message(name: str, base: Path = Path()) -> str:
    with pytest.raises(InputError) as caught:
        load_adapter(name, base)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_installed_adapter_is_loaded_with_its_distribution(site: Path) -> None:
    (site / "plugin_good.py").write_text(GOOD)
    write_plugin(site, "some-plugin", "good_one = plugin_good:Mine")
    assert "good_one" in adapter_names()
    loaded = load_adapter("good_one")
    assert (loaded.distribution, loaded.version) == ("some-plugin", "1.2")
    assert loaded.cls.__name__ == "Mine"


def test_listing_imports_nothing(site: Path) -> None:
    (site / "plugin_lazy.py").write_text("raise RuntimeError('imported')")
    write_plugin(site, "some-plugin", "lazy = plugin_lazy:Mine")
    assert "lazy" in adapter_names()
    assert "plugin_lazy" not in sys.modules


def test_unknown_name_gets_the_nearest() -> None:
    assert "no adapter named 'memry'; did you mean 'memory'?" in message("memry")
    assert "no adapter named 'a:b'" in message("a:b")


def test_one_name_from_two_distributions(site: Path) -> None:
    write_plugin(site, "plugin-a", "twice = plugin_a:A")
    write_plugin(site, "plugin-b", "twice = plugin_b:B", version="3")
    text = message("twice")
    assert "plugin-a 1.2" in text
    assert "plugin-b 3" in text
    assert "uninstall one" in text


def test_one_distribution_found_twice_is_one(
    site: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "plugin_once.py").write_text(GOOD)
    write_plugin(site, "once-plugin", "once = plugin_once:Mine")
    second = tmp_path_factory.mktemp("second")
    shutil.copytree(site / "once_plugin-1.2.dist-info", second / "once_plugin-1.2.dist-info")
    monkeypatch.syspath_prepend(second)
    assert load_adapter("once").cls.__name__ == "Mine"


ABSENT = (
    "Provides-Extra: my-store\n"
    "Requires-Dist: some-client[async]<2,>=1; extra == 'my-store'\n"
    "Requires-Dist: Other_Client>=3; extra == 'my-store'\n"
    "Requires-Dist: click; extra == 'my-store'\n"
    "Requires-Dist: of-another-extra; extra == 'else'"
)


@pytest.mark.parametrize(
    "body",
    [
        "import some_client",
        "import some_client.sub",
        "import what_the_client_would_have_brought",
        "raise ImportError('no wrapper available')",
    ],
)
def test_missing_client_gives_the_pip_line(site: Path, body: str) -> None:
    (site / "plugin_client.py").write_text(f"{body}\n{GOOD}")
    write_plugin(site, "client-plugin", "my_store = plugin_client:Mine", ABSENT)
    with pytest.raises(MissingClient) as caught:
        load_adapter("my_store")
    assert str(caught.value) == (
        "adapter 'my_store' needs other-client, some-client; "
        "run: pip install 'client-plugin[my-store]'"
    )
    sys.modules.pop("plugin_client", None)


def test_an_extra_of_what_the_extra_asks_for_counts(site: Path) -> None:
    """As with psycopg, which is there and cannot be imported without psycopg-binary."""
    (site / "plugin_nested.py").write_text("raise ImportError('no wrapper available')")
    requires = "Requires-Dist: half-client[Binary, pool]; extra == 'nested'"
    write_plugin(site, "nested-plugin", "nested = plugin_nested:Mine", requires)
    inner = (
        "Requires-Dist: half-binary==1; implementation_name != 'pypy' and extra == 'binary'\n"
        "Requires-Dist: half-client[pool]; extra == 'pool'"
    )
    write_plugin(site, "half-client", "", inner)
    with pytest.raises(MissingClient, match=r"'nested' needs half-binary; run: pip install"):
        load_adapter("nested")


def test_an_import_error_with_everything_installed_is_the_plugins_defect(site: Path) -> None:
    (site / "plugin_whole.py").write_text("import module_of_nobody")
    requires = "Requires-Dist: click; extra == 'whole'"
    write_plugin(site, "whole-plugin", "whole = plugin_whole:Mine", requires)
    assert "No module named 'module_of_nobody'; repair or uninstall it" in message("whole")


def test_another_error_is_no_missing_package(site: Path) -> None:
    (site / "plugin_client.py").write_text("raise RuntimeError('mine')")
    write_plugin(site, "client-plugin", "my_store = plugin_client:Mine", ABSENT)
    assert "RuntimeError: mine; repair or uninstall it" in message("my_store")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("import module_of_nobody", "No module named 'module_of_nobody'"),
        ("from json import no_such_name", "ImportError: cannot import name"),
        ("raise RuntimeError('on\\npurpose')", "RuntimeError: on purpose"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("def broken(:", "SyntaxError"),
        ("x = 1", "AttributeError"),
    ],
)
def test_broken_plugin_is_shown_as_such(site: Path, body: str, text: str) -> None:
    (site / "plugin_broken.py").write_text(body)
    write_plugin(site, "broken-plugin", "broken = plugin_broken:Mine")
    sys.modules.pop("plugin_broken", None)
    found = message("broken")
    assert text in found
    assert "broken-plugin" in found


def test_file_adapter_relative_to_the_base(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(GOOD)
    loaded = load_adapter("./mine.py:Mine", tmp_path)
    assert (loaded.distribution, loaded.version) == ("file", "mine.py")


PANIC = """class Panic(BaseException):
    def __str__(self): raise self
raise Panic
"""
MOODY = """class Moody(type):
    def __getattribute__(cls, name):
        raise SystemExit("moody")
class Mine(metaclass=Moody): pass
"""


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("mine.py", GOOD, "names no class; write 'mine.py:ClassName'"),
        ("other.py:Mine", GOOD, "'other.py' is not there"),
        ("mine.py:Mien", GOOD, "no class 'Mien'; did you mean 'Mine'?"),
        ("mine.py:Mine", "1 / 0", "ZeroDivisionError: division by zero; repair the file"),
        ("mine.py:Mine", "raise SystemExit(0)", "'mine.py:1' cannot be imported: SystemExit: 0"),
        ("mine.py:Mine", "\nraise KeyboardInterrupt", "'mine.py:2' cannot be imported"),
        ("mine.py:Mine", "raise GeneratorExit", "GeneratorExit; repair the file"),
        ("mine.py:Mine", PANIC, "'mine.py:3' cannot be imported: Panic: (its text cannot be read"),
        ("mine.py:Mine", "x = 1\ndef broken(:", "'mine.py:2' cannot be imported: SyntaxError"),
        ("mine.py:Mine", MOODY, "'mine.py:3' cannot be imported: SystemExit: moody"),
        ("mine.py:Mine", "import nothing_at_all", "ModuleNotFoundError"),
        ("mine.py:Mine", "class Mine: pass", "lacks capabilities"),
        ("mine.py:Mine", "class Mine: capabilities = {'lexical'}", "lacks capabilities"),
        ("mine.py:Mine", GOOD.replace("async def search", "async def sarch"), "lacks search"),
        ("mine.py:Mine", GOOD.replace("async def search", "def search"), "search is no coroutine"),
        ("mine.py:Mine", GOOD.replace("async def open", "def open"), "open is no coroutine"),
        ("mine.py:Mine", GOOD.replace('"filter"', '"filtre"'), "'filtre'; did you mean 'filter'?"),
        ("mine.py:Mine", GOOD.replace('"filter"', '"put"'), "lacks put, settle"),
    ],
)
def test_faults_of_a_file(tmp_path: Path, name: str, body: str, text: str) -> None:
    (tmp_path / "mine.py").write_text(body)
    assert text in message(name, tmp_path)


INTERRUPTED = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
time.sleep(30)
"""


def test_only_classes_of_the_file_itself_are_proposed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(GOOD)
    assert message("mine.py:Yours", tmp_path).endswith("known: Mine")


def test_the_users_own_interrupt_is_no_defect_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(INTERRUPTED)
    with pytest.raises(KeyboardInterrupt):
        load_adapter("mine.py:Mine", tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_decorated_coroutines_are_coroutines(tmp_path: Path) -> None:
    timed = (
        "import functools\n"
        "def timed(f):\n"
        "    @functools.wraps(f)\n"
        "    def inner(*a, **k):\n"
        "        return f(*a, **k)\n"
        "    return inner\n"
    )
    body = GOOD.replace("    async def search", "    @timed\n    async def search")
    (tmp_path / "mine.py").write_text(timed + body)
    assert load_adapter("mine.py:Mine", tmp_path).cls.__name__ == "Mine"


def test_a_file_may_hold_dataclasses(tmp_path: Path) -> None:
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    body = "@dataclass\nclass Config:\n    size: int = 1\n"
    (tmp_path / "mine.py").write_text(head + body + GOOD)
    assert load_adapter("mine.py:Mine", tmp_path).cls.__name__ == "Mine"
