"""Requests of serving engines: each kind becomes its spec, or is refused with a reason."""

import base64
import gc
import json
import re
import threading
import weakref
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.errors import LimitError
from guided.integrations import serving
from guided.integrations.serving import (
    ENGINE_LIMITS,
    FRONT_END_LIMITS,
    FrontEnd,
    Indices,
    Options,
    Shared,
    spec_of,
    vocabulary_of,
)
from guided.limits import Limits
from guided.resources import grammar_names, grammar_path
from guided.schema.formula.memo import bytes_of
from tests.real_vocabularies import real_vocabulary

BYTES = guided.Vocabulary([bytes([value]) for value in range(256)] + [None], eos=[256])
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'


@pytest.fixture(scope="module", autouse=True)
def _frozen_heap() -> None:
    """As in a server once it has started: the collector reads only what came into being since.

    Why it stays frozen: `gc.unfreeze` would also give back all that was frozen when the tests had been collected (`tests/conftest.py`).
    """
    gc.collect()
    gc.freeze()


def tags(kind: str, **more: Any) -> dict[str, Any]:
    """A structural tag as vLLM's hermes parser makes it."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    both = [('<tool_call>\n{"name": "', "}\n</tool_call>"), ('<tool_call>{"name": "', "}</tool_call>")]
    return {
        "type": "structural_tag",
        "format": {
            "type": kind,
            "tags": [
                {
                    "type": "tag", "begin": begin + 'add", "arguments": ', "end": end,
                    "content": {"type": "json_schema", "json_schema": schema, "style": "json"},
                }
                for begin, end in both
            ],
            **more,
        },
    }  # fmt: skip


REQUIRED = {"separator": "", "at_least_one": True}
# Kind and text of a request, texts that it allows, texts that it does not.
SERVED: list[tuple[str, Any, list[str], list[str]]] = [
    ("JSON", {"type": "integer", "minimum": 3}, ["3", "40"], ["2", "3.5", '"3"']),
    ("JSON", {"name": "f", "parameters": {"type": "object"}}, ["1", '{"a": 2}'], ["", "f"]),
    ("JSON", True, ["1", "[]"], ["x"]),
    ("JSON_OBJECT", None, ["{}", '{"a": [1]}'], ["[]", "1"]),
    ("REGEX", "guided[1]\n", ["guided1\n"], ["guided"]),
    ("REGEX", r"\d\w", ["1a"], ["\u0661a", "1\u00e9"]),
    ("CHOICE", ["yes", "no", "yes"], ["yes", "no"], ["y", ""]),
    ("GRAMMAR", 'start: "a" start | "b"', ["aab", "b"], ["a", ""]),
    ("GRAMMAR", 'root ::= "[" root* "]"', ["[[][]]", "[]"], ["[", "]["]),
    ("STRUCTURAL_TAG", {"format": {"type": "json_schema", "json_schema": {"enum": [7]}}}, ["7"], ["8"]),
    ("STRUCTURAL_TAG", {"format": {"type": "regex", "pattern": "a+"}}, ["aa"], [""]),
    ("STRUCTURAL_TAG", {"format": {"type": "const_string", "value": "a+"}}, ["a+"], ["aa"]),
    ("STRUCTURAL_TAG", tags("tags_with_separator", **REQUIRED, stop_after_first=True), [CALL], ["", CALL + CALL, "Hello"]),
    ("STRUCTURAL_TAG", tags("tags_with_separator", separator=","), ["", CALL, f"{CALL},{CALL}"], [CALL + CALL]),
    ("STRUCTURAL_TAG", tags("triggered_tags", triggers=["<tool_call>"]), ["Hello", CALL, f"So: {CALL}"], [CALL[:-1]]),
]  # fmt: skip


def written(kind: str, given: Any) -> str:
    return given if kind in ("REGEX", "GRAMMAR") else json.dumps(given)


@pytest.mark.parametrize(("kind", "text", "allowed", "rejected"), SERVED)
def test_a_request_allows_exactly_its_texts(kind: str, text: Any, allowed: list[str], rejected: list[str]) -> None:
    index, known = Indices(BYTES).index(kind, written(kind, text))
    assert not known
    assert [one for one in allowed if not index.accepts(one)] == []
    assert [one for one in rejected if index.accepts(one)] == []
    assert FrontEnd(BYTES).refusal(kind, written(kind, text)) == ("", False)


def test_older_structural_tags() -> None:
    tag = {
        "structures": [{"begin": '<tool_call>\n{"name": "f", "arguments": ', "schema": {"type": "object"}, "end": "}\n</tool_call>"}],
        "triggers": ["<tool_call>"],
    }  # fmt: skip
    index = guided.compile(spec_of("STRUCTURAL_TAG", json.dumps(tag)), BYTES)
    assert index.accepts('So: <tool_call>\n{"name": "f", "arguments": {}}\n</tool_call> done')
    assert not index.accepts("So: <tool_call>")


REFUSED: list[tuple[str, str, str]] = [
    ("JSON", "{", "not valid JSON"),
    ("JSON", "[1]", "schema"),
    ("JSON", '{"type": "text"}', "type"),
    ("JSON", '{"$ref": "file:///etc/passwd"}', "ref"),
    ("JSON", '{"type": "integer", "minimum": 3, "maximum": 2}', "no value satisfies"),
    ("JSON", "guided[1]\n{}", ""),
    ("REGEX", "a(", "at position"),
    ("REGEX", "(a|b)*a(a|b){25}", "needed"),
    ("CHOICE", "[]", "at least one option"),
    ("CHOICE", "[1]", "list of strings"),
    ("CHOICE", '"yes"', "list of strings"),
    ("GRAMMAR", "root ::= a", "a is used but not defined"),
    ("GRAMMAR", "start: nothing", "nothing"),
    ("GRAMMAR", "start: A\n%import .secret.A\n", "import"),
    ("STRUCTURAL_TAG", "[]", "an object"),
    ("STRUCTURAL_TAG", "{}", "needs 'format'"),
    ("STRUCTURAL_TAG", '{"format": {"type": "token", "token": 1}}', "single tokens"),
    ("STRUCTURAL_TAG", '{"format": {"type": "grammar", "grammar": "root ::= a"}}', "a is used but not defined"),
    ("STRUCTURAL_TAG", '{"format": {"type": "triggered_tags", "tags": []}}', "'triggers' is missing"),
    ("XML", "", "unknown kind"),
]


@pytest.mark.parametrize(("kind", "text", "reason"), REFUSED)
def test_unsupported_requests_are_refused_with_a_reason(kind: str, text: str, reason: str) -> None:
    refusal, _ = FrontEnd(BYTES).refusal(kind, text)
    assert refusal
    assert reason in refusal


def test_no_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.lark").write_text('start: "password"\nA: "password"\n')
    (tmp_path / "secret.json").write_text('{"const": "password"}')
    front = FrontEnd(BYTES)
    for kind, text in [
        ("GRAMMAR", "secret.lark"),
        ("GRAMMAR", str(tmp_path / "secret.lark")),
        ("GRAMMAR", "start: A\n%import .secret.A\n"),
        ("GRAMMAR", "start: A\n%import secret.A\n"),
        ("JSON", "secret.json"),
        ("JSON", f'{{"$ref": "{(tmp_path / "secret.json").as_uri()}"}}'),
    ]:
        refusal, _ = front.refusal(kind, text)
        assert refusal
        assert "password" not in refusal


def test_options_of_a_request_travel_in_its_text() -> None:
    options = Options("compact", additional_properties=False)
    packed = options.packed('{"a":\n1}')
    assert Options().unpacked(packed) == (options, '{"a":\n1}')
    assert Options().unpacked('{"a":\n1}') == (Options(), '{"a":\n1}')
    assert options.unpacked("[1]") == (options, "[1]")
    schema = json.dumps({"properties": {"a": {"type": "integer"}}})
    index, _ = Indices(BYTES).index("JSON", options.packed(schema))
    assert index.accepts('{"a":1}')
    assert not index.accepts('{"a": 1}')
    assert not index.accepts('{"b":1}')
    index, _ = Indices(BYTES, options).index("JSON", schema)
    assert not index.accepts('{"a": 1}')
    index, _ = Indices(BYTES, options).index("JSON", Options().packed(schema))
    assert index.accepts('{"a": 1, "b": 2}')
    tag = json.dumps({"format": {"type": "json_schema", "json_schema": {"properties": {"a": {"type": "integer"}}}}})
    index, _ = Indices(BYTES).index("STRUCTURAL_TAG", options.packed(tag))
    assert index.accepts('{"a":1}')
    assert not index.accepts('{"a": 1}')
    assert not index.accepts('{"b":1}')


def test_requests_share_an_index_however_their_options_came() -> None:
    indices, options = Indices(BYTES, Options("compact")), Options("compact")
    found, _ = indices.index("JSON", "{}")
    for text in (options.packed("{}"), options.packed("{}", "one seal"), options.packed("{}", "another")):
        assert indices.index("JSON", text) == (found, True)
    assert indices.index("JSON", Options().packed("{}"))[1] is False


def test_only_the_own_seal_is_read() -> None:
    options = Options("compact", additional_properties=False)
    packed = options.packed("{}", "secret")
    assert Options().unpacked(packed, "secret") == (options, "{}")
    for seal in ("other", "", "secre", "secret2"):
        assert Options().unpacked(packed, seal) == (Options(), packed)
    assert Options().unpacked(options.packed("{}"), "secret") == (Options(), options.packed("{}"))


@pytest.mark.parametrize("kind", ["JSON", "STRUCTURAL_TAG", "CHOICE"])
def test_a_stranger_cannot_set_options_in_a_text(kind: str) -> None:
    tag = '{"format": {"type": "json_schema", "json_schema": {}}}'
    text = {"CHOICE": '["a"]', "JSON": "{}", "STRUCTURAL_TAG": tag}[kind]
    front = FrontEnd(BYTES, Options("compact", additional_properties=False))
    assert front.refusal(kind, text)[0] == ""
    for forged in (Options().packed(text), Options().packed(text, "a guess"), f'guided["flexible", true]\n{text}'):
        assert "not valid JSON" in front.refusal(kind, forged)[0]


def test_options_of_a_request_are_checked_with_it() -> None:
    front = FrontEnd(BYTES)
    schema = json.dumps({"type": "object", "required": ["b"], "properties": {"a": {}}})
    assert front.refusal("JSON", schema) == ("", False)
    refusal, known = front.refusal("JSON", schema, Options(additional_properties=False))
    assert "no value" in refusal
    assert not known
    assert "hitespace" in front.refusal("JSON", schema, Options("x"))[0]


def test_an_unexpected_error_of_a_check_is_a_refusal_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    front = FrontEnd(BYTES)
    with monkeypatch.context() as patch:
        patch.setattr(serving, "compile_index", lambda *_: {}.format)
        refusal, known = front.refusal("JSON", "{}")
        assert "AttributeError" in refusal
        assert not known
    assert "Traceback" in caplog.text
    assert front.refusal("JSON", "{}") == ("", False)


def test_what_is_known_is_asked_without_waiting() -> None:
    front, begun, end = FrontEnd(BYTES), threading.Event(), threading.Event()
    assert front.known("JSON", "{}") is None
    front.refusal("JSON", "{}")
    assert front.known("JSON", "{}") == ""
    assert front.known("JSON", "{}", Options("compact")) is None
    shared = Shared[int](10)

    def compute() -> int:
        begun.set()
        assert end.wait(10)
        return 7

    thread = threading.Thread(target=shared.get, args=("key", compute))
    thread.start()
    assert begun.wait(10)
    assert shared.known("key") is None
    end.set()
    thread.join()
    assert shared.known("key") == 7


def test_checks_are_stricter_than_the_engine() -> None:
    names = [one.name for one in fields(guided.Limits)]
    assert [name for name in names if getattr(FRONT_END_LIMITS, name) > getattr(ENGINE_LIMITS, name)] == []


words = st.binary(min_size=1, max_size=3).map(lambda data: bytes(97 + byte % 4 for byte in data))


@given(tokens=st.sets(words, max_size=8), texts=st.lists(words, min_size=1, max_size=3, unique=True))
def test_checks_refuse_exactly_the_texts_that_tokens_cannot_spell(tokens: set[bytes], texts: list[bytes]) -> None:
    vocabulary = guided.Vocabulary([*sorted(tokens), None], eos=[len(tokens)])
    choice = json.dumps([text.decode() for text in texts])
    spelled = re.compile(b"(%s)*" % b"|".join(tokens) if tokens else b"")
    if any(spelled.fullmatch(text) for text in texts):
        assert FrontEnd(vocabulary).refusal("CHOICE", choice)[0] == ""
        assert Indices(vocabulary).index("CHOICE", choice)
    else:
        assert "spell" in FrontEnd(vocabulary).refusal("CHOICE", choice)[0]


def cycle(n: int) -> str:
    """Each name needs the next one: the formulas of an object are as large as the schema, after each name another one."""
    names = [f"k{i}" for i in range(n)]
    return json.dumps({
        "properties": {name: {} for name in names},
        "dependentRequired": {name: [names[(i + 1) % n]] for i, name in enumerate(names)},
    })  # fmt: skip


# A token of the model may read far beyond the first byte, which is all that single bytes need.
WITH_NAMES = guided.Vocabulary([*(bytes([value]) for value in range(256)), b'{"k0":1,"k1":1', None], eos=[257])


@pytest.mark.parametrize("n", [20, 300])
def test_what_passes_the_check_compiles_in_the_engine(n: int) -> None:
    refusal, _ = FrontEnd(WITH_NAMES).refusal("JSON", cycle(n))
    if n == 20:
        assert refusal == ""
        Indices(WITH_NAMES).index("JSON", cycle(n))
    else:
        assert "call_steps" in refusal


def test_a_first_check_decides_within_an_eighth_of_the_steps() -> None:
    front = FrontEnd(WITH_NAMES)
    for kind, text, reason in [
        ("JSON", '{"type": "integer"}', ""), ("REGEX", "a(", "PatternError"), ("JSON", "{" * 200, "SchemaError"),
    ]:  # fmt: skip
        refusal, known = front.first_refusal(kind, text)
        assert refusal == front.refusal(kind, text)[0]
        assert refusal is not None
        assert refusal.startswith(reason)
        assert not known
        assert front.known(kind, text) == refusal
    assert "schema_parts" in str(front.first_refusal("CHOICE", "[" * 100_001)[0])
    # The whole budget decides what a part of it does not: one is served, the other is not.
    for n, reason in [(60, ""), (300, "LimitError: call_steps")]:
        for is_known in (False, True):
            assert front.first_refusal("JSON", cycle(n)) == (None, is_known)
        assert front.known("JSON", cycle(n)) is None
        assert front.refusal("JSON", cycle(n))[0].startswith(reason)
        assert front.known("JSON", cycle(n)) is not None


def test_the_only_tokens_that_a_request_allows_must_be_able_to_begin_a_text() -> None:
    front = FrontEnd(BYTES)
    for letters, reason in [("xyz", "allowed_token_ids"), ("axy", "")]:
        mask = np.packbits([chr(value) in letters for value in range(288)], bitorder="little").view(np.int32)
        for is_known in (False, True):
            refusal, known = front.refusal("CHOICE", '["ab", "c"]', allowed=mask)
            assert refusal.startswith(reason)
            assert bool(refusal) == bool(reason)
            assert known == is_known
    assert front.refusal("CHOICE", '["ab", "c"]') == ("", False)


LARGE = FRONT_END_LIMITS.file_bytes + 1


@pytest.mark.parametrize(
    ("kind", "text", "options", "limit"),
    [
        ("JSON", json.dumps({"description": "x" * LARGE}), None, "file_bytes"),
        ("JSON", "{}", Options(" " * LARGE), "file_bytes"),
        ("JSON", "[" * 300_000, None, "schema_parts"),
        ("CHOICE", json.dumps(["ab"] * 250_000)[:-1], None, "file_bytes"),
        ("CHOICE", json.dumps(list(range(210_000)), separators=(",", ":")), None, "file_bytes"),
        ("STRUCTURAL_TAG", '{"format": [' + "0," * 110_000 + "0]}", None, "schema_parts"),
        ("REGEX", "a" * LARGE, None, "file_bytes"),
        ("GRAMMAR", 'start: "a"\n' + "// comment\n" * 100_000, None, "file_bytes"),
    ],
)  # fmt: skip
def test_sizes_are_asked_before_anything_is_read(
    kind: str, text: str, options: Options | None, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's readers and digests hold the lock of the interpreter as long as they run."""
    front = FrontEnd(BYTES)
    monkeypatch.delattr(serving, "spec_of")
    monkeypatch.delattr(serving, "_key")
    refusal, known = front.refusal(kind, text, options)
    assert refusal.startswith(f"LimitError: {limit}: ")
    assert not known
    assert len(front._refusals) == 0


