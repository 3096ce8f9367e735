"""The scoring rules against recorded and printed live values, and the analysis."""

from __future__ import annotations

import json

import pytest

from retrieverbench.engines.azure_search.access import Credentials
from retrieverbench.engines.azure_search.analysis import analyze
from retrieverbench.engines.azure_search.replies import Call
from retrieverbench.engines.azure_search.scoring import (
    fuse,
    lossy_length,
    shortest,
)
from retrieverbench.engines.azure_search.service import Service
from retrieverbench.engines.azure_search.store import Options
from retrieverbench.engines.azure_search.syntax import (
    Group,
    Negation,
    Phrase,
    Prefix,
    Term,
    parse_simple,
)

# Token counts of seven hotels of the SDK's test data and where each term occurs:
# shard, lengths of name, description and tags, then (name, description, tags) frequencies.
HOTELS = {
    "1": (2, (2, 27, 4), {"hotel": (0, 3, 0), "wifi": (0, 0, 1)}),
    "2": (0, (2, 5, 2), {"hotel": (0, 1, 0), "motel": (1, 0, 0)}),
    "3": (1, (1, 4, 2), {"hotel": (0, 1, 0), "wifi": (0, 0, 1)}),
    "4": (0, (2, 3, 2), {"hotel": (0, 1, 0), "wifi": (0, 0, 1)}),
    "5": (0, (2, 3, 2), {"hotel": (0, 1, 0), "wifi": (0, 0, 1)}),
    "9": (1, (3, 31, 4), {"hotel": (0, 1, 0), "motel": (1, 0, 0)}),
    "10": (2, (2, 24, 9), {"hotel": (1, 1, 0), "wifi": (0, 1, 0)}),
}
RECORDED = [
    ("hotel", "10", 0.7960079),
    ("hotel", "1", 0.27958742),
    ("hotel", "3", 0.26639014),
    ("hotel", "4", 0.12874341),
    ("hotel", "5", 0.12874341),
    ("hotel", "9", 0.11774718),
    ("hotel", "2", 0.113759264),
    ("motel", "9", 0.49191087),
    ("wifi", "1", 0.82257307),
    ("wifi", "3", 0.7373906),
    ("wifi", "4", 0.42169982),
    ("wifi", "5", 0.42169982),
]


def _field_text(length: int, terms: dict[str, int]) -> str:
    words = [term for term, times in terms.items() for _ in range(times)]
    return " ".join(words + [f"filler{i}" for i in range(length - len(words))])


def _hotels(options: Options) -> Service:
    service = Service(Credentials("admin", "query"), options)
    fields: list[dict[str, object]] = [{"name": "id", "type": "Edm.String", "key": True}]
    fields[0]["searchable"] = False
    fields += [{"name": name, "type": "Edm.String"} for name in ("name", "description", "tags")]
    _post(service, "/indexes", {"name": "hotels", "fields": fields})
    documents = []
    for key, (_, lengths, terms) in HOTELS.items():
        document = {"id": key}
        for i, name in enumerate(("name", "description", "tags")):
            document[name] = _field_text(lengths[i], {t: f[i] for t, f in terms.items()})
        documents.append(document)
    _post(service, "/indexes('hotels')/docs/index", {"value": documents})
    return service


def _post(service: Service, path: str, body: object) -> object:
    call = Call(
        "POST",
        path,
        {"api-version": "2026-04-01"},
        {"api-key": "admin"},
        json.dumps(body).encode(),
    )
    reply = service.answer(call)
    assert reply.status in {200, 201}, reply.body
    return json.loads(reply.body)


def _scores(service: Service, text: str, statistics: str) -> dict[str, float]:
    answer = _post(
        service, "/indexes('hotels')/docs/search", {"search": text, "scoringStatistics": statistics}
    )
    assert isinstance(answer, dict)
    return {hit["id"]: hit["@search.score"] for hit in answer["value"]}


@pytest.mark.parametrize(("text", "hotel", "recorded"), RECORDED)
def test_az_41_bm25_as_recorded_from_the_service(text: str, hotel: str, recorded: float) -> None:
    service = _hotels(Options(shard_map={key: shard for key, (shard, _, _) in HOTELS.items()}))
    assert _scores(service, text, "local")[hotel] == pytest.approx(recorded, abs=1e-7)


def test_exact_lengths_give_other_scores() -> None:
    shards = {key: shard for key, (shard, _, _) in HOTELS.items()}
    service = _hotels(Options(shard_map=shards, norms="exact"))
    assert _scores(service, "hotel", "local")["10"] == pytest.approx(0.879964, abs=1e-6)


def test_global_statistics_do_not_depend_on_sharding() -> None:
    one, many = _hotels(Options(shards=1)), _hotels(Options(shards=5))
    assert _scores(one, "hotel", "global") == _scores(many, "hotel", "global")
    assert _scores(one, "hotel", "global")["10"] == pytest.approx(1.547048, abs=1e-6)
    assert _scores(one, "hotel", "local") != _scores(many, "hotel", "local")


def test_deleted_documents_leave_the_statistics() -> None:
    service = _hotels(Options(shards=2))
    before = _scores(service, "hotel", "global")
    path = "/indexes('hotels')/docs/index"
    extra = {"id": "x", "name": "hotel hotel", "description": "hotel", "tags": "wifi"}
    _post(service, path, {"value": [extra]})
    assert _scores(service, "hotel", "global")["10"] != before["10"]
    _post(service, path, {"value": [{"@search.action": "delete", "id": "x"}]})
    assert _scores(service, "hotel", "global") == before


