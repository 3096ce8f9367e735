"""Vectors that come with the data: nothing is computed, and nothing can be made up."""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

from retrieverbench.errors import InputError, plural
from retrieverbench.files import read_whole


class Shipped:
    """Looks questions up in a table; chunks carry their vectors already.

    `queries` maps the text of a question to its vector; all vectors have one length.
    `source` names where they come from and is part of the identity; errors name the file at
    `path`.
    """

    def __init__(
        self, queries: Mapping[str, array[float]], source: str, path: Path | None = None
    ) -> None:
        self._queries = queries
        self._source = source
        self._file = source if path is None else str(path)
        lengths = {len(vector) for vector in queries.values()}
        if len(lengths) != 1:
            told = f"vectors of lengths {sorted(lengths)}" if lengths else "it holds no vectors"
            raise InputError(
                f'{self._file}: {told}; write {{"query": text, "vector": numbers}} for each '
                "question, all of one length"
            )
        (self._dimension,) = lengths

    @classmethod
    def read(cls, path: Path) -> Shipped:
        """Read JSONL of {"query": text, "vector": numbers}; InputError with every fault."""
        try:
            content = read_whole(path)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read ({error.strerror}); embedding 'shipped' needs a file "
                "of query vectors in `queries`"
            ) from error
        queries: dict[str, array[float]] = {}
        line_of: dict[str, int] = {}
        faults = []
        for number, line in enumerate(content.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                text, vector = _read_line(line)
            except ValueError as error:
                faults.append(f"{path}:{number}: {error}")
                continue
            first = next(iter(queries.values()), vector)
            if len(vector) != len(first):
                faults.append(
                    f"{path}:{number}: vector of {text!r:.60}: {plural(len(vector), 'number')}, "
                    f"the first has {len(first)}; embed all questions with one model"
                )
                continue
            if queries.setdefault(text, vector) != vector:
                faults.append(
                    f"{path}:{number}: vector of {text!r:.60}: another one is in line "
                    f"{line_of[text]}; keep the one that the model gives"
                )
            line_of.setdefault(text, number)
        if faults:
            raise InputError(*faults)
        return cls(queries, f"sha256:{hashlib.sha256(content).hexdigest()}", path)

    @property
    def identity(self) -> Mapping[str, str]:
        """The file's checksum; the model that made it is not known here."""
        return {
            "model": "shipped",
            "query_vectors": self._source,
            "dimension": str(self._dimension),
        }

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return self._dimension

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        """InputError: a chunk without a vector cannot get one here."""
        raise InputError(
            f"embedding 'shipped': {plural(len(texts), 'chunk')} without a vector, the first "
            f"begins {texts[0]!r:.60}; name a file with all of them in `vectors` of the suite"
        )

    async def embed_queries(self, texts: Sequence[str]) -> list[array[float]]:
        """The vectors of the table; InputError naming every question that has none."""
        missing = dict.fromkeys(text for text in texts if text not in self._queries)
        if missing:
            raise InputError(
                *(
                    f"{self._file}: no vector for the question {text!r:.80}; add a line"
                    for text in missing
                )
            )
        return [self._queries[text] for text in texts]


def _read_line(line: bytes) -> tuple[str, array[float]]:
    """Text and unit vector of one line; ValueError says what is wrong."""
    try:
        data = json.loads(line)
        text, numbers = data["query"], data["vector"]
    except (ValueError, KeyError, TypeError):
        raise ValueError('write an object {"query": text, "vector": numbers}') from None
    if not isinstance(text, str) or not isinstance(numbers, list) or not numbers:
        raise ValueError("query must be text, and vector a list of numbers")
    for place, number in enumerate(numbers):
        if type(number) not in {int, float}:
            wrong = f"element {place} is {json.dumps(number):.60}"
            raise ValueError(f"vector of {text!r:.60}: {wrong}; write a list of numbers")
    length = math.hypot(*numbers)
    if not math.isfinite(length) or length == 0:
        raise ValueError(
            f"vector of {text!r:.60}: its length is {length}, so it has no direction; "
            "make the vectors anew"
        )
    return text, array("f", (number / length for number in numbers))