def test_what_a_front_end_keeps_does_not_grow_with_requests() -> None:
    """Neither texts, nor options, nor reasons."""
    front = FrontEnd(BYTES)
    long = "n" * 100_000
    for kind, text, options in [
        ("JSON", json.dumps({"type": "object", "description": long}), None),
        ("JSON", json.dumps({"properties": {long: {"type": "text"}}}), None),
        ("JSON", json.dumps({"$ref": f"#/{long}"}), None),
        ("JSON", "{}", Options(long)),
        ("JSON", "{}", Options(" ?" * 400)),
        ("REGEX", f"({long}", None),
        ("CHOICE", json.dumps([long]), None),
        ("GRAMMAR", f"start: {long}", None),
        (long, "", None),
    ]:
        front.refusal(kind, text, options)
    assert len(front._refusals) == 9
    reasons = [future.result() for future in front._refusals._values.values()]
    assert max(map(len, reasons)) <= 1000
    assert bytes_of([key for key in front._refusals._values if key[0] != long]) < 2_000  # type: ignore[index]


@pytest.mark.parametrize("pattern", [
    "(?=[ ]{0,300})(?=[ ]*)" * 30 + "[ ]{0,300}", "(?=(?=(?= *) *) *) *", "( |\t)*\t( |\t){20}", " ?" * 2000, " {0,400000}",
])  # fmt: skip
def test_a_pattern_of_whitespace_has_budgets_of_its_own(pattern: str) -> None:
    """It is read when the spec is made, before the budgets of a compile are known, and strangers choose it."""
    with pytest.raises(guided.LimitError) as caught:
        spec_of("JSON", "{}", Options(pattern))
    assert caught.value.limit <= FRONT_END_LIMITS.pattern_length * 10
    assert caught.value.limit < getattr(guided.Limits(), caught.value.what)
    assert FrontEnd(BYTES).refusal("JSON", "{}", Options(pattern))[0].startswith("LimitError: ")


