"""Compositions: masks, budgets and captures against one regular expression, and against `re`."""

import json
import pickle
import re
from contextlib import contextmanager, suppress
from dataclasses import make_dataclass
from itertools import product
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.automata.minimize import merge_columns as columns_merged
from guided.calls.parse import parse_text
from guided.calls.spec import Tools
from guided.engine import network
from guided.engine.algebra import (
    Alternatives,
    Composition,
    Concatenation,
    Dispatch,
    FreeText,
    Maybe,
    Named,
    Part,
    Repeat,
)
from guided.engine.captures import Capture, Captures, list_names
from guided.engine.compile import compile as compile_index
from guided.engine.compile import compose
from guided.engine.files import load_index
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.engine.structural_tags import StructuralTag
from guided.errors import GuidedError, LimitError, VocabularyError
from guided.generate.compositions import captures
from guided.guide.guide import Guide
from guided.index.composition import CompositionIndex, _Boundaries
from guided.index.pushdown import PushdownIndex
from guided.index.regular import RegularIndex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.executed import executed_calls
from tests.masks import bits
from tests.oracles import SlowReadings
from tests.profiles import examples
from tests.strategies import COMPOSED_ALPHABET, composed, composed_leaf, composed_leaves, vocabularies

BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)

# Patterns whose first match in `re` is the longest, so that the longest text of a part comes first there, too.
# Values whose texts without whitespace are finitely many, so that a schema of them is a pattern, too.
_VALUES: list[Any] = [1, 12, "a", "ab", [], ["a"], [1, 2], {}, {"a": 1}, {"a": {"b": "é"}}, None, True]
_ALPHABET = 'ab"é12[]{}:,nultre'

_LEAVES = ["a*", "b+", "[ab]*", "a?b", "a{1,2}", "(?:aa|a)", "é", "[aé]+", "(?:ab)*"]


_LEAF: st.SearchStrategy[Part] = st.one_of(
    st.sampled_from(["a", "b", "ab", "é", "", '"', "[", "1", "}"]),
    st.sampled_from(_LEAVES).map(Regex),
    st.lists(st.sampled_from(_VALUES), min_size=1, max_size=4, unique_by=repr).map(
        lambda values: JsonSchema({"enum": values}, whitespace="compact")
    ),
)


