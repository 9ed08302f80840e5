"""Layouts: whitespace in lines is what json.dumps writes, at any depth; patterns of whitespace are those of whitespace only."""

import json
import random
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from guided.automata.pushdown import KEPT
from guided.engine.files import load_index
from guided.engine.index import Index
from guided.errors import LimitError, PatternError, SchemaError, VocabularyError
from guided.schema.formula.atoms import LARGEST_INDENT, JsonOptions
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.schema.engine import compiled
from tests.schema.oracle import Undefined
from tests.schema.oracle_text import is_text
from tests.schema.strategies import instances_near, schemas, values

INDENTS = st.sampled_from([0, 1, 2, 4, LARGEST_INDENT])
NESTED = {"a": [1, [], {}, [[True]]], "b": {"c": {"d": ["x\n y", None]}}, "": 0.5}


def dumps(value: Any, indent: int) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def mutants(text: str) -> set[str]:
    """Texts that differ in one blank or line end: put in, left out, or doubled."""
    found = {text[:at] + space + text[at:] for at in range(len(text) + 1) for space in (" ", "\n", "\t", "\r")}
    return found | {text[:at] + text[at + 1 :] for at, char in enumerate(text) if char in " \n"}


def is_pretty(text: str, indent: int) -> bool:
    """Is a text what json.dumps writes? By the standard library alone."""
    try:
        return dumps(json.loads(text), indent) == text
    except ValueError:
        return False


@given(values(), INDENTS)
def test_any_value_is_written_as_json_dumps_writes_it(value: Any, indent: int) -> None:
    index = compiled(True, whitespace=f"pretty({indent})", numbers="any", escapes="any")
    text = dumps(value, indent)
    assert index.accepts(text.encode())
    for mutant in mutants(text):
        assert index.accepts(mutant.encode()) == is_pretty(mutant, indent), mutant


@pytest.mark.slow
@given(schemas(5), INDENTS, st.data())
def test_instances_of_a_schema_in_lines(schema: Any, indent: int, data: st.DataObject) -> None:
    options = {"whitespace": f"pretty({indent})", "property_order": "any", "format": "annotate"}
    try:
        index = compiled(schema, **options)
    except (SchemaError, LimitError):
        assume(False)
        raise
    for _ in range(4):
        text = dumps(data.draw(instances_near(schema)), indent)
        chance = data.draw(st.randoms(use_true_random=False))
        for each in (text, *chance.sample(sorted(mutants(text)), 6)):
            try:
                expected = is_text(schema, each.encode(), JsonOptions(**options))
            except Undefined:
                assume(False)
                raise
            assert index.accepts(each.encode()) == expected, each


@pytest.mark.slow
def test_a_layout_has_no_depth_limit() -> None:
    value: Any = 1
    for level in range(300):
        value = {"a": value} if level % 2 else [value, level]
    for indent in (0, 1, LARGEST_INDENT):
        index = compiled(True, whitespace=f"pretty({indent})")
        text = dumps(value, indent)
        assert index.accepts(text.encode())
        bottom = text.index("1")
        assert not index.accepts((text[:bottom] + " " + text[bottom:]).encode())
        assert index.tables.automaton.tables.n_controls < 200


def steered(index: Index, seed: int) -> str:
    """A text of tokens by lot, steered to its end within a budget."""
    guide, draw, text = index.guide(), random.Random(seed), b""
    left = guide.remaining + 40
    while True:
        tokens = [token for token in bits(guide.mask_within(left)) if token not in index.vocabulary.eos]
        if not tokens or (guide.is_accepting and draw.random() < 0.3):
            assert guide.is_accepting
            return text.decode()
        token = draw.choice(tokens)
        text += index.vocabulary[token] or b""
        guide.advance(token)
        left -= 1


