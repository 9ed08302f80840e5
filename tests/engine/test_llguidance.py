"""llguidance's dialect of Lark: its language, by an oracle on random grammars and by llguidance itself; what is refused, with its place."""

import re
from functools import cache
from importlib.util import find_spec
from itertools import product
from typing import Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

import guided
from guided.automata.automaton import Automaton
from guided.errors import GrammarError, GuidedError, LimitError
from guided.lalr.sources import dialect_of
from guided.limits import Limits
from tests.lalr.test_gbnf import BYTES, completed
from tests.oracles import LongestMatch

needs_llguidance = pytest.mark.skipif(find_spec("llguidance") is None, reason="pip install -e '.[bench]'")

LETTERS = "ab,( "
TEXTS = ["".join(letters) for length in range(4) for letters in product(LETTERS, repeat=length)]
LONG = ["".join(letters) for length in range(7) for letters in product("ab, ", repeat=length)] + TEXTS

# Lexemes as they are written, and as patterns of Python.
WRITTEN = {
    '"a"': "a", '"b"': "b", '"ab"': "ab", '","': ",", '"("': r"\(", '"A"i': "[Aa]", '"a".."b"': "[ab]", "/a+/": "a+", "/[ab]+/": "[ab]+",
    "/b*/": "b*", "/a|ab/": "a|ab", "/[^( ]+/": "[^( ]+", "/,.?/": ",.?", '" "': " ", "/[ a]+/": "[ a]+",
}  # fmt: skip
NAMED = {
    "A": ('"b"+ ","', "b+,"),
    "NOT-AB": ('/[ab]+/ & ~("ab" | "b")', "(?!ab$|b$)[ab]+"),
    "MAYBE": ('["a"] ","?', "a?,?"),
    "lazy[lazy]": ('/[ab]*/ ","', "[ab]*?,"),
    'until[suffix=","]': ("/a*/", "a*,"),
}
IGNORED = {'" "': " ", "/ +/": " +"}


@cache
def words(pattern: str) -> frozenset[str]:
    return frozenset(text for text in LONG if re.fullmatch(pattern, text))


def spelled(body: Any) -> str:
    match body:
        case ("lexeme" | "rule", name):
            return name.partition("[")[0] if name in NAMED else str(name)
        case ("sequence", *items):
            return f"({' '.join(map(spelled, items))})"
        case ("choice", *items):
            return f"({' | '.join(map(spelled, items))})"
        case ("repeat", item, least, most):
            signs = {(0, None): "*", (1, None): "+", (0, 1): "?", (2, 2): "~2", (0, 2): "{,2}"}
            # llguidance reads one count behind an item.
            return f"({spelled(item)})" + signs.get((least, most), f"{{{least},{'' if most is None else most}}}")
    raise ValueError(body)


def text_of(rules: dict[str, Any], ignored: str | None) -> str:
    lines = [f"{name}: {spelled(body)}" for name, body in rules.items()] + [
        f"{name}: {body}" for name, (body, _) in NAMED.items()
    ]
    return "\n".join([*lines, *([f"%ignore {ignored}"] if ignored else [])])


def oracle(rules: dict[str, Any], ignored: str | None) -> LongestMatch:
    patterns = WRITTEN | {name: pattern for name, (_, pattern) in NAMED.items()} | IGNORED
    lexemes = {name: words(pattern) for name, pattern in patterns.items()}
    lazy = {name for name in NAMED if "[" in name}
    for name in lazy:
        lexemes[name] = frozenset(
            word for word in lexemes[name] if not any(word[:i] in lexemes[name] for i in range(len(word)))
        )
    return LongestMatch(rules, lexemes, lazy, ignored)