def _extended(inner: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    repeats = st.builds(
        lambda part, low, more, separator: Repeat(part, low, None if more is None else low + more, separator),
        inner,
        st.integers(0, 2),
        st.sampled_from([None, 0, 1, 2]),
        st.sampled_from([None, "b", "é"]),
    )
    return st.one_of(parts.map(Concatenation), parts.map(Alternatives), inner.map(Maybe), repeats)


_TREES = st.recursive(_LEAF, _extended, max_leaves=5)


@st.composite
def compositions(draw: st.DrawFn) -> Composition:
    """Random trees over literals, patterns and schemas, with names."""
    spec = Concatenation((draw(_TREES), draw(_LEAF)))
    return _with_names(draw, spec, iter("pqrstuvwxyz"))


def _with_names(draw: st.DrawFn, part: Any, names: Any) -> Any:
    """Names for some nodes of a tree, each once."""
    match part:
        case Concatenation() | Alternatives():
            found: Any = type(part)(tuple(_with_names(draw, each, names) for each in part.parts))
        case Maybe():
            found = Maybe(_with_names(draw, part.parts[0], names))
        case Repeat():
            found = Repeat(_with_names(draw, part.parts[0], names), part.min, part.max, *part.parts[1:])
        case _:
            found = part
    if draw(st.integers(0, 3)) == 0 and (name := next(names, None)):
        found = Named((found,), name)
    return found


def pattern_of(part: Any) -> str:
    """The tree as one regular expression with named groups."""
    match part:
        case str():
            return re.escape(part)
        case Regex():
            return f"(?:{part.pattern})"
        case JsonSchema():
            texts = (json.dumps(value, separators=(",", ":"), ensure_ascii=False) for value in part.schema["enum"])
            return f"(?:{'|'.join(re.escape(text) for text in sorted(texts, key=len, reverse=True))})"
        case Concatenation():
            return "".join(map(pattern_of, part.parts))
        case Alternatives():
            return f"(?:{'|'.join(map(pattern_of, part.parts))})"
        case Maybe():
            return f"(?:{pattern_of(part.parts[0])})?"
        case Named():
            return f"(?P<{part.name}>{pattern_of(part.parts[0])})"
        case Repeat():
            return _repeated(part)
    raise AssertionError(part)


def _repeated(part: Repeat) -> str:
    item = pattern_of(part.parts[0])
    separator = pattern_of(part.parts[1]) if len(part.parts) > 1 else ""
    if not separator:
        return f"(?:{item}){{{part.min},{'' if part.max is None else part.max}}}"
    if part.max == 0:
        return ""
    plain = re.sub(r"\(\?P<\w>", "(?:", item)
    most = "" if part.max is None else part.max - 1
    found = f"(?:{plain}(?:{separator}{plain}){{{max(part.min - 1, 0)},{most}}})"
    return found if part.min else f"{found}?"


def _composed(spec: Composition, vocabulary: Vocabulary, *, merges: bool) -> Index:
    """The index of a composition; unless it merges, all its leaves are parts."""

    composed = compose(spec, vocabulary, Limits(), merges=merges)
    return Index(composed.tables, vocabulary, spec.fingerprint)


def _walks(guide: Guide, oracle: Guide, eos: Any, choose: Any, length: int = 12) -> None:
    """Walk both guides by the same tokens; their answers are the same."""
    for _ in range(length):
        mask = bits(guide.mask())
        assert mask == bits(oracle.mask())
        assert guide.is_accepting == oracle.is_accepting
        assert guide.remaining >= oracle.remaining
        assert (guide.remaining == 0) == (oracle.remaining == 0)
        assert guide.forced().startswith(oracle.forced()[: len(guide.forced())])
        within = bits(guide.mask_within(guide.remaining))
        assert within
        assert set(within) <= set(mask)
        token = choose(mask)
        guide.advance(token)
        oracle.advance(token)
        if token in eos:
            return


@settings(max_examples=examples(100), deadline=None)
@given(compositions(), vocabularies(_ALPHABET, complete=True), st.randoms(use_true_random=False), st.booleans())
def test_compositions_equal_one_pattern(spec: Composition, vocabulary: Vocabulary, random: Any, merges: bool) -> None:
    whole = compile_index(Regex(pattern_of(spec)), vocabulary)
    composed = _composed(spec, vocabulary, merges=merges)
    assert merges or isinstance(composed.tables, CompositionIndex)
    for _ in range(3):
        _walks(composed.guide(), whole.guide(), vocabulary.eos, random.choice)
        text = bytes(random.choice(_ALPHABET.encode()) for _ in range(random.randrange(6)))
        assert composed.accepts(text) == whole.accepts(text)


@settings(max_examples=examples(100), deadline=None)
@given(compositions(), vocabularies(_ALPHABET, complete=True), st.randoms(use_true_random=False))
def test_texts_steered_by_budgets_end_in_time(spec: Composition, vocabulary: Vocabulary, random: Any) -> None:
    composed = _composed(spec, vocabulary, merges=False)
    guide = composed.guide()
    budget = guide.remaining + random.randrange(4)
    while budget or not guide.is_accepting:
        within = bits(guide.mask_within(budget))
        assert within
        exact = [
            token
            for token in bits(guide.mask())
            if token in vocabulary.eos or composed.remaining(composed.next(guide.state, token)) < budget
        ]
        assert within == exact
        token = random.choice(within)
        guide.advance(token)
        if token in vocabulary.eos:
            break
        budget -= 1
    assert guide.is_accepting


@settings(max_examples=examples(300), deadline=None)
@given(compositions(), st.text('abé"1[]', max_size=8))
def test_captures_equal_those_of_re(spec: Composition, text: str) -> None:
    pattern = re.compile(pattern_of(spec))
    expected, found = pattern.fullmatch(text), captured(Captures(spec, Limits()), text.encode())
    assert (expected is None) == (found is None)
    if expected is None or found is None:
        return
    last = {one.part.name: (one.begin, one.end) for one in found}
    for name, place in expected.groupdict().items():
        if place is None:
            continue
        begin, end = expected.span(name)
        # A repeated group of `re` may hold an empty last repetition, and repetitions with separators have no groups.
        if (begin, end) != (len(text[:begin]), len(text[:begin])) and name in last and "Repeat" not in repr(spec):
            assert last[name] == (len(text[:begin].encode()), len(text[:end].encode()))


def test_threads_read_parts_in_different_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text holds the index of each part that it has met, and waits for the next: two orders must not wait for each other."""
    first, second = JsonSchema({"type": "array"}), JsonSchema({"type": "object"})
    finder = Captures((first + second).named("one") | ("-" + second + first).named("other"), Limits())
    met, reading = Barrier(2), PushdownIndex.reading

    @contextmanager
    def slow_reading(index: PushdownIndex, state: int) -> Any:
        with reading(index, state) as reader:
            # Until the other thread has a part of its own, if it can.
            with suppress(BrokenBarrierError):
                met.wait(0.2)
            yield reader

    found: dict[str, Any] = {}
    readers = {text: finder.reader() for text in ("[1]{}", "-{}[1]")}
    readers["-{}[1]"].feed(b"-")
    monkeypatch.setattr(PushdownIndex, "reading", slow_reading)
    threads = [
        Thread(
            target=lambda text=text: found.update({text: readers[text].feed(text.lstrip("-").encode())}), daemon=True
        )
        for text in readers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    names = {text: [capture.part.name for capture in found[text] + readers[text].close()] for text in readers}
    assert names == {"[1]{}": ["one"], "-{}[1]": ["other"]}


@settings(max_examples=examples(50), deadline=None)
@given(compositions(), vocabularies(_ALPHABET, complete=True), st.randoms(use_true_random=False))
def test_saved_and_pickled_compositions_are_the_same(
    tmp_path_factory: Any, spec: Composition, vocabulary: Vocabulary, random: Any
) -> None:
    index = compile_index(spec, vocabulary)
    path = tmp_path_factory.mktemp("index") / "index"
    index.save(path)
    for again in (load_index(path, vocabulary), pickle.loads(pickle.dumps(index))):
        assert again.spec_fingerprint == index.spec_fingerprint
        assert again.notes == index.notes
        assert type(again.tables) is type(index.tables)
        _walks(index.guide(), again.guide(), vocabulary.eos, random.choice)


def _accepts(spec: Any, text: str) -> bool:
    return composed_leaf(spec).accepts(text)


def captured(captures: Captures, data: bytes) -> list[Capture] | None:
    """The named parts of a whole text in order of their ends; None if the text is not in the language."""
    reader = captures.reader()
    certain = reader.feed(data)
    rest = reader.close()
    return None if rest is None else certain + rest


def _reading(spec: Composition, text: str, read: Any = lambda _spec, text: text) -> Any:
    """The captures of the oracle's first reading; None if the text is not in the language."""
    try:
        return SlowReadings(text, _accepts, read).first(spec)
    except SlowReadings.TooManySteps:
        assume(False)


def _index(spec: Composition, vocabulary: Vocabulary) -> Index:
    try:
        return compile_index(spec, vocabulary)
    except VocabularyError:
        # Every text holds an empty free text.
        assume(False)
        raise


def _random_text(index: Index, random: Any, length: int) -> bytes:
    """A random prefix of a text, or a random string."""
    if random.random() < 0.3:
        return bytes(random.choice(COMPOSED_ALPHABET.encode()) for _ in range(random.randrange(length)))
    guide, text = index.guide(), b""
    for _ in range(random.randrange(length)):
        onward = [byte for byte in bits(guide.mask()) if byte < 256 and chr(byte) in COMPOSED_ALPHABET]
        if not onward:
            break
        text += bytes([random.choice(onward)])
        guide.advance(text[-1])
    return text


def test_leaves_of_random_compositions_are_as_stated() -> None:
    for leaf in composed_leaves():
        index = compile_index(leaf.spec, BYTES)
        assert all(index.accepts(text) and leaf.accepts(text) for text in leaf.texts)
        for text in map("".join, (text for length in range(5) for text in product(COMPOSED_ALPHABET, repeat=length))):
            assert index.accepts(text) == leaf.accepts(text)


@settings(max_examples=examples(100), deadline=None)
@given(composed(), st.randoms(use_true_random=False))
def test_texts_and_captures_equal_those_of_backtracking(spec: Composition, random: Any) -> None:
    index, captures = _index(spec, BYTES), Captures(spec, Limits())
    for _ in range(4):
        text = _random_text(index, random, 9)
        expected, found = _reading(spec, text.decode()), captured(captures, text)
        assert index.accepts(text) == (expected is not None)
        if found is None or expected is None:
            assert found is expected is None
            continue
        assert [(one.part.name, one.begin, one.end) for one in found] == [one[:3] for one in expected]


@settings(max_examples=examples(60), deadline=None)
@given(composed(), vocabularies(COMPOSED_ALPHABET, complete=True), st.randoms(use_true_random=False))
def test_masks_equal_those_of_a_walk_by_token(spec: Composition, vocabulary: Vocabulary, random: Any) -> None:
    alphabet = sorted(COMPOSED_ALPHABET.encode())
    by_byte = _index(
        spec, Vocabulary([bytes([byte]) for byte in alphabet], eos=[len(alphabet)], size=len(alphabet) + 1)
    )
    index = _index(spec, vocabulary)
    numbers = {byte: number for number, byte in enumerate(alphabet)}
    guide, oracle = index.guide(), by_byte.guide()
    for _ in range(8):
        spelled = [[numbers.get(byte, -1) for byte in token] if token else [-1] for token in vocabulary.tokens]
        expected = [token for token, data in enumerate(spelled) if oracle.validate(data) == len(data)]
        expected = [token for token in expected if token not in vocabulary.eos]
        mask = bits(guide.mask())
        assert mask == sorted([*expected, *(vocabulary.eos if oracle.is_accepting else ())])
        if not expected:
            break
        token = random.choice(expected)
        guide.advance(token)
        oracle.advance_many(spelled[token])


@settings(max_examples=examples(60), deadline=None)
@given(composed(), vocabularies(COMPOSED_ALPHABET, complete=True), st.randoms(use_true_random=False))
def test_walks_end_in_texts_whose_captures_are_those_of_the_oracle(
    spec: Composition, vocabulary: Vocabulary, random: Any
) -> None:
    guide, text = _index(spec, vocabulary).guide(), b""
    budget = guide.remaining + random.randrange(8)
    while budget or not guide.is_accepting:
        token = random.choice(bits(guide.mask_within(budget)))
        if token in vocabulary.eos:
            break
        guide.advance(token)
        text += vocabulary.tokens[token] or b""
        budget -= 1

    def read(part: Any, text: str) -> Any:
        if isinstance(part, Regex):
            return text
        if isinstance(part, Grammar):
            return part.parse(text)
        return parse_text(text, part) if isinstance(part, Tools) else part.read(text)

    assume(len(text) < 40)
    expected = _reading(spec, text.decode(), read)
    assert expected is not None
    values: dict[str, list[Any]] = {}
    for name, _, _, value in expected:
        values.setdefault(name, []).append(value)
    found = captures(spec, text)
    assert found.keys() >= values.keys()
    for name, value in found.items():
        if isinstance(value, list) and list_names(spec)[name]:
            assert value == values.get(name, [])
        else:
            assert [value] == values.get(name, [None])


@settings(max_examples=examples(100), deadline=None)
@given(composed(), st.text("ab1,([])", max_size=6), st.integers(1, 3))
def test_captures_that_are_certain_early_are_those_of_the_whole_text(spec: Composition, text: str, step: int) -> None:
    finder, data = Captures(spec, Limits()), text.encode()
    reader, found = finder.reader(), []
    for at in range(0, len(data), step):
        found += reader.feed(data[at : at + step])
    rest, whole = reader.close(), captured(finder, data)
    assert (rest is None) == (whole is None)
    assert rest is None or found + rest == whole


def test_values_through_wrappers() -> None:
    number = JsonSchema({"type": "integer"})
    one, other = (make_dataclass(name, [(name, annotation)]) for name, annotation in (("n", int), ("s", str)))
    cases: list[tuple[Any, str, Any]] = [
        ("x" + Maybe(number).named("v"), "x12", 12),
        ("x" + Maybe(number).named("v"), "x", None),
        ("x" + (JsonSchema(one) | JsonSchema(other)).named("v"), 'x{"s": "a"}', other("a")),
        (Repeat(number, 0, None, ",").named("v"), "1,2,3", [1, 2, 3]),
        (Repeat(number, 0, None, ",").named("v"), "", []),
        (Repeat(number | "x", 1, None, number).named("v"), "x1x", ["x", "x"]),
        (Repeat("<" + number + ">").named("v"), "<1><2>", ["<1>", "<2>"]),
        (StructuralTag({"format": {"type": "json_schema", "json_schema": {"type": "integer"}}}).named("v"), "12", 12),
        (number.named("w").named("v") + "x", "12x", 12),
        ((FreeText(stop="x") | FreeText(stop="y")).named("v"), "ay", "a"),
        (number.named("v") + "x" | Choice(["b", "c"]).named("v"), "12x", [12]),
        (number.named("v") + "x" | Choice(["b", "c"]).named("v"), "c", ["c"]),
        (number.named("v") + ":" + Choice(["b", "c"]).named("v"), "12:b", [12, "b"]),
    ]
    for spec, text, value in cases:
        assert captures(spec, text)["v"] == value


def test_parts_without_a_text_are_left_out_with_a_note() -> None:
    number = JsonSchema({"type": "integer"})
    cases: list[tuple[Part, str]] = [
        (JsonSchema(False), "<JsonSchema of False> has no text: no value satisfies the schema (at the root, schema)"),
        (Grammar('start: "a" start'), "has no text: the grammar accepts no text (in start)"),
        (
            FreeText("ab", "b"),
            "FreeText(stop=('ab',), excludes=('b',)) has no text: what it excludes is in its stop string",
        ),
        (
            FreeText("ab", "b", 5),
            "FreeText(stop=('ab',), excludes=('b',), max_tokens=5) has no text: the language is empty",
        ),
    ]
    for dead, note in cases:
        for rest in (number, Regex("[0-9]+")):
            index = compile_index("x" + (dead | rest), BYTES)
            assert index.accepts("x1")
            assert any(note in found for found in index.notes)
        with pytest.raises(GuidedError, match=r"the language is empty|no value satisfies|accepts no text"):
            compile_index("x" + Maybe(number) + Concatenation((dead,)), BYTES)


def test_nested_repeats_take_the_time_of_patterns() -> None:
    deep = Repeat(Repeat(Repeat(Maybe("a"), 0, 10), 0, 10), 0, 10) + "c"
    spec = deep | Repeat(Maybe(Regex("[ab]")), 0, 1_000) + "c" | Repeat("a", 0, 100_000)
    found, pattern = (compile_index(each, BYTES).tables for each in (spec, Regex("[ab]{0,1000}c|a{0,100000}")))
    assert isinstance(found, RegularIndex)
    assert isinstance(pattern, RegularIndex)
    assert found.automaton == pattern.automaton
    index = compile_index(Repeat(Repeat(Repeat(Maybe(JsonSchema({"const": 1})), 0, 9), 0, 9), 0, 9) + "c", BYTES)
    assert index.accepts("1" * 729 + "c")
    with pytest.raises(LimitError, match=r"^steps: "):
        compile_index(deep + JsonSchema(True), BYTES, Limits(steps=100_000))


def _ends(part: Any, tokens: tuple[bytes, ...], begin: int) -> set[int]:
    """The places where a part of a text of tokens may end that begins at a place: a backtracking matcher that counts tokens."""
    text = b"".join(tokens)
    match part:
        case FreeText():
            stop, excludes = part.stop, part.excludes
            starts = [sum(map(len, tokens[:i])) for i in range(len(tokens))]
            found = set()
            for end in range(begin, len(text) + 1):
                try:
                    free = text[begin:end].decode()
                except UnicodeDecodeError:
                    continue
                # With stop strings, the first one is where it ends.
                first = [free.find(each) + len(each) for each in stop if each in free]
                is_whole = min(first) == len(free) if first else not stop
                n_tokens = sum(begin <= start < end for start in starts)
                if is_whole and not any(each in free for each in excludes):
                    found |= {end} if part.max_tokens is None or n_tokens <= part.max_tokens else set()
            return found
        case Concatenation():
            places = {begin}
            for each in part.parts:
                places = set().union(*(_ends(each, tokens, place) for place in places))
            return places
        case Alternatives():
            return set().union(*(_ends(each, tokens, begin) for each in part.parts))
        case Maybe():
            return {begin} | _ends(part.parts[0], tokens, begin)
        case _:
            pattern = re.compile(pattern_of(part).encode())
            return {end for end in range(begin, len(text) + 1) if pattern.fullmatch(text, begin, end)}


_FREE_TEXTS: st.SearchStrategy[Part] = st.builds(
    FreeText,
    st.sampled_from([None, "b", "ab", ("a", "bb")]),
    st.sampled_from([None, "bb", "é"]),
    st.sampled_from([None, 1, 2, 3]),
)
_BUDGETED: st.SearchStrategy[Composition] = st.lists(
    st.one_of(
        _FREE_TEXTS,
        _FREE_TEXTS.map(Maybe),
        st.lists(_FREE_TEXTS, min_size=2, max_size=2).map(lambda parts: Alternatives(tuple(parts))),
        st.sampled_from(["a", "b", "é", Regex("[ab]?"), Regex("a*b")]),
    ),
    min_size=1,
    max_size=3,
).map(lambda parts: Concatenation(tuple(parts)))
_FEW_TOKENS = ["a", "b", "ab", "ba", "é", "bé", "aab"]


def test_the_least_budget_leaves_a_token_without_steps_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guided.index.composition._SHARE", 1 << 40)
    schema = {"type": "object", "properties": {"a": True, "b": {"type": "integer"}}, "required": ["a", "b"]}
    content = {"type": "json_schema", "json_schema": schema, "style": "qwen_xml"}
    spec = StructuralTag({"type": "structural_tag", "format": content})
    guide = compile_index(spec, Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])).guide()
    while not guide.is_finished:
        (token, *_) = bits(guide.mask_within(guide.remaining)) or [256]
        guide.advance(token)