PIECES = [
    b"\n  ",
    b"\n    ",
    b",\n  ",
    b"{\n",
    b"[\n  ",
    b"\n]",
    b"\n  ]\n",
    b"]\n]",
    b'": ',
    b'"a": ',
    b"  ",
    b" ",
    b"}\n",
    b'": [\n',
    b"1\n",
]
TOKENS = Vocabulary(
    [*(bytes([value]) for value in range(256)), *PIECES, b" " * 30], eos=[257 + len(PIECES)], size=257 + len(PIECES) + 3
)
SCHEMAS: dict[str, Any] = {
    "anything": True,
    "nested": {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"enum": ["a", 1]}]}, "minItems": 2, "maxItems": 3},
    "objects": {
        "properties": {"a": {"$ref": "#"}, "b": {"type": "integer"}},
        "required": ["b"],
        "additionalProperties": False,
    },
    "different": {"type": "array", "items": {"enum": ["a", "b", [1]]}, "uniqueItems": True, "minItems": 2},
    "contains": {
        "type": "array",
        "contains": {"type": "array", "minItems": 1},
        "items": {"type": ["array", "boolean"]},
    },
    "either": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "maxProperties": 1},
    "empty": {"enum": [[], {}, [[]], {"a": {}}]},
}


@pytest.mark.parametrize("indent", [0, 2, 5])
@pytest.mark.parametrize("name", SCHEMAS)
def test_steered_texts_equal_those_of_json_dumps(name: str, indent: int) -> None:
    options = {"whitespace": f"pretty({indent})", "property_order": "any"}
    index = compiled(SCHEMAS[name], TOKENS, **options)
    for seed in range(6):
        text = steered(index, seed)
        assert is_text(SCHEMAS[name], text.encode(), JsonOptions(**options)), text


def test_names_that_count_are_distinguished_in_lines() -> None:
    index = compiled({"type": "object", "minProperties": 2}, whitespace="pretty(2)")
    assert index.accepts(b'{\n  "a": 1,\n  "b": 1\n}')
    assert not index.accepts(b'{\n  "a": 1,\n  "a": 1\n}')
    assert not index.accepts(b'{\n  "a": 1\n}')


def test_a_saved_index_has_its_layout(tmp_path: Any) -> None:
    index = compiled(SCHEMAS["nested"], TOKENS, whitespace="pretty(2)")
    index.explore(300)
    index.save(tmp_path / "a.index")
    loaded = load_index(tmp_path / "a.index", TOKENS)
    assert loaded.accepts(dumps([["a", 1], 1], 2).encode())
    assert not loaded.accepts(dumps([["a", 1], 1], 3).encode())
    loaded.save(tmp_path / "b.index")
    assert (tmp_path / "b.index").read_bytes() == (tmp_path / "a.index").read_bytes()
    for state in range(index.n_states):
        assert (loaded.mask(state) == index.mask(state)).all()


def test_the_end_of_a_line_forces_its_blanks() -> None:
    guide = compiled({"type": "array", "minItems": 1, "items": {"const": ["a"]}}, whitespace="pretty(3)").guide()
    assert guide.forced() == b'[\n   [\n      "a"\n   ]'


@pytest.mark.parametrize(
    "whitespace",
    [
        "pretty",
        "pretty()",
        "pretty(-1)",
        "pretty(17)",
        "pretty(2.0)",
        "pretty(02)",
        "pretty( 2)",
        "pretty(2",
        "pretty(9999999999)",
    ],
)
def test_indentation_is_a_number_within_a_bound(whitespace: str) -> None:
    with pytest.raises(ValueError, match=r"whitespace must be 'pretty\(0\)' to 'pretty\(16\)', not "):
        compiled(True, whitespace=whitespace)


def without(missing: bytes) -> Vocabulary:
    return Vocabulary([bytes([value]) if value not in missing else None for value in range(256)], eos=[256], size=257)


@pytest.mark.parametrize(
    ("missing", "whitespace", "texts", "impossible"),
    [
        (b"\n", "pretty(2)", ["[]", "{}", "1"], {"minItems": 1, "type": "array"}),
        (b" ", "pretty(2)", ["[]", "{}", '"a"'], {"minProperties": 1, "type": "object"}),
        (b" ", "pretty(0)", ["[\n1,\n2\n]", "{}"], {"required": ["a"], "type": "object"}),
        (b",", "compact", ["[1]", '{"a":[2]}'], {"minItems": 2, "type": "array"}),
        (b",", "pretty(1)", ["[\n 1\n]"], {"minProperties": 2, "type": "object"}),
        (b":", "flexible", ["[1, 2]", "{}"], {"required": ["a"], "type": "object"}),
    ],
)
def test_members_need_the_bytes_between_them(
    missing: bytes, whitespace: str, texts: list[str], impossible: dict[str, Any]
) -> None:
    """What the vocabulary cannot spell is never begun."""
    index = compiled(True, without(missing), whitespace=whitespace)
    assert all(index.accepts(text.encode()) for text in texts)
    for schema in ({"type": ["array", "object"]}, True):
        index = compiled(schema, without(missing), whitespace=whitespace)
        index.explore(150)
        assert all(len(index.allowed(state)) for state in range(index.n_states) if state != index.final)
    with pytest.raises(VocabularyError):
        compiled(impossible, without(missing), whitespace=whitespace)
    assert compiled(
        {**impossible, "type": ["null", impossible["type"]]}, without(missing), whitespace=whitespace
    ).accepts(b"null")