LEAVES = st.one_of(
    st.tuples(st.just("lexeme"), st.sampled_from([*WRITTEN, *NAMED])),
    st.tuples(st.just("rule"), st.sampled_from(["start", "x", "y-1"])),
)
BODIES = st.recursive(
    LEAVES,
    lambda body: st.one_of(
        st.lists(body, min_size=1, max_size=3).map(lambda items: ("sequence", *items)),
        st.lists(body, min_size=1, max_size=3).map(lambda items: ("choice", *items)),
        st.builds(
            lambda item, least, more: ("repeat", item, least, None if more is None else max(least + more, 1)),
            body,
            st.integers(0, 2),
            st.none() | st.integers(0, 2),
        ),
    ),
    max_leaves=6,
)
GRAMMARS = st.fixed_dictionaries({"start": BODIES, "x": BODIES, "y-1": BODIES})
A, B, COMMA = (("lexeme", f'"{letter}"') for letter in "ab,")
NAME = ("lexeme", "/[ab]+/")
OPERATORS = ("choice", ("sequence", ("rule", "start"), COMMA, ("rule", "start")), ("sequence", ("rule", "start"), B), A)
KEYWORDS = ("choice", ("sequence", ("lexeme", '"ab"'), NAME), ("sequence", NAME, COMMA, NAME))


def matcher_of(grammar: str) -> Any:
    """The matcher of llguidance, over bytes; None if it refuses the grammar."""
    import llguidance

    class Bytes:
        eos_token_id, bos_token_id, special_token_ids = 256, None, (256,)
        tokens = (*(bytes([byte]) for byte in range(256)), b"<|eos|>")

        def __call__(self, text: str | bytes) -> list[int]:
            return list(text if isinstance(text, bytes) else text.encode())

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()))
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(grammar), log_level=0)
    return None if matcher.is_error() else matcher


def matches(matcher: Any, text: str) -> bool:
    matcher = matcher.deep_copy()
    return bool(matcher.consume_tokens(list(text.encode()))) and bool(matcher.is_accepting())


def index_of(grammar: str) -> guided.Index:
    return guided.compile(guided.Grammar(grammar, dialect="llguidance"), BYTES)


def index_or_reason(grammar: str) -> guided.Index | str:
    try:
        return index_of(grammar)
    except (GrammarError, LimitError) as refused:
        return str(refused)


@given(GRAMMARS, st.none() | st.sampled_from([*IGNORED]))
@example({"start": OPERATORS, "x": A, "y-1": A}, None)
@example({"start": KEYWORDS, "x": A, "y-1": A}, '" "')
# What may follow `x` differs, and the longest lexeme with it.
@example({"start": ("sequence", ("rule", "x"), ("rule", "x"), ("lexeme", "/a+/")), "x": A, "y-1": A}, None)
@example({"start": ("choice", ("sequence", COMMA, ("rule", "x"), B), ("rule", "x")), "x": A, "y-1": A}, '" "')
@example({"start": ("sequence", ("lexeme", "lazy[lazy]"), NAME), "x": A, "y-1": A}, "/ +/")
@example(
    {
        "start": ("sequence", ("lexeme", "MAYBE"), ("lexeme", 'until[suffix=","]'), ("lexeme", "NOT-AB")),
        "x": A,
        "y-1": A,
    },
    None,
)
@example({"start": ("repeat", ("choice", ("lexeme", '"a"'), ("lexeme", "/,.?/")), 0, None), "x": A, "y-1": A}, '" "')
def test_the_language_is_that_of_llguidance(rules: dict[str, Any], ignored: str | None) -> None:
    index = index_or_reason(text_of(rules, ignored))
    if isinstance(index, str):
        event(f"refused: {index[:30]}")
        return
    event("accepted")
    reference = oracle(rules, ignored)
    for text in TEXTS:
        assert index.accepts(text) == reference.accepts(text), text
        if index.accepts(text):
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
            assert index.accepts(whole), (text, whole)