@settings(max_examples=examples(100), deadline=None)
@given(_BUDGETED, st.sets(st.sampled_from(_FEW_TOKENS), min_size=1, max_size=2))
def test_budgets_of_parts_count_tokens(spec: Composition, chosen: set[str]) -> None:
    tokens = [b"a", b"b", *(bytes([byte]) for byte in "é".encode()), *(token.encode() for token in sorted(chosen))]
    vocabulary = Vocabulary(tokens, eos=[len(tokens)], size=len(tokens) + 1)
    try:
        index = compile_index(spec, vocabulary)
    except LimitError:
        return
    for text in (text for length in range(4) for text in product(range(len(tokens)), repeat=length)):
        data = tuple(tokens[token] for token in text)
        guide = index.guide()
        is_allowed = guide.validate(text) == len(text)
        if is_allowed:
            guide.advance_many(text)
        assert (is_allowed and guide.is_accepting) == (sum(map(len, data)) in _ends(spec, data, 0))


def test_types_of_one_name_have_fingerprints_of_their_own() -> None:
    one, other = (make_dataclass("Value", [("x", annotation)]) for annotation in (int, str))
    assert repr(one) == repr(other)
    assert ("a" + (Regex("b") + one)).fingerprint != ("a" + (Regex("b") + other)).fingerprint
    assert (Regex("b") + one).fingerprint == (Regex("b") + one).fingerprint
    for part in (["a", "b"], re.compile("a")):
        with pytest.raises(TypeError, match="has no fingerprint: write it as a spec"):
            _ = (Regex("b") + part).fingerprint


