"""Errors of grammars: what is wrong, where, and what to do."""

import random
from pathlib import Path

import pytest

import guided
from guided.errors import GrammarError, LimitError
from guided.lalr.refusals import _COMMON_TERMINALS
from guided.resources import grammar_path

MISTAKES = {
    "backreference": ("start: A\nA: /(a)\\1/", "A", 2, 8, "backreference"),
    "named backreference": ("start: A\nA: /(?P<q>a)(?P=q)/", "A", 2, 13, "backreference"),
    "malformed pattern": ("start: A\n\nA: /x(a/", "A", 3, 6, "unterminated"),
    "bad class": ('start: item+\n\nitem: "a" | B\nB: /[a-/\n', "B", 4, 5, "unterminated"),
    "unbounded lookbehind": ("start: A\nA: /(?<=a*)b/", "A", 2, 5, "look-behind"),
    "undefined rule": ("start: foo", "foo", 1, 8, "add `foo: ...`"),
    "undefined terminal": ("start: b\nb: FOO", "FOO", 2, 4, "%import common.FOO"),
    "empty string": ('start: b\nb: "a" | ""', "b", 2, 10, "leave it out"),
    "dash in a name": (
        'start: my-long-rule\nmy-long-rule: "a"',
        "start",
        1,
        10,
        "write my_long_rule in place of my-long-rule",
    ),
    "wrong case": ('start: name\nNAME: "a"', "name", 1, 8, "did you mean NAME?"),
    "misspelled": ('start: expresion\nexpression: "a"', "expresion", 1, 8, "did you mean expression?"),
    "no start": ('begin: "a"', "start", 1, 1, "give the name of another rule as start: begin"),
    "start in upper case": ('START: "a"', "start", 1, 1, r"did you mean START\? Rename it \("),
    "mixed case": ('start: "a"\nFoo: "a"', "Foo", 2, 1, "mixes lower and upper case"),
    "open string": ('start: b\nb: "a', "b", 2, 4, "never closed"),
    "open pattern": ("start: /a", "start", 1, 8, "never closed"),
    "missing colon": ('start: b\nb "a"', "b", 2, 3, "the colon is missing"),
    "missing colon on the only line": ('start "a"', "start", 1, 7, "the colon is missing"),
    "open parenthesis": ('start: ("a"\nb: "c"', "start", 1, 12, "not closed"),
    "closed too often": ('start: "a")', "start", 1, 11, "unmatched"),
    "two operators": ('start: "a"**', "start", 1, 12, "Misplaced operator"),
    "itself": ('start: a\na: a | "x"', "a", 2, 1, "stand for itself alone"),
    "collision": ('start: a | b\na: "x"\nb: "x"', "a", 2, 1, "reduce/reduce collision"),
    "unknown import": ("%import common.FOO\nstart: FOO", "FOO", 1, 16, "'common' has no FOO"),
    "unknown grammar": ("%import foo.BAR\nstart: BAR", "foo", 1, 1, "imports no files"),
    "relative import": ("start: X\n%import .words.X", ".words", 2, 1, "imports no files"),
    "import of a path": ('%import ../../etc/passwd\nstart: "a"', "grammar", 1, 1, "dotted name"),
    "template arguments": ('t{x}: x\nstart: t{"a","b"}', "t", 2, 8, "takes 1 arguments, not 2"),
    "undefined template": ('start: t{"a"}', "t", 1, 8, "not defined"),
    "counts in braces": ('start: "a"{3}', "start", 1, 11, "~1..3"),
    "empty terminal": ("start: A\nA: /a*/", "A", 2, 1, "match the empty string"),
    "rule in a terminal": ('start: A\nA: b\nb: "x"', "A", 2, 4, "uses the rule b"),
    "recursive terminal": ('start: A\nA: "a" A?', "A", 2, 1, "uses itself"),
    "defined twice": ('start: "a"\nstart: "b"', "start", 2, 1, "defined twice"),
    "undefined ignored": ('start: "a"\n%ignore WS', "WS", 2, 9, "not defined"),
    "range of strings": ('start: "a".."bc"', "start", 1, 8, "single characters"),
    "reversed range": (
        'start: a\na: "x" A\nA: "c" | ("z".."a")+',
        "A",
        3,
        11,
        "from the lower character to the higher",
    ),
    "reversed range in a rule": ('start: "a".."b" x\nx: "z".."a"', "x", 2, 4, "from the lower character to the higher"),
    "reversed range of escapes": ('start: A\nA: "a".."\\x01"', "A", 2, 4, "from the lower character to the higher"),
    "reversed counts": ('start: a~3..1 "b"\na: "x"', "start", 1, 10, "from the lower number to the higher"),
    "reversed counts in a terminal": ('start: A\nA: "x"~10..9', "A", 2, 8, "from the lower number to the higher"),
    "misspelled terminal": ("start: NUMBR\nNUMBER: /1/", "NUMBR", 1, 8, "did you mean NUMBER?"),
    "misspelled import": ("start: a\na: NUMBR\n%import common.NUMBER", "NUMBR", 2, 4, "did you mean NUMBER?"),
    "misspelled common terminal": (
        "start: ESCAPED_STRNG",
        "ESCAPED_STRNG",
        1,
        8,
        "Add `%import common.ESCAPED_STRING`",
    ),
    "common terminal": ("start: INT", "INT", 1, 8, "add `%import common.INT`"),
    "semicolon": ('start: "a";', "start", 1, 11, "ends at the end of its line"),
    "single quotes": ("start: 'a'", "start", 1, 8, "double quotes"),
    "quote in single quotes": ("start: '\"'", "start", 1, 9, "double quotes"),
    "alias in upper case": ('start: "a" -> Foo', "start", 1, 15, "lowercase"),
    "GBNF": (
        '# json\nroot   ::= object\nvalue  ::= [^"\\\\] "x"\n',
        "root",
        2,
        12,
        "the rule object is used but not defined",
    ),
    "BNF": ('<expr> ::= <term> "+" <expr>', "expr", 1, 1, "looks like BNF"),
    "EBNF": ('start = "a", "b" ;', "start", 1, 1, "looks like EBNF"),
    "PEG": ('start <- "a" / "b"', "start", 1, 1, "looks like a PEG"),
    "ANTLR": ("grammar Foo;\nr : 'a' ;", "grammar", 1, 1, "ANTLR"),
    "arrow": ('start -> "a"', "start", 1, 1, "colon in place of the arrow"),
    "escape in braces": ("start: A\nA: /\\u{1F600}+/", "A", 2, 5, r"write .U0001f600 in place of .u.1F600., or"),
    "escape in braces behind others": ('start: "x" A\nA: /a[\\u{e9}]/', "A", 2, 7, r"write .U000000e9 in place of"),
    "escape in braces in a string": ('start: "a\\u{1F600}"', "start", 1, 10, r"write .U0001f600 in place of"),
    "escape beyond Unicode": ('start: "a\\u{110000}"', "start", 1, 10, "a character is written"),
    "escape that is cut": ('start: "a\\x4"', "start", 1, 9, "an escape is malformed: as in Python"),
    "escape of a large code point": ("start: /\\U00110000/", "start", 1, 9, "an escape is malformed"),
    "llguidance: a schema": ('start: "a" %json {"type": "object"}', "start", 1, 12, "guided.JsonSchema.*composition"),
    "llguidance: a schema on lines": ('start: %json {\n "type": "object"}', "start", 1, 8, "guided.JsonSchema"),
    "llguidance: a pattern": ('start: %regex {"substring_chars": "abc"}', "start", 1, 8, "guided.Substring"),
    "llguidance: a grammar": ('start: %lark {\nstart: "a"\n}', "start", 1, 8, "guided.Grammar"),
    "llguidance: a stop text": ('start: t\nt[stop="x"]: /a*/', "t", 2, 3, r"guided.FreeText.stop=...."),
    "llguidance: an attribute": ('start: "a"\nt[max_tokens=3, temperature=0.1]: /a/', "t", 2, 3, "max_tokens"),
    "llguidance: a lazy terminal": ("start: A\nA[lazy]: /x/", "A", 2, 2, "attributes are for rules"),
    "llguidance: a special token": ('start: "a" <|tool|>', "start", 1, 12, "as a string"),
    "llguidance: a special token first": ('start: <|tool|> "x"', "start", 1, 8, "as a string"),
    "llguidance: a token by its id": ("start: <[123]>", "start", 1, 8, "as a string"),
    "llguidance": ('%llguidance {}\nstart: "a"\n%json {}', "grammar", 3, 1, "the statements are"),
}


