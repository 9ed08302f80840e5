"""Strings and keys against their definitions over values: what json reads, and what Python says of it."""

import json
import re
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree, in_one_budget, over_characters, spend_together
from guided.automata.minimize import minimal
from guided.automata.nfa import Operand
from guided.automata.steps import Steps
from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, PatternError, SchemaError
from guided.export.characters import operand_of
from guided.export.spelling import lifted_tree
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.tree import Chars, Literal, Node, alternate, concat
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.formula.memo import Memo
from guided.schema.strings import bodies, hexadecimal
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.bodies import spelled
from guided.schema.strings.labeled import Labeled
from guided.schema.strings.languages import known
from guided.schema.strings.spelling import ANY, SPELLINGS, Spelling
from guided.schema.values.key_table import OTHER
from guided.schema.values.keys import KeyLabel, key_automaton
from guided.vocabulary.vocabulary import Vocabulary
from tests.interrupted import interrupted_anywhere
from tests.schema.engine import BYTES, compiled
from tests.schema.lowered import lowered
from tests.schema.oracle_ecma import search
from tests.strategies import patterns

LIMITS = Limits()
ESCAPES = ("canonical", "any", "dumps")
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


# ---------------------------------------------------------------------------------------------------------- definitions


def value_of(body: str, escapes: str) -> str | None:
    """What a body stands for under an option; None if it is not in the language."""
    try:
        value = json.loads(f'"{body}"')
        value.encode()
    except ValueError:
        return None
    if escapes == "any":
        return str(value)
    if escapes == "dumps":
        units = [int(unit, 16) for unit in re.findall(r"(?:\\[^u])|\\u(....)", body) if unit]
        return None if "\\/" in re.sub(r"\\\\", "", body) or any(0x20 <= unit < 0x7F for unit in units) else str(value)
    spelling = "".join(SHORT.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in value)
    folded = re.sub(r"\\\\|\\u00[0-9a-fA-F]{2}", lambda found: found[0].lower(), body)
    return value if folded == spelling else None


def holds(formulas: Formulas, formula: int, value: str) -> bool:
    node = formulas.nodes[formula]
    match node[0]:
        case "F" | "T":
            return node[0] == "T"
        case "&":
            return all(holds(formulas, member, value) for member in node[1])
        case "|":
            return any(holds(formulas, member, value) for member in node[1])
        case "!":
            return not holds(formulas, node[1], value)
        case "1":
            return sum(holds(formulas, member, value) for member in node[1]) == 1
        case "length":
            return node[1] <= len(value) and (node[2] == -1 or len(value) <= node[2])
        case "pattern":
            return search(node[1], value)
        case "strings":
            return value in node[1]
    raise AssertionError(node)


def is_canonical(automaton: Automaton) -> bool:
    arrays = automaton.table, automaton.classes, automaton.accepting, automaton.labels
    return Automaton.from_table(*arrays) == automaton and not automaton.labels[~automaton.accepting].any()


def judged(leaf: Labeled, body: str) -> int | None:
    """The bits of a body, None where it is not accepted."""
    state = leaf.automaton.run(body.encode())
    if state < 0 or not leaf.automaton.accepting[state]:
        return None
    return leaf.bits(int(leaf.automaton.labels[state]))


def check(formulas: Formulas, wanted: list[int], leaf: Labeled, bodies: list[str], escapes: str) -> None:
    for body in bodies:
        value = value_of(body, escapes)
        expected = None
        if value is not None and holds(formulas, wanted[0], value):
            expected = sum(holds(formulas, formula, value) << i for i, formula in enumerate(wanted[1:]))
        assert judged(leaf, body) == expected, (body, value)


def build(formulas: Formulas, wanted: list[int], escapes: str = "canonical", limits: Limits = LIMITS) -> Labeled:
    return string_automaton(formulas, wanted, JsonOptions(escapes=escapes), limits)