def test_refusals_are_known_the_second_time() -> None:
    front = FrontEnd(BYTES)
    first, second = front.refusal("REGEX", "a("), front.refusal("REGEX", "a(")
    assert (first[1], second[1]) == (False, True)
    assert first[0] == second[0]


def test_equal_requests_share_an_index() -> None:
    indices = Indices(BYTES)
    first, second = indices.index("CHOICE", '["a"]'), indices.index("CHOICE", '["a"]')
    assert first[0] is second[0]
    assert (first[1], second[1]) == (False, True)
    # The same text of another kind.
    assert indices.index("REGEX", '["a"]')[0] is not first[0]
    indices.clear()
    assert not indices.index("CHOICE", '["a"]')[1]


def test_the_memory_of_indices_is_bounded() -> None:
    one, _ = Indices(BYTES).index("CHOICE", '["0000"]')
    indices = Indices(BYTES, max_bytes=3 * one.n_bytes + one.n_bytes // 2)
    for number in range(10):
        indices.index("CHOICE", json.dumps([f"{number:04}"]))
        indices.index("CHOICE", '["0000"]')
    assert len(indices) == 3
    # The one that was used last is kept.
    assert indices.index("CHOICE", '["0000"]')[1]


@pytest.mark.parametrize("kept", [
    {"description": "x" * 100_000},
    {"$defs": {f"d{i}": {"const": i} for i in range(1_000)}},
    {f"propertie{i}": 1 for i in range(900)},
    {"properties": {"a": {"requred": ["x" * 50_000]}}},
])  # fmt: skip
@pytest.mark.parametrize("kind", ["JSON", "STRUCTURAL_TAG"])
def test_an_index_weighs_what_it_keeps_of_its_source(kind: str, kept: dict[str, Any]) -> None:
    """Descriptions and unused definitions take memory as tables do."""
    indices = Indices(BYTES, max_bytes=600_000)
    weights = []
    for number in range(8):
        schema = {"type": "integer", "minimum": number, **kept}
        text = schema if kind == "JSON" else {"format": {"type": "json_schema", "json_schema": schema}}
        indices.index(kind, json.dumps(text))
        weights.append(indices._indices._total)
    assert len(indices) < 6
    plain, _ = indices.index("JSON", json.dumps({"type": "integer", "minimum": 0}))
    assert weights[0] > plain.n_bytes + 50_000


def test_dropped_indices_are_freed() -> None:
    """Python's collector counts objects, not bytes, and parts of an index refer to each other."""
    indices, alive = Indices(BYTES, max_bytes=2 << 20), []
    gc.collect()
    gc.disable()
    try:
        for number in range(20):
            schema = {"type": "array", "minItems": number, "description": "x" * 200_000}
            alive.append(weakref.ref(indices.index("JSON", json.dumps(schema))[0].tables))
        assert len(indices) <= 5
        assert sum(one() is not None for one in alive) <= 8
    finally:
        gc.enable()


def test_the_bound_of_indices_is_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUIDED_INDEX_CACHE_MB", "0")
    indices = Indices(BYTES)
    for options in ('["a"]', '["b"]'):
        indices.index("CHOICE", options)
    assert len(indices) == 1  # the newest serves a request
    monkeypatch.setenv("GUIDED_INDEX_CACHE_MB", "1")
    indices = Indices(BYTES)
    for options in ('["a"]', '["b"]'):
        indices.index("CHOICE", options)
    assert len(indices) == 2
    monkeypatch.setenv("GUIDED_INDEX_CACHE_MB", "1 GB")
    with pytest.raises(ValueError, match="GUIDED_INDEX_CACHE_MB must be a whole number of MB, not '1 GB'"):
        Indices(BYTES)


def test_memory_grows_with_masks() -> None:
    for spec in (guided.Regex("[a-z]{3}"), guided.JsonSchema({"type": "array"})):
        index = guided.compile(spec, BYTES)
        before = index.n_bytes
        guide = index.guide()
        for token in (b"a" if isinstance(spec, guided.Regex) else b"[") * 2:
            guide.mask()
            guide.advance(token)
        guide.mask()
        assert index.n_bytes > before > 0


def test_masks_of_other_end_tokens_are_counted_and_few() -> None:
    vocabulary = guided.Vocabulary([bytes([value]) for value in range(256)] + [None], eos=[256], size=320_000)
    index = guided.compile(guided.Regex("a*(b|c{0,600})"), vocabulary)
    before, guide = index.n_bytes, index.guide(end_tokens=[300_000])
    own = index.guide()
    for letter in b"a" + b"c" * 600:
        own.mask()
        own.advance(letter)
    own_bytes = index.n_bytes - before
    for letter in b"a" + b"c" * 600:
        assert guide.mask()[300_000 >> 5] == 1
        guide.advance(letter)
    more = index.n_bytes - before - own_bytes
    assert 50 * 40_000 < more < 300 * 40_000


def test_threads_compute_a_value_once() -> None:
    shared, computed, started = Shared[int](10), [], threading.Barrier(4)
    results = []

    def compute() -> int:
        computed.append(1)
        threading.Event().wait(0.05)
        return 7

    def ask() -> None:
        started.wait()
        results.append(shared.get("key", compute))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(computed) == 1
    assert sorted(results) == [(7, False), (7, True), (7, True), (7, True)]


def test_an_error_is_not_kept() -> None:
    shared = Shared[int](10)

    def fail() -> int:
        raise guided.LimitError("steps", 2, 1)

    with pytest.raises(guided.LimitError):
        shared.get("key", fail)
    assert shared.get("key", lambda: 3) == (3, False)


def test_the_least_recently_used_value_is_dropped() -> None:
    shared = Shared[int](2)
    for key in "abac":
        shared.get(key, lambda: 1)
    assert [shared.get(key, lambda: 1)[1] for key in "ac"] == [True, True]
    assert not shared.get("b", lambda: 1)[1]


def test_what_is_known_counts_as_used() -> None:
    shared = Shared[int](2)
    for key in "ab":
        shared.get(key, lambda: 1)
    shared.known("a")
    shared.get("c", lambda: 1)
    assert shared.known("a") == 1
    assert shared.known("b") is None


@pytest.mark.parametrize("count", [16, 4096])
def test_a_call_weighs_few_values_however_many_are_kept(count: int) -> None:
    weighed: list[int] = []

    def weigh(value: int) -> int:
        weighed.append(value)
        return 1

    shared = Shared[int](count, weigh)
    for number in range(count):
        shared.get(number, lambda: 0)
    weighed.clear()
    for number in range(100):
        shared.get(("new", number), lambda: 1)
    assert len(shared) == count
    assert len(weighed) <= 5 * 100
    weighed.clear()
    for number in range(100):
        shared.get(("new", number % 10), lambda: 1)
    assert len(weighed) <= 5 * 100


def test_values_that_grow_are_weighed_again() -> None:
    weights = dict.fromkeys(range(40), 1)
    shared = Shared[int](100, lambda value: weights[value])
    for number in range(40):
        shared.get(number, lambda number=number: number)  # type: ignore[misc]
    for number in range(20):
        weights[number] = 10
    # None of those that grew is asked for.
    for _ in range(40):
        shared.get(39, lambda: 39)
    kept = [number for number in range(40) if shared.known(number) is not None]
    assert sum(weights[number] for number in kept) <= 100
    assert 39 in kept


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9), st.booleans()), max_size=60))
def test_values_are_kept_as_by_weighing_all_of_them(calls: list[tuple[int, int, bool]]) -> None:
    """The slow twin adds up all weights at each call. Values that do not grow have equal outcomes."""
    most = 20
    weights: dict[int, int] = {}
    shared = Shared[int](most, lambda value: weights[value])
    kept: dict[int, None] = {}
    for key, weight, is_dropped in calls:
        weights.setdefault(key, weight)
        if is_dropped:
            shared.clear()
            kept.clear()
        _, known = shared.get(key, lambda key=key: key)  # type: ignore[misc]
        assert known == (key in kept)
        kept.pop(key, None)
        kept[key] = None
        while sum(weights[one] for one in kept) > most and len(kept) > 1:
            del kept[next(iter(kept))]
        assert len(shared) == len(kept)
        assert shared._total == sum(weights[one] for one in kept)