@needs_llguidance
@given(GRAMMARS, st.none() | st.sampled_from([*IGNORED]))
@example({"start": KEYWORDS, "x": A, "y-1": A}, '" "')
def test_the_oracle_is_llguidance(rules: dict[str, Any], ignored: str | None) -> None:
    grammar, reference = text_of(rules, ignored), oracle(rules, ignored)
    if not isinstance(index_or_reason(grammar), str):
        matcher = matcher_of(grammar)
        assert [text for text in TEXTS[::3] if matches(matcher, text)] == [
            text for text in TEXTS[::3] if reference.accepts(text)
        ]


STATEMENTS = r"""
%llguidance {}
start: stmt+
stmt: "if" expr "then" stmt | NAME "=" expr ";"   // a name may be `if`
?expr: expr "+" term -> add | term
term: NAME | NUMBER | "true" | "(" expr ")"
NAME: /[a-z_]+/
%import common.NUMBER
%ignore /[ \t\n]+/
"""
SELECT = r"""
start: "SELECT"i cols "FROM"i NAME ("WHERE"i cond)? ("LIMIT"i INT)? ";"
cols: "*" | NAME ("," NAME)*
cond: NAME op value ("AND"i cond)?
op: "=" | "<" | "<=" | ">" | ">=" | "!="
value: INT | STRING
STRING: /'[^']*'/
NAME: /[a-z_][a-z0-9_]*/i
%import common.INT
%ignore /\s+/
"""
JSON = r"""
start: object
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
?value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
array: "[" [value ("," value)*] "]"
%import common (ESCAPED_STRING, SIGNED_NUMBER, WS)
%ignore WS
"""
OPERATIONS = 'start: e\ne: e "+" e | e "[" e "]" | "-" e | e "?" e ":" e | "(" e ")" | NUM\nNUM: /[0-9]+/\n%ignore " "'
TABLE: list[tuple[str, list[str], list[str]]] = [
    (STATEMENTS, ["if x then y = 1;", "if=1;", "true=true+1.5;\nify=(1);"], ["if x then", "1=x;", "x=1.5.;"]),
    (
        SELECT,
        ["select a,b from t Where a <= 5 AND b = 'x' LIMIT 3 ;", "SELECTa FROM t;"],
        ["SELECT aFROM t;", "SELECT"],
    ),
    (JSON, ['{"a": [1, -2.5e3, {}], "b":null}', "{}"], ['{"a":+1 2}', "[]", '{"a":1,}']),
    (OPERATIONS, ["1+2+3", "-1+-2[3]", "1?2:3+4", "(1)[2][3]?4:5"], ["1+", "1 2", "1[2"]),
    (
        'start: "Answer: " /[A-D]/ "\\n" reason\nreason[suffix="\\n\\n"]: /(.|\\n)*/',
        ["Answer: A\nb\n\n"],
        ["Answer: A\nb"],
    ),
    (
        'start: think "</think>" /\\d{4}-\\d{2}/\nthink: /[^<]*/',
        ["a\nb</think>2024-01", "</think>2024-01"],
        ["a<b</think>2024-01"],
    ),
    ('start: item{1,3}\nitem: "- " /[^\\n]+/ "\\n"', ["- a\n- b\n"], ["", "- a\n- b\n- c\n- d\n", "- \n"]),
    ("start: A\nA: /[a-z \\n]*/ & ~/(?s:.*)\\n\\n(?s:.*)/", ["", "a\nb"], ["a\n\nb", "A"]),
    ('start: "\\u00e9\\x41\\/" /\\/[^é]/', ["éA//b"], ["éA//é"]),
    ('start: /[é-ü]+/ "-" /\\p{Lu}\\d/ "x"~2..3 "y"', ["éü-À٣xxy"], ["é-À3xy"]),
    (
        "start: /[^\\W\\d]\\w*/ | /(?i)[^\\Wk] [^\\W\\D_]/",
        ["_", "aé1", "é ٣", "1 2"],
        ["1a", "k 1", "K 1", "K 1", "a _"],
    ),
    ("start: /a.b/s | /c.d/i", ["a\nb", "Cxd"], ["c\nd", "Axb"]),
    ('start: ["a" | "b"] ("c" -> alias\n  | d)\nd[capture]: "d" ""', ["ac", "d", "bd"], ["", "ab"]),
    ('start: "a"\n%llguidance {"allow_initial_skip": true}\n%ignore /\\s/', [" a", "\n a"], ["b", "a b"]),
    ('start: x "," x\nx[suffix=","]: /a*/', ["a,,,", ",,a,"], [",a,", ",,"]),
    ('!start: _x?\n_x: "a"', ["", "a"], ["aa"]),
    ('start: "é1a" "b"\n%ignore " "\n%ignore "\\t"', ["é1a \t b"], ["é1a\nb"]),
    ("start: T0\n" + "\n".join(f"T{n}: T{n + 1}" for n in range(2_000)) + '\nT2000: "a"', ["a"], ["aa"]),
]


