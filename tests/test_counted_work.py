"""Budgets see the work: hostile specs run under a tracer that compares counted steps with executed lines.

A step of a call (`Limits.call_steps`) stands for some microseconds, a step of a compile (`Limits.steps`) for about 8 ns, a line of Python
for about a tenth of a microsecond. A loop that no budget sees runs many lines for few steps, or for none. Lines of a spec's size are free:
reading a spec is linear. Kernels run no lines; they count their own steps.
"""

import functools
import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import lark
import pytest

import guided
from guided.automata.build import over_characters
from guided.automata.product import PER_CELL, char_intersection
from guided.automata.steps import Steps
from guided.calls.spec import Tools
from guided.engine.algebra import FreeText, Maybe, Repeat
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex, Spec
from guided.engine.structural_tags import StructuralTag
from guided.errors import GuidedError, LimitError, SchemaError
from guided.guide.guide import Guide
from guided.integrations.serving import FrontEnd
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.schema.frontend.json_values import text_of
from guided.schema.frontend.keywords import strings as keywords
from guided.vocabulary.vocabulary import Vocabulary
from tests.hostile.client import SERVED, Client, steps
from tests.hostile.random_specs import a_schema
from tests.hostile.table import ROWS
from tests.schema.engine import BYTES

# Lines per step of a call and of a compile, and lines per character of a spec and of a text.
PACKAGES = tuple(str(Path(package.__file__).parent) for package in (guided, lark))
# They count their own steps, and Python runs them only until they are compiled.
KERNELS = str(Path(guided.__file__).parent / "kernels")
PER_CALL_STEP, PER_SLOW_STEP, PER_STEP, PER_CHARACTER, SPARE = 25, 50, 0.4, 60, 20_000
# A composition reads a text in so many steps for each byte, besides those of a call.
PER_CHARACTER_OF_A_TEXT, PER_CHARACTER_OF_A_COMPOSITION = 150, 600


def words(count: int) -> list[str]:
    draw = random.Random(3)
    return sorted({"".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(4, 9))) for _ in range(count)})


def closed(count: int, **more: Any) -> dict[str, Any]:
    names = {f"name{i}": {"type": "integer"} for i in range(count)}
    return {"type": "object", "properties": names, "additionalProperties": False, **more}


SCHEMAS: dict[str, dict[str, Any]] = {
    "a minimum of members of a closed object": closed(300, minProperties=150),
    "items that must contain values": {
        "type": "array", "prefixItems": [{"contains": {"const": i}} for i in range(200)], "minItems": 200,
    },
    "items with bounds": {
        "type": "array", "prefixItems": [{"type": "integer", "minimum": 7 * i} for i in range(80)], "minItems": 80,
    },
    "items of which two must be equal": {
        "type": "array", "not": {"uniqueItems": True}, "prefixItems": [{"const": f"a{i}"} for i in range(50)],
        "minItems": 50, "maxItems": 50,
    },
    "many names that depend on each other": {
        "type": "object", "properties": dict.fromkeys(words(60), True), "dependentRequired": {name: words(60)[:5] for name in words(60)},
    },
}  # fmt: skip
# After each of 800 beginnings as many letters as there are beginnings before it: each state leads to one of a lower number.
LETTERS = "abcdefghijklmnopqrstuvwABCDEFG"
BEGINNINGS = list(map("".join, itertools.product(LETTERS, repeat=2)))[:800]
LEADING_BACK = functools.reduce(lambda inner, begin: f"(?:{inner}|{begin})x", BEGINNINGS[-2::-1], f"{BEGINNINGS[-1]}x")
PATTERNS = {
    "alternatives that begin with lookaheads": "(?:" + "|".join(f"(?!{word})[a-z]+" for word in words(400)) + ")*",
    "lookbehinds in a row": "".join(f"(?<!{word})[a-z]" for word in words(120)),
}

GRAMMARS = {
    "lookaheads of four characters": "start: (A | B)*\nA: /a(?=.{4}b)/\nB: /[ab]/",
    "comments within ignored text": 'start: (A | "/")*\nA: /[a-z]+/\n%ignore /[\\/][*](.|\\n)*?[*][\\/]/\n%ignore /[\\/][\\/][^\\n]*/',
}


