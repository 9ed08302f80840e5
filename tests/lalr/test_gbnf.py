"""GBNF: the language of the notation, by an oracle on random grammars; the notation itself; what is refused, with its place."""

from itertools import product
from typing import Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

import guided
from guided.engine.grammar import Grammar
from guided.errors import GrammarError, GuidedError, LimitError
from guided.lalr.sources import dialect_of
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.oracles import gbnf_ends

BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [b"ab", b"a,", b"((", b"))", b",a", None], eos=[261])
ALPHABET = "ab,("
TEXTS = ["".join(letters) for length in range(5) for letters in product(ALPHABET, repeat=length)]


def spelled(body: Any) -> str:
    match body:
        case ("text", word):
            return f'"{word}"'
        case ("class", characters, is_negated):
            return f"[{'^' if is_negated else ''}{''.join(sorted(characters))}]"
        case ("rule", name):
            return str(name)
        case ("sequence", *items):
            return f"({' '.join(map(spelled, items))})"
        case ("choice", *items):
            return f"({' | '.join(map(spelled, items))})"
        case ("repeat", item, least, most):
            return f"{spelled(item)}{{{least},{'' if most is None else most}}}"
    raise ValueError(body)


def text_of(rules: dict[str, Any]) -> str:
    return "\n".join(f"{name} ::= {spelled(body)}" for name, body in rules.items())


LEAVES = st.one_of(
    st.tuples(st.just("text"), st.text(ALPHABET, max_size=2)),
    st.tuples(st.just("class"), st.frozensets(st.sampled_from("ab,"), min_size=1), st.booleans()),
    st.tuples(st.just("rule"), st.sampled_from(["root", "x", "y-1"])),
)
BODIES = st.recursive(
    LEAVES,
    lambda body: st.one_of(
        st.lists(body, min_size=1, max_size=3).map(lambda items: ("sequence", *items)),
        st.lists(body, min_size=1, max_size=3).map(lambda items: ("choice", *items)),
        st.builds(
            lambda item, least, more: ("repeat", item, least, None if more is None else least + more),
            body,
            st.integers(0, 2),
            st.none() | st.integers(0, 2),
        ),
    ),
    max_leaves=8,
)
GRAMMARS = st.fixed_dictionaries({"root": BODIES, "x": BODIES, "y-1": BODIES})
A_OR_LIST = ("choice", ("class", frozenset("ab"), False), ("sequence", ("text", "("), ("rule", "root"), ("text", ",")))
OPERATORS = (
    "choice",
    ("sequence", ("rule", "root"), ("text", ","), ("rule", "root")),
    ("sequence", ("rule", "x"), ("rule", "root")),
    ("sequence", ("rule", "root"), ("text", "b")),
    ("rule", "root"),
    ("text", "a"),
)
MANY = ("repeat", ("class", frozenset("ab"), False), 1, None)


def completed(index: guided.Index, text: bytes) -> bytes:
    """Return a text that begins with this one, by tokens after each of which fewer are needed."""
    guide, found = index.guide(), text
    guide.advance_many(list(text))
    while guide.remaining:
        left = guide.remaining
        for token in index.allowed(guide.state):
            guide.advance(token)
            if guide.remaining < left:
                found += BYTES.tokens[token]
                break
            guide.rollback(1)
        else:
            raise AssertionError(f"no token brings {found!r} nearer to its end")
    return found


@given(GRAMMARS)
@example({"root": A_OR_LIST, "x": ("text", "a"), "y-1": ("text", "b")})
# Where a lexeme ends depends on what follows: `ab` is one word, or two.
@example(
    {
        "root": ("sequence", MANY, ("rule", "x")),
        "x": ("choice", ("text", "b"), ("sequence", ("text", "("), ("rule", "root"))),
        "y-1": MANY,
    }
)
@example(
    {
        "root": ("sequence", ("rule", "x"), ("text", ",a")),
        "x": ("choice", ("sequence", ("text", "("), ("rule", "root"), ("rule", "y-1")), ("text", "a")),
        "y-1": ("repeat", ("text", ","), 0, None),
    }
)
@example({"root": OPERATORS, "x": ("text", "("), "y-1": ("class", frozenset("ab"), False)})
# Nothing but itself.
@example(
    {
        "root": ("choice", ("rule", "x"), ("text", "a")),
        "x": ("choice", ("sequence", ("rule", "x"), ("rule", "x"))),
        "y-1": MANY,
    }
)
def test_the_language_is_that_of_the_notation(rules: dict[str, Any]) -> None:
    try:
        index = guided.compile(Grammar(text_of(rules)), BYTES)
    except GrammarError as refused:
        event(f"refused: {refused.reason[:30]}")
        return
    event("accepted")
    valid = {text for text in TEXTS if len(text) in gbnf_ends(rules, "root", text)}
    assert {text for text in TEXTS if index.accepts(text.encode())} == valid
    for text in sorted(valid)[:20]:
        guide = index.guide()
        for byte in text.encode():
            assert byte in index.allowed(guide.state), text
            guide.advance(byte)
        assert guide.is_accepting
    # No prefix that the masks allow is a dead end.
    for text in TEXTS[1:21]:
        guide = index.guide()
        if all(byte in index.allowed(guide.state) and (guide.advance(byte), True)[1] for byte in text.encode()):
            whole = completed(index, text.encode()).decode()
            assert len(whole) in gbnf_ends(rules, "root", whole), (text, whole)