@pytest.mark.parametrize(("grammar", "valid", "invalid"), TABLE)
def test_typical_grammars(grammar: str, valid: list[str], invalid: list[str]) -> None:
    index = index_or_reason(grammar)
    if isinstance(index, str):
        assert not valid + invalid
        return
    assert index.notes == ()
    assert [text for text in (*valid, *invalid) if index.accepts(text)] == valid


@needs_llguidance
@pytest.mark.parametrize(("grammar", "valid", "invalid"), TABLE)
def test_typical_grammars_of_llguidance(grammar: str, valid: list[str], invalid: list[str]) -> None:
    matcher = matcher_of(grammar)
    assert [text for text in (*valid, *invalid) if matches(matcher, text)] == valid


REFUSED: list[tuple[str, str, str, int | None, int | None]] = [
    ("", "add `start: ...`", "start", None, None),
    ("start: x", "the rule x is used but not defined", "start", 1, 8),
    ("start: X", "the terminal X is used but not defined", "start", 1, 8),
    ('start: "a"\nstart: "b"', "defined twice", "start", 2, 1),
    ('start "a"', "the sign : is missing", "start", 1, 7),
    ('"a"', "name: ...", "grammar", 1, 1),
    ('start: "a', "string is not closed", "start", 1, 8),
    ("start: /a", "pattern is not closed", "start", 1, 8),
    ("start: 'a'", "double quotes", "start", 1, 8),
    ('start: "\\q"', "as in JSON", "start", 1, 8),
    ('start: "b".."a"', "in order", "start", 1, 8),
    ('start: ("a"', "not closed by `)`", "start", 1, 8),
    ('start: "a")', "cannot come here", "start", 1, 11),
    ("start: *", "repeats nothing", "start", 1, 8),
    ('start: "a"{3,2}', "from the lower", "start", 1, 11),
    ('start: "a"{x}', "a count is written", "start", 1, 11),
    ("start: x{y}", "templates", "start", 1, 8),
    ("start{x}: x", "templates", "start", 1, 6),
    ('start.2: "a"', "no priorities", "start", 1, 6),
    ('start: "a" & "b"', "for terminals", "start", 1, 12),
    ("start: A\nA: ~", "~ negates nothing", "A", 2, 4),
    ("start: A\nA: &*", "stand before an item", "A", 2, 5),
    ("start: A\nA: A", "cannot contain itself", "A", 2, 4),
    ("start: A\nA: b\nb: /x/", "consists of terminals only", "A", 2, 4),
    ('start: A\nA: "a" & "b"', "matches no text", "A", 2, 1),
    ("start: A\nA[lazy]: /x/", "attributes are for rules", "A", 2, 2),
    ("start: x\nx[lazy]: /a*/", "is always empty", "x", 2, 1),
    ("start: x\nx[suffix]: /a*/", 'suffix="text"', "x", 2, 3),
    ('start: x\nx[stop="a"]: /a*/', "suffix=", "x", 2, 3),
    ("start: x\nx[max_tokens=3]: /a*/", "/.{1,80}/", "x", 2, 3),
    ("start: x\nx[temperature=3]: /a*/", "does not sample", "x", 2, 3),
    ("start: x\nx[foo]: /a*/", "'foo' is not an attribute", "x", 2, 3),
    ('start: %json {"type": "object"}', "guided.JsonSchema", "start", 1, 8),
    ('start: %regex {"substring_chars": "a"}', "guided.Substring", "start", 1, 8),
    ('start: "a" <|tool|>', "as a string", "start", 1, 12),
    ("start: <[5]>", "as a string", "start", 1, 8),
    ("start: @other", "other grammars", "start", 1, 8),
    ("start: /^a/", "anchors", "start", 1, 8),
    ("start: /a b/x", "does not read", "start", 1, 8),
    ("start: /a{,2}/", "a { without a count", "start", 1, 8),
    ("start: /(/", "refused", "start", 1, 8),
    ("%import other.X", "the statements are", "grammar", 1, 1),
    ("%import common.FOO", "no terminal FOO", "grammar", 1, 1),
    ("%llguidance {a}", "property name", "grammar", 1, 1),
    ('%llguidance {"skip_repetition": "once"}', "max_ignored", "grammar", 1, 1),
    ('%llguidance {"allow_invalid_utf8": true}', "'allow_invalid_utf8' with True is not supported", "grammar", 1, 1),
    ('%llguidance {"allow_initial_skip": 1}', "may be true or false", "grammar", 1, 1),
    ('%declare A\nstart: "a"', "the statements are", "grammar", 1, 1),
    ('start: A B\nA: /1(23)?/\nB: "24"', "a longer match that fails", "start", 1, 8),
    ("start: INT | HEX\nINT: /[0-9]+/\nHEX: /[0-9a-f]+/", "matches too", "start", 1, 8),
    ('start: NAME | "IF"i ":"\nNAME: /[a-z]+/', "some of its cases", "start", 1, 8),
    ('start: x | "ab"\nx[lazy]: /a/', "is lazy", "x", 2, 1),
    ('start: "a" WS "b"\nWS: " "\n%ignore WS', "%ignore matches a string of a rule too", "grammar", 3, 9),
    ('start: "a" WS "b"\nWS: / +/\n%ignore WS', "is ignored, and a rule uses it", "start", 1, 12),
    ('start: "a" /[ -]/ "b"\n%ignore " "', "matches too", "start", 1, 12),
    ('start: "a" " " "b"\n%ignore / +/', "%ignore matches a string of a rule too", "grammar", 2, 9),
    ('start: NUM "." "a"\nNUM: /1(\\.[0-9])?/', "begins alike", "start", 1, 8),
    ("start: A\nA: B\nB: C\nC: B", "cannot contain itself", "C", 4, 4),
    ("start: A\n%ignore NONE", "the terminal A is used", "start", 1, 8),
    ('start: x* ","\nx[suffix=","]: /a*/', 'is lazy, and matches "," too', "x", 2, 1),
    ("start: /a*/\n%ignore / /", "may be empty", "start", 1, 8),
    ('start: "a"+ x\nx: "a"+ "b"', "LALR(1)", "start", 1, 1),
    (
        'start: NAME "(" ")" | "if" "(" x ")"\nx: NAME\nNAME: /[a-z]+/',
        "or where a pattern matches a string too",
        "start",
        1,
        1,
    ),
    ("start: /[\\w--é]/", "does not read", "start", 1, 8),
]


