"""Willard and Louf 2023, "Efficient Guided Generation for Large Language Models", as a checklist: O1 to O11, and O20."""

import gc
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import interegular
import numpy as np
import pytest
from hypothesis import given, settings

import guided
from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.engine.compile import compile as compile_index
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex
from guided.errors import PatternError, VocabularyError
from guided.generate.sampler import Sampler
from guided.guide.guide import Guide
from guided.index.regular import build_regular
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Node
from guided.vocabulary.vocabulary import Vocabulary
from tests.oracles import SlowIndex, find_subsequences, map_states, transitions_of
from tests.profiles import examples
from tests.strategies import patterns, trees, vocabularies

FLOAT = r"([0-9]*)?\.?[0-9]*"
WORDS = (b"A", b".", b"42", b".2", b"1")
PAPER = Vocabulary(WORDS, eos=[5], size=6)
EOS = 5


def allowed_words(index: Index, state: int) -> set[bytes]:
    return {WORDS[token] for token in index.allowed(state).tolist() if token != EOS}


def noise(seed: int, size: int) -> Callable[[list[int]], np.ndarray]:
    """A language model: logits that depend on nothing but the tokens so far."""
    return lambda tokens: np.random.default_rng([seed, *tokens]).normal(size=size).astype(np.float32)


# ------------------------------------------------------------------------------------------------- O1, O2: sampling


def algorithm_1(llm: Callable[[list[int]], np.ndarray], sampler: Sampler, steps: int) -> list[int]:
    """Basic token sampling."""
    tokens: list[int] = []
    for _ in range(steps):
        token = sampler.sample(llm(tokens))
        if token == EOS:
            break
        tokens.append(token)
    return tokens


def algorithm_2(llm: Callable[[list[int]], np.ndarray], sampler: Sampler, guide: Guide, steps: int) -> list[int]:
    """Token sampling with masking: the loop of algorithm 1 with ``m * alpha`` for ``alpha``."""
    tokens: list[int] = []
    for _ in range(steps):
        token = sampler.sample(llm(tokens), guide.mask())
        guide.advance(token)
        if token == EOS:
            break
        tokens.append(token)
    return tokens


def test_O1_basic_token_sampling_is_not_guided() -> None:
    texts = [
        b"".join(WORDS[t] for t in algorithm_1(noise(seed, 6), Sampler(temperature=1.0, seed=seed), 12)).decode()
        for seed in range(200)
    ]
    assert any(re.fullmatch(FLOAT, text) for text in texts)
    assert any(not re.fullmatch(FLOAT, text) for text in texts)


def test_O2_token_sampling_with_masking_gives_only_matches() -> None:
    index = compile_index(Regex(FLOAT), PAPER)
    texts = set()
    for seed in range(200):
        guide = index.guide()
        tokens = algorithm_2(noise(seed, 6), Sampler(temperature=1.0, seed=seed), guide, 30)
        text = b"".join(WORDS[token] for token in tokens).decode()
        if guide.is_finished:
            assert re.fullmatch(FLOAT, text), text
            texts.add(text)
    assert len(texts) > 50


def test_O2_a_mask_of_ones_is_algorithm_1() -> None:
    words = Vocabulary([b"a", b"b", b"c", b"ab", b"ca"], eos=[EOS], size=6)
    index = compile_index(Regex("[abc]*"), words)
    for seed in range(50):
        free = algorithm_1(noise(seed, 6), Sampler(temperature=1.0, seed=seed), 20)
        masked = algorithm_2(noise(seed, 6), Sampler(temperature=1.0, seed=seed), index.guide(), 20)
        assert masked == free


# ------------------------------------------------------------------------------------------------- O3, O4: the index


@settings(max_examples=examples(100))
@given(patterns('ab"é', max_leaves=6), vocabularies())
def test_O3_algorithm_3_finds_the_sequences_of_states_that_read_a_token(pattern: str, vocabulary: Vocabulary) -> None:
    automaton = from_tree(parse(pattern))
    delta, states = transitions_of(automaton), range(automaton.n_states)
    for token in filter(None, vocabulary.tokens):
        sequences = find_subsequences(delta, states, token)
        assert all(len(sequence) == len(token) + 1 for sequence in sequences)
        ends = {sequence[0]: sequence[-1] for sequence in sequences}
        assert [automaton.run(token, state) for state in states] == [ends.get(state, -1) for state in states]