class Work:
    """Counts the lines of the package that run in a block, and the steps that it counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines = 0
        self.counters: list[Steps] = []
        # All steps of `Steps.spend`, also of counters that begin again; kernels add theirs to the counters.
        self._counted = Counter[str]()
        # Steps of counters that have begun again since.
        self._begun = Counter[str]()
        spend = Steps.spend

        def noted(steps: Steps, count: int, advice: str) -> None:
            if not any(one is steps for one in self.counters):
                self.counters.append(steps)
            self._counted[steps.what] += count
            spend(steps, count, advice)

        begin = Steps.begin

        def begun(steps: Steps) -> None:
            self._begun[steps.what] += min(steps.spent, steps.limit)
            begin(steps)

        monkeypatch.setattr(Steps, "spend", noted)
        monkeypatch.setattr(Steps, "begin", begun)

    def trace(self, run: Callable[[], Any]) -> Any:
        def of_line(_frame: FrameType, event: str, _argument: object) -> Any:
            self.lines += event == "line"
            return of_line

        def of_call(frame: FrameType, _event: str, _argument: object) -> Any:
            name = frame.f_code.co_filename
            return of_line if name.startswith(PACKAGES) and not name.startswith(KERNELS) else None

        before = sys.gettrace()
        sys.settrace(of_call)
        try:
            return run()
        except GuidedError as error:
            return error
        finally:
            sys.settrace(before)

    def steps(self, what: str) -> int:
        # What is beyond a limit was refused, not done.
        spent = sum(min(one.spent, one.limit) for one in self.counters if one.what == what)
        return max(spent + self._begun[what], self._counted[what]) if what == "call_steps" else spent

    def begin(self) -> None:
        """Count anew."""
        self.lines = 0
        self.counters.clear()
        self._counted.clear()
        self._begun.clear()

    def check(self, size: int, per_call_step: int = PER_CALL_STEP, per_character: int = PER_CHARACTER) -> None:
        of_compiles = self.steps("steps") + self.steps("dead_end_steps")
        seen = per_call_step * self.steps("call_steps") + PER_STEP * of_compiles + per_character * size + SPARE
        assert self.lines <= seen, (self.lines, self.steps("call_steps"), of_compiles, size)


def compile_and_ask(spec: Spec, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile, and ask for a mask and for what remains, also within an object; check the work of each by itself."""
    work = Work(monkeypatch)
    index = work.trace(lambda: compile_spec(spec, BYTES))
    work.check(size)
    if not isinstance(index, Index):
        return
    asks: list[Callable[[Guide], Any]] = [
        lambda guide: guide.mask(),
        lambda guide: guide.remaining,
        lambda guide: guide.mask_within(1_000),
    ]
    for text in (b"", b"{"):
        for ask in asks:
            guide = index.guide()
            if not guide.validate(text):
                return
            guide.advance_many(text)
            work.begin()
            work.trace(lambda ask=ask, guide=guide: ask(guide))
            work.check(size)


def test_steps_of_a_pattern_of_names_follow_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = f"^{LEADING_BACK}y$"
    index = compile_spec(JsonSchema({"patternProperties": {pattern: {"type": "integer"}}}, whitespace="compact"), BYTES)
    guide, work = index.guide(), Work(monkeypatch)
    work.trace(lambda: guide.advance_many(b"{"))
    assert work.steps("call_steps") > len(BEGINNINGS)
    work.check(len(pattern))


