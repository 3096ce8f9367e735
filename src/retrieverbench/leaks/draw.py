"""What an audit asks about, drawn anew for every run: names, words, ids and vectors.

A backend that knew them could behave while it is audited and leak to everybody else. The
random tokens of canaries are no part of it: they are secret, new in a replay too, and no
outcome depends on which they are.
"""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from retrieverbench.model import TenantId

SEED_BITS = 48
"""So that every reader of JSON keeps the whole number."""
KNOWN = 2
"""Tenants of the suite's own corpus among the four of the audit."""
NUMBERS: Mapping[str, int] = {
    "tenants": 4,
    "nobody": 1,
    "only": 4,
    "common": 8,
    "filler": 8,
    "absent": 2,
    "keys": 3,
    "shelf": 1,
    "ids": 4,
    "private": 5,
    "shared": 4,
    "named": 9,
    "line": 4,
    "orphans": 4,
    "small tenants": 11,
    "crowd": 1,
    "crowd words": 9,
    "many": 2,
    "quiet and loud": 2,
    "rare and common": 2,
    "owners": 36,
    "owned": 18,
    "control": 1,
    "all tenants": 5,
    "titles": 1,
}
"""How many words each purpose has; no word serves two of them."""
TOKEN_LENGTHS = range(24, 33)
"""Of letters and digits, of which 19 hold 96 random bits."""
_SIGNS = string.ascii_lowercase + string.digits
_SAME = 4
"""No two words begin with the same four letters, so that no analyzer makes one of two."""


@dataclass(frozen=True)
class Draw:
    """Everything that one audit draws; equal seeds and tenants draw equal things.

    `known` are the tenants of the suite's corpus: a fault may concern them alone. `tokens`
    are all that were made so far, for `without_tokens`.
    """

    seed: int
    known: tuple[str, ...] = ()
    tokens: list[str] = field(default_factory=list, compare=False, repr=False)

    def random(self, purpose: str) -> Random:
        """Numbers of that purpose, whatever else was drawn before."""
        return Random(f"{self.seed} {purpose}")

    def words(self, purpose: str) -> tuple[str, ...]:
        """As many as NUMBERS says."""
        return self._words[purpose]

    def new_token(self) -> str:
        """96 random bits or more as one lower-case word with a digit, which analyzers keep."""
        token = ""
        while not token or token.isalpha():
            signs = (secrets.choice(_SIGNS) for _ in range(secrets.choice(TOKEN_LENGTHS) - 1))
            token = "".join([secrets.choice(string.ascii_lowercase), *signs])
        self.tokens.append(token)
        return token

    def without_tokens(self, text: str) -> str:
        """A text that a backend may have given, with none of the tokens in it."""
        plain = text.casefold()  # to compile a pattern for each of thousands takes minutes
        for token in [token for token in self.tokens if token in plain]:
            text = re.sub(token, "[canary]", text, flags=re.IGNORECASE)
        return text

    @cached_property
    def tenants(self) -> tuple[TenantId, ...]:
        """Four, in turn one of the corpus and a new one; with fewer known ones more new ones."""
        names = list(self.words("tenants"))
        known = sorted(set(self.known))
        chosen = self.random("known tenants").sample(known, min(KNOWN, len(known)))
        for number, name in enumerate(chosen):
            names[2 * number] = name
        return tuple(map(TenantId, names))

    @property
    def new_names(self) -> tuple[str, str]:
        """Two of the four tenants, which no corpus has."""
        return self.tenants[1].value, self.tenants[3].value

    @cached_property
    def _words(self) -> Mapping[str, tuple[str, ...]]:
        words = _distinct(self.random("words"), {name[:_SAME].casefold() for name in self.known})
        return {
            purpose: tuple(next(words) for _ in range(number))
            for purpose, number in NUMBERS.items()
        }


def new_seed() -> int:
    """One that nobody can foresee."""
    return secrets.randbits(SEED_BITS)


def letters(number: int) -> str:
    """A word for a number below 1,000, so that texts differ without being rarer than others."""
    return "".join("abcdefghij"[int(digit)] for digit in f"{number:03}")


def _distinct(random: Random, begun: set[str]) -> Iterator[str]:
    """Words of three or four syllables, some with a last consonant; letters of ASCII only."""
    while True:
        syllables = [
            random.choice("bdfgklmnprtvz") + random.choice("aou")
            for _ in range(random.choice((3, 4)))
        ]
        word = "".join(syllables) + random.choice(("", "k", "m", "p"))
        if word[:_SAME] not in begun:
            begun.add(word[:_SAME])
            yield word