def spellings(text: str) -> list[str]:
    """Some of the spellings of a text."""
    return [
        "".join(SHORT.get(char, char) if char >= " " or char in SHORT else f"\\u{ord(char):04x}" for char in text),
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
        text.replace("/", "\\/"),
        "".join(f"\\u{unit:04X}" for unit in np.frombuffer(text.encode("utf-16-le"), np.uint16).tolist()),
        "".join(f"\\u{unit:04x}" for unit in np.frombuffer(text.encode("utf-16-le"), np.uint16).tolist()),
    ]


# ------------------------------------------------------------------------------------------------------- unconstrained


@pytest.mark.parametrize("escapes", ESCAPES)
def test_any_string_over_all_short_bodies(escapes: str) -> None:
    formulas = Formulas()
    leaf = build(formulas, [TRUE], escapes)
    assert is_canonical(leaf.automaton)
    bodies = ["".join(letters) for n in range(5) for letters in product('\\"/ubn0\x1fé', repeat=n)]
    digits = ["".join(letters) for letters in product("0dD8cf", repeat=4)]
    bodies += [f"{before}\\u{four}" for before in ("", "\\ud83d", "\\uDBFF", "x") for four in digits]
    check(formulas, [TRUE], leaf, bodies, escapes)


@pytest.mark.parametrize("escapes", ESCAPES)
@given(body=st.text(st.sampled_from('\\\\uuu0018dDcCeEabnrt/"é\n😀'), max_size=14))
def test_any_string(escapes: str, body: str) -> None:
    formulas = Formulas()
    check(formulas, [TRUE], build(formulas, [TRUE], escapes), [body], escapes)


@pytest.mark.parametrize("escapes", ESCAPES)
@given(text=st.text())
def test_every_text_has_a_body(escapes: str, text: str) -> None:
    formulas = Formulas()
    leaf = build(formulas, [TRUE], escapes)
    check(formulas, [TRUE], leaf, spellings(text), escapes)
    assert judged(leaf, spellings(text)[0]) == 0


@pytest.mark.parametrize(
    "pattern",
    [
        r"\ud800",
        r"[\uD800-\uDBFF]",
        r"^[\ud800-\udbff][\udc00-\udfff]$",
        r"\u{d800}",
        r"\p{Cs}",
        r"\P{Any}",
        "\ud800",
        "x[\udc00]",
    ],
)
def test_patterns_of_lone_surrogates_match_no_string(pattern: str) -> None:
    with pytest.raises(SchemaError, match="no value satisfies"):
        compiled({"type": "string", "pattern": pattern})
    assert compiled({"type": "string", "pattern": f"{pattern}|a"}).accepts('"a"')


@pytest.mark.parametrize(
    "body", ["\\ud800", "\\udc00", "\\ud83d\\u0041", "\\ud83d\\ud83d", "\\ude00\\ud83d", "\\ud83dx"]
)
def test_lone_surrogates_are_not_characters(body: str) -> None:
    formulas = Formulas()
    assert judged(build(formulas, [TRUE], "any"), body) is None
    assert judged(build(formulas, [formulas.atom(("length", 0, 9))], "any"), body) is None


