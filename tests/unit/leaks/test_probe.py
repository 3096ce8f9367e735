"""What a probe's result says in words: never a token, whatever a backend quotes."""

from __future__ import annotations

import re

import pytest

from audit_support import audit
from retrieverbench.model import Hit, Query, Response
from retrieverbench_adapters.memory import Memory

pytestmark = pytest.mark.anyio
TOKEN = re.compile(r"c[0-9a-f]{24}")


class Naming(Memory):
    """Takes the question for the id of a chunk."""

    async def search(self, query: Query) -> Response:
        return Response([Hit(f"globex/{query.text}", 1.0)])


async def test_no_token_leaves_a_result() -> None:
    told = repr(await audit("P01", "P02", "P03", adapter=Naming, modes=("lexical",)))
    assert "[canary]" in told, "no token was ever told"
    assert not TOKEN.search(told)
