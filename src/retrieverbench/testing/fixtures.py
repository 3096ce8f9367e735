"""The fixtures of a contract class: what its author gives, and what the tests ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from retrieverbench.adapter import Adapter, Secret
from retrieverbench.errors import MissingClient
from retrieverbench.model import MODES, Chunk, Layout, Mode
from retrieverbench.run import LAYOUTS, load_adapter
from retrieverbench.testing.corpus import contract_chunks
from retrieverbench.testing.outcomes import not_applicable, not_run
from retrieverbench.testing.place import Filled, Options, Stage, Subject, UsersIndex, bound_to


class ContractFixtures:
    """What a subclass may replace stands first, each with its default."""

    @pytest.fixture
    def adapter(self) -> type[Adapter] | str:
        """The class under test, or its name: of an entry point or of `./mine.py:Mine`."""
        pytest.fail("write a fixture `adapter` that returns the adapter's class", pytrace=False)

    @pytest.fixture
    def endpoint(self) -> str:
        """Where its server is: a URL or DSN without credentials, "" for one in process."""
        return ""

    @pytest.fixture
    def secrets(self) -> Mapping[str, Secret]:
        """The credentials, under the adapter's own names for them."""
        return {}

    @pytest.fixture
    def options(self) -> Options:
        """The adapter's own options, in the groups `connect`, `place` and `search`."""
        return {}

    @pytest.fixture
    def stored(self, subject: Subject) -> Sequence[Chunk]:
        """What a retriever without `put` already holds; the others are loaded by the tests."""
        if "put" not in subject.cls.capabilities and subject.fields is None:
            pytest.skip(
                "not applicable: capability 'put' is not claimed; "
                "write a fixture `stored` that returns the chunks that it holds"
            )
        return contract_chunks()

    @pytest.fixture
    def attached(self) -> UsersIndex | None:
        """An index as a user has it, that holds `contract_chunks()`."""
        return None

    @pytest.fixture(scope="session")
    @staticmethod
    def anyio_backend() -> str:
        """Clients are asyncio-only, so anyio runs on asyncio."""
        return "asyncio"

    @pytest.fixture
    def subject(
        self,
        request: pytest.FixtureRequest,
        adapter: type[Adapter] | str,
        endpoint: str,
        secrets: Mapping[str, Secret],
        options: Options,
        anyio_backend: str,  # so that an author's fixtures may be coroutines, whatever asks
    ) -> Subject:
        """All of it in one object."""
        assert anyio_backend == "asyncio"
        if isinstance(adapter, str):
            try:
                adapter = load_adapter(adapter).cls
            except MissingClient as error:
                not_run(request, str(adapter), str(error))
        found = Subject(adapter, endpoint, secrets, options)
        if "attach" in adapter.capabilities and "put" not in adapter.capabilities:
            index: UsersIndex | None = request.getfixturevalue("attached")
            return found if index is None else bound_to(found, index)
        return found

    @pytest.fixture(params=LAYOUTS)
    def layout(self, request: pytest.FixtureRequest, subject: Subject) -> Layout:
        """Each layout that is claimed; not applicable for the others."""
        found: Layout = request.param
        subject.need(found)
        return found

    @pytest.fixture(params=MODES)
    def mode(self, request: pytest.FixtureRequest, subject: Subject) -> Mode:
        """Each mode that is claimed; not applicable for the others."""
        found: Mode = request.param
        subject.need(found)
        return found

    @pytest.fixture
    def any_layout(self, subject: Subject) -> Layout:
        """The first layout that is claimed, for tests that have nothing to do with layouts."""
        claimed = [layout for layout in LAYOUTS if layout in subject.cls.capabilities]
        return claimed[0] if claimed else not_applicable("a layout")

    @pytest.fixture(scope="class")
    @classmethod
    async def stage(cls, anyio_backend: str) -> AsyncIterator[Stage]:
        """The places that the class's tests share."""
        assert anyio_backend == "asyncio"
        stage = Stage()
        yield stage
        await stage.close()

    @pytest.fixture
    async def place(
        self,
        request: pytest.FixtureRequest,
        stage: Stage,
        subject: Subject,
        layout: Layout,
        stored: Sequence[Chunk],
    ) -> Filled:
        """A place that holds `stored` and is only read."""
        return await stage.place(request, subject, layout, "read", stored)

    @pytest.fixture
    async def scratch(
        self, request: pytest.FixtureRequest, stage: Stage, subject: Subject, layout: Layout
    ) -> Filled:
        """A place that tests write to, each as tenants of its own."""
        subject.need("put")
        return await stage.place(request, subject, layout, "write", ())