@pytest.mark.parametrize("name", SCHEMAS)
def test_steps_of_a_schema_follow_its_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = SCHEMAS[name]
    compile_and_ask(JsonSchema(schema, whitespace="compact"), len(str(schema)), monkeypatch)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        # Names must differ, so each name of the completion is read to its end.
        ({"type": "object", "minProperties": 800}, b'{"'),
        # Each pattern has paths of its own.
        ({"patternProperties": {f"^a{{{i}}}b": {"maxLength": i} for i in range(300)}}, b"{"),
    ],
)
def test_completions_are_searched_within_the_steps_of_a_call(
    schema: dict[str, Any], text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = compile_spec(JsonSchema(schema, whitespace="compact"), BYTES)
    guide = index.guide()
    guide.mask()
    least = guide.remaining
    guide.advance_many(text)
    guide.mask()
    work = Work(monkeypatch)
    work.trace(lambda: guide.mask_within(least + 1_000))
    work.check(0)


def test_of_the_names_that_may_come_only_the_nearest_is_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = {f"^a{{{i}}}b": {"maxLength": i} for i in range(300)}
    guide = compile_spec(JsonSchema({"patternProperties": patterns}, whitespace="compact"), BYTES).guide()
    guide.advance_many(b"{")
    least = guide.remaining
    guide.mask()
    work = Work(monkeypatch)
    work.trace(lambda: guide.mask_within(least + 1_000))
    # The texts of all names together have 45,000 bytes.
    assert work.lines < 45_000


def test_the_search_for_a_shortest_object_counts_the_names_that_it_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [{"patternProperties": {"^x-": False}}, {"properties": dict.fromkeys(words(600), True)}]
    guide = compile_spec(JsonSchema({"type": "object", "not": {"allOf": parts}}, whitespace="compact"), BYTES).guide()
    work = Work(monkeypatch)
    work.trace(lambda: guide.remaining)
    work.check(0)


@pytest.mark.parametrize("name", PATTERNS)
def test_steps_of_a_pattern_follow_its_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    work.trace(lambda: compile_spec(Regex(PATTERNS[name]), BYTES, Limits(steps=Limits().steps // 4)))
    work.check(len(PATTERNS[name]))


def test_steps_of_a_finite_automaton_follow_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte that a configuration reads is work."""
    items = {
        "type": "object",
        "maxProperties": 1,
        "propertyNames": {"maxLength": 1},
        "additionalProperties": {"type": "null"},
    }
    others = {"type": "object", "patternProperties": {"^(a|b)*a": {"const": None}}, "minProperties": 1}
    schema = {"type": "array", "items": items, "contains": {"not": others}}
    spec = JsonSchema(schema, whitespace="pretty(2)", eager=True)
    work = Work(monkeypatch)
    work.trace(lambda: compile_spec(spec, BYTES, Limits(configurations=2_000)))
    assert work.lines > 100_000
    work.check(len(str(schema)))


def test_each_lookahead_of_a_pattern_is_work() -> None:
    """An automaton of its own takes some tenths of a millisecond, however small it is."""
    limits = Limits(steps=10_000_000)
    for count, is_fine in ((20, True), (300, False)):
        pattern = Regex("|".join(f"(?=.*{i})?" for i in range(count)))
        with nullcontext() if is_fine else pytest.raises(LimitError, match="too many assertions at once"):
            pattern.lower(limits)


@pytest.mark.parametrize("name", ["n patterns that match n strings", "n lazy lexemes"])
def test_lexemes_with_automata_of_their_own_are_work(name: str) -> None:
    text = ROWS[f"grammar: llguidance: {name}"].make(12)
    with pytest.raises(LimitError, match="the lexemes of a grammar have too many"):
        Grammar(text, limits=Limits(steps=1_500_000))


def test_terminals_of_gbnf_are_work() -> None:
    """Lark parses each again, at some microseconds a character."""
    names = " | ".join(f'"{word}"' for word in words(3_000))
    for most, is_fine in ((200_000_000, True), (30_000_000, False)):
        with nullcontext() if is_fine else pytest.raises(LimitError, match="written out where they are used"):
            Grammar(f"root ::= {names}", limits=Limits(steps=most))


@pytest.mark.parametrize("name", GRAMMARS)
def test_steps_of_calls_on_a_grammar_follow_their_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = compile_spec(Grammar(GRAMMARS[name]), BYTES).guide()
    for byte in b"a/aaa//bab/bb/*abaa*aab/bab":
        work = Work(monkeypatch)
        work.trace(guide.mask)
        work.check(0, PER_SLOW_STEP)
        if guide.mask()[byte >> 5] >> (byte & 31) & 1:
            guide.advance(byte)


def test_steps_of_a_mask_with_many_readings_follow_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any blanks are a value, and three values follow each other: each is reached again after each number of blanks."""
    value = {"type": "json_schema", "json_schema": {"multipleOf": 7}, "style": "glm_xml"}
    values = {"type": "repeat", "content": value, "min": 0, "max": 3}
    tag = {
        "type": "sequence",
        "elements": [{"type": "const_string", "value": "<"}, values, {"type": "const_string", "value": "</"}],
    }
    tokens = [*(bytes([byte]) for byte in range(256)), *(b" " * n for n in range(2, 121))]
    vocabulary = Vocabulary([*tokens, None], eos=[len(tokens)])
    index = compile_spec(StructuralTag({"type": "structural_tag", "format": tag}), vocabulary, Limits(call_steps=5_000))
    guide, work = index.guide(), Work(monkeypatch)
    guide.advance_many(b"<7")
    assert isinstance(work.trace(guide.mask), LimitError)
    work.check(0)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 8))])