def test_deep_and_wide_compositions() -> None:
    number = JsonSchema({"type": "integer"})
    deep: Part = number
    for _ in range(50):
        deep = "(" + Maybe(deep) + ")"
    index = compile_index(deep, BYTES)
    assert index.accepts("(" * 50 + "7" + ")" * 50)
    assert index.accepts("(())")
    assert not index.accepts("(()")
    wide = Alternatives(tuple(f"k{i}: " + JsonSchema({"const": i}) for i in range(200)))
    index = compile_index(wide, BYTES)
    assert index.accepts("k77: 77")
    assert not index.accepts("k77: 78")


def test_too_many_readings_are_refused() -> None:
    spec = Alternatives(tuple(JsonSchema({"const": i}) for i in range(300)))
    with pytest.raises(LimitError, match="readings: 257 needed, 256 allowed; the text can be read in too many ways"):
        compile_index(spec, BYTES)
    assert compile_index(spec, BYTES, Limits(readings=1_000)).accepts("299")


def test_equal_specs_share_an_index() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    parts = [f"f{i}: " + JsonSchema(schema) for i in range(20)]
    index = compile_index(Alternatives(tuple(parts)), BYTES)
    assert isinstance(index.tables, CompositionIndex)
    one = compile_index(Alternatives(tuple(parts[:2])), BYTES)
    assert index.n_bytes < 2 * one.n_bytes
    assert index.accepts('f19: {"x": 1}')
    assert not index.accepts('f19: {"x": "1"}')


