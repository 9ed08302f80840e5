"""Where a text stands: the lexeme under way, and the terminals that Lark's own parser accepts there."""

import random
from typing import Any

import pytest

import guided
from guided.lalr.prefix_position import PrefixPositions, shown_terminal
from guided.lalr.scanner import scanner_of
from guided.lalr.stack_symbols import StackSymbol, StackSymbols
from guided.lalr.tables import Terminal
from guided.limits import Limits
from tests.cli.programs import call, reply
from tests.grammars.loading import parser_of
from tests.grammars.samples import samples_of

END = "the end of the text"


def position(grammar: str, text: str) -> tuple[int, list[str], list[str]]:
    found = guided.Grammar(grammar).prefix_position(text.encode())
    assert found is not None
    return found.begin, list(found.becoming), list(found.following)


@pytest.mark.parametrize(
    ("grammar", "text", "expected"),
    [
        ("json", "", (0, [], ['"["', '"false"', '"null"', '"true"', '"{"', "NUMBER", "STRING"])),
        ("json", '{"é', (1, ["STRING"], [])),
        ("json", '{"é": tr', (7, ['"true"'], [])),
        ("json", "[1", (1, ["NUMBER"], ['","', '"]"'])),
        ("json", "[1 ", (3, [], ['","', '"]"'])),
        ("json", "[1] ", (4, [], [END])),
        ("python", "class A:\n", (8, ["_NEWLINE"], [])),
        ("python", "x = (\n ", (5, ["_NEWLINE"], None)),
        ('start: "if"i NAME | "b"\nNAME: /[^\\d\\W]+/\n%ignore " "', "IF ", (3, [], ["NAME"])),
    ],
)
def test_examples(grammar: str, text: str, expected: tuple[int, list[str], list[str] | None]) -> None:
    begin, becoming, following = position(grammar, text)
    assert (begin, becoming) == expected[:2]
    assert expected[2] is None or following == expected[2]


def test_invalid_texts() -> None:
    for text in ("[1}", "tru ", "]", '"\x00'):
        assert guided.Grammar("json").prefix_position(text.encode()) is None


def test_a_text_leaves_no_stacks_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else texts, also those of other threads, would use up one budget: each has a column of its own."""
    grammar = guided.Grammar("python")
    cells = StackSymbols.number
    most = 0

    def number(self: StackSymbols, cell: StackSymbol) -> int:
        nonlocal most
        found = cells(self, cell)
        most = max(most, len(self.known))
        return found

    monkeypatch.setattr(StackSymbols, "number", number)
    sizes = []
    for column in range(1, 6):
        most = 0
        assert grammar.prefix_position(b"if a:\n" + b" " * column + b"b\n") is not None
        sizes.append(most)
    assert len(set(sizes)) == 1


@pytest.mark.parametrize("name", ["arithmetic", "graphql", "json", pytest.param("sql", marks=pytest.mark.slow)])
def test_standings_are_larks(name: str) -> None:
    """At the end of each lexeme of the samples: it is the one under way, and what may follow is what Lark's parser accepts."""
    parser, grammar = parser_of(name), guided.Grammar(name)
    tables = grammar.tables
    positions = PrefixPositions(tables, scanner_of(tables.lexer, Limits()), tables.starts[0])
    shown = {terminal.name: shown_terminal(terminal) for terminal in tables.lexer.terminals} | {"$END": END}
    texts = random.Random(name).sample([text for text in samples_of(name).accepted if text.isascii()], 6)
    n_under_way = n_followed = 0
    for text in texts:
        interactive: Any = parser.parse_interactive(text)
        for token in interactive.iter_parse():
            found = positions.of(text[: token.end_pos].encode())
            assert found is not None
            if found.begin == token.end_pos:
                assert not found.becoming
            else:
                assert found.begin == token.start_pos
                assert shown[token.type] in found.becoming
                n_under_way += 1
            if found.following:
                n_followed += 1
                accepts = {shown[terminal] for terminal in interactive.as_immutable().feed_token(token).accepts()}
                assert set(found.following) == accepts, (text, token)
    assert n_under_way > 0 < n_followed


@pytest.mark.parametrize(
    ("name", "pattern", "flags", "shown"),
    [
        ("PLUS", r"\+", 0, '"+"'),
        ("SELECT", "(?i:select)", 0, '"select"i'),
        ("QUOTE", '"', 0, '"\\""'),
        ("DIGITS", r"\d+", 0, "DIGITS"),
        ("__ANON_0", "[ab]", 0, "/[ab]/"),
        ("LONG", "a" * 50, 0, "LONG"),
    ],
)
def test_terminals_for_people(name: str, pattern: str, flags: int, shown: str) -> None:
    assert shown_terminal(Terminal(name, pattern, flags)) == shown


def test_guides_explain_with_terminals() -> None:
    words = guided.Vocabulary([*(bytes([byte]) for byte in range(256)), b"let ", b"ab", None], eos=[258])
    spec = guided.Grammar('start: "let" NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "')
    guide = guided.compile(spec, words).guide()
    guide.advance_many([256, 257, ord("c")])
    refused = guide.explain(ord("+"))
    assert (refused.terminals, refused.lexeme_begin) == (("NAME", '"="'), 4)
    assert str(refused).endswith('that is NAME or "=" (from byte 4 on)')
    fork = guide.fork()
    guide.rollback(2)
    assert guide.explain(ord("+")).lexeme_begin == 4
    assert guide.explain(ord("+")).terminals == ("NAME",)
    fork.advance(ord("="))
    assert fork.explain(ord("+")).terminals == ("NAME",)
    assert fork.explain(ord("+")).lexeme_begin == 8
    regex = guided.compile(guided.Regex("ab"), words).guide()
    assert (regex.explain(0).terminals, regex.explain(0).lexeme_begin) == ((), None)


def test_commands_name_terminals() -> None:
    told = reply("check", "--grammar", "json", '{"a": tru}')
    assert (told["terminals"], told["lexeme_begin"]) == (['"true"'], 6)
    shown = call("explain", "--grammar", "json", "--after", '{"a": x').stdout
    assert 'that is "[", "false", "null", "true", "{", NUMBER or STRING (from byte 6 on)' in " ".join(shown.split())
    assert "terminals" not in reply("check", "--regex", "ab", "b")
