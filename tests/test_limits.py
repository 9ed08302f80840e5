"""Budgets: each is named where it is exceeded, and the documents have all. `tests.test_hostile` counts the work of hostile inputs."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from benchmarks import hostile
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.algebra import Repeat
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex
from guided.errors import GrammarError, LimitError, PatternError, SchemaError, VocabularyError
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        (r"(a)\1", 3),
        (r"(?P<n>a)(?P=n)", 8),
        (r"(a)(?(1)b|c)", 3),
        ("a{2,1}", 2),
        ("(a", 0),
        ("a)", 1),
        ("[a", 0),
        ("*a", 0),
        ("a**", 2),
        ("a\\", 1),
        ("(?>a)", 0),
        ("a++", 1),
        ("(?<=a*)b", 0),
        ("\ud800", 0),
        ("ab\udfff", 2),
        (r"x\ud800", 1),
        ("a{" + "9" * 5_000 + "}", 1),
        (r"\p{Nothing}", 0),
        ("x" * 900_000 + "(", 900_000),
    ],
    ids=lambda value: str(value)[:20].encode("ascii", "backslashreplace").decode(),
)  # fmt: skip
def test_invalid_patterns_are_reported_with_their_place(pattern: str, position: int) -> None:
    with pytest.raises(PatternError) as error:
        Regex(pattern).lower(Limits())
    assert error.value.position == position
    assert len(str(error.value)) < 500 + 2 * 5_000


PAIRS = {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}
SMALL: dict[str, tuple[dict[str, int], Any]] = {
    "pattern_length": ({"pattern_length": 9}, Regex("a" * 10)),
    "depth": ({"depth": 2}, Regex("(((a)))")),
    "intervals": ({"intervals": 700}, Regex(r"[^\W]")),
    "nfa_states": ({"nfa_states": 100}, Regex("a{200}")),
    "states": ({"states": 100}, Regex("(a|b)*a(a|b){8}")),
    "transitions": ({"transitions": 1_000}, Regex(r"\w{20}")),
    "steps": ({"steps": 1_000}, Regex("(a?b?){30}")),
    "tokens": ({"tokens": 256}, Regex("a")),
    "token_length": ({"token_length": 2}, Regex("a")),
    "index_bytes": ({"index_bytes": 10_000}, Regex("a{1000}")),
    "assertion_depth": ({"assertion_depth": 2}, Regex("(?=a(?=b(?=c(?=d))))abcd")),
    "schema_depth": ({"schema_depth": 3}, JsonSchema({"items": {"items": {"items": {"minItems": 1}}}})),
    "schema_parts": ({"schema_parts": 3}, JsonSchema({"items": {"type": "array", "minItems": 1, "maxItems": 2}})),
    "reference_depth": ({"reference_depth": 2}, JsonSchema({"not": {"not": {"not": {"not": {"type": "null"}}}}})),
    "composition_depth": ({"composition_depth": 2}, Repeat(Repeat(Regex("a"), 1, 2) + "b", 1, 2)),
    "grammar_symbols": ({"grammar_symbols": 2}, Grammar('start: "a" "b" "c"')),
    "digits": ({"digits": 10}, JsonSchema({"minimum": 10**11})),
    "names": ({"names": 2}, JsonSchema({"properties": {name: {"type": "null"} for name in "abc"}})),
    "enum_containers": ({"enum_containers": 2}, JsonSchema({"enum": [1, "a", [1], [2], {"a": 1}]})),
    "listed_values": (
        {"listed_values": 5},
        JsonSchema({"type": "array", "items": PAIRS, "uniqueItems": True, "minItems": 7}),
    ),
    "listed_depth": (
        {"listed_depth": 1},
        JsonSchema({"type": "array", "items": PAIRS, "uniqueItems": True, "minItems": 7}),
    ),
    "configurations": ({"configurations": 10}, JsonSchema({"type": "integer", "maximum": 10**40}, eager=True)),
    "whitespace_states": ({"whitespace_states": 9}, JsonSchema(True, whitespace=" {0,9}\n?")),
}


def test_each_limit_has_a_case() -> None:
    # The others are no budgets of a compile: see below, test_eviction.py and test_pushdown_budget.py in tests/index,
    # tests/engine/test_hostile_files.py, and test_search.py and test_canonical.py in tests/generate.
    others = {
        "unevaluated_cases",
        "lookahead",
        "dead_end_steps",
        "dead_end_configurations",
        "pushes",
        "mask_bytes",
        "growth_bytes",
        "call_steps",
        "file_bytes",
        "readings",
        "prefixes",
        "encoding_steps",
    }
    assert {*SMALL, *others} == {field.name for field in fields(Limits)}


def test_some_limits_have_a_maximum() -> None:
    for name, most in (
        ("assertion_depth", 50),
        ("schema_depth", 200),
        ("schema_parts", 4_000_000),
        ("digits", 10_000),
        ("listed_depth", 16),
    ):
        assert getattr(Limits(**{name: most}), name) == most
        with pytest.raises(ValueError, match=f"{name} must be at most {most:,}, not {most + 1}"):
            Limits(**{name: most + 1})


def test_readings_of_a_grammar_are_limited_while_a_text_is_read() -> None:
    spec, text = Grammar('start: (A|B)+\nA: /a(bbbbb)?/\nB: "b"'), b"abbbb"
    assert compile_spec(spec, small_vocabulary()).accepts(text)
    guide = compile_spec(spec, small_vocabulary(), Limits(readings=1)).guide()
    with pytest.raises(LimitError, match="readings: 2 needed, 1 allowed"):
        guide.advance_many(text)


@pytest.mark.parametrize(
    ("spec", "budgets", "message"),
    [
        (
            JsonSchema(
                {
                    "anyOf": [{"properties": {name: {}}, "required": [name]} for name in "abc"],
                    "unevaluatedProperties": False,
                }
            ),
            {"unevaluated_cases": 2},
            "unevaluatedProperties depends on the value in too many ways",
        ),
        (Grammar("start: A B\nA: /a(?=bbbb)/\nB: /b+/"), {"lookahead": 3}, "a lookahead there may read 3 characters"),
    ],
)
def test_limits_with_an_error_of_the_spec(spec: Any, budgets: dict[str, int], message: str) -> None:
    compile_spec(spec, small_vocabulary())
    with pytest.raises((SchemaError, GrammarError), match=message):
        compile_spec(spec, small_vocabulary(), Limits(**budgets))


def test_undecided_dead_ends_are_noted() -> None:
    """Beyond the budgets of its check, a text of a Lark grammar counts as one that can be completed."""
    vocabulary = small_vocabulary()
    spec = Grammar("start: A B\nA: /a+/\nB: /ab/")
    with pytest.raises(GrammarError, match="the grammar accepts no text"):
        compile_spec(spec, vocabulary)
    index = compile_spec(spec, vocabulary, Limits(dead_end_steps=1_000))
    assert index.notes[0].startswith("dead ends are possible: ")
    assert index.guide().advance_many(b"aa") == 2
    # The grammar's check decides, and no search is needed.
    decided = compile_spec(Grammar('start: "a" | "b"'), vocabulary, Limits(dead_end_configurations=0))
    assert (decided.notes, decided.accepts(b"a"), decided.accepts(b"ab")) == ((), True, False)


@pytest.mark.parametrize(
    "spec", [JsonSchema({"items": {"$ref": "#"}}, whitespace="compact"), Grammar('start: "[" start "]" | "a"')]
)
def test_stack_changes_of_tokens_are_limited_while_a_text_is_read(spec: Any) -> None:
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), b"[" * 10_000], eos=[257], size=258)
    assert compile_spec(spec, vocabulary).guide().mask()[256 // 32] & 1
    guide = compile_spec(spec, vocabulary, Limits(pushes=100)).guide()
    with pytest.raises(LimitError, match=r"pushes: [\d,]+ needed, 100 allowed"):
        guide.mask()


def small_vocabulary() -> Vocabulary:
    return Vocabulary([bytes([value]) for value in range(256)] + [b"abc"], eos=[257], size=258)


@pytest.mark.parametrize("what", SMALL)
def test_each_limit_is_named_in_its_error(what: str) -> None:
    budgets, spec = SMALL[what]
    compile_spec(spec, small_vocabulary())
    with pytest.raises(LimitError) as error:
        compile_spec(spec, small_vocabulary(), Limits(**budgets))
    assert error.value.what == what
    assert error.value.given > error.value.limit == budgets[what]


def test_masks_beyond_their_room_are_built_each_time() -> None:
    spec, vocabulary = Regex("(?:ab{0,3}c?){1,9}[de]{2}"), small_vocabulary()
    kept = compile_spec(spec, vocabulary)
    words = len(kept.mask(0))
    bounded = compile_spec(spec, vocabulary, Limits(mask_bytes=3 * 4 * words))
    none = compile_spec(spec, vocabulary, Limits(mask_bytes=0))
    for state in range(kept.n_states):
        for index in (bounded, none):
            assert (index.mask(state) == kept.mask(state)).all()
            assert not index.mask(state).flags.writeable
        assert kept.mask(state) is kept.mask(state)
    assert sum(mask is not None for mask in bounded.tables._masks) == 3
    assert not any(mask is not None for mask in none.tables._masks)


def test_the_document_has_all_limits() -> None:
    """``make hostile ARGS=--write`` puts them there."""
    text = hostile.DOCUMENT.read_text(encoding="utf-8")
    assert "\n".join(hostile.limits_table()) in text


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_a_budget_is_an_int(value: object) -> None:
    with pytest.raises(TypeError, match="states must be an int"):
        Limits(states=value)  # type: ignore[arg-type]


def test_a_budget_is_not_negative() -> None:
    with pytest.raises(ValueError, match="steps must not be negative"):
        Limits(steps=-1)


def test_the_result_of_an_input_does_not_depend_on_earlier_inputs() -> None:
    """Caches hold parts of tools; what they hold is counted as if it were built anew."""
    values = {f"p{i}": Regex(f"{i}(?:(?=[ab]*a[ab]{{9}})[ab])*") for i in range(8)}
    definition = {"name": "f", "parameters": {"type": "object", "properties": {key: {} for key in values}}}
    said = set()
    for _ in range(3):
        with pytest.raises(LimitError) as error:
            compile_spec(Tools([Tool(definition, types=values)], "tooldec"), small_vocabulary(), Limits(steps=10_000))
        said.add(error.value.what)
    assert said == {"steps"}


# ---------------------------------------------------------------------------------------------- hostile vocabularies


def test_tokens_of_a_hundred_thousand_bytes() -> None:
    tokens = [bytes([value]) for value in range(256)]
    tokens += [b"a" * 100_000, b"ab" * 50_000, b"a" * 99_999 + b"b", bytes(range(256)) * 390]
    vocabulary = Vocabulary(tokens, eos=[len(tokens)], size=len(tokens) + 1)
    index = compile_spec(Regex("(?s).*z"), vocabulary)
    allowed = set(index.allowed(0).tolist())
    assert {256, 257, 258} <= allowed
    assert 259 not in allowed, "it is no UTF-8"
    assert compile_spec(Regex("(?:ab)*"), vocabulary).next(0, 257) == 0


@pytest.mark.slow
def test_a_million_tokens_and_duplicates() -> None:
    draw = np.random.default_rng(4)
    text = draw.choice(np.frombuffer(b"abcdefgh", np.uint8), 10**6).tobytes()
    tokens = [bytes([value]) for value in range(256)]
    places = zip(draw.integers(0, len(text) - 9, 10**6).tolist(), draw.integers(1, 10, 10**6).tolist(), strict=True)
    tokens += [text[place : place + length] for place, length in places][256:]
    index = compile_spec(Regex("[a-h]{3}"), Vocabulary(tokens, eos=[len(tokens)], size=len(tokens) + 1))
    assert index.allowed(0).tolist() == [
        i for i, token in enumerate(tokens) if len(token) <= 3 and 97 <= min(token) <= max(token) <= 104
    ]


def test_all_tokens_may_be_one() -> None:
    vocabulary = Vocabulary([b"ab"] * 1_000, eos=[1_000], size=1_001)
    index = compile_spec(Regex("(?:ab){2}"), vocabulary)
    assert index.allowed(0).tolist() == list(range(1_000))
    with pytest.raises(VocabularyError, match="no sequence of tokens spells"):
        compile_spec(Regex("aba"), vocabulary)


@pytest.mark.parametrize("size", [2**31, 2**31 + 5, 2**63, 2**70])
def test_sizes_beyond_32_bits_are_refused(size: int) -> None:
    with pytest.raises(VocabularyError, match="too large"):
        Vocabulary([b"a"], size=size)


def test_sizes_that_no_model_has_are_refused() -> None:
    with pytest.raises(LimitError, match="tokens: 2,147,483,647 needed, 4,194,304 allowed"):
        compile_spec(Regex("a"), Vocabulary([b"a"], eos=[2**31 - 2], size=2**31 - 1))


def test_deep_definitions_need_no_recursion() -> None:
    schema: dict[str, object] = {}
    for keyword in ("items", "anyOf", "allOf", "additionalProperties", "definitions", "properties") * 5_000:
        inner = {"type": "object", **schema}
        schema = {
            keyword: {"x": inner} if keyword in ("properties", "definitions") else [inner] if "Of" in keyword else inner
        }
    with pytest.raises(LimitError):
        Tools([{"name": "f", "parameters": {"type": "object", **schema}}])
    # What nothing refers to is not looked at.
    Tools([{"name": "f", "parameters": {"type": "object", "definitions": {"x": schema}}}])
