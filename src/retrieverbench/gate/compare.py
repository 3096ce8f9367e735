"""What may be compared with what: checked before any arithmetic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from retrieverbench.errors import plural
from retrieverbench.model import Artifact, Baseline, TargetResult

SHOWN = 12
"""How much of a checksum a message shows; the whole is compared."""

LONGEST = 160
"""Characters of any other value that a message shows."""

CHANGES: Mapping[str, tuple[str, ...]] = {
    "settings": ("options", "versions.index"),
    "server": ("server version", "fidelity"),
    "adapter": ("adapter", "options", "server version", "fidelity"),
    "embedding": ("embedding", "versions.embedding", "versions.index"),
    "index": ("versions.index",),
    "chunking": ("versions.chunking", "corpus sha256", "versions.index"),
    "prompt": ("versions.prompt",),
}
"""What may be declared as the thing under test, and the fields that differ then: first what it
is, then what follows from it."""
NUMBERED_ANEW = ("golden set version", "versions.golden_set")
"""Of a set with the same bytes these are only told: it asks the same questions."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not the baseline's, with both values.

    Each of `words` would declare it, none where nothing may; `declared` says whether that was
    done. What is `noted` forbids nothing.
    """

    field: str
    text: str
    words: tuple[str, ...]
    declared: bool
    noted: bool = False


def differences(result: TargetResult, artifact: Artifact, baseline: Baseline) -> list[Difference]:
    """One per field that must be equal and is not; [] if all are equal.

    Those that the command line declared as the thing under test forbid no comparison. What
    follows from a declared change is declared with it.
    """
    changing = set(artifact.command.changing)
    same_questions = baseline.golden_sha256 == artifact.golden.sha256
    found = []
    for field, then, now in _fields(result, artifact, baseline):
        for name, left, right in _differing(field, _plain(then), _plain(now)):
            words = () if name == "fidelity" and "stand-in" in (left, right) else _declaring(name)
            text = f"{name}: baseline {_shown(name, left)}, this run {_shown(name, right)}"
            noted = same_questions and name in NUMBERED_ANEW
            found.append(Difference(name, text, words, bool(changing & set(words)), noted))
    return found


def refusal(found: Sequence[Difference]) -> str | None:
    """Why there is no comparison, and what to do; None if every difference was declared."""
    undeclared = [each for each in found if not each.declared and not each.noted]
    if not undeclared:
        return None
    told = "; ".join(difference.text for difference in undeclared)
    todo = "if the change is meant, review the report and accept this run as the new baseline"
    if all(difference.words for difference in undeclared):
        options = " ".join(f"--changing {word}" for word in _least(undeclared))
        todo = f"if this change is what the run shall judge, add {options}"
    return f"not comparable with the baseline: {told}; {todo}"


def declared(found: Sequence[Difference]) -> tuple[str, ...]:
    """What a reader of a comparison must know: all that differed because it was declared."""
    noted = [each.text for each in found if each.noted]
    changed = [each for each in found if not each.noted]
    told = [f"with the same questions and labels: {'; '.join(noted)}"] if noted else []
    if changed:
        texts = "; ".join(each.text for each in changed)
        unclear = "" if _is_one(changed) else "; which of these moved the figures cannot be told"
        told.append(f"declared as changed: {texts}{unclear}")
    return tuple(told)


def _is_one(changed: Sequence[Difference]) -> bool:
    """Whether one thing was changed and the rest follows; two settings are two things."""
    covering = _least(changed)
    settings = [each for each in changed if each.field.startswith("options.")]
    return len(covering) == 1 and not (covering == ["settings"] and len(settings) > 1)


def _least(found: Sequence[Difference]) -> list[str]:
    """The one word that declares all of it, of several what differs itself; else a word for each.

    A new version of the index alone is an index, and beside one of the chunks it follows from it.
    """
    fields = {difference.field for difference in found}
    common = [word for word in CHANGES if all(word in each.words for each in found)]
    if common:
        return [min(common, key=lambda word: not any(_is_in(f, CHANGES[word][:1]) for f in fields))]
    return list(dict.fromkeys(difference.words[0] for difference in found))


def _declaring(field: str) -> tuple[str, ...]:
    """The words that may declare a difference of this field, first those that it is itself."""
    words = [word for word, fields in CHANGES.items() if _is_in(field, fields)]
    return tuple(sorted(words, key=lambda word: not _is_in(field, CHANGES[word][:1])))


def _is_in(field: str, names: Sequence[str]) -> bool:
    return any(f"{field}.".startswith(f"{name}.") for name in names)


def _fields(
    result: TargetResult, artifact: Artifact, baseline: Baseline
) -> Iterator[tuple[str, object, object]]:
    golden = artifact.golden
    target = result.target
    scores = result.scores
    backend = result.backend
    yield "suite", baseline.suite, artifact.suite
    yield "target", baseline.target.label, target.label
    yield "golden set", baseline.golden, golden.name
    yield "golden set version", baseline.golden_version, golden.version
    yield "golden set sha256", baseline.golden_sha256, golden.sha256
    yield "corpus sha256", baseline.corpus_sha256, golden.corpus_sha256
    yield "relevance level", baseline.relevance_level, golden.relevance_level
    yield "versions", baseline.versions, golden.versions
    if target.mode != "lexical":
        yield "embedding", baseline.embedding, artifact.embedding
    yield "adapter", baseline.target.adapter, target.adapter
    yield "options", _filled(baseline.target.options), _filled(target.options)
    yield "fidelity", baseline.fidelity, result.fidelity
    yield "depth", baseline.depth, result.depth
    yield "cache", baseline.cache, artifact.cache
    yield "server version", baseline.server_version, backend.server_version if backend else ""
    yield "convention", baseline.convention, scores.convention if scores else None
    yield "cases", sorted(baseline.cases), sorted(case.case_id for case in result.results)


def _differing(name: str, then: object, now: object) -> Iterator[tuple[str, object, object]]:
    """The innermost values that differ, with their path."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() | now.keys()):
            yield from _differing(f"{name}.{key}", then.get(key, {}), now.get(key, {}))
    elif then != now:
        yield name, then, now


def _filled(options: object) -> object:
    """Options without empty groups, which say nothing."""
    plain = _plain(options)
    return {k: v for k, v in plain.items() if v} if isinstance(plain, dict) else plain


def _plain(value: object) -> object:
    """As an artifact holds it: tuples and lists, kinds of mappings, a date and its text are one."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, inf_nan_mode="null", fallback=_of_other_kind)


def _of_other_kind(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _shown(field: str, value: object) -> str:
    """A value in few words, whatever JSON allows to stand there."""
    if value == {}:
        return "has none"
    if field == "cases" and isinstance(value, list):
        return plural(len(value), "case")
    if field.endswith("sha256") and isinstance(value, str):
        return f"{value:.{SHOWN}}…"
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