def test_rules_that_repeats_make_are_not_named_as_written() -> None:
    with pytest.raises(GrammarError) as caught:
        guided.Grammar('start: ("a"*)+\n')
    assert "stand for itself" not in str(caught.value)


def test_positions_of_one_closure_are_counted_as_they_are_found() -> None:
    """2**22 sets of groups that have been entered."""
    bytes_only = guided.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256])
    with pytest.raises(LimitError) as caught:
        guided.compile(guided.Grammar("start: A\nA: /" + "(" * 22 + "a?" + ")*" * 22 + "b/\n"), bytes_only)
    assert caught.value.what == "steps"
    assert caught.value.given < 2 * caught.value.limit


def test_a_byte_order_mark_is_left_out_of_a_text_as_of_a_file() -> None:
    assert guided.Grammar('\ufeffstart: "a"').fingerprint == guided.Grammar('start: "a"').fingerprint


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained_where_they_are(name: str, tmp_path: Path) -> None:
    text, rule, line, column, advice = MISTAKES[name]
    with pytest.raises(GrammarError, match=advice) as caught:
        guided.Grammar(text)
    error = caught.value
    assert (error.rule, error.line, error.column) == (rule, line, column)
    source = text.split("\n")[line - 1]
    *_, shown, caret = str(error).splitlines()
    assert shown == f"    {source}"
    assert caret == " " * (4 + column - 1) + "^"
    if "%import" not in text:  # files may import what texts may not
        (tmp_path / "own.lark").write_text(text, encoding="utf-8")
        with pytest.raises(GrammarError) as in_file:
            guided.Grammar(tmp_path / "own.lark")
        assert str(in_file.value) == str(error)