@pytest.mark.slow
def test_ten_thousand_tags() -> None:
    tags = [
        {
            "type": "tag",
            "begin": f"<f=tool_{i}>",
            "content": {"type": "json_schema", "json_schema": {"const": i}},
            "end": "</f>",
        }
        for i in range(10_000)
    ]
    spec = StructuralTag({"format": {"type": "triggered_tags", "triggers": ["<f="], "tags": tags}})
    index = compile_index(spec, BYTES)
    assert index.accepts("so: <f=tool_77>77</f> and <f=tool_9999>9999</f>")
    assert not index.accepts("<f=tool_77>78</f>")
    assert index.guide().remaining == 0


def test_an_index_that_forgets_its_states_gives_the_same_masks() -> None:
    spec = Repeat(JsonSchema({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}), 1, None, "\n")
    small = compile_index(spec, BYTES, Limits(growth_bytes=1 << 16))
    large = compile_index(spec, BYTES)
    for number in range(12):
        one, other = small.guide(), large.guide()
        for byte in f"[{number}, 2{number}, 3{number}]\n[1, {number + 2}]".encode():
            assert bits(one.mask()) == bits(other.mask())
            assert one.remaining == other.remaining
            one.advance(byte)
            other.advance(byte)
        one.rollback(5)
        other.rollback(5)
        assert bits(one.mask()) == bits(other.mask())