@settings(max_examples=examples(100))
@given(trees('ab"é', max_leaves=6), vocabularies())
def test_O4_algorithm_4_maps_states_to_subsets_of_the_vocabulary(tree: Node, vocabulary: Vocabulary) -> None:
    """Where nothing is a dead end, the index is the paper's map and EOS; else it is that map less the dead ends."""
    automaton = from_tree(tree)
    slow = SlowIndex(automaton, vocabulary)
    if 0 not in slow.distance:
        with pytest.raises(VocabularyError):
            build_regular(automaton, vocabulary, Limits())
        return
    index = Index(build_regular(automaton, vocabulary, Limits()), vocabulary, "test")
    sigma = map_states(transitions_of(automaton), slow.states, vocabulary.tokens)
    for state in slow.states:
        mapped = {token: target for token, target in sigma[state].items() if target in slow.distance}
        found = {t: index.next(state, t) for t in index.allowed(state).tolist() if t not in vocabulary.eos}
        assert found == mapped


# ---------------------------------------------------------------------------------------- O5, O6: the paper's examples


def test_O5_the_example_of_figure_1() -> None:
    index = compile_index(Regex(FLOAT), PAPER)
    assert allowed_words(index, index.initial) == {b".", b"42", b".2", b"1"}
    assert allowed_words(index, index.next(index.initial, WORDS.index(b".2"))) == {b"42", b"1"}
    assert allowed_words(index, index.next(index.initial, WORDS.index(b"1"))) == {b".", b"42", b".2", b"1"}


NAME = r"[^\W\d]\w*"


def test_O6_the_token_f_and_the_states_of_a_name() -> None:
    """The paper's automaton has three states, of which two are equivalent: labels keep them apart as it draws them."""
    word, other = (from_tree(parse(pattern)) for pattern in (r"\w", r"\W"))
    first = np.array([word.accepts(bytes([b])) and not bytes([b]).isdigit() for b in range(128)])
    later = np.array([word.accepts(bytes([b])) for b in range(128)])
    assert other.accepts(b"-")
    classes = np.zeros(256, np.uint8)
    classes[:128] = np.where(first, 2, np.where(later, 1, 0))
    table = np.array([[-1, -1, 1], [-1, 2, 2], [-1, 2, 2]], np.int32)
    accepting = np.array([False, True, True])
    drawn = Automaton.from_table(table, classes, accepting, np.array([1, 2, 3], np.int32))
    assert find_subsequences(transitions_of(drawn), range(3), b"f") == [(0, 1), (1, 2), (2, 2)]
    index = Index(build_regular(drawn, Vocabulary([b"f"], eos=[1], size=2), Limits()), PAPER, "test")
    assert [(state, index.next(state, 0)) for state in range(3)] == [(0, 1), (1, 2), (2, 2)]
    assert index.labels.tolist() == [1, 2, 3]
    assert Automaton.from_table(table, classes, accepting).n_states == 2


def test_O6_with_interegular_and_with_our_builder() -> None:
    fsm = interegular.parse_pattern(NAME).to_fsm()
    by_hand = sorted((state, row[fsm.alphabet["f"]]) for state, row in fsm.map.items() if fsm.alphabet["f"] in row)
    live = {state for state in fsm.states if fsm.islive(state)}
    assert len([pair for pair in by_hand if pair[1] in live]) >= 2
    f = Vocabulary([b"f"], eos=[1], size=2)
    for builder in ("guided", "interegular"):
        index = compile_index(Regex(NAME, builder=builder), f)
        start, one = index.initial, index.next(index.initial, 0)
        assert (start, one, index.next(one, 0)) == (0, one, one)
        assert one != 0


# ------------------------------------------------------------------------------------------- O7, O8: stop, start, cost


