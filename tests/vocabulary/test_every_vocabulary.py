"""Every kind of vocabulary: usual patterns compile, and their masks are what reading token by token gives.

The oracle knows neither trie nor functions: it reads each token's bytes through the automaton's table from one state.
"""

import random
import subprocess
from functools import cache

import numpy as np
import pytest

from benchmarks import vocabularies
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex, Spec
from guided.errors import VocabularyError
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits

GEMMA = "gemma-like-262k"
NAMES = (*vocabularies.NAMES, GEMMA)
STATES = 2


def double(x: int) -> int:
    """Twice a number."""
    return 2 * x


def now() -> str:
    """The time; a call without arguments needs no stack."""
    return "noon"


SPECS: dict[str, Spec] = {
    "integer": Regex(r"-?(?:0|[1-9]\d{0,18})"),
    "date": Regex(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T\d{2}:\d{2}:\d{2}Z"),
    "string": Regex(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]){0,60}"'),
    "words": Regex(r"\w+(?:[ -]\w+)*[.!?]?"),
    "not": Regex(r"(?!the\b)[a-zé ]+(?<! )"),
    "choice": Choice(["Zürich", "Genève", "東京", "🙂", "New York", "newline\n", "tab\t"]),
    "tools": Tools([now]),
}


@cache
def vocabulary(name: str) -> Vocabulary:
    if name == GEMMA:
        return gemma_like()
    try:
        return vocabularies.vocabulary(name)
    except subprocess.CalledProcessError:
        pytest.skip(f"{name} was not fetched")


def gemma_like(size: int = 262_144, width: int = 262_208) -> Vocabulary:
    """As Gemma 3: special tokens first, then runs of newlines, tabs and spaces, bytes, pieces with a space before them, characters."""
    draw = random.Random(5)
    special = {"<pad>": 0, "<eos>": 1, "<bos>": 2, "<unk>": 3, "<start_of_turn>": 105, "<end_of_turn>": 106}
    pieces: dict[bytes, None] = {}
    for character in "\n\t ":
        pieces.update(dict.fromkeys(character.encode() * count for count in range(1, 32)))
    alphabets = [
        "abcdefghijklmnopqrstuvwxyz",
        "абвгдежзийклмнопрстуфхцчшщъыьэюя",
        "αβγδεζηθικλμνξοπρστυφχψω",
        "اأبتثجحخدذرزسشصضطظعغفقكلمنهوي",
    ]
    weights = [12, 3, 1, 1]
    for point in (*range(0x4E00, 0x9FFF, 2), *range(0xAC00, 0xD7A3, 3), *range(0x1F300, 0x1F6FF), *range(0xA1, 0x530)):
        pieces[chr(point).encode()] = None
    n_pieces = size - 107 - 256
    while len(pieces) < n_pieces:
        (alphabet,) = draw.choices(alphabets, weights)
        word = "".join(draw.choices(alphabet, k=draw.randint(1, 9)))
        form = draw.choice([str.lower, str.lower, str.capitalize, str.upper])(word)
        pieces[(" " * draw.randint(0, 1) + form).encode()] = None
    tokens: list[bytes | None] = [None] * 107
    tokens += [bytes([value]) for value in range(256)]
    tokens += pieces
    return Vocabulary(tokens[:size], eos=[1, 106], size=width, special=special)


def reads(index: Index, state: int) -> dict[int, int]:
    """Tokens that can be read from a state, and where each leads."""
    automaton = index.tables.automaton
    rows = automaton.table[:, automaton.classes].tolist()
    distance = index.tables.distance.tolist()
    found = {}
    # Special tokens that a format writes as text have bytes for its index: `markers`.
    for token, data in enumerate(index.vocabulary.tokens):
        if data is None:
            continue
        at = state
        for byte in data:
            at = rows[at][byte]
            if at < 0:
                break
        else:
            if distance[at] >= 0:
                found[token] = at
    if automaton.accepting[state]:
        found |= dict.fromkeys(index.vocabulary.eos, index.final)
    return found


def check(index: Index, state: int) -> None:
    expected = reads(index, state)
    assert index.allowed(state).tolist() == sorted(expected)
    assert bits(index.mask(state)) == sorted(expected)
    draw = random.Random(state)
    some = [*draw.sample(sorted(expected), min(50, len(expected))), *draw.choices(range(index.vocabulary.size), k=50)]
    assert [index.next(state, token) for token in some] == [expected.get(token, -1) for token in some]
    near = min((0 if to == index.final else index.remaining(to)) for to in expected.values())
    assert index.remaining(state) in (0, near + 1)