def _words(letters: str, length: int) -> Vocabulary:
    """All words up to a length, and single bytes."""
    words = ["".join(word).encode() for n in range(2, length + 1) for word in product(letters, repeat=n)]
    tokens = [*(bytes([value]) for value in range(256)), *words]
    return Vocabulary(tokens, eos=[len(tokens)], size=len(tokens) + 1)


_ANY = JsonSchema({"type": ["object", "array", "integer"]})
_INTEGERS = [JsonSchema({"type": "integer", "minimum": -i}) for i in range(30)]
_AMBIGUOUS: list[Composition] = [
    FreeText() + _ANY + FreeText(),
    FreeText(excludes="b") + _ANY + FreeText(excludes="c"),
    Repeat(Regex('(?s)[^"]*') | _ANY) + FreeText(),
    Concatenation(tuple(map(Maybe, _INTEGERS))),
    Repeat(Maybe(_INTEGERS[0]) + Maybe(Regex("[a-z0-9]+")), 0, 9) + _INTEGERS[1],
    Repeat(FreeText(max_tokens=3), 1, 3) + _ANY + Repeat(Regex("[a-c]") | Regex("[b-d1]+") + _INTEGERS[2]),
]


def test_indexes_of_a_vocabulary_share_where_parts_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Vocabulary([*(bytes([value]) for value in range(256)), b"}\n", b'"}\n{'], eos=[258], size=259)
    walked, found = list[int](), _Boundaries._walk_to
    monkeypatch.setattr(_Boundaries, "_walk_to", lambda self, targets: (walked.append(1), found(self, targets))[1])
    counts = [0]
    for name in "ab":
        index = compile_index(Repeat(JsonSchema({"type": "object", "properties": {name: {}}}) + "\n", 1), words)
        state = index.initial
        for token in (ord("{"), 256, ord("{")):
            assert token in bits(index.mask(state))
            state = index.next(state, token)
        counts.append(len(walked))
    assert counts[2] - counts[1] < counts[1] - counts[0]