@pytest.mark.parametrize("raw", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x00", b"\x1f", b'"'])
def test_bytes_that_no_body_has(raw: bytes) -> None:
    formulas = Formulas()
    assert not build(formulas, [TRUE], "any").automaton.accepts(raw)


# --------------------------------------------------------------------------------------------------- spelling by arrays


def characters_spelled(charset: Charset, spelling: Spelling) -> Node:
    """All spellings of one character of a set, from the numbers of characters."""
    items: list[Node] = []
    plain = charset & spelling.raw
    if plain:
        items.append(Chars(plain))
    short = "".join(escape[1] for character, escape in spelling.short if character in charset)
    if len(short) > 1:
        items.append(concat([Literal("\\"), Chars(Charset.of((ord(letter), ord(letter)) for letter in short))]))
    elif short:
        items.append(Literal(f"\\{short}"))
    escaped: list[Node] = []
    for low, high in (charset & spelling.escaped).ranges:
        if low <= 0xFFFF:
            escaped.append(_hexadecimal(low, min(high, 0xFFFF)))
        if high > 0xFFFF:
            escaped.extend(_pairs(max(low, 0x10000), high))
    if escaped:
        items.append(concat([Literal("\\u"), alternate(escaped)]))
    return alternate(items)


def _pairs(low: int, high: int) -> list[Node]:
    r"""Return the surrogate pairs of the characters ``low`` to ``high``, all above U+FFFF, without the first ``\u``."""
    found: list[Node] = []
    first, last = (low - 0x10000) >> 10, (high - 0x10000) >> 10
    middle = [first, last]
    if low & 0x3FF or first == last:
        end = high if first == last else low | 0x3FF
        found.append(_pair(first, first, low & 0x3FF, end & 0x3FF))
        middle[0] += 1
    if first != last and high & 0x3FF != 0x3FF:
        found.append(_pair(last, last, 0, high & 0x3FF))
        middle[1] -= 1
    if middle[0] <= middle[1]:
        found.append(_pair(middle[0], middle[1], 0, 0x3FF))
    return found


def _pair(first: int, last: int, low: int, high: int) -> Node:
    leading = _hexadecimal(0xD800 + first, 0xD800 + last)
    return concat([leading, Literal("\\u"), _hexadecimal(0xDC00 + low, 0xDC00 + high)])


def _hexadecimal(low: int, high: int, digits: int = 4) -> Node:
    """Return the numbers from ``low`` to ``high`` in exactly ``digits`` hexadecimal digits of either case."""
    if digits == 0:
        return Literal("")
    unit = 16 ** (digits - 1)
    first, last = low // unit, high // unit
    if first == last:
        return concat([_hex_digit(first, first), _hexadecimal(low % unit, high % unit, digits - 1)])
    items: list[Node] = []
    if low % unit:
        items.append(concat([_hex_digit(first, first), _hexadecimal(low % unit, unit - 1, digits - 1)]))
        first += 1
    if high % unit != unit - 1:
        items.append(concat([_hex_digit(last, last), _hexadecimal(0, high % unit, digits - 1)]))
        last -= 1
    if first <= last:
        items.append(concat([_hex_digit(first, last), _hexadecimal(0, unit - 1, digits - 1)]))
    return alternate(items)


def _hex_digit(low: int, high: int) -> Node:
    ranges = [(ord(digit), ord(digit)) for value in range(low, high + 1) for digit in (f"{value:x}", f"{value:X}")]
    return Chars(Charset.of(ranges))


def spelled_slowly(values: Node, spelling: Spelling) -> Operand:
    """The spellings of the texts of a pattern: each edge of its automaton becomes the paths of its characters' spellings."""
    found = operand_of(from_tree(values))
    edges, n_states = list[tuple[int, Charset, int]](), found.n_states
    for source, charset, target in found.edges:
        paths = operand_of(from_tree(characters_spelled(charset, spelling)))
        inner = {state: n_states + state for state in range(paths.n_states)}
        inner |= {0: source, **dict.fromkeys(paths.accepting, target)}
        edges += [(inner[begin], letters, inner[end]) for begin, letters, end in paths.edges]
        n_states += paths.n_states
    return Operand(tuple(edges), found.accepting, n_states, found.steps)


@given(
    st.lists(st.tuples(st.integers(0, 0x10FFFF), st.integers(0, 3000)), min_size=1, max_size=4),
    st.sampled_from(ESCAPES),
)
def test_patterns_of_characters_spell_them(pairs: list[tuple[int, int]], escapes: str) -> None:
    charset = Charset.of((low, min(low + more, 0x10FFFF)) for low, more in pairs)
    tree = lifted_tree(Chars(charset), SPELLINGS[escapes])
    assert tree is not None
    assert from_tree(tree) == from_tree(characters_spelled(charset, SPELLINGS[escapes]))


@given(patterns('an\n\\"0u', max_leaves=6), st.sampled_from(ESCAPES))
def test_arrays_spell_as_trees_do(source: str, escapes: str) -> None:
    tree = parse(source)
    dfa = over_characters(tree)
    table, accepting, labels = minimal(dfa.table, dfa.accepting, np.zeros(len(dfa.table), np.int32))
    found = spelled(table, accepting, labels, dfa.partition, SPELLINGS[escapes], LIMITS)
    assert found == from_tree(spelled_slowly(tree, SPELLINGS[escapes]))
    assert is_canonical(found)


@pytest.mark.parametrize("escapes", ESCAPES)
@pytest.mark.parametrize(
    "source",
    [
        r"\w{1,2}",
        r"\n0|u000a0|n",
        r"[\x00-\x1f\"\\/]*a?",
        "[😀-🙏é]+",
        "[\U00010300-\U00010400\U0001f600]|\ud7ff",
        "(?s).{3,6}",
        "",
        "[^a]|[\U00100000-\U0010ffff]x",
    ],
)
def test_arrays_spell_as_trees_do_in_hard_cases(source: str, escapes: str) -> None:
    test_arrays_spell_as_trees_do.hypothesis.inner_test(source, escapes)  # type: ignore[attr-defined]


def test_accidents_among_sums_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    dfa = over_characters(parse(r"[a-z]\n?|\d😀*"))
    table, accepting, labels = minimal(dfa.table, dfa.accepting, np.zeros(len(dfa.table), np.int32))
    expected = spelled(table, accepting, labels, dfa.partition, ANY, LIMITS)
    monkeypatch.setattr(hexadecimal, "_WEIGHTS", np.zeros(16, np.uint64))
    monkeypatch.setattr(bodies, "_memo", Memo())
    assert spelled(table, accepting, labels, dfa.partition, ANY, LIMITS) == expected


# -------------------------------------------------------------------------------------------------------------- formulas

SOURCES = ["^a*$", "b", "^[^b]", "a.b$", r"\\", "^$", "^(?!ab)", r"\n", "é|😀$"]
# Those of which a pattern may be made that says no more than they do.
PLAIN_CHARACTERS = "".join(chr(point) for point in range(0x20, 0x7F) if chr(point) not in r"$()*+.?[\]^{|}")
VALUES = ["", "a", "ab", "b", "é", "aab", "😀", "\n", '"', "\\", "a/b", "\x0b", "\x1fb", "\ud800", "abab"]


@st.composite
def formulas_and_roots(draw: st.DrawFn) -> tuple[Formulas, list[int]]:
    formulas = Formulas()
    atoms: list[Atom] = [("pattern", source) for source in SOURCES]
    atoms += [("length", 0, 1), ("length", 1, -1), ("length", 2, 3), ("length", 3, 2), ("length", 0, -1)]
    atoms += [("strings", tuple(sorted(draw(st.sets(st.sampled_from(VALUES), max_size=5))))) for _ in range(3)]
    known = [formulas.atom(atom) for atom in draw(st.lists(st.sampled_from(atoms), min_size=1, max_size=5))]
    known += [FALSE, TRUE]
    for _ in range(draw(st.integers(0, 5))):
        members = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
        kind = draw(st.sampled_from("&|!1"))
        make = {"&": formulas.conjunction, "|": formulas.disjunction, "1": formulas.exactly_one}
        known.append(formulas.negation(members[0]) if kind == "!" else make[kind](members))
    return formulas, draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))


