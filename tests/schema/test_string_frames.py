"""Frames of strings read what their automata read, wherever they run on in a common frame."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.arrays import DEAD
from guided.automata.automaton import Automaton
from guided.automata.nearest import shortest_by_label
from guided.automata.pushdown import ACTION, LIVE, MANY, PLAN, PushdownTables, action_entry
from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.pushdown.exclusions import Exclusions
from guided.schema.pushdown.string_frames import StringFrames
from guided.schema.pushdown.structure import Structure, structure_of
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.labeled import Labeled
from guided.schema.strings.overlay import canonical_body
from guided.vocabulary.vocabulary import Vocabulary

TEXTS = ["", "a", "ab", "é€", "aé", 'a"', "\\", "\n", "\x1f", "😀"]
ATOMS = [
    *(("strings", (text,)) for text in TEXTS),
    ("strings", ("a", "b", "é")),
    ("pattern", "a"),
    ("pattern", "^a"),
    ("pattern", "é$"),
    ("pattern", "^[ -~]*$"),
    ("length", 1, 3),
]
PIECES = [
    *(bytes([letter]) for letter in b'ab\\"nu001f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'),
    b"\\n",
    b"\\u001f",
    "é€".encode(),
]


def automaton_of(chance: random.Random, formulas: Formulas, options: JsonOptions, n_observed: int) -> Labeled:
    def formula() -> int:
        members = [formulas.atom(atom) for atom in chance.sample(ATOMS, chance.choice([1, 1, 2]))]
        members = [formulas.negation(one) if chance.random() < 0.4 else one for one in members]
        return formulas.conjunction(members) if chance.random() < 0.6 else formulas.disjunction(members)

    wanted = [formula() if chance.random() < 0.8 else 1, *(formula() for _ in range(n_observed))]
    return string_automaton(formulas, wanted, options, Limits())


def made(structure: Structure, leaf: Labeled) -> tuple[StringFrames, np.ndarray, int, np.ndarray]:
    """A frame whose ends are numbered by label, 0 being that of all strings; the frame's rows are those of the tables."""
    tables = structure.tables.copy()
    done = [action_entry(structure.value_done), *(action_entry(tables.action()) for _ in range(8))]
    automaton = leaf.automaton
    ends = np.where(automaton.accepting, np.array(done, np.int32)[automaton.labels], 0).astype(np.int32)
    frames = StringFrames(structure.quoted[0], tables, done[0])
    first = frames.frame(automaton, ends, None, None, 0x22)
    return frames, ends, first, tables.rows[: tables.n_controls]


@pytest.mark.slow
@given(st.sampled_from(["canonical", "any"]), st.integers(0, 2), st.randoms(use_true_random=False))
def test_frames_read_the_texts_of_their_automata(escapes: str, n_observed: int, chance: random.Random) -> None:
    options = JsonOptions(escapes=escapes)
    structure = structure_of(options, bytes([1] * 256))
    leaf = automaton_of(chance, Formulas(), options, n_observed)
    automaton = leaf.automaton
    _, ends, first, rows = made(structure, leaf)
    for _ in range(60):
        state, control = 0, first
        for byte in b"".join(chance.choices(PIECES, k=chance.randrange(8))):
            entry = int(rows[control, byte])
            state = int(automaton.table[state, automaton.classes[byte]]) if byte != 0x22 or not ends[state] else DEAD
            assert (entry >= 0) == (state >= 0)
            if state < 0:
                break
            control = entry
            after = automaton.table[state, automaton.classes[0x22]]
            if ends[state] or after < 0:
                assert rows[control, 0x22] == (ends[state] or DEAD)


@pytest.mark.parametrize(
    ("atoms", "n_own", "has_copy"),
    [
        ((("strings", ("abc",)),), 4, False),
        ((("strings", ("abc", "abd")), ("pattern", "^x")), 4, True),
    ],
)
def test_unrestricted_strings_have_the_common_frame(
    atoms: tuple[tuple[object, ...], ...], n_own: int, has_copy: bool
) -> None:
    """Of a string of which it is observed whether it is a constant, only the constant's bytes have controls of their own."""
    options, formulas = JsonOptions(), Formulas()
    structure = structure_of(options, bytes([1] * 256))
    leaf = string_automaton(formulas, (1, *(formulas.atom(atom) for atom in atoms)), options, Limits())
    frames, _, first, rows = made(structure, leaf)
    reached, todo = {first}, [first]
    for control in todo:  # grows on the way
        for entry in set(rows[control].tolist()):
            if entry >= 0 and entry not in reached:
                reached.add(entry)
                todo.append(entry)
    assert structure.string in reached
    info = frames._tables.info
    broad = [
        control
        for control in reached
        if control >= first and info[control, LIVE] > MANY and rows[control, 0x61] > ACTION
    ]
    between = [control for control in broad if rows[control, 0x7A] >= 0]
    assert len(between) == n_own
    assert all(info[control, PLAN] == structure.string for control in between)
    assert has_copy == any(structure.tables.n_controls <= control < first for control in reached)