@pytest.mark.parametrize("spec", _AMBIGUOUS[:3], ids=lambda spec: str(spec)[:40])
def test_the_work_of_a_mask_hardly_grows_with_the_vocabulary(spec: Composition) -> None:
    counts = []
    for length in (2, 4):
        vocabulary = _words("abcdefghi[1", length)
        compile_index(spec, vocabulary).mask(0)
        guide = compile_index(spec, vocabulary).guide()
        counts.append(executed_calls(lambda guide=guide: (guide.mask(), guide.remaining, guide.mask_within(9))))
    # The larger vocabulary has 120 times as many tokens.
    assert counts[1] < 8 * counts[0]


def test_a_first_mask_calls_no_function_for_tokens_that_cannot_be_read() -> None:
    """Also where few enough of them may cross a boundary that all are looked at."""
    counts = []
    for length in (1, 2, 4):  # the first loads what all share
        guide = compile_index("x\n" + _ANY, _words("abcdefghi\n", length)).guide()
        counts.append(executed_calls(guide.mask))
    assert counts[2] < counts[1] + 50


@pytest.mark.parametrize("spec", _AMBIGUOUS, ids=lambda spec: str(spec)[:40])
def test_all_work_of_a_call_is_counted(spec: Composition) -> None:
    vocabulary = _words("ab[]1", 4)
    index = compile_index(spec, vocabulary)
    tables, guide = index.tables, index.guide()
    assert isinstance(tables, CompositionIndex)
    for _ in range(4):
        for call in (
            guide.mask, lambda: guide.remaining, lambda: guide.mask_within(3), lambda: guide.advance(ord("1"))
        ):  # fmt: skip
            assert executed_calls(call) < 3_000 + 60 * tables.steps.spent


@pytest.mark.parametrize(("spec", "most"), [(_AMBIGUOUS[3], 8_000), (_AMBIGUOUS[5], 500)])
def test_a_call_takes_at_most_its_steps(spec: Composition, most: int) -> None:
    vocabulary = _words("ab[]1", 4)
    guide, other = (compile_index(spec, vocabulary, Limits(call_steps=n)).guide() for n in (most, 100_000))
    with pytest.raises(LimitError, match=r"^call_steps: "):
        guide.mask()
    assert (guide.state, guide.remaining) == (other.state, other.remaining)
    guide.advance(ord("1"))
    other.advance(ord("1"))
    assert guide.remaining == other.remaining


def test_a_text_is_read_in_linear_time() -> None:
    spec = FreeText() + JsonSchema({"type": "array"}) + FreeText()
    index = compile_index(spec, BYTES)
    counts = [executed_calls(lambda n=n: index.accepts("[1] x [2] " * n)) for n in (50, 200)]
    assert counts[1] < 6 * counts[0]
    with pytest.raises(LimitError, match=r"^(call_steps|readings): "):
        index.accepts("[" * 5_000)


_STRINGS = st.text("ab<é", min_size=1, max_size=4)


