"""Every regular expression of the package takes time linear in the text, whoever wrote the text.

The tests find the expressions in the source, and count the steps of each on texts that grow (`tests.backtracking`). `EXCEPTIONS` lists
those that are made at run time. Lark's own expressions for the text of a grammar follow.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lark import load_grammar

import guided
from guided.engine.specs import _UNITS
from guided.lalr.loading import _LINEAR
from tests.backtracking import MOST, Matcher, hostile_texts

PACKAGE = Path(guided.__file__).parent
# Expressions made at run time, as written in the source, with the reason why they are linear or see no text of a stranger.
EXCEPTIONS = {
    (
        "guided/calls/formats/texts.py",
        "_source(text, id_pattern, '(?P<id>{})')",
    ): "a call format's text, whose id and blanks a developer wrote",
    (
        "guided/calls/lowering.py",
        "arguments_of(form).names",
    ): "the pattern of names of a call format, which a developer wrote",
    ("guided/schema/pushdown/machine.py", "arguments.names"): "the pattern of names of a format or style, a constant",
    ("guided/engine/specs.py", "_UNITS[by]"): "a word or a line at a time; `test_units_take_linear_time`",
    (
        "guided/schema/pushdown/arguments.py",
        "self._arguments.names.removeprefix('^')",
    ): "the pattern of names of a call format, which a developer wrote",
    (
        "guided/schema/pushdown/arguments.py",
        "f'(?:{first}(?P<name>[^{end}]*){end}|{item})?(?:{between})'",
    ): "the texts around the values of a style, constants",
    ("guided/calls/rendering.py", "form.id"): "the pattern of ids of a call format, which a developer wrote",
    (
        "guided/generate/writing.py",
        "f\"({'|'.join(map(re.escape, names))})\" if names else '(?!)'",
    ): "words without repeats",
    ("guided/patterns/characters.py", "f'\\\\{letter}+'"): "the text is the table of all characters",
}
# From the method that tries the fewest places to the one that tries the most.
_METHODS = ["pattern", "fullmatch", "match", "search", "split", "findall", "finditer", "sub"]
QUADRATIC = [
    (r'"(?:[^"\\]+|\\.)*"|[^\[\]{},:"\s]+', "match"),
    (r'"(?:[^"\\]|\\.)*"', "finditer"),
    (r"(?m)^\s*<?[\w-]+>?\s*::=", "search"),
    (r"(?m)^[ \t]*<?[A-Za-z][\w -]*>?\s*::=", "search"),
    (r"(\r?\n)+\s*\|", "match"),
    (r'"(\\"|\\\\|[^"\n])*?"i?', "match"),
    (r"\[(?:\\.|[^\]\\])*\]", "finditer"),
    (r"(?:a|b|ab)*c", "fullmatch"),
    (r"\w+,\w+;", "finditer"),
]


class Use(NamedTuple):
    """A regular expression in the source: its file, the expression for its text, a number for flags, and the method that reads a text."""

    file: str
    written: str
    flags: str
    method: str


def uses_in(file: str, source: str) -> Iterator[Use]:
    if not re.search(r"\b(import|from) re\b", source):
        return
    nodes = list(ast.walk(ast.parse(source)))
    assigned = {id(one.value): ast.unparse(one.targets[0]) for one in nodes if isinstance(one, ast.Assign)}
    methods: dict[str, list[str]] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "re":
            assert all(name.name in ("_constants", "_parser") for name in node.names), f"{file}: import re as a whole"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            methods.setdefault(node.value.id, []).append(node.attr)
    loaded = [one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    for node in nodes:
        function = node.func if isinstance(node, ast.Call) else None
        if (
            not isinstance(function, ast.Attribute)
            or ast.unparse(function.value) != "re"
            or function.attr in ("escape", "error")
        ):
            continue
        method = function.attr
        assert method in ("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer"), (
            f"{file}: {method}"
        )
        flags = [word.value for word in node.keywords if word.arg == "flags"]
        if method == "compile":
            flags += node.args[1:]
            name = assigned.get(id(node), "")
            called = methods.get(name, [])
            # A name that is passed on may be read by any method.
            method = "finditer" if len(called) < max(loaded.count(name), 1) else max(called, key=_METHODS.index)
        yield Use(file, ast.unparse(node.args[0]), ast.unparse(flags[0]) if flags else "0", method)


FILES = [path.relative_to(PACKAGE.parent).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]
SOURCES = {file: (PACKAGE.parent / file).read_text(encoding="utf-8") for file in FILES}


@cache
def uses(file: str) -> list[Use]:
    return list(uses_in(file, SOURCES[file]))


def key_of(file: str, written: str) -> tuple[str, str]:
    """Python 3.12 writes the quotes within an f-string in another way."""
    return file, ast.dump(ast.parse(written, mode="eval"))


LISTED = {key_of(*exception) for exception in EXCEPTIONS}


def known(file: str) -> list[Use]:
    return [use for use in uses(file) if key_of(use.file, use.written) not in LISTED]


def more_than_linear(pattern: "re.Pattern[Any]", method: str) -> str:
    """Return a long text that takes more than twice the steps of one of half the length; empty if there is none."""
    matcher = Matcher(pattern)

    def grows(short: str, long: str, constant: int) -> bool:
        return matcher.steps(long, method) > 2.2 * (matcher.steps(short, method) + constant)

    for texts in zip(*(hostile_texts(matcher, size) for size in (12, 24, 80, 160)), strict=True):
        # Why long texts too: a bounded repeat is linear from some length on.
        if grows(*texts[:2], 20) and (grows(*texts[2:], 40) or matcher.steps(texts[3], method) == MOST):
            return texts[3]
    return ""


@pytest.mark.parametrize(("pattern", "method"), QUADRATIC)
def test_the_count_of_steps_finds_expressions_that_are_not_linear(pattern: str, method: str) -> None:
    assert more_than_linear(re.compile(pattern, re.DOTALL), method)


def test_each_expression_made_at_run_time_is_listed() -> None:
    unlisted = []
    for use in (use for file in FILES for use in known(file)):
        try:
            compiled(use)
        except (NameError, TypeError):
            unlisted.append(use)
    assert not unlisted
    assert {key_of(use.file, use.written) for file in FILES for use in uses(file)} >= LISTED


@pytest.mark.parametrize("file", [file for file in FILES if re.search(r"\bre\.[a-z]+\(", SOURCES[file])])
def test_expressions_take_linear_time(file: str) -> None:
    for use in known(file):
        assert not more_than_linear(compiled(use), use.method), use


@pytest.mark.parametrize("pattern", _UNITS.values())
def test_units_take_linear_time(pattern: str) -> None:
    assert not more_than_linear(re.compile(pattern, re.DOTALL), "findall")


def compiled(use: Use) -> "re.Pattern[Any]":
    """Compile an expression among the names of its module."""
    names = vars(importlib.import_module(use.file.removesuffix(".py").replace("/", ".")))
    return re.compile(eval(use.written, names), eval(use.flags, names))


def test_larks_expressions_for_the_text_of_a_grammar_take_linear_time() -> None:
    """Also those that Lark keeps as they are; the others are replaced."""
    for name, pattern in {**load_grammar.TERMINALS, **_LINEAR}.items():
        assert not more_than_linear(re.compile(pattern), "match"), name