@pytest.mark.parametrize("escapes", ESCAPES)
@given(case=formulas_and_roots(), texts=st.lists(st.text(st.sampled_from('ab\n\\"é😀\x0b/'), max_size=4), max_size=20))
def test_formulas(escapes: str, case: tuple[Formulas, list[int]], texts: list[str]) -> None:
    formulas, wanted = case
    leaf = build(formulas, wanted, escapes)
    assert is_canonical(leaf.automaton)
    values = [value for value in VALUES if value != "\ud800"]
    bodies = [body for text in (*values, *texts) for body in spellings(text)]
    check(formulas, wanted, leaf, bodies, escapes)


@pytest.mark.parametrize("escapes", ESCAPES)
@given(st.lists(st.text(PLAIN_CHARACTERS, max_size=4), min_size=1, max_size=4), st.sampled_from(["^({})$", "^(?:{})$"]))
def test_a_pattern_of_words_is_an_enumeration(escapes: str, words: list[str], frame: str) -> None:
    source = frame.format("|".join(words))
    lowering = lowered({"type": "string", "pattern": source})
    listed = lowering.formulas.atom(("strings", tuple(sorted(set(words)))))
    assert [*lowering.formulas.atoms(lowering.root)][-1] == ("string", listed)
    pattern = lowering.formulas.atom(("pattern", source))
    assert build(lowering.formulas, [listed], escapes) == build(lowering.formulas, [pattern], escapes)