ARITHMETIC = r"""
# Equations, one on each line.
root ::= (sum "=" ws term "\n")+
sum  ::= term ([-+*/] term)*
term ::= name | number | "(" ws sum ")" ws
name ::= [a-z] [a-z0-9_]* ws
number ::= [0-9]+ ws
ws   ::= [ \t\n]*
"""
JSON = r"""
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (
    string ":" ws value
    ("," ws string ":" ws value)*   # members
  )? "}" ws
array ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws
ws ::= ([ \t\n] ws)?
"""
STATEMENTS = r"""
root ::= statement+
statement ::= type name " = " value ";" | name " = " value ";" | name "(" arguments? ")" ";" |
    "return " value ";" | "if (" value ")" "{" statement* "}" ("else" "{" statement* "}")? | "//" [^\n]* "\n"
type ::= "int " | "char "
name ::= [a-z_] [a-z0-9_]*
value ::= name | [0-9]+ | name "(" arguments? ")" | "(" value ")"
arguments ::= value ("," value)*
"""


@pytest.mark.parametrize(
    ("grammar", "valid", "invalid"),
    [
        (ARITHMETIC, ["a=1\n", "a+(b *2)\n=3 \n\n", "(a)=1\n\n\nb-c=d\n"], ["a=1", "a=1\n=2\n", ""]),
        (JSON, ['{"a": [1, -2.5e3, {}], "b":null}\n  ', "{}"], ['{"a":01}', "[]", '{"a":1,}']),
        (
            STATEMENTS,
            ["int x = y;if (z){}else{return (f(1));}", "int(x);", "return = 3;", "//\nint = int;", "return x;"],
            ["int x;", "int  = 1;", "if (x){}else"],
        ),
        (r'root ::= [^\r\n\x41-\u0043"\]\-]+ "\U0001F600" .', ["ab\U0001f600x", "D\U0001f600\n"], ["A\U0001f600x", "-\U0001f600x"]),
        ('root ::= "a" | "b" |\n "c"\n | x{2} x{0} x{1,} \nx::="\\"" ""', ["a", "c", '"""'], ["d", '""', "aa"]),
        ("root ::= [a-] [-b] (\n\n[c] # why\n)\r\n", ["a-c", "-bc"], ["b-c"]),
        ('root ::= dataType dataType\ndataType ::= "x" | "(" data-type ")"\ndata-type ::= dataType dataType?', ["xx", "(xx)x"], ["x"]),
    ],
)  # fmt: skip
def test_typical_grammars(grammar: str, valid: list[str], invalid: list[str]) -> None:
    index = guided.compile(Grammar(grammar), BYTES)
    assert index.notes == ()
    assert [text for text in (*valid, *invalid) if index.accepts(text.encode())] == valid
    for text in valid:
        guide = index.guide()
        for byte in text.encode():
            assert byte in index.allowed(guide.state), text
            guide.advance(byte)
        assert guide.is_accepting


