"""`compile`, `Regex`, `Choice`: what they accept, what they refuse, and in which words."""

import re
from dataclasses import FrozenInstanceError
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_strings, from_tree
from guided.encoding import fingerprint_of
from guided.engine.compile import compile as compile_index
from guided.engine.specs import Choice, Regex, Spec
from guided.errors import LimitError, PatternError, SchemaError, VocabularyError
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.vocabulary.vocabulary import Vocabulary
from tests.profiles import examples
from tests.strategies import patterns, plain_patterns

BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)


# ------------------------------------------------------------------------------------------------------------ specs


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Regex(b"a"), TypeError, "a pattern must be a str, not bytes"),
        (lambda: Regex(None), TypeError, "a pattern must be a str, not NoneType"),
        (lambda: Regex(re.compile("a")), TypeError, "a pattern must be a str, not Pattern"),
        (lambda: Regex("a", builder="re"), ValueError, "builder must be 'guided' or 'interegular', not 're'"),
        (lambda: Regex("a", builder=None), ValueError, "builder must be 'guided' or 'interegular', not None"),
        (lambda: Choice("abc"), TypeError, "options must be a list of str, not one str"),
        (lambda: Choice(b"abc"), TypeError, "options must be a list of str, not one str"),
        (lambda: Choice(5), TypeError, "options must be a list of str, an Enum class or a Literal, not int"),
        (lambda: Choice(None), TypeError, "options must be a list of str, an Enum class or a Literal, not NoneType"),
        (lambda: Choice([]), SchemaError, r"a choice needs at least one option \(at the root, choice\)"),
        (lambda: Choice(["a", "b", "a"]), SchemaError, r"duplicate option 'a' \(at /2, choice\)"),
        (lambda: Choice(["a", int]), TypeError, "option 1 must be a str, a number or an Enum member, not the class int; alternatives"),
        (lambda: Choice(["a", b"b"]), TypeError, "option 1 must be a str, a number or an Enum member, not bytes"),
        (lambda: Choice(["1", 1]), SchemaError, r"duplicate option '1' \(at /1, choice\)"),
        (lambda: Choice(["ok", "\ud800"]), SchemaError, r"a lone surrogate cannot be encoded as UTF-8 \(at /1, choice\)"),
    ],
)  # fmt: skip
def test_specs_refuse(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_specs_are_immutable_and_hashable() -> None:
    regex, choice = Regex("a*"), Choice(["a", "b"])
    assert isinstance(regex, Spec)
    assert isinstance(choice, Spec)
    for spec, name in ((regex, "pattern"), (choice, "options")):
        with pytest.raises(FrozenInstanceError):
            setattr(spec, name, "x")
    assert len({regex, Regex("a*"), choice, Choice(["a", "b"])}) == 2


def test_fingerprints_identify_the_language() -> None:
    specs = [
        Regex("a"),
        Regex("b"),
        Regex("a", builder="interegular"),
        Choice(["a"]),
        Choice(["a", "b"]),
        Choice(["ab"]),
        Choice([""]),
    ]
    assert len({spec.fingerprint for spec in specs}) == len(specs)
    assert Choice(["a", "b"]).fingerprint == Choice(["b", "a"]).fingerprint
    assert Regex("a").fingerprint == Regex("a").fingerprint
    assert re.fullmatch("[0-9a-f]{64}", Regex("\ud800é").fingerprint)


@settings(max_examples=examples(100))
@given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_parts_of_a_fingerprint_do_not_run_together(left: list[str], right: list[str]) -> None:
    assert (fingerprint_of("x", *left) == fingerprint_of("x", *right)) == (left == right)


def test_choices_lower_to_exactly_their_options() -> None:
    options = ["", "a", "ab", "é", "a\nb", ".*"]
    assert Choice(options).lower(Limits()) == from_strings(option.encode() for option in options)
    assert Choice(iter(options)).options == tuple(options)
    assert Choice({"a": 1, "b": 2}).options == ("a", "b")


@settings(max_examples=examples(100))
@given(patterns(max_leaves=6))
def test_regexes_lower_to_the_texts_that_re_matches(pattern: str) -> None:
    assert Regex(pattern).lower(Limits()) == from_tree(parse(pattern))


@pytest.mark.parametrize(
    ("pattern", "position", "reason"),
    [
        ("a)", 1, "unbalanced parenthesis"),
        ("(a", 0, r"missing \), unterminated subpattern"),
        ("[a", 0, "unterminated character set"),
        ("*a", 0, "nothing to repeat"),
        (r"(a)\1", 3, "backreference"),
        (r"a(?<=b*)", 1, "look-behind of unbounded width"),
        ("a\ud800", 1, "lone surrogate"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("builder", ["guided", "interegular"])
def test_patterns_are_refused_when_compiled_with_their_place(
    builder: str, pattern: str, position: int, reason: str
) -> None:
    spec = Regex(pattern, builder=builder)  # type: ignore[arg-type]
    with pytest.raises(PatternError, match=reason) as error:
        compile_index(spec, BYTES)
    assert error.value.position == position
    assert error.value.pattern == pattern


@pytest.mark.parametrize(
    "pattern",
    ["(?<=a)b", "^a", "a$", r"\bword", r"(?x) a", r"\u0041", r"\p{Lu}", r"\N{DIGIT ONE}", "(?#c)a", "(" * 2000 + "a" + ")" * 2000],
    ids=lambda pattern: pattern[:12],
)  # fmt: skip
def test_the_error_names_interegular_if_only_it_refuses(pattern: str) -> None:
    Regex(pattern).lower(Limits())
    with pytest.raises(PatternError, match=r"interegular refuses the pattern \(\w+: .*\); use builder='guided'"):
        Regex(pattern, builder="interegular").lower(Limits())


@settings(max_examples=examples(100))
@given(patterns("ab1", max_leaves=6))
def test_with_interegular_only_typed_errors_leave(pattern: str) -> None:
    """Whatever interegular thinks of a pattern: an automaton, or a PatternError."""
    try:
        found = Regex(pattern, builder="interegular").lower(Limits())
    except PatternError:
        return
    assert isinstance(found, Automaton)


@settings(max_examples=examples(80))
@given(plain_patterns(max_leaves=5))
def test_the_builders_give_equal_indices_where_interegular_is_right(pattern: str) -> None:
    ours, theirs = (
        compile_index(Regex(pattern, builder=builder), BYTES).tables for builder in ("guided", "interegular")
    )
    assert ours.automaton == theirs.automaton
    assert np.array_equal(ours.row_functions, theirs.row_functions)
    assert np.array_equal(ours.row_targets, theirs.row_targets)


# ---------------------------------------------------------------------------------------------------------- compile


class Broken:
    """Has a fingerprint and cannot be lowered: no spec."""

    fingerprint = "x"


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("a*", BYTES), TypeError, r"expected a spec \(Regex, Choice, Tools, JsonSchema, Grammar, a composition\), not str"),
        ((re.compile("a"), BYTES), TypeError, "not Pattern"),
        ((None, BYTES), TypeError, "not NoneType"),
        ((Regex, BYTES), TypeError, "not the class Regex"),
        ((Broken(), BYTES), TypeError, "not Broken"),
        ((Regex("a"), [b"a"]), TypeError, r"expected a Vocabulary, not list: Vocabulary.from_tokenizer\(...\) makes one"),
        (
            (Regex("a"), SimpleNamespace(vocabulary=BYTES)),
            TypeError,
            "expected a Vocabulary, not SimpleNamespace: give its attribute vocabulary",
        ),
        ((Regex("a"), None), TypeError, "expected a Vocabulary, not NoneType"),
        ((BYTES, Regex("a")), TypeError, r"expected a spec \(Regex, Choice, Tools, JsonSchema, Grammar, a composition\), not Vocabulary"),
        ((Regex("a"), BYTES, 1000), TypeError, "limits must be a Limits, not int"),
        ((Regex("a"), BYTES, {}), TypeError, "limits must be a Limits, not dict"),
        ((Regex("(?!)"), BYTES), PatternError, "the pattern matches no text"),
        ((Regex("a"), Vocabulary([b"a"])), VocabularyError, "the vocabulary has no EOS token"),
        ((Regex("a"), Vocabulary([], eos=[0], size=1)), VocabularyError, "no sequence of tokens spells"),
        ((Regex("a{9}"), BYTES, Limits(states=5)), LimitError, "states: .* needed, 5 allowed"),
        ((Regex("a" * 9), BYTES, Limits(pattern_length=5)), LimitError, "pattern_length: 9 needed, 5 allowed"),
        ((Regex("((a))"), BYTES, Limits(depth=1)), LimitError, "depth: 2 needed, 1 allowed"),
        ((Choice(["abcdef"]), BYTES, Limits(states=5)), LimitError, "states: 7 needed, 5 allowed"),
        ((Regex("(a|b)*a(a|b){25}"), BYTES), LimitError, "too large or too ambiguous for a deterministic automaton"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_compile_refuses(arguments: tuple, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        compile_index(*arguments)


def test_any_object_with_the_two_methods_is_a_spec() -> None:
    class Digits:
        @property
        def fingerprint(self) -> str:
            return "digits"

        def lower(self, limits: Limits) -> Automaton:
            return from_tree(parse("[0-9]+"), limits)

    index = compile_index(Digits(), BYTES)
    assert index.spec_fingerprint == "digits"
    assert index.guide().accepts(b"42")


def test_equal_languages_compile_to_equal_tables() -> None:
    first, second = compile_index(Regex("ab|cb"), BYTES), compile_index(Choice(["cb", "ab"]), BYTES)
    assert first.tables.automaton == second.tables.automaton
    assert first.tables.row_targets.tolist() == second.tables.row_targets.tolist()
    assert first.spec_fingerprint != second.spec_fingerprint


class Counted:
    """A spec that counts how often its fingerprint is computed."""

    computed = 0

    @property
    def fingerprint(self) -> str:
        self.computed += 1
        return Regex("a").fingerprint

    def lower(self, limits: Limits) -> Automaton:
        return Regex("a").lower(limits)


def test_a_compile_computes_the_fingerprint_once() -> None:
    """Of tools it is a digest of the tree of their calls, a fifth of the compile of one function."""
    spec = Counted()
    assert compile_index(spec, BYTES).accepts(b"a")
    assert spec.computed == 1


def test_an_object_that_lowers_itself_without_a_fingerprint_is_no_spec() -> None:
    with pytest.raises(TypeError, match=r"expected a spec .*, not SimpleNamespace"):
        compile_index(SimpleNamespace(lower=Regex("a").lower), BYTES)  # type: ignore[call-overload]