@settings(max_examples=examples(60))
@given(patterns("ab1", max_leaves=6), vocabularies("ab1", complete=True, max_tokens=12))
def test_O7_a_text_is_taken_up_anywhere_from_its_state_alone(pattern: str, vocabulary: Vocabulary) -> None:
    automaton = from_tree(parse(pattern))
    if automaton.is_empty() or 0 not in SlowIndex(automaton, vocabulary).distance:
        return
    index = compile_index(Regex(pattern), vocabulary)
    generator = np.random.default_rng(0)
    for _ in range(5):
        guide, state = index.guide(), index.initial
        for _ in range(8):
            allowed = index.allowed(state)
            assert np.array_equal(guide.mask(), index.mask(state))
            if not len(allowed):
                break
            token = int(generator.choice(allowed))
            guide.advance(token)
            # Nothing is carried but this number: another index of the same spec goes on from it.
            state = index.next(state, token)
            assert guide.state == state
        again = compile_index(Regex(pattern), vocabulary)
        assert np.array_equal(again.mask(state), index.mask(state))


def calls_of(action: Callable[[], object]) -> list[str]:
    """The names of all functions, Python's and C's, that an action calls; not those of a collection that happens to fall due."""
    names: list[str] = []

    def profile(frame, event: str, argument) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)
        elif event == "c_call":
            names.append(argument.__name__)

    gc.disable()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
        gc.enable()
    return names


def vocabulary_of(size: int) -> Vocabulary:
    """All single letters first, then words of letters."""
    letters = [bytes([value]) for value in range(97, 123)]
    words = [letters[i % 26] + letters[i // 26 % 26] + letters[i // 676 % 26] + b"%d" % i for i in range(size - 27)]
    return Vocabulary([*letters, *words], eos=[size - 1], size=size)


def test_O8_the_work_of_a_step_is_flat_in_the_vocabulary() -> None:
    counts = set()
    for size in (100, 10_000, 100_000):
        guide = compile_index(Regex("[a-z0-9]*"), vocabulary_of(size)).guide()
        guide.mask()
        guide.advance(0)
        counts.add(tuple(calls_of(lambda guide=guide: (guide.mask(), guide.advance(3)))))
    assert len(counts) == 1


def test_O8_the_work_of_a_step_is_flat_in_the_length_of_the_text() -> None:
    index = compile_index(Regex("(?:[a-z]{3})*"), vocabulary_of(1_000))
    guide, counts = index.guide(), set()
    for state in range(index.n_states):
        index.mask(state)
    for _ in range(3):
        assert guide.advance_many([3] * 10_000) == 10_000
        counts.add(tuple(calls_of(lambda: (guide.mask(), guide.advance(3)))))
    assert len(guide) == 30_003
    assert len(counts) == 1


# --------------------------------------------------------------------------------------------------- O9: the listings

BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)
IP = r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)"


def generated(index: Index, seed: int) -> str:
    guide, generator = index.guide(), np.random.default_rng(seed)
    text = b""
    while True:
        token = int(generator.choice(index.allowed(guide.state)))
        guide.advance(token)
        if guide.is_finished:
            return text.decode()
        text += index.vocabulary[token] or b""


def test_O9_yes_no_never_always() -> None:
    options = ["yes", "no", "never", "always"]
    choice, regex = (
        compile_index(Choice(options), BYTES),
        compile_index(Regex(r"\s*([Yy]es|[Nn]o|[Nn]ever|[Aa]lways)"), BYTES),
    )
    assert {generated(choice, seed) for seed in range(60)} == set(options)
    found = {generated(regex, seed).strip() for seed in range(200)}
    assert {word.lower() for word in found} == set(options)
    assert found & {"Yes", "No", "Never", "Always"}


def test_O9_years() -> None:
    index = compile_index(Regex(r"\s*19[0-9]{2}"), BYTES)
    found = [generated(index, seed) for seed in range(100)]
    assert all(re.fullmatch(r"\s*19[0-9]{2}", text) for text in found)
    assert len({text.strip() for text in found}) > 50