@pytest.mark.parametrize(
    ("grammar", "reason", "rule", "line", "column"),
    [
        ("", "not defined", "root", None, None),
        ('start ::= "a"', "add `root ::= ...`", "root", None, None),
        ('root ::= "a" x', "x is used but not defined", "root", 1, 14),
        ('root ::= "a"\nroot ::= "b"', "defined twice", "root", 2, 1),
        ('root ::= "a', "string is not closed", "root", 1, 10),
        ("root ::= [a", "class is not closed", "root", 1, 10),
        ("root ::= [a-z\n", "class is not closed", "root", 1, 10),
        ("root ::= []", "no character", "root", 1, 10),
        ("root ::= [^\\x00-\\U0010FFFF]", "no character", "root", 1, 10),
        ("root ::= [z-a]", "from the lower", "root", 1, 10),
        ('root ::= "a"{3,2}', "from the lower", "root", 1, 13),
        ('root ::= "a"{,2}', "a count is written", "root", 1, 13),
        ("root ::= *", "repeats nothing", "root", 1, 10),
        ('root ::= ("a"', "not closed", "root", 1, 10),
        ('root ::= "a")', "cannot come here", "root", 1, 13),
        ('root ::= "\\q"', "the escapes are", "root", 1, 11),
        ('root ::= "\\U00110000"', "the escapes are", "root", 1, 11),
        ("root ::= <think>", "tokens", "root", 1, 10),
        ("root ::= !<[5]>", "tokens", "root", 1, 10),
        ('root ::= TagDispatch(("t", x))\nx ::= "a"', "a structural tag has triggered_tags", "root", 1, 10),
        ("root: x", "::= is missing", "root", 1, 5),
        ("?root ::= x", "name ::= ...", "grammar", 1, 1),
        ('root ::= x\nx ::= "a" x', "derives no text", "x", 2, 1),
        ('root ::= x "c" | y "d"\nx ::= "(" x ")" | "a" x "b" | "a"\ny ::= "(" y ")" | "a"', "", "x", 2, 1),
        ('root ::= x x\nx ::= "a"* y?\ny ::= "(" root ")"', "LALR(1)", "x", 2, 1),
        ('root ::= x-star x-star | x\nx ::= "-"\nx-star ::= "a"* y?\ny ::= "(" root ")"', "LALR(1)", "x-star", 3, 1),
    ],
)  # fmt: skip
def test_refused_with_its_place(grammar: str, reason: str, rule: str, line: int | None, column: int | None) -> None:
    with pytest.raises(GrammarError) as refused:
        Grammar(grammar, dialect="gbnf")
    assert reason in refused.value.reason
    assert (refused.value.rule, refused.value.line, refused.value.column) == (rule, line, column)


def test_texts_of_two_terminals_are_refused() -> None:
    spec = Grammar('root ::= "a" | "b" | [ab] root')
    assert guided.compile(spec, BYTES).accepts(b"bba")
    with pytest.raises(GrammarError, match=r"a text that root matches too"):
        guided.compile(Grammar('root ::= "a" root ")" | [ab] root "]" | "x"'), BYTES)


@pytest.mark.parametrize(
    "grammar",
    [
        "root ::= " + "(" * 300,
        "root ::= x0\n" + "\n".join(f"x{n} ::= x{n + 1} x{n + 1}" for n in range(60)) + '\nx60 ::= "a"',
        'root ::= "a"{999999999}',
        'root ::= ("a" root "b")~999999999'.replace("~", "{") + "}",
        'root ::= "a' + "b" * 2_000_000 + '"',
        "root ::= " + " ".join(['"a"?'] * 20_000),
        'root ::= ("(" root ")" | "a"?){3,300} "x"',
    ],
)  # fmt: skip
def test_large_grammars_are_refused(grammar: str) -> None:
    with pytest.raises(GuidedError) as refused:
        guided.compile(Grammar(grammar), BYTES)
    assert isinstance(refused.value, LimitError | GrammarError)


def test_the_work_is_linear_in_the_text() -> None:
    # A budget of twice the length suffices for a text twice as long.
    for n in (100, 200):
        text = "root ::= " + " | ".join(f'"{number}" x' for number in range(n)) + '\nx ::= "(" root ")" | "."'
        Grammar(text, limits=Limits(pattern_length=40 * n))


def test_a_saved_grammar_is_the_same(tmp_path: Any) -> None:
    spec = Grammar(ARITHMETIC)
    again = Grammar.from_data(spec.data)
    assert again == spec
    assert again.tables.lexer.is_scannerless
    assert not again.can_parse
    index = guided.compile(spec, BYTES)
    index.save(tmp_path / "index")
    assert guided.load_index(tmp_path / "index", BYTES).accepts(b"a=1\n")


@pytest.mark.parametrize("text", ["# c\n\n  root ::= x", "a-b::=x", "x\t::= y"])
def test_the_notation_is_told(text: str) -> None:
    assert dialect_of(text) == "gbnf"


@pytest.mark.parametrize("text", ['start: "::="', "", "# root ::= x", "<a> ::= x"])
def test_other_notations_are_told_apart(text: str) -> None:
    assert dialect_of(text) == "lark"


def test_a_conflict_between_parts_of_rules_names_the_rules() -> None:
    grammar = Grammar(
        r"""
root ::= arr
value ::= array | "1"
arr ::= "[\n" ws value (",\n" ws value)* "]"
array ::= "[" ws value ("," ws value)* "]" ws
ws ::= | " " | "\n" [ \t]{0,20}
"""
    )
    with pytest.raises(GrammarError, match=r"a text that (arr|array) matches too") as caught:
        guided.compile(grammar, BYTES)
    assert caught.value.rule in ("arr", "array")