def test_steps_of_a_random_schema_follow_its_lines(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = a_schema(random.Random(seed))
    compile_and_ask(JsonSchema(schema, unsupported="record"), len(str(schema)), monkeypatch)


def test_products_of_automata_are_counted_each_time() -> None:
    schema = {"type": "string", "allOf": [{"pattern": "a.{8}b"}, {"pattern": "b.{8}a"}]}
    for _ in range(2):
        with pytest.raises(LimitError, match="too many string constraints at once") as caught:
            compile_spec(JsonSchema(schema), BYTES, Limits(call_steps=3_000)).guide().advance_many(b'"a')
        assert caught.value.what == "call_steps"
        compile_spec(JsonSchema(schema), BYTES).guide().advance(ord('"'))


def test_patterns_that_are_surely_too_many_are_refused_before_they_are_built() -> None:
    count, limits = 200, Limits(call_steps=10_000)
    patterns = {f"^a{{{i}}}b": {"maxLength": i} for i in range(count)}
    with pytest.raises(LimitError, match=r"and 191 more \(at /patternProperties\)") as caught:
        compile_spec(JsonSchema({"patternProperties": patterns}), BYTES, limits)
    # Each takes a hundred steps at least.
    assert (caught.value.what, caught.value.given // 1_000) == ("call_steps", count // 10)


def test_a_report_does_not_ask_for_the_size_of_a_pattern_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in the compile, and once in the report, whatever the number of parts that it looks at."""
    made = []
    of_formula = keywords.string_automaton
    monkeypatch.setattr(keywords, "string_automaton", lambda *given: made.append(given) or of_formula(*given))
    large = [{"properties": {f"n{i}": {"pattern": r"^(\p{L}\d?){30}$", "maxLength": i}}} for i in range(6)]
    with pytest.raises(SchemaError, match="no value satisfies the schema"):
        compile_spec(
            JsonSchema({"allOf": [*large, {"required": ["b"]}, {"properties": {"b": False}}], "type": "object"}), BYTES
        )
    assert len(made) == 2


def test_automata_of_numbers_are_built_within_their_share_of_the_steps_of_a_call() -> None:
    multiples = [{"contains": {"multipleOf": divisor}} for divisor in (3, 4, 7, 8, 9)]
    with pytest.raises(LimitError, match="the bounds, multiples and equalities of a number are too many") as caught:
        compile_spec(JsonSchema({"type": "array", "allOf": multiples}), BYTES, Limits(call_steps=10_000))
    assert caught.value.what == "call_steps"
    assert caught.value.given < 11_000


def test_patterns_of_a_schema_share_the_steps_of_a_compile() -> None:
    limits = Limits(steps=2_000_000)
    patterns = [f"{letter}.{{11}}b" for letter in "cdefg"]
    for pattern in patterns:
        compile_spec(JsonSchema({"pattern": pattern}), BYTES, limits)
    for _ in range(2):
        with pytest.raises(LimitError, match=r"/allOf/[1-4]/pattern") as caught:
            compile_spec(JsonSchema({"allOf": [{"pattern": pattern} for pattern in patterns]}), BYTES, limits)
        assert (caught.value.what, caught.value.limit) == ("steps", limits.steps)


def test_alternatives_are_compared_in_pairs_unless_a_tag_tells_them_apart() -> None:
    def tables(tags: list[tuple[int, ...]]) -> dict[str, Any]:
        names = "ab"
        return {
            "oneOf": [
                {
                    "properties": {name: {"const": f"x{value}"} for name, value in zip(names, tag, strict=False)},
                    "required": list(names),
                }
                for tag in tags
            ]
        }

    limits = Limits(call_steps=20_000)
    compile_spec(JsonSchema(tables([(i,) for i in range(400)])), BYTES, limits)
    with pytest.raises(LimitError, match="too many formulas"):
        compile_spec(JsonSchema(tables([(i % 20, i // 20) for i in range(400)])), BYTES, limits)


def test_cells_of_strings_that_are_made_when_a_schema_is_compiled_are_work() -> None:
    patterns = [{"pattern": rf"^{word}\p{{Lu}}{{50}}.$"} for word in words(40)]
    limits = Limits(steps=8_000_000)
    compile_spec(JsonSchema({"prefixItems": patterns[:5] * 20}), BYTES, limits)
    with pytest.raises(LimitError, match=r"/prefixItems/[0-9]+/pattern") as caught:
        compile_spec(JsonSchema({"prefixItems": patterns}), BYTES, limits)
    assert caught.value.what == "steps"


def test_grammars_of_a_tag_share_the_steps_of_reading_it() -> None:
    def tag(count: int) -> dict[str, Any]:
        grammars = [{"type": "grammar", "grammar": f'start: "{word}"+'} for word in words(9)]
        return {"type": "structural_tag", "format": {"type": "or", "elements": grammars[:count]}}

    limits = Limits(steps=1_800_000)
    assert len(StructuralTag(tag(3), limits=limits).parts) == 1
    with pytest.raises(LimitError, match="/format/elements/3/grammar") as caught:
        StructuralTag(tag(9), limits=limits)
    assert caught.value.what == "steps"


def test_letters_without_case_are_parts_of_a_pattern() -> None:
    limits = Limits(nfa_states=6_000)
    for flag, is_fine in (("", True), ("(?i)", False)):
        with nullcontext() if is_fine else pytest.raises(LimitError, match="too many parts"):
            Regex(flag + "ab" * 1_000).lower(limits)


def test_states_that_python_emits_are_work() -> None:
    """A list of names beside anything else: each letter is a state, and the subsets are small."""
    names = "|".join(words(2_000))
    for most, is_fine in ((1_500_000, True), (1_100_000, False)):
        with nullcontext() if is_fine else pytest.raises(LimitError, match=r"^steps: "):
            Regex(f"(?:{names})*").lower(Limits(steps=most))


def test_the_minimization_of_a_product_is_work() -> None:
    one, other = (over_characters(parse(f"(?:a{{{count}}})*")) for count in (97, 101))
    steps = Steps(10**9)
    found = char_intersection(one, other, Limits(), steps)
    assert len(found.table) == 97 * 101
    assert steps.spent >= 2 * PER_CELL * found.table.size


def test_cells_of_a_determinized_table_are_work() -> None:
    """Few states of many classes: the subsets are small, and the table is not."""
    sets = "".join(f"[{chr(0x4E00 + 2 * i)}]" for i in range(600))
    limits = Limits(steps=1_000_000)
    with pytest.raises(LimitError, match="too many states for such sets") as caught:
        Regex(f"(?:{sets})+").lower(limits)
    assert caught.value.what == "steps"


# Served rows whose levels take a thousand lines each, however few characters these have; at most a hundred levels.
# And alternatives of dots and one letter: 120 lines a character, whatever their number (980 characters: 118,000, 1,700: 204,000).
DENSE = {"schema: a constant of n levels": 500, "schema: n alternatives, each with a letter elsewhere": 150}


@pytest.mark.parametrize("times", [1, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.kind in SERVED])
def test_steps_of_a_check_follow_its_lines(name: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ROWS[name]
    sent = row.attack(min(times * row.small, row.full))
    if sent.kind not in SERVED:
        return
    try:
        text = sent.given if isinstance(sent.given, str) else text_of(sent.given)
    except SchemaError:
        # It nests more deeply than Python writes.
        return
    kind, server = SERVED[sent.kind], FrontEnd(BYTES)
    # What any request loads is not this one's work: the rest of a kind, and the characters of scripts.
    for warm_kind, warm in (
        (kind, text[:50]),
        ("REGEX", r"\p{L}\p{N}"),
        ("JSON", r'{"pattern": "^[\\p{L}\\p{N}_]{1,9}$", "type": "string"}'),
    ):
        FrontEnd(BYTES).refusal(warm_kind, warm)
    work = Work(monkeypatch)
    work.trace(lambda: server.refusal(kind, text))
    work.check(len(text), PER_SLOW_STEP, DENSE.get(name, PER_CHARACTER))


ITEMS = JsonSchema({"type": "array"})
# What reads a model's text, and texts of a size.
READINGS: dict[str, tuple[Callable[[], Any], Callable[[int], str]]] = {
    "brackets": (lambda: JsonSchema(True), lambda n: "[" * n + "]" * n),
    "brackets and a string without end": (lambda: JsonSchema(True), lambda n: "[" * n + '"' + "a" * n),
    "objects": (lambda: JsonSchema(True), lambda n: '{"a":' * n + "1" + "}" * n),
    "numbers": (lambda: JsonSchema(True), lambda n: f"[{','.join('1' * n)}]"),
    "names": (lambda: JsonSchema(True), lambda n: "{" + ",".join(f'"k{i}": {i}' for i in range(n)) + "}"),
    "escapes": (lambda: JsonSchema(True), lambda n: '"' + "\\u00e9" * n + '"'),
    "backslashes": (lambda: JsonSchema(True), lambda n: '"' + "\\" * n),
    "blanks": (lambda: JsonSchema(True), lambda n: " " * n),
    "values of a type": (lambda: JsonSchema(list[int | str | None]), lambda n: f"[{','.join(['1', 'null'] * n)}]"),
    "tokens": (lambda: Grammar('start: "a"*'), lambda n: "a" * n),
    "rules": (lambda: Grammar('start: "(" start ")" |'), lambda n: "(" * n + ")" * n),
    "optional parts": (lambda: Grammar('start: x*\nx: "a" "b"? ["c"]'), lambda n: "abc" * n),
    "ignored text": (lambda: Grammar('start: "a"*\n%ignore /[ ]/'), lambda n: " " * n + "a"),
    "what no terminal matches": (lambda: Grammar('start: "a"*'), lambda n: "a" * n + "b"),
    "calls": (lambda: Tools([TOOL]), lambda n: '<tool_call>{"name": "f", "arguments": {"a": "b"}}</tool_call>' * n),
    "text without calls": (lambda: Tools([TOOL]), lambda n: "a < " * n),
    "arguments as tags": (
        lambda: Tools([TOOL], format="qwen-coder"),
        lambda n: "<tool_call>\n<function=f>\n<parameter=a>\nb\n</parameter>\n</function>\n</tool_call>" * n,
    ),
    "named letters": (lambda: Repeat(Regex("a|b").named("x")), lambda n: "ab" * n),
    "arrays within text": (lambda: FreeText() + ITEMS.named("x") + FreeText(), lambda n: "[1] a " * n),
    "brackets within text": (lambda: FreeText() + ITEMS.named("x") + FreeText(), lambda n: "[" * n),
    "texts up to a sign": (lambda: Repeat(FreeText("<a>").named("x") + Regex("[0-9]+").named("y")), lambda n: "a<a>12" * n),
    "optional letters": (lambda: Repeat(Maybe(Regex("a").named("x")) + Maybe(Regex("b").named("y"))), lambda n: "ab" * n),
}  # fmt: skip
TOOL = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}


@pytest.mark.parametrize("name", READINGS)
def test_a_text_is_read_in_lines_that_its_length_and_steps_allow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the text takes at most a little more than four times the lines that no step of a call stands for."""
    make, text = READINGS[name]
    spec, totals = make(), list[int]()
    allowed = PER_CHARACTER_OF_A_COMPOSITION if hasattr(spec, "parts") else PER_CHARACTER_OF_A_TEXT
    Client(steps, Limits()).read(spec, text(3))
    for n in (60, 240):
        work = Work(monkeypatch)

        def meter(run: Callable[[], Any], work: Work = work, n: int = n) -> tuple[Any, float]:
            work.begin()
            found = work.trace(run)
            work.check(len(text(n)), per_character=allowed)
            return found, max(0, work.lines - PER_CALL_STEP * work.steps("call_steps"))

        client = Client(meter, Limits())
        client.read(spec, text(n))
        assert client.costs
        totals.append(int(sum(one.cost for one in client.costs)))
    assert totals[1] < 4.6 * totals[0] + 2_000