@pytest.mark.parametrize(
    "source", ["^a|b$", "^a", "a$", "^a.$", "^(a)|(b)$", "^é$", "^(a|(b))$", "^[ab]$", "^a\n$", "^\\w$"]
)
def test_any_other_pattern_is_a_pattern(source: str) -> None:
    lowering = lowered({"type": "string", "pattern": source})
    pattern = lowering.formulas.atom(("pattern", source))
    assert [*lowering.formulas.atoms(lowering.root)][-1] == ("string", pattern)


def test_formulas_of_one_structure_are_made_once() -> None:
    leaves = []
    for spare in ("x", "y"):
        formulas = Formulas()
        formulas.atom(("pattern", spare))
        both = formulas.conjunction(
            [formulas.atom(("pattern", "^once$")), formulas.negation(formulas.atom(("length", 0, 3)))]
        )
        leaves.append(build(formulas, [both, TRUE]))
    assert leaves[0] is leaves[1]


def test_nothing_satisfies() -> None:
    formulas = Formulas()
    for must in (
        FALSE,
        formulas.atom(("strings", ())),
        formulas.atom(("pattern", "a^")),
        formulas.atom(("length", 2, 1)),
    ):
        for escapes in ESCAPES:
            leaf = build(formulas, [must, TRUE], escapes)
            assert leaf.automaton.is_empty()
            assert leaf.automaton.n_states == 1


def test_many_observed_formulas_have_numbered_vectors() -> None:
    formulas = Formulas()
    observed = [formulas.atom(("length", n, -1)) for n in range(1, 25)]
    listed = formulas.atom(("strings", ("aaa", "b")))
    wanted = [formulas.disjunction([listed, formulas.atom(("pattern", "^a*$"))]), *observed, listed]
    leaf = build(formulas, wanted)
    assert is_canonical(leaf.automaton)
    assert len(set(leaf.vectors)) == len(leaf.vectors) < 40
    check(formulas, wanted, leaf, ["a" * n for n in range(30)] + ["b", "ab", "bb"], "canonical")


# --------------------------------------------------------------------------------------------------- lengths and patterns


def test_a_length_that_the_pattern_implies_costs_nothing() -> None:
    formulas = Formulas()
    pattern = formulas.atom(("pattern", "^[a-z]{2,4}x?$"))
    both = formulas.conjunction([pattern, formulas.atom(("length", 1, 100_000_000))])
    assert build(formulas, [both]).automaton == build(formulas, [pattern]).automaton


def test_a_large_length_with_a_pattern_of_one_class() -> None:
    formulas = Formulas()
    both = formulas.conjunction([formulas.atom(("pattern", "^[a-z]+$")), formulas.atom(("length", 3, 65_535))])
    automaton = build(formulas, [both]).automaton
    assert automaton.n_states == 65_536
    for length, expected in ((2, False), (3, True), (65_535, True), (65_536, False)):
        assert automaton.accepts(b"a" * length) == expected


