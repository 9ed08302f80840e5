"""The grammars are the languages that their headers say: samples of all rules, what is refused, what is left out."""

import logging
import re

import lark
import pytest

from guided.resources import grammar_names
from tests.grammars.loading import INDENTED, accepts, load, parser_of, reductions, source
from tests.grammars.samples import FOLDER, samples_of

NAMES = grammar_names()
BASIC = [name for name in NAMES if "works with the contextual and the basic lexer" in source(name)]


def test_every_grammar_has_samples_and_nothing_else_has() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_header_describes_the_scope_of_a_grammar(name: str) -> None:
    header = source(name).partition("\n\n")[0]
    assert all(line.startswith("// ") for line in header.splitlines())
    for part in ("Standard: ", "Start: start", "Covers: ", "Does not cover: ", "LALR(1), without conflicts; "):
        assert f"\n// {part}" in header, part


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_short(name: str) -> None:
    lines = source(name).splitlines()
    assert len(lines) <= 400
    assert [line for line in lines if len(line) > 140 and "(?!(?:" not in line] == []


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_accepted_and_refused(name: str) -> None:
    samples = samples_of(name)
    assert [text for text in samples.accepted if not accepts(name, text)] == []
    assert [text for text in samples.rejected + samples.uncovered if accepts(name, text)] == []


@pytest.mark.parametrize("name", BASIC)
def test_the_basic_lexer_reads_the_same(name: str) -> None:
    parser = load(name, lexer="basic")
    samples = samples_of(name)
    assert [text for text in samples.accepted if not accepts(parser, text)] == []
    assert [text for text in samples.rejected + samples.uncovered if accepts(parser, text)] == []


@pytest.mark.parametrize("name", NAMES)
def test_accepted_samples_use_every_rule(name: str) -> None:
    unused = set(parser_of(name).rules)
    for text in samples_of(name).accepted:
        unused -= reductions(name, text).keys()
    assert sorted(map(str, unused)) == []


@pytest.mark.parametrize("name", NAMES)
def test_accepted_samples_use_every_terminal(name: str) -> None:
    found: set[str] = set()
    for text in samples_of(name).accepted:
        found.update(token.type for token in parser_of(name).parse_interactive(text).iter_parse())
    declared = {"_INDENT", "_DEDENT"} if name in INDENTED else set()
    terminals = {terminal.name for terminal in parser_of(name).terminals} | declared
    assert sorted(terminals - found - set(parser_of(name).ignore_tokens)) == []


@pytest.mark.parametrize("name", NAMES)
def test_grammars_have_no_conflicts_and_no_useless_rules(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger=lark.logger.name)
    # Why strict: lark then refuses what it else resolves silently, conflicts and terminals that overlap.
    rules = load(name, strict=True).rules
    assert "Unused rule" not in caplog.text
    defined = set(re.findall(r"^[?!]?([a-z_][a-z_0-9]*)(?:\{\w+\})?:", source(name), flags=re.MULTILINE))
    assert defined == {rule.origin.name.partition("{")[0] for rule in rules if not rule.origin.name.startswith("__")}
    ending: set[str] = set()
    while found := {
        rule.origin.name
        for rule in rules
        if rule.origin.name not in ending and all(part.is_term or part.name in ending for part in rule.expansion)
    }:
        ending |= found
    assert {rule.origin.name for rule in rules} == ending
