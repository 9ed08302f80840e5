"""The laws of a guide: whatever was done, it stands where a fresh one stands after the same tokens."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.automata.build import from_tree
from guided.engine.compile import compile as compile_index
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.errors import LimitError, TokenRejected
from guided.guide.guide import Guide
from guided.index.regular import build_regular
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Node
from guided.vocabulary.vocabulary import Vocabulary
from tests.oracles import AllTexts, SlowIndex, common_prefix, matches
from tests.profiles import examples
from tests.strategies import trees, vocabularies

BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)


@pytest.mark.parametrize("is_composition", [False, True])
def test_tokens_may_be_numbers_of_numpy(is_composition: bool) -> None:
    """In any state: a state and a token are one key, which has more bits than such a number."""
    spec = JsonSchema({"type": "array"})
    guide = compile_index("x" + spec if is_composition else spec, BYTES).guide()
    for token in np.frombuffer(b"x" * is_composition + b"[" * 300, np.uint8).astype(np.int32):
        guide.advance(token)
    assert guide.state >= 128


class Replay:
    """The definition of a guide: the tokens read, and everything computed from them anew."""

    def __init__(self, slow: SlowIndex, tokens: list[int]) -> None:
        self.slow, self.tokens = slow, tokens

    @property
    def state(self) -> int:
        state = 0
        for token in self.tokens:
            state = self.slow.steps[state][token]
        return state

    def readable(self, tokens: list[int]) -> int:
        state = self.state
        for count, token in enumerate(tokens):
            if token not in self.slow.steps[state]:
                return count
            state = self.slow.steps[state][token]
        return len(tokens)

    def check(self, guide: Guide) -> None:
        state, slow = self.state, self.slow
        assert guide.state == state
        assert len(guide) == len(self.tokens)
        assert guide.is_finished == (state == slow.final)
        assert guide.is_accepting == (state == slow.final or state in slow.accepting)
        assert guide.remaining == (0 if guide.is_finished else slow.distance[state])
        expected = slow.mask(slow.allowed(state))
        assert np.array_equal(guide.mask(), expected)
        out = np.full(expected.shape, -1, np.int32)
        assert guide.mask(out) is out
        assert np.array_equal(out, expected)
        within = [] if guide.is_finished else slow.allowed_within(state, guide.remaining)
        assert np.array_equal(guide.mask_within(guide.remaining), slow.mask(within))


@st.composite
def places(draw: st.DrawFn) -> tuple[Index, SlowIndex]:
    tree, vocabulary = draw(trees('ab"é', max_leaves=6)), draw(vocabularies(max_tokens=12))
    automaton = from_tree(tree)
    slow = SlowIndex(automaton, vocabulary)
    assume(0 in slow.distance)
    return Index(build_regular(automaton, vocabulary, Limits()), vocabulary, "test"), slow


@settings(max_examples=examples(200))
@given(places(), st.data())
def test_any_history_is_a_fresh_replay(place: tuple[Index, SlowIndex], data: st.DataObject) -> None:
    index, slow = place
    guides = [(index.guide(), Replay(slow, []))]
    for _ in range(data.draw(st.integers(1, 15))):
        number = data.draw(st.integers(0, len(guides) - 1))
        guide, replay = guides[number]
        allowed = slow.allowed(replay.state)
        any_token = st.integers(-2, slow.vocabulary.size + 33)
        token = st.one_of(st.sampled_from(allowed), any_token) if allowed else any_token
        match data.draw(
            st.sampled_from(["advance", "advance", "advance", "many", "validate", "rollback", "fork", "reset"])
        ):
            case "advance":
                chosen = data.draw(token)
                if chosen in allowed:
                    guide.advance(chosen)
                    replay.tokens.append(chosen)
                else:
                    with pytest.raises(TokenRejected):
                        guide.advance(chosen)
            case "many":
                tokens = data.draw(st.lists(token, max_size=4))
                count = replay.readable(tokens)
                assert guide.validate(tokens) == count
                assert guide.advance_many(tokens) == count
                replay.tokens += tokens[:count]
            case "validate":
                tokens = data.draw(st.lists(token, max_size=4))
                assert guide.validate(tokens) == replay.readable(tokens)
            case "rollback":
                n = data.draw(st.integers(0, len(replay.tokens) + 1))
                if n > len(replay.tokens):
                    with pytest.raises(LimitError):
                        guide.rollback(n)
                else:
                    guide.rollback(n)
                    del replay.tokens[len(replay.tokens) - n :]
            case "fork":
                guides.append((guide.fork(), Replay(slow, replay.tokens.copy())))
            case "reset":
                guide.reset()
                replay.tokens.clear()
        for guide, replay in guides:
            replay.check(guide)


def walked(index: Index, tokens: list[int]) -> Guide:
    guide = index.guide()
    assert guide.advance_many(tokens) == len(tokens)
    return guide


AB = Vocabulary([b"a", b"b", b"ab", b"ba"], eos=[4, 6], size=40)


def test_rollback_past_eos_reopens() -> None:
    index = compile_index(Regex("(ab)*"), AB)
    guide = walked(index, [2, 0, 1, 6])
    assert guide.is_finished
    assert guide.is_accepting
    assert not guide.mask().any()
    assert guide.remaining == 0
    guide.rollback(1)
    assert not guide.is_finished
    assert index.allowed(guide.state).tolist() == [0, 2, 4, 6]
    guide.advance(4)
    guide.rollback(3)
    assert (guide.state, len(guide)) == (index.next(0, 2), 1)
    guide.rollback(1)
    assert guide.state == index.initial
    guide.rollback(0)


def test_nothing_follows_eos() -> None:
    guide = walked(compile_index(Regex("(ab)*"), AB), [4])
    for token in range(40):
        with pytest.raises(TokenRejected, match="expected nothing"):
            guide.advance(token)
    assert guide.validate([4]) == 0
    assert guide.forced() == b""
    assert not guide.mask_within(0).any()
    assert not guide.mask_within(5).any()


def test_a_refused_token_changes_nothing() -> None:
    guide = walked(compile_index(Regex("(ab)*"), AB), [2])
    before = (guide.state, len(guide), guide.mask().tobytes())
    for token in (1, 3, 5, 39, 40, -1, 10**20):
        with pytest.raises(TokenRejected) as error:
            guide.advance(token)
        assert error.value.token == token
        assert (guide.state, len(guide), guide.mask().tobytes()) == before


@pytest.mark.parametrize("token", ["a", None, 1.5, b"a", [1]])
def test_a_token_that_is_not_an_integer_is_a_type_error(token: object) -> None:
    guide = compile_index(Regex("(ab)*"), AB).guide()
    with pytest.raises(TypeError, match=f"a token must be an int, not {type(token).__name__}"):
        guide.advance(token)  # type: ignore[arg-type]
    assert len(guide) == 0


def test_tokens_of_numpy_are_integers_too() -> None:
    guide = compile_index(Regex("(ab)*"), AB).guide()
    tokens = np.array([2, 0, 1, 4])
    assert guide.validate(tokens) == 4
    guide.advance(tokens[0])
    assert guide.advance_many(tokens[1:]) == 3
    assert guide.is_finished


def test_advance_many_takes_any_iterable_and_stops_at_the_first_refused() -> None:
    guide = compile_index(Regex("(ab)*"), AB).guide()
    read = []

    def tokens():
        for token in (2, 2, 1, 2):
            read.append(token)
            yield token

    assert guide.advance_many(tokens()) == 2
    assert read == [2, 2, 1]
    assert len(guide) == 2


def test_forks_go_their_own_ways() -> None:
    guide = walked(compile_index(Regex("a*b*"), AB), [0])
    twin = guide.fork()
    guide.advance(1)
    twin.advance(0)
    assert (len(guide), len(twin)) == (2, 2)
    assert guide.state != twin.state
    twin.rollback(2)
    assert guide.fork().state == guide.state
    assert twin.state == 0


def test_a_guide_is_true_at_every_length() -> None:
    guide = compile_index(Regex("a*"), AB).guide()
    assert len(guide) == 0
    assert guide


@pytest.mark.parametrize(
    ("n", "kind", "message"),
    [
        (3, LimitError, "rollback: 3 needed, 2 allowed; fewer tokens were read"),
        (-1, ValueError, "rollback needs a number of tokens, not -1"),
        (1.5, TypeError, "'float' object cannot be interpreted as an integer"),
        ("1", TypeError, "'str' object cannot be interpreted as an integer"),
    ],
)  # fmt: skip
def test_rollback_refuses(n: object, kind: type[Exception], message: str) -> None:
    guide = walked(compile_index(Regex("a*"), AB), [0, 0])
    with pytest.raises(kind, match=message):
        guide.rollback(n)  # type: ignore[arg-type]
    assert len(guide) == 2


def frozen() -> np.ndarray:
    array = np.zeros(2, np.int32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "kind", "message"),
    [
        (np.zeros(2, np.int64), TypeError, "out must be an ndarray of int32, not one of int64"),
        (np.zeros(2, np.uint32), TypeError, "not one of uint32"),
        (np.zeros(2, ">i4"), TypeError, "not one of >i4"),
        (np.zeros(2, np.bool_), TypeError, "not one of bool"),
        ([0, 0], TypeError, "out must be an ndarray of int32, not list"),
        (bytearray(8), TypeError, "not bytearray"),
        (np.zeros(1, np.int32), ValueError, r"out has shape \(1,\), the mask has \(2,\)"),
        (np.zeros(3, np.int32), ValueError, r"out has shape \(3,\)"),
        (np.zeros((1, 2), np.int32), ValueError, r"out has shape \(1, 2\)"),
        (np.zeros((2, 2), np.int32), ValueError, r"out has shape \(2, 2\)"),
        (frozen(), ValueError, "read-only"),
    ],
)  # fmt: skip
def test_masks_go_into_arrays_that_fit(out: object, kind: type[Exception], message: str) -> None:
    guide = compile_index(Regex("a*"), AB).guide()
    with pytest.raises(kind, match=message):
        guide.mask(out)  # type: ignore[arg-type]


def test_masks_go_into_rows_of_a_larger_array() -> None:
    guide = compile_index(Regex("a*"), AB).guide()
    rows, strided = np.full((3, 2), -1, np.int32), np.full(4, -1, np.int32)
    guide.mask(rows[1])
    assert rows.tolist() == [[-1, -1], guide.mask().tolist(), [-1, -1]]
    guide.mask(strided[::2])
    assert strided.tolist() == [guide.mask()[0], -1, guide.mask()[1], -1]


def test_masks_without_out_are_shared_and_read_only() -> None:
    index = compile_index(Regex("a*"), AB)
    first, second = index.guide().mask(), walked(index, [0]).mask()
    assert first is second
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        walked(index, [4]).mask()[0] = 1


@pytest.mark.parametrize(("budget", "allowed"), [(0, [4, 6]), (1, [2, 4, 6]), (2, [0, 2, 4, 6]), (9, [0, 2, 4, 6])])
def test_mask_within_where_the_text_may_end(budget: int, allowed: list[int]) -> None:
    guide = compile_index(Regex("(ab)*"), AB).guide()
    words = guide.mask_within(budget)
    assert [token for token in range(40) if int(words[token >> 5]) >> (token & 31) & 1] == allowed
    assert not words.flags.writeable


@pytest.mark.parametrize("budget", [1, 0, -1])
def test_mask_within_too_small_a_budget(budget: int) -> None:
    guide = compile_index(Regex("(ab){2}"), AB).guide()
    with pytest.raises(
        LimitError, match=f"max_tokens: 2 needed, {budget} allowed; the shortest text that was found is longer"
    ) as error:
        guide.mask_within(budget)
    assert (error.value.what, error.value.given, error.value.limit) == ("max_tokens", 2, budget)


@settings(max_examples=examples(100))
@given(places(), st.randoms(use_true_random=False), st.integers(0, 4))
def test_steered_by_mask_within_no_text_is_cut(place: tuple[Index, SlowIndex], random, spare: int) -> None:
    index, slow = place
    guide = index.guide()
    budget = guide.remaining + spare
    while budget:
        words = guide.mask_within(budget)
        choices = [t for t in range(slow.vocabulary.size) if int(words[t >> 5]) >> (t & 31) & 1]
        assert choices
        token = random.choice(choices)
        guide.advance(token)
        if guide.is_finished:
            return
        budget -= 1
    assert guide.is_accepting


# -------------------------------------------------------------------------------------------------- forced, accepts


@settings(max_examples=examples(200))
@given(st.sets(st.text("abé", max_size=6), min_size=1, max_size=8), st.data())
def test_forced_bytes_begin_every_way_on(options: set[str], data: st.DataObject) -> None:
    words = {option.encode() for option in options}
    guide = compile_index(Choice(options), BYTES).guide()
    word = data.draw(st.sampled_from(sorted(words)))
    for position in range(len(word) + 1):
        assert guide.forced() == common_prefix([w[position:] for w in words if w.startswith(word[:position])])
        if position < len(word):
            guide.advance(word[position])


TEXTS = AllTexts("ab", 6)


@settings(max_examples=examples(200))
@given(trees("ab", max_leaves=6, boolean=False), st.data())
def test_forced_bytes_of_any_language(tree: Node, data: st.DataObject) -> None:
    """Brute force over all texts of up to six letters: sound always, and complete where the language is that short."""
    texts = [text for text, is_in in zip(TEXTS.texts, TEXTS.matched(tree), strict=True) if is_in]
    assume(texts)
    automaton = from_tree(tree)
    index = Index(build_regular(automaton, BYTES, Limits()), BYTES, "test")
    text = data.draw(st.sampled_from(texts))
    position = data.draw(st.integers(0, len(text)))
    guide = walked(index, list(text[:position].encode()))
    forced = guide.forced().decode()
    onward = [other[position:] for other in texts if other.startswith(text[:position])]
    assert all(rest.startswith(forced) or len(rest) < len(forced) for rest in onward)
    longest = len(automaton.witness() or b"") + automaton.n_states
    if longest <= 6:
        assert forced == common_prefix(onward)


@pytest.mark.parametrize(
    ("pattern", "text", "forced"),
    [
        ("abc", "", b"abc"), ("abc", "ab", b"c"), ("abc", "abc", b""), ("ab?c", "", b"a"), ("ab*", "", b"a"),
        ("ab*c", "a", b""), ("a(b|c)d", "ab", b"d"), ("[é-ü]", "", b"\xc3"), ("é|ü", "", b"\xc3"), ("(?:abc)?", "", b""),
        ("(?:abc)*", "a", b"bc"), ("a{1000}", "", b"a" * 1000), ("(?=ab).*c", "", b"ab"), ("x|xy", "", b"x"),
    ],
)  # fmt: skip
def test_forced(pattern: str, text: str, forced: bytes) -> None:
    assert walked(compile_index(Regex(pattern), BYTES), list(text.encode())).forced() == forced


@settings(max_examples=examples(100))
@given(places(), st.lists(st.text('ab"é', max_size=5), max_size=5), st.data())
def test_accepts_is_about_whole_texts_and_moves_nothing(
    place: tuple[Index, SlowIndex], texts: list[str], data: st.DataObject
) -> None:
    index, slow = place
    guide = index.guide()
    for _ in range(data.draw(st.integers(0, 3))):
        if slow.allowed(guide.state):
            guide.advance(data.draw(st.sampled_from(slow.allowed(guide.state))))
    before = guide.state, len(guide)
    for text in texts:
        assert guide.accepts(text.encode()) == index.tables.automaton.accepts(text.encode())
    assert not guide.accepts(b"\xff")
    assert (guide.state, len(guide)) == before


def test_accepts_does_not_ask_the_vocabulary() -> None:
    """A text in the language is accepted even where no tokens spell it."""
    guide = compile_index(Regex("[abc]*"), AB).guide()
    assert guide.accepts(b"abc")
    assert matches(parse("[abc]*"), "abc")