def test_too_much_at_once_is_named() -> None:
    formulas = Formulas()
    pattern, length = ("pattern", "a.{9}b"), ("length", 0, 900)
    both = formulas.conjunction([formulas.atom(pattern), formulas.atom(length)])
    with pytest.raises(LimitError, match=r"pattern 'a\.\{9\}b', length 0 to 900") as caught:
        build(formulas, [both], limits=Limits(states=5_000))
    assert caught.value.what == "states"
    with pytest.raises(LimitError, match="length 900"):
        build(formulas, [formulas.atom(length)], limits=Limits(states=500))


@pytest.mark.parametrize("source", ["a.{10}b", "^(a|b|ab)*a.{10}[ab]$", "^[ab]+a[a-z]{12}$", "a.{9,10}b"])
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_a_pattern_of_many_states_is_refused_at_once(keyword: str, source: str) -> None:
    """Also of a member that no text needs."""
    inner = {"pattern": source} if keyword == "pattern" else {"patternProperties": {source: {"type": "null"}}}
    spec = JsonSchema({"type": "object", "properties": {"a": inner}})
    words = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
    with pytest.raises(LimitError, match=f"the pattern at /properties/a/{keyword} needs") as caught:
        compile_spec(spec, words, limits=Limits(states=500))
    assert caught.value.what == "states"
    compile_spec(spec, words)


def test_a_wrong_pattern_is_refused_beside_any_other_keyword() -> None:
    formulas = Formulas()
    wrong = formulas.atom(("pattern", "("))
    for must in (wrong, formulas.conjunction([wrong, formulas.atom(("strings", ("a",)))])):
        with pytest.raises(PatternError):
            build(formulas, [must])


# ------------------------------------------------------------------------------------------------------------------ lists


@pytest.mark.parametrize("escapes", ESCAPES)
def test_a_list_of_strings(escapes: str) -> None:
    formulas = Formulas()
    values = ["", "a", "ab", 'quo"te', "back\\slash", "tab\t", "\x0b\x1e", "é", "😀x", "a/b", "\ud800"]
    leaf = build(formulas, [formulas.atom(("strings", tuple(sorted(values))))], escapes)
    assert is_canonical(leaf.automaton)
    others = ["b", "abc", "😀", "a/", "\x0b", "\x1e"]
    bodies = [body for value in (*values[:-1], *others) for body in spellings(value)]
    check(formulas, [formulas.atom(("strings", tuple(sorted(values))))], leaf, bodies, escapes)


def test_a_list_of_many_strings() -> None:
    formulas = Formulas()
    values = tuple(sorted(f"value {i * 7919 % 1000003}" for i in range(20_000)))
    leaf = build(formulas, [formulas.atom(("strings", values))])
    assert all(leaf.automaton.accepts(value.encode()) for value in values[::97])
    assert not leaf.automaton.accepts(b"value 1000003")


# ------------------------------------------------------------------------------------------------------------------- keys

names_of_keys = st.lists(st.text(st.sampled_from('ab"\\/é😀\x0b\n'), max_size=3), unique=True, max_size=6)


def key(automaton_and_vectors: object, body: str) -> KeyLabel | None:
    leaf = automaton_and_vectors
    state = leaf.automaton.run(body.encode())  # type: ignore[attr-defined]
    if state < 0 or not leaf.automaton.accepting[state]:  # type: ignore[attr-defined]
        return None
    return leaf.vectors[leaf.automaton.labels[state]]  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("escapes", ESCAPES)
@given(names=names_of_keys, sources=st.lists(st.sampled_from(SOURCES), max_size=3), others=names_of_keys)
def test_keys_by_value(escapes: str, names: list[str], sources: list[str], others: list[str]) -> None:
    formulas = Formulas()
    options = JsonOptions(escapes=escapes)
    wanted = [formulas.atom(("pattern", source)) for source in sources]
    leaf = key_automaton(names, wanted, formulas, options, LIMITS)
    assert is_canonical(leaf.automaton)
    for text in (*names, *others, *(name + "a" for name in names), *(name[:-1] for name in names)):
        for body in spellings(text):
            value = value_of(body, escapes)
            expected = None
            if value is not None:
                bits = sum(search(source, value) << i for i, source in enumerate(sources))
                expected = KeyLabel(names.index(value) if value in names else OTHER, bits)
            assert key(leaf, body) == expected, body