def test_O9_ip_addresses() -> None:
    index = compile_index(Regex(IP), BYTES)
    for seed in range(200):
        parts = generated(index, seed).split(".")
        assert len(parts) == 4
        assert all(int(part) <= 255 for part in parts)
    guide = index.guide()
    assert guide.accepts(b"2.2.6.1")
    assert guide.accepts(b"255.255.255.255")
    assert not guide.accepts(b"256.1.1.1")
    assert not guide.accepts(b"1.1.1")


# ---------------------------------------------------------------------------------------------- O10, O11: end, dead ends


@settings(max_examples=examples(100))
@given(patterns('ab"é', max_leaves=6), vocabularies(complete=True))
def test_O10_eos_is_allowed_exactly_where_the_text_is_in_the_language(pattern: str, vocabulary: Vocabulary) -> None:
    automaton = from_tree(parse(pattern))
    if 0 not in SlowIndex(automaton, vocabulary).distance:
        return
    index, expression = compile_index(Regex(pattern), vocabulary), re.compile(pattern)
    work, seen = [(0, b"")], {0}
    while work:
        state, text = work.pop()
        ends = [eos for eos in vocabulary.eos if eos in index.allowed(state)]
        assert ends in ([], list(vocabulary.eos))
        try:
            is_match = expression.fullmatch(text.decode()) is not None
        except UnicodeDecodeError:  # within a character
            is_match = False
        assert bool(ends) == is_match
        for token in index.allowed(state).tolist():
            target = index.next(state, token)
            if target != index.final and target not in seen:
                seen.add(target)
                work.append((target, text + (vocabulary[token] or b"")))


@settings(max_examples=examples(100))
@given(trees('ab"é', max_leaves=6), vocabularies())
def test_O11_no_dead_end_at_the_level_of_tokens(tree: Node, vocabulary: Vocabulary) -> None:
    """From every state that can be reached, tokens that are allowed lead to an accepting one; by walking them."""
    automaton = from_tree(tree)
    if 0 not in SlowIndex(automaton, vocabulary).distance:
        return
    index = Index(build_regular(automaton, vocabulary, Limits()), vocabulary, "test")
    reached, work = {0}, [0]
    while work:
        state = work.pop()
        for token in index.allowed(state).tolist():
            target = index.next(state, token)
            assert target >= 0
            if target not in reached and target != index.final:
                reached.add(target)
                work.append(target)
    for state in reached:
        ring, seen = {state}, {state}
        while ring and not any(map(index.is_accepting, ring)):
            ring = {index.next(s, t) for s in ring for t in index.allowed(s).tolist()} - seen
            seen |= ring
        assert ring


def test_O11_a_vocabulary_that_lacks_a_byte() -> None:
    vocabulary = Vocabulary([b"{", b'"a"', b":", b"1", b"}"], eos=[5], size=6)
    assert ord(",") in vocabulary.missing_bytes
    index = compile_index(Regex(r'\{("a":1(,"a":1)*)?\}'), vocabulary)
    guide = index.guide()
    assert guide.advance_many([0, 1, 2, 3]) == 4
    assert index.allowed(guide.state).tolist() == [4]
    with pytest.raises(VocabularyError, match="needs the bytes b','"):
        compile_index(Regex(r'\{"a":1(,"a":1)+\}'), vocabulary)


# ------------------------------------------------------------------------------------------------------------- O20: files


@settings(max_examples=examples(20))
@given(patterns('ab"é', max_leaves=6), vocabularies())
def test_O20_a_saved_index_is_loaded_with_the_same_masks_and_steps(pattern: str, vocabulary: Vocabulary) -> None:
    try:
        index = compile_index(Regex(pattern), vocabulary)
    except (PatternError, VocabularyError):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "index")
        index.save(path)
        loaded = guided.load_index(path, vocabulary)
        assert (loaded.spec_fingerprint, loaded.n_states) == (index.spec_fingerprint, index.n_states)
        for state in range(index.n_states):
            assert np.array_equal(loaded.mask(state), index.mask(state))
            allowed = index.allowed(state).tolist()
            assert [loaded.next(state, token) for token in allowed] == [index.next(state, token) for token in allowed]
            assert (loaded.remaining(state), loaded.is_accepting(state)) == (
                index.remaining(state),
                index.is_accepting(state),
            )