@pytest.mark.slow
@given(st.lists(st.text(st.sampled_from('aé€😀"\\\nb'), max_size=4), max_size=6), st.randoms(use_true_random=False))
def test_frames_of_all_strings_but_some_read_the_texts_of_their_automata(
    texts: list[str], chance: random.Random
) -> None:
    options, formulas = JsonOptions(), Formulas()
    structure = structure_of(options, bytes([1] * 256))
    apart = [formulas.negation(formulas.atom(("strings", (text,)))) for text in texts]
    automaton = string_automaton(formulas, (formulas.conjunction(apart),), options, Limits()).automaton
    tables = structure.tables.copy()
    done = action_entry(structure.value_done)
    exclusions = Exclusions(tables, is_number=False)
    first = exclusions.without_chain(structure.string, 1, lambda _: (0, list(map(canonical_body, texts))))
    assert first is not None
    bodies = [
        *map(canonical_body, texts),
        *(b"".join(chance.choices(PIECES, k=chance.randrange(8))) for _ in range(40)),
    ]
    for body in bodies:
        state, control = 0, first
        for byte in body:
            state = int(automaton.table[state, automaton.classes[byte]])
            entry = int(tables.rows[control, byte])
            assert (entry >= 0) == (state >= 0)
            if state < 0:
                break
            control = entry
            # Within an escape the quote is a character.
            if automaton.table[state, automaton.classes[0x22]] < 0:
                assert tables.rows[control, 0x22] == (done if automaton.accepting[state] else DEAD)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "not": {"enum": ["", "a", "ab", 'a"b', "é€", "\n"]}},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 3},
        {
            "type": "array",
            "prefixItems": [{"type": "string", "maxLength": 2}, {"not": {"const": "ab"}, "type": "string"}],
        },
    ],
)
def test_masks_with_excluded_strings(schema: dict[str, object]) -> None:
    tokens = [
        *(bytes([byte]) for byte in range(256)),
        b'"a',
        b'"ab"',
        b'"a",',
        b'","',
        b'", "a"',
        b'b"',
        b'""',
        "é€".encode(),
        b'a"b',
    ]
    vocabulary = Vocabulary([*tokens, None], eos=[len(tokens)])
    index = compile_spec(JsonSchema(schema), vocabulary)
    n_met = 0
    for text in (
        b'"',
        b'"a',
        b'"ab',
        '"é€'.encode(),
        b'"a\\"b',
        b'["a", "b", "',
        b'["a","ab","a',
        b'["ab", "a',
        b'["a", "ab',
    ):
        guide = index.guide()
        if guide.validate(list(text)) < len(text):
            continue
        n_met += 1
        guide.advance_many(text)
        for token, data in enumerate(tokens):
            assert (guide.validate([token]) == 1) == (guide.validate(list(data)) == len(data)), (text, data)
        left = guide.remaining
        while not guide.is_accepting:
            bits = np.unpackbits(guide.mask_within(left).view(np.uint8), bitorder="little")
            guide.advance(int(np.flatnonzero(bits)[0]))
            left -= 1
    assert n_met >= 2


LONG = [f"{number**3 % 10**9:09}" for number in range(100, 900)]
FEW_BYTES = Limits(growth_bytes=1_000_000)
BYTES = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])


@pytest.mark.parametrize("escapes", ["canonical", "any"])
@pytest.mark.parametrize(
    ("inner", "place"),
    [
        ({"enum": LONG}, "/items/enum"),
        ({"enum": [None, *LONG]}, "/items/enum"),
        ({"type": "string", "enum": LONG}, "/items/enum"),
        ({"anyOf": [{"enum": LONG}, {"type": "null"}]}, "/items/anyOf/0/enum"),
        ({"pattern": f"^({'|'.join(LONG)})$", "type": "string"}, "/items/pattern"),
    ],
)
def test_a_list_that_no_text_could_contain_is_refused_at_once(inner: object, place: str, escapes: str) -> None:
    spec = JsonSchema({"type": "array", "items": inner}, escapes=escapes)
    with pytest.raises(LimitError, match=f"{place} lists too many") as caught:
        compile_spec(spec, BYTES, limits=FEW_BYTES)
    assert caught.value.what == "growth_bytes"
    compile_spec(spec, BYTES)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"enum": LONG[:40]}, LONG[3]),
        ({"enum": LONG, "pattern": "^001"}, LONG[0]),
        ({"allOf": [{"enum": LONG}, {"enum": LONG[:5]}]}, LONG[3]),
        ({"anyOf": [{"type": "string", "not": {"enum": LONG}}, {"type": "null"}]}, None),
    ],
)
def test_a_list_of_which_little_is_left_is_not_refused(schema: object, text: str | None) -> None:
    guide = compile_spec(JsonSchema(schema), BYTES, limits=FEW_BYTES).guide()
    for byte in json.dumps(text).encode():
        guide.mask()
        guide.advance(byte)
    assert guide.is_accepting


def test_a_frame_is_counted_before_it_has_room() -> None:
    tables = PushdownTables()
    tables.steps.limit = 1_000
    room = len(tables.rows)
    with pytest.raises(LimitError, match="call_steps"):
        tables.reserve(100_000)
    assert (len(tables.rows), tables.n_controls) == (room, 0)


@given(st.data(), st.integers(1, 9), st.integers(1, 3))
def test_shortest_texts_by_label_are_those_of_a_search_for_each(data: st.DataObject, n: int, k: int) -> None:
    """Searching forward once for all labels finds what searching backward from the ends of each finds."""
    states = st.lists(st.integers(-1, n - 1), min_size=n * k, max_size=n * k)
    table = np.array(data.draw(states), np.int32).reshape(n, k)
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), np.int32)
    accepting = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
    classes = (np.arange(256) % k).astype(np.uint8)
    automaton = Automaton.from_table(table, classes, accepting, labels)
    found = shortest_by_label(automaton, 4).tolist()
    for label, shortest in enumerate(found):
        expected = int(automaton.distances(automaton.accepting & (automaton.labels == label))[0])
        assert shortest == (expected if expected >= 0 else np.iinfo(np.int32).max)