def test_an_escaped_name_is_that_name() -> None:
    leaf = key_automaton(["a", "é"], [], Formulas(), JsonOptions(escapes="any"), LIMITS)
    assert key(leaf, "\\u0061") == key(leaf, "a") == KeyLabel(0, 0)
    assert key(leaf, "\\u00E9") == key(leaf, "\\u00e9") == KeyLabel(1, 0)
    assert key(leaf, "\\u0061a") == KeyLabel(OTHER, 0)


def test_names_with_lone_surrogates_are_not_keys() -> None:
    leaf = key_automaton(["\ud800", "b"], [], Formulas(), JsonOptions(), LIMITS)
    assert key(leaf, "b") == KeyLabel(1, 0)
    assert is_canonical(leaf.automaton)


# ---------------------------------------------------------------------------------------------------------------- budgets


def test_patterns_count_in_one_budget_whether_or_not_they_are_kept() -> None:
    source = "(a|b)*a(a|b){7}$"
    took = known(("pattern", source), LIMITS).steps
    assert took > 0
    # It may be known from elsewhere.
    known(("strings", ("b",)), LIMITS)
    for beside in ((), ("a",), ("b",)):
        for _ in range(2):
            formulas = Formulas()
            wanted = [
                formulas.conjunction(
                    [formulas.atom(("pattern", source)), formulas.negation(formulas.atom(("strings", beside)))]
                )
            ]
            in_one_budget(partial(build, formulas, wanted), Steps(2 * took))
            with pytest.raises(LimitError, match="steps"):
                in_one_budget(partial(build, formulas, wanted), Steps(took - 1))


def test_no_budget_is_left_after_an_interrupt() -> None:
    def spend() -> None:
        steps = Steps(1_000)
        in_one_budget(lambda: spend_together(1_000), steps)
        assert steps.spent == 1_000

    assert [*interrupted_anywhere(spend)]


def test_long_lists_pass_limits() -> None:
    formulas = Formulas()
    listed = formulas.atom(("strings", ("a" * 2_000,)))
    for escapes, bounds in product(
        ESCAPES, (Limits(states=1_000), Limits(nfa_states=1_000), Limits(transitions=1_000))
    ):
        with pytest.raises(LimitError):
            build(formulas, [listed], escapes, bounds)
        with pytest.raises(LimitError):
            key_automaton(["a" * 2_000], [], formulas, JsonOptions(escapes=escapes), bounds)


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_reading_a_pattern_counts_once_however_often_it_occurs(keyword: str) -> None:
    def refusal(sources: list[str]) -> str:
        places = [{keyword: source if keyword == "pattern" else {source: {"maxLength": 3}}} for source in sources]
        try:
            compile_spec(JsonSchema({"prefixItems": places}), BYTES, Limits(steps=500_000))
        except LimitError as error:
            return str(error)
        return ""

    assert not refusal(["^a[bc]+d"] * 1_000)
    expected = f"the patterns up to that at /prefixItems/1[23]\\d/{keyword} are too many or too long"
    assert re.search(expected, refusal([f"^a[bc]+{i}" for i in range(1_000)]))


def test_patterns_that_no_text_could_contain_are_refused_with_their_place() -> None:
    def schema(count: int) -> dict[str, Any]:
        pattern = f"^/(?:[^/][!-~]+/){{1,{count}}}[a-z]{{1,64}}$"
        return {
            "properties": {"a": {"pattern": r"^\\d{10,20}(?:x*y)*$"}, "path": {"type": "string", "pattern": pattern}}
        }

    guide = compiled(schema(20)).guide()
    guide.advance_many(b'{"path":"/ab/')
    assert len(guide.mask())
    for count, what in ((511, "growth_bytes"), (40_000, "states")):
        with pytest.raises(LimitError, match="the pattern at /properties/path/pattern needs") as caught:
            compiled(schema(count))
        assert caught.value.what == what
        assert caught.value.given > caught.value.limit