def is_dispatched(text: str, patterns: dict[str, str], excludes: list[str]) -> bool:
    """Whether a text ends in what matches the pattern of the first stop string, the longest that ends there."""
    for end in range(len(text) + 1):
        read = text[:end]
        if any(each in read for each in excludes):
            return False
        if found := max((stop for stop in patterns if read.endswith(stop)), key=len, default=None):
            return re.fullmatch(patterns[found], text[end:]) is not None
    return False


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(_STRINGS, min_size=1, max_size=5, unique=True), st.lists(_STRINGS, max_size=2), st.data())
def test_a_dispatch_is_one_branch_for_each_stop_string(stops: list[str], excludes: list[str], data: Any) -> None:
    patterns = [data.draw(st.sampled_from(_LEAVES)) for _ in stops]
    parts = [Regex(pattern).named(f"n{i}") for i, pattern in enumerate(patterns)]
    branches = Alternatives(
        tuple(
            FreeText(stop, [*(other for other in stops if other != stop), *excludes]) + part
            for stop, part in zip(stops, parts, strict=True)
        )
    )
    dispatch = Dispatch((FreeText(stops, excludes), *parts))
    said = data.draw(st.lists(st.sampled_from([*stops, *"abc<"]), max_size=6).map("".join))
    if all(any(each in stop for each in excludes) for stop in stops):
        with pytest.raises(VocabularyError, match="the language is empty"):
            compile_index(dispatch, BYTES)
        return
    assert compile_index(dispatch, BYTES).accepts(said) == is_dispatched(
        said, dict(zip(stops, patterns, strict=True)), excludes
    )
    if any(one != other and one.endswith(other) for one in stops for other in stops):
        return  # the branches of strings that end together exclude each other
    rest = FreeText(excludes=[*stops, *excludes])
    one, other = (Concatenation((Repeat(each), rest)) for each in (dispatch, branches))
    found, expected = (compile_index(each, BYTES).tables for each in (one, other))
    assert isinstance(found, RegularIndex)
    assert isinstance(expected, RegularIndex)
    assert found.automaton == expected.automaton
    text = data.draw(st.text("ab<é", max_size=9)).encode()
    assert captured(Captures(one, Limits()), text) == captured(Captures(other, Limits()), text)


def test_free_texts_with_many_stop_strings_take_linear_work() -> None:
    counts = []
    for n in (100, 400):
        stops = [f"<{number:04}>" for number in range(n)]
        spec = Dispatch((FreeText(stops, excludes=("</end>",)), *map(str, range(n)))) + FreeText(excludes=stops)
        counts.append(executed_calls(lambda spec=spec: compile_index(spec, BYTES)))
        assert compile_index(spec, BYTES).accepts("free <0077>77 text")
        assert captured(Captures(spec, Limits()), b"free <0077>77 text") == []
    assert counts[1] < 6 * counts[0]
    with pytest.raises(LimitError, match=r"^nfa_states: "):
        compile_index(FreeText([chr(0x4E00 + n) + "ab" for n in range(2_000)]) + "a", BYTES)


def test_captures_take_at_most_their_steps() -> None:
    spec = Repeat(Repeat(Repeat(Maybe("a"), 0, 20), 0, 20), 0, 20).named("a") + "c"
    with pytest.raises(LimitError, match=r"^call_steps: "):
        captured(Captures(spec, Limits(call_steps=5_000)), b"aac")
    with pytest.raises(LimitError, match=r"^readings: "):
        captured(Captures(spec, Limits()), b"aac")
    found = captured(Captures(Repeat(Regex("[a-z]").named("a")) + "c", Limits(call_steps=6_000)), b"ab" * 1_000 + b"c")
    assert found is not None
    assert len(found) == 2_000
    with pytest.raises(LimitError, match=r"^nfa_states: "):
        Captures(spec, Limits(nfa_states=100_000))
    assert Captures(spec, Limits(nfa_states=400_000)).nfa.leaves


def test_the_table_of_a_vocabulary_without_some_bytes_fits_the_compiled_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else each new process loads numba, which takes half a second (`python -m benchmarks.hostile`)."""
    met = []

    def merge_columns(table: Any, classes: Any) -> Any:
        met.append(table.flags.c_contiguous)
        return columns_merged(table, classes)

    monkeypatch.setattr(network, "merge_columns", merge_columns)
    vocabulary = Vocabulary([b"a", b"b", b"1", b"[", b"]", None], eos=[5])
    assert compile_index(Regex("[ab]+c?") + JsonSchema({"type": "array"}) + Regex("b"), vocabulary).accepts(b"ab[1]b")
    assert met == [True]