@pytest.mark.network
@pytest.mark.parametrize("name", NAMES)
def test_masks_equal_those_of_reading_token_by_token(name: str) -> None:
    draw = random.Random(name)
    for number, (kind, spec) in enumerate(SPECS.items()):
        index = compile_spec(spec, vocabulary(name))
        live = np.flatnonzero(index.tables.distance >= 0).tolist()
        count = STATES if number % 2 else 1
        for state in {0, *draw.sample(live, min(count, len(live)))} if kind != "tools" else {0}:
            check(index, state)


@pytest.mark.network
@pytest.mark.parametrize("name", NAMES)
def test_masks_with_a_stack_equal_those_of_reading_byte_by_byte(name: str) -> None:
    definition = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    index = compile_spec(Tools([definition, double], tool_choice="required"), vocabulary(name))
    for text in (
        b"",
        b'{"name": "f", "arguments": {',
        b'{"name": "f", "arguments": {"x": 1',
        b'{"name": "double", "arguments": {',
    ):
        state, count = index.tables.trace(index.initial, text)
        assert count == len(text)
        readable = {byte: index.tables.trace(state, bytes([byte]))[1] for byte in range(256)}
        expected = [
            token
            for token, data in enumerate(index.vocabulary.tokens)
            if data and readable[data[0]] and index.tables.trace(state, data)[1] == len(data)
        ]
        assert index.allowed(state).tolist() == expected


@pytest.mark.network
@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_a_text_leads_on(name: str) -> None:
    """A text of the language is read by tokens greedily cut, and by any cut into shorter ones."""
    index = compile_spec(Regex(r"(?s).{1,200}"), vocabulary(name))
    text = "The naïve café: 12,345 €  —\n\tdef f(x):  return x ** 2  # 東京 🙂".encode()
    for longest in (index.vocabulary.trie.max_depth, 3, 1):
        held = {data: token for token, data in enumerate(index.vocabulary.tokens) if data and len(data) <= longest}
        state, at = 0, 0
        while at < len(text):
            data = next(text[at : at + n] for n in range(longest, 0, -1) if text[at : at + n] in held)
            state, at = index.next(state, held[data]), at + len(data)
            assert state >= 0
        assert index.is_accepting(state)
        assert set(index.vocabulary.eos) <= set(index.allowed(state).tolist())


@pytest.mark.network
@pytest.mark.parametrize("name", NAMES)
def test_bytes_that_a_vocabulary_cannot_spell_are_reported(name: str) -> None:
    full = vocabulary(name)
    tokens = [None if data and b"z" in data else data for data in full.tokens]
    without = Vocabulary(tokens, full.eos, full.size, full.special)
    with pytest.raises(VocabularyError, match=r"b'z', which no token holds"):
        compile_spec(Regex("[xy]z+"), without)
    index = compile_spec(Regex("[xy](?:z+|w)"), without)
    assert index.accepts(b"xz")
    assert all(data is None or data[:1] in (b"x", b"y") for data in map(without.__getitem__, index.allowed(0).tolist()))
    alone = [data if data is None or len(data) > 1 or data != b"q" else None for data in full.tokens]
    with pytest.raises(VocabularyError, match=r"b'q', which no token has alone"):
        compile_spec(
            Regex("~q~~"),
            Vocabulary(
                [t if t is None or len(t) == 1 or b"~" not in t else None for t in alone],
                full.eos,
                full.size,
                full.special,
            ),
        )


@pytest.mark.network
def test_bytes_that_real_vocabularies_lack_are_named() -> None:
    full = vocabulary("smollm2")
    lacking = set(full.missing_bytes) - {byte for data in full.tokens if data for byte in data}
    valid = sorted(byte for byte in lacking if 0xC2 <= byte <= 0xF4 and byte not in (0xE0, 0xED, 0xF0, 0xF4))
    if not valid:
        pytest.skip("it holds all bytes of UTF-8")
    text = (bytes([valid[0]]) + b"\x80" * (1 if valid[0] < 0xE0 else 2 if valid[0] < 0xF0 else 3)).decode()
    with pytest.raises(VocabularyError, match="which no token holds"):
        compile_spec(Regex(text), full)