class OfAFile:
    """A tokenizer that is not a fast one, made from a file."""

    def __init__(self, path: Path, tokens: list[bytes]) -> None:
        self.vocab_file, self._tokens = str(path), tokens

    def get_added_vocab(self) -> dict[str, int]:
        return {"<end>": 256}

    def encode(self, text: str) -> list[int]:
        return [self._tokens.index(bytes([value])) for value in text.encode()]

    def decode(self, ids: list[int]) -> str:
        return b"".join(self._tokens[token] for token in ids).decode()


def test_a_tokenizer_that_is_not_fast_is_read_from_its_file(tmp_path: Path) -> None:
    tokens = [bytes([value]) for value in range(256)]
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)))
    found = vocabulary_of(OfAFile(path, tokens), 300, [256])
    assert found.tokens[:256] == tuple(tokens)
    assert (found.size, found.eos, found.special) == (300, (256,), {"<end>": 256})
    with pytest.raises(guided.VocabularyError, match="do not spell"):
        vocabulary_of(OfAFile(path, tokens[::-1]), 300, [256])


def test_a_tokenizer_without_a_known_file_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"the vocabulary of a object cannot be read.*tokenizer\.json"):
        vocabulary_of(object(), 300, [256])


def test_a_pattern_means_ascii() -> None:
    assert re.fullmatch(r"\d", "\u0661")
    assert not Indices(BYTES).index("REGEX", r"\d")[0].accepts("\u0661")


@pytest.mark.network
@pytest.mark.parametrize("name", grammar_names())
def test_bundled_grammars_pass_a_check(name: str) -> None:
    text = grammar_path(name).read_text(encoding="utf-8")
    assert FrontEnd(real_vocabulary("llama3-128k")).refusal("GRAMMAR", text)[0] == ""


def test_reading_a_grammar_has_the_budgets_of_the_check() -> None:
    text = "start: " + " | ".join(f"r{i}" for i in range(500)) + "\n" + "\n".join(f'r{i}: "k{i};"' for i in range(500))
    assert FrontEnd(BYTES).refusal("GRAMMAR", text)[0] == ""
    assert "steps" in FrontEnd(BYTES, limits=Limits(steps=1_000_000)).refusal("GRAMMAR", text)[0]
    with pytest.raises(LimitError, match="steps"):
        spec_of("GRAMMAR", text, limits=Limits(steps=1_000_000))