@pytest.mark.parametrize(("grammar", "reason", "rule", "line", "column"), REFUSED)
def test_refused_with_its_place(grammar: str, reason: str, rule: str, line: int | None, column: int | None) -> None:
    with pytest.raises(GrammarError) as refused:
        guided.Grammar(grammar, dialect="llguidance")
    assert reason in refused.value.reason
    assert (refused.value.rule, refused.value.line, refused.value.column) == (rule, line, column)


@pytest.mark.parametrize(
    "grammar",
    [
        "start: " + "(" * 300,
        "start: T0\n" + "\n".join(f"T{n}: T{n + 1} T{n + 1}" for n in range(60)) + '\nT60: "a"',
        'start: "a"~999999999',
        'start: "a' + "b" * 2_000_000 + '"',
    ],
    ids=["groups", "doubled", "count", "length"],
)  # fmt: skip
def test_large_grammars_are_refused(grammar: str) -> None:
    with pytest.raises(LimitError):
        index_of(grammar)


def test_the_work_is_linear_in_the_text() -> None:
    # A budget of twice the length suffices for a text twice as long.
    for n in (50, 100):
        text = "start: " + " | ".join(f'"{number};" x' for number in range(n)) + '\nx: "(" start ")" | "."'
        guided.Grammar(text, dialect="llguidance", limits=Limits(pattern_length=40 * n))