def test_a_terminal_is_no_start() -> None:
    with pytest.raises(GrammarError, match="the start 'A' is a terminal: add `start: A`") as caught:
        guided.Grammar('A: "a"\nb: A', start="A")
    assert (caught.value.line, caught.value.column) == (1, 1)


LOOKALIKES = [
    'start: "::=" A\nA: /x = <- y/',
    'start: "a" // root ::= "b"\n// a <- b\n',
    'start: b\n  | c -> d\nb: "a"\nc: "c"',
]


@pytest.mark.parametrize("text", LOOKALIKES)
def test_signs_of_other_notations_inside_grammars_are_ignored(text: str) -> None:
    assert guided.Grammar(text).tables.n_states > 1
    with pytest.raises(GrammarError) as caught:
        guided.Grammar(text + "\nother: MISSING")
    assert caught.value.rule == "MISSING"


def mutated(text: str, rng: random.Random) -> str:
    """A grammar with a few random edits, as typing mistakes make them."""
    for _ in range(rng.randint(1, 3)):
        place, other = rng.randrange(len(text)), rng.randrange(len(text))
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:place] + text[place + rng.randint(1, 4) :]
        elif kind == 1:
            text = text[:place] + rng.choice("\"/:|()[]{}?*+~.,;=\\\n%#!'<>-$@^_aZ0é") + text[place:]
        elif kind == 2:
            text = text[:place] + text[place].swapcase() + text[place + 1 :]
        elif kind == 3:
            lines = text.split("\n")
            del lines[rng.randrange(len(lines))]
            text = "\n".join(lines)
        elif kind == 4:
            text = text[:place] + text[other : other + 12] + text[place:]
        else:
            text = text.replace(
                *rng.choice([(":", "="), ('"', "'"), (": ", " "), ("%ignore", "%import"), ("/", "")]), 1
            )
        text = text or "x"
    return text


BASES = ["json", "sql", "arithmetic", "csv", "command"]
SMALL = """
%import common (WS, INT)
_list{x, sep}: x (sep x)*
start: _list{item, ","} -> items
?item.2: NAME "=" value | "(" start ")"
value: INT | STRING~1..2
NAME.3: /[a-z_]\\w*/i
STRING: "'" /[^']*/ "'"
%ignore WS
"""


def check_mutations(base: str, seeds: range) -> int:
    refused = [error for seed in seeds if (error := refusal_of(mutated(base, random.Random(seed)))) is not None]
    for error, text in refused:
        assert error.line is not None or error.rule != "grammar", (text, str(error))
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1
        assert error.column is None or error.column >= 1
    return len(refused)


def refusal_of(text: str) -> tuple[GrammarError, str] | None:
    """The error of a grammar, if it is one."""
    try:
        guided.Grammar(text)
    except LimitError:
        return None
    except GrammarError as error:
        return error, text
    return None


def test_mutated_grammars_are_refused_with_a_place() -> None:
    assert check_mutations(SMALL, range(80)) > 25


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_mutated_bundled_grammars_are_refused_with_a_place(name: str) -> None:
    assert check_mutations(grammar_path(name).read_text(encoding="utf-8"), range(12)) > 2


def test_a_str_is_never_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.lark"
    file.write_text('start: "a"', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("own.lark", "./own.lark", str(file)):
        with pytest.raises(GrammarError, match=r"never read as a file: give pathlib.Path"):
            guided.Grammar(name)
        assert guided.Grammar(name, allow_files=True) == guided.Grammar(file)


def test_imports_in_files_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text("WORD: /[a-z]+/\n", encoding="utf-8")
    (tmp_path / "own.lark").write_text("start: WORD\n%import .words.WORD\n", encoding="utf-8")
    assert guided.Grammar(tmp_path / "own.lark").parse("abc").children == ["abc"]


def test_a_file_that_is_not_found_is_named_with_the_line_of_its_import(tmp_path: Path) -> None:
    (tmp_path / "own.lark").write_text("start: WORD\n%import .words.WORD\n", encoding="utf-8")
    with pytest.raises(GrammarError, match="unknown grammar 'words': give its folder in import_paths") as caught:
        guided.Grammar(tmp_path / "own.lark")
    assert caught.value.line == 2


def test_errors_of_an_imported_file_name_no_line_of_the_importing_one(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text("\n\n\n\nWORD: /[a-z]+/ )\n", encoding="utf-8")
    (tmp_path / "own.lark").write_text("start: WORD\n%import .words.WORD\n", encoding="utf-8")
    with pytest.raises(GrammarError) as caught:
        guided.Grammar(tmp_path / "own.lark")
    assert caught.value.line != 5


def test_the_common_terminals_are_those_of_lark() -> None:
    import lark

    text = (Path(lark.__file__).parent / "grammars" / "common.lark").read_text(encoding="utf-8")
    defined = {line.partition(":")[0].strip() for line in text.splitlines() if line[:1].isupper() and ":" in line}
    assert defined == set(_COMMON_TERMINALS)
