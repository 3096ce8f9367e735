"""What is sent: judged by the requests themselves, and by an index that must not change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from retrieverbench.adapter import Settings, Writable
from retrieverbench.errors import RetrieverBenchError
from retrieverbench.leaks.record import RequestLog
from retrieverbench.model import Mode
from retrieverbench.testing.corpus import contract_chunks, make_chunk
from retrieverbench.testing.place import Filled, Subject, UsersIndex, bound_to, open_or_skip


class RequestTests:
    """Capabilities `record` and `attach`."""

    @pytest.mark.anyio
    async def test_leak_every_leg_names_the_tenant(self, place: Filled, mode: Mode) -> None:
        """Each part of a request that finds chunks carries a condition of the asking tenant.

        Two tenants ask the same: each leg must differ by who asks, in its condition or, in
        layout `index`, by the place that is asked. If it fails, look at the leg's path.
        """
        place.subject.need("record")
        sent = []
        for tenant in place.tenants[:2]:
            place.requests()
            await place.uids(place.chunks[0].text, tenant, mode)
            legs = [
                (leg.path, leg.condition, request.operation, request.body)
                for request in place.requests()
                for leg in request.legs
            ]
            assert legs, "a search found chunks and recorded no leg"
            for path, condition, _, _ in legs:
                if place.layout != "index":
                    assert condition is not None, f"leg {path} has no condition"
                    assert tenant in _texts(condition), f"leg {path} does not name {tenant!r}"
            sent.append(legs)
        assert [leg[0] for leg in sent[0]] == [leg[0] for leg in sent[1]]
        for one, other in zip(*sent, strict=True):
            assert one[1:] != other[1:], f"leg {one[0]} is the same for two tenants"

    @pytest.mark.anyio
    async def test_recorded_requests_hold_no_credential(self, place: Filled) -> None:
        """A recorder sees no password and no key.

        If it fails, take credentials out where a request is shown, not where it is kept.
        """
        place.subject.need("record")
        assert place.log is not None
        await place.uids(place.chunks[0].text, place.tenants[0], place.subject.modes[0])
        await place.adapter.describe()
        shown = repr(place.log.take())
        for name, secret in place.subject.secrets.items():
            assert name == "user" or secret.reveal() not in shown

    @pytest.mark.anyio
    async def test_leak_attached_indexes_are_read_as_the_tenant(
        self,
        request: pytest.FixtureRequest,
        subject: Subject,
        attached: UsersIndex | None,
        mode: Mode,
    ) -> None:
        """A user's own index is searched as its owner's fields say, and not written to.

        If it fails, look at the mapped tenant field, and at what is sent besides searches.
        """
        place = await _attach(request, subject, attached)
        try:
            before = await place.adapter.describe()
            for chunk in place.chunks[:: len(place.chunks) // 5]:
                for tenant in place.tenants:
                    await place.uids(chunk.text, tenant, mode, k=50)
            own = place.chunks[-1]
            assert own.uid in await place.uids(own.text, own.tenant, mode)
            assert await place.uids(own.text, "nobody", mode) == []
            await _refuses_writes(place)
            after = await place.adapter.describe()
            assert (after.settings, after.chunks) == (before.settings, before.chunks)
        finally:
            await place.adapter.close()
        again = await _attach(request, subject, attached)
        try:
            assert (await again.adapter.describe()).chunks == before.chunks, "close removed some"
        finally:
            await again.adapter.close()

    @pytest.mark.anyio
    async def test_attached_fields_are_checked(
        self, subject: Subject, attached: UsersIndex | None
    ) -> None:
        """A field that the user's index does not have is named when it is opened.

        If it fails, look at what `open` checks: an absent tenant field is no condition at all.
        """
        index = _given(subject, attached)
        wrong = replace(index.fields, tenant="no_such_field")
        settings = replace(_settings(subject, index), attached=wrong)
        with pytest.raises(RetrieverBenchError, match="no_such_field"):
            await subject.cls.open(settings)


def _given(subject: Subject, attached: UsersIndex | None) -> UsersIndex:
    subject.need("attach")
    if attached is None:
        pytest.fail(
            "'attach' is claimed: write a fixture `attached` that makes an index as a user has "
            "it, holding `retrieverbench.testing.contract_chunks()`, and returns its fields",
            pytrace=False,
        )
    return attached


async def _attach(
    request: pytest.FixtureRequest, subject: Subject, attached: UsersIndex | None
) -> Filled:
    index = _given(subject, attached)
    log = RequestLog() if "record" in subject.cls.capabilities else None
    settings = replace(_settings(subject, index), recorder=log)
    adapter = await open_or_skip(request, subject, settings)
    chunks = contract_chunks()
    owners = {chunk.uid: chunk.tenant.value for chunk in chunks}
    return Filled(subject, "filter", adapter, settings, chunks, owners, log)


def _settings(subject: Subject, index: UsersIndex) -> Settings:
    opened_with = bound_to(subject, index)
    return opened_with.settings("filter", options=opened_with.exact_options())


async def _refuses_writes(place: Filled) -> None:
    """Writing through an attached adapter is an error before any request."""
    if not isinstance(place.adapter, Writable):
        return
    place.requests()
    with pytest.raises(RetrieverBenchError):
        await place.adapter.put([make_chunk("acme", "written", "Nobody may write this.")])
    assert place.requests() == [], "a write was refused after a request"


def _texts(condition: object) -> list[str]:
    """Every text in a condition, whatever holds it."""
    if isinstance(condition, str):
        return [condition, *_quoted(condition)]
    if isinstance(condition, Mapping):
        return [text for value in condition.values() for text in _texts(value)]
    if isinstance(condition, Sequence) and not isinstance(condition, bytes):
        return [text for value in condition for text in _texts(value)]
    return [] if condition is None else [json.dumps(condition, default=str)]


def _quoted(expression: str) -> list[str]:
    """The literals of an expression in which the tenant is no value of its own."""
    return expression.replace('"', "'").split("'")[1::2]