def test_a_saved_grammar_is_the_same(tmp_path: Any) -> None:
    spec = guided.Grammar(STATEMENTS)
    again = guided.Grammar.from_data(spec.data)
    assert again == spec
    assert again.tables.lexer.takes_longest
    assert not again.can_parse
    index = guided.compile(spec, BYTES)
    index.save(tmp_path / "index")
    assert guided.load_index(tmp_path / "index", BYTES).accepts(b"if=1;")


def test_ignored_text_can_be_bounded() -> None:
    index = guided.compile(guided.Grammar(JSON, dialect="llguidance", max_ignored=1), BYTES)
    assert index.accepts("{ }")
    assert not index.accepts("{  }")


@pytest.mark.parametrize(
    "text",
    [
        "%llguidance {}",
        'start: %json {"a": 1}',
        "x[lazy]: /a/",
        "start: <|tool|>",
        'start: "\\"" x\n x[suffix="a"]: /a/',
        "start: <[1-3]>",
    ],
)
def test_the_dialect_is_told(text: str) -> None:
    assert dialect_of(text) == "llguidance"


@pytest.mark.parametrize(
    "text", ['start: "<|x|>" /%json {/ # %llguidance', 'start: "x[lazy]: a', "start: x [capture]", "", "// %json {"]
)
def test_other_notations_are_told_apart(text: str) -> None:
    assert dialect_of(text) == "lark"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"lexer": "basic"}, "lexer"),
        ({"ascii": True}, "ascii"),
        ({"terminals": {"A": ["a"]}}, "terminals"),
        ({"import_paths": ["x"]}, "import_paths"),
    ],
)
def test_options_of_larks_notation_are_refused(options: dict[str, Any], reason: str) -> None:
    for text in (STATEMENTS, 'root ::= "a"'):
        with pytest.raises(TypeError, match=f"{reason} is an option of grammars in Lark's notation"):
            guided.Grammar(text, **options)


def test_a_dialect_can_be_given() -> None:
    both = "start: A\nA: /a|ab/"
    assert not guided.compile(guided.Grammar(both), BYTES).accepts("ab")
    assert index_of(both).accepts("ab")
    with pytest.raises(GuidedError, match="dialect"):
        guided.Grammar(both, dialect="ebnf")  # type: ignore[arg-type]
    with pytest.raises(GrammarError):
        guided.Grammar("%llguidance {}\nstart: A\nA: /a/", dialect="lark")


def test_each_letter_of_a_string_is_read_once_in_each_state(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str | bytes, int]] = []
    run = Automaton.run
    monkeypatch.setattr(
        Automaton, "run", lambda self, data, state=0: read.append((data, state)) or run(self, data, state)
    )
    guided.Grammar(f'%llguidance {{}}\nstart: NAME | "{"k" * 300}"i\nNAME: /[a-z]+/i')
    assert len(read) == len(set(read)) < 10