@given(st.sampled_from(["", "[ ]?", " {1,3}", r"\n\t*", r"(?: |\r\n)*", r"[ \t]{0,2}|\n"]), values(4), st.data())
def test_a_pattern_defines_the_text_between_tokens(pattern: str, value: Any, data: st.DataObject) -> None:
    options = {"whitespace": pattern, "numbers": "any", "escapes": "any"}
    index = compiled(True, **options)
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\[\]{}:,"\s]+', json.dumps(value))
    gap = st.sampled_from(["", " ", "  ", "\n", "\t", "\n\t", "\r\n", "   "])
    fitting = [text for text in ("", " ", "  ", "\n", "\t", "\n\t", "\r\n", "   ") if re.fullmatch(pattern, text)]
    for gaps in (st.sampled_from(fitting), gap):
        text = tokens[0] + "".join(data.draw(gaps) + token for token in tokens[1:])
        assert index.accepts(text.encode()) == is_text(True, text.encode(), JsonOptions(**options)), text


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a?", "matches 'a'"),
        (r"\s", "matches '\\x0b'"),
        (r"[ ]{2}[^\s]\n", "matches '  \\x00\\n'"),
        ("(?: |\u3000)*", r"matches '\u3000'"),
        ("(?!)", "matches no text"),
        ("[^\\S\\s]", "matches no text"),
        (" (?=a)", "matches no text"),
    ],
)
def test_a_pattern_of_anything_else_is_refused_with_a_text(pattern: str, reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compiled(True, whitespace=pattern)
    assert reason in caught.value.reason
    assert caught.value.keyword == "whitespace"


def test_a_malformed_pattern_is_refused_with_its_place() -> None:
    with pytest.raises(PatternError) as caught:
        compiled(True, whitespace="[ ]?(")
    assert caught.value.position == 4


def test_whitespace_that_no_token_spells_is_refused() -> None:
    with pytest.raises(VocabularyError, match="the requested whitespace needs a byte"):
        compiled(True, without(b" "), whitespace=" ")
    assert compiled(True, without(b" "), whitespace=" |\t").accepts(b"[\t1\t,\t2\t]")


@pytest.mark.parametrize("most", [1, 3])
def test_whitespace_up_to_a_length_is_counted_at_every_place(most: int) -> None:
    schema = {"properties": {"a": {"items": {"type": ["integer", "string"]}}, "b": {}}, "additionalProperties": False}
    index = compiled(schema, whitespace=f"[ \\t]{{0,{most}}}", property_order="any")
    spaces = index.tables.automaton.structure.spaces
    assert spaces.registers != KEPT
    assert spaces.n_states == 1
    parts = ["{", '"b"', ":", "null", ",", '"a"', ":", "[", "1", ",", '" 2\\t"', "]", "}"]
    chance = random.Random(0)
    for _ in range(300):
        gaps = [chance.choice([0, 0, 0, 1, most, most, most + 1]) if chance.random() < 0.3 else 0 for _ in parts[1:]]
        text = parts[0] + "".join(
            "".join(chance.choice(" \t") for _ in range(gap)) + part for gap, part in zip(gaps, parts[1:], strict=True)
        )
        assert index.accepts(text.encode()) == (max(gaps) <= most), text


def test_whitespace_of_any_other_pattern_has_states_of_its_own() -> None:
    index = compiled(True, whitespace="(?: \\t)?")
    assert index.tables.automaton.structure.spaces.registers == KEPT
    assert index.accepts(b'{ \t"a" \t:[ \t]}')
    assert not index.accepts(b'{ "a":1}')