@pytest.mark.parametrize(
    ("lengths", "stored"),
    [
        ((1,), 1),
        ((2,), 2.56),
        ((3, 4), 4),
        ((5,), 5.22449),
        ((6, 7), 7.11111),
        ((8, 10), 10.24),
        ((11, 16), 16),
        ((17, 20), 20.89796),
        ((21, 28), 28.44444),
        ((29, 40), 40.96),
        ((41, 64), 64),
        ((65,), 83.59184),
    ],
)
def test_lengths_after_one_byte(lengths: tuple[int, ...], stored: float) -> None:
    assert [round(lossy_length(n), 5) for n in lengths] == [stored] * len(lengths)


@pytest.mark.parametrize(
    ("weights", "ranks", "printed"),
    [
        ((1,), (0,), 0.01666666753590107),
        ((1,), (1,), 0.016393441706895828),
        ((1,), (2,), 0.016129031777381897),
        ((1,), (4,), 0.015625),
        ((1,), (18,), 0.012820512987673283),
        ((1,), (24,), 0.011904762126505375),
        ((1, 1), (0, 0), 0.03333333507180214),
        ((1, 1), (1, 1), 0.032786883413791656),
        ((1, 1), (0, 2), 0.03279569745063782),
        ((1, 1), (1, 2), 0.032522473484277725),
        ((1, 1), (1, 3), 0.03226646035909653),
        ((1, 1), (1, 4), 0.03201844170689583),
        ((1, 1), (2, 4), 0.0317540317773819),
        ((1, 1), (0, 7), 0.03159204125404358),
        ((1, 1), (8, 19), 0.027364110574126244),
        ((1, 1), (2, 43), 0.025837769731879234),
        ((1, 1), (21, 33), 0.02309836819767952),
        ((1, 1), (6, 53), 0.024001073092222214),
        ((1, 1), (19, 78), 0.01990460604429245),
        ((1, 1), (0, 166), 0.02109144628047943),
        ((1, 1), (22, 88), 0.01895187795162201),
        ((1, 1), (0, 66), 0.02460317686200142),
        ((1, 1), (10, 42), 0.024089636281132698),
        ((1, 1), (46, 67), 0.017307978123426437),
        ((1, 1), (19, 56), 0.02127891778945923),
        ((2, 0.5), (0, 0), 0.0416666679084301),
        ((2, 0.5), (1, 1), 0.04098360240459442),
        ((2, 0.5), (3, 4), 0.0395585335791111),
        ((1, 0.2), (0, 0), 0.020000001415610313),
        ((1, 0.2), (1, 3), 0.01956804469227791),
        ((1, 0.2), (2, 4), 0.019254032522439957),
        ((1, 2), (1, 1), 0.049180325120687485),
        ((1, 2), (0, 2), 0.048924729228019714),
        ((1, 2), (5, 0), 0.04871794953942299),
        ((100,), (0,), 1.6666667461395264),
        ((100,), (1,), 1.6393442153930664),
        ((1, 100), (1, 2), 1.6292965412139893),
    ],
)
def test_az_46_47_fusion_bit_for_bit(
    weights: tuple[float, ...], ranks: tuple[int, ...], printed: float
) -> None:
    lists = [
        (weight, [*range(1000, 1000 + rank), 7])
        for weight, rank in zip(weights, ranks, strict=True)
    ]
    assert fuse(lists)[7] == printed


def test_single_precision_is_printed_shortest() -> None:
    assert [shortest(1 / 3), shortest(0.6064064), shortest(1.0)] == [0.33333334, 0.6064064, 1.0]


@pytest.mark.parametrize(
    ("analyzer", "text", "terms"),
    [
        ("standard.lucene", "The air-condition's 3.14 foo_bar", "the air condition's 3.14 foo_bar"),
        ("en.lucene", "The policies of O'Neil's refunds", "polici o'neil refund"),
        ("standard.lucene", "C++ -- ...", "c"),
        ("keyword", "As It Is", "As It Is"),
        ("whitespace", "C++ -O2", "C++ -O2"),
    ],
)
def test_analyzers(analyzer: str, text: str, terms: str) -> None:
    found = [term for term, _ in analyze(analyzer, text)]
    assert found == ([terms] if analyzer == "keyword" else terms.split())


def test_long_words_are_cut_and_stop_words_leave_a_gap() -> None:
    assert [len(t) for t, _ in analyze("standard.lucene", "x" * 600)] == [255, 255, 90]
    assert analyze("en.lucene", "bread and butter") == [("bread", 0), ("butter", 2)]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", Term("a")),
        ("a b", Group("or", (Term("a"), Term("b")))),
        ("a + b | c", Group("or", (Group("and", (Term("a"), Term("b"))), Term("c")))),
        ("a -b", Group("or", (Term("a"), Negation(Term("b"))))),
        ("--b", Term("b")),
        ("a-b", Term("a-b")),
        ("(a b", Group("or", (Term("a"), Term("b")))),
        (")a", Term("a")),
        ('"a b', Group("or", (Term("a"), Term("b")))),
        ('"a \\" b"', Phrase('a " b')),
        ("Ab*", Prefix("ab")),
        ("a*b", Term("a*b")),
        ("a\\*", Term("a*")),
        ("*", Term("*")),
        ("\\-a \\(b\\)", Group("or", (Term("-a"), Term("(b)")))),
        ("+ | -", None),
        ("\\", None),
        ("(a b) + c", Group("and", (Group("or", (Term("a"), Term("b"))), Term("c")))),
        ("(" * 50_000, None),
    ],
)
def test_simple_syntax_never_refuses(text: str, tree: object) -> None:
    assert parse_simple(text, "or") == tree
