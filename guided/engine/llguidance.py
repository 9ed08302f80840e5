r"""llguidance's dialect of Lark -> a grammar for Lark whose lexer takes the longest match.

``name: item ...``: names of rules in lower case, of terminals in capitals, with ``-``; strings as in JSON, ``"x"i`` in either case,
``"a".."z"``, ``/pattern/flags`` in the syntax of Rust's ``regex``; groups, ``[optional]``, ``|``, ``* + ? ~n ~m..n {n} {m,} {,n} {m,n}``;
in terminals ``&`` and ``~``; ``%ignore``, ``%import common.NAME``, ``%llguidance {}``; ``name[lazy]``, ``name[suffix=...]`` and
``name[capture]``, which constrains nothing.

Each use of a terminal, string or pattern in a rule is a *lexeme*. llguidance's lexer takes the longest of those that may come, keeps all
that match it, never returns to a shorter one, and ends a lazy one at its first match, which excludes others.

Theorem: Lark's contextual lexer with longest matches (`Lexer.takes_longest`), over canonical tables, reads the same texts if

- no two lexemes of a context match one text. If a pattern matches a string too, the lexer reads the string, and each use of the pattern
  admits it; not so for a lazy one.
- what follows a lexeme cannot begin like a longer match that fails (``1.`` of ``1.5``), and no lexeme continues where a lazy one ends.

Other grammars are refused, and so are conflicts of the LALR(1) tables. Characters are read as a whole, other than by llguidance.

Complexity: that of the automata of the lexemes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np

from guided.arrays import DEAD, freeze
from guided.automata.automaton import Automaton
from guided.automata.build import from_tree, over_characters
from guided.errors import GrammarError, LimitError, PatternError
from guided.export.characters import operand_of
from guided.export.elimination import expression
from guided.lalr.canonical import canonical
from guided.lalr.longest import returns
from guided.lalr.notation import Names, Node, Reader, folded, nodes_of, tables_of_rules, with_operators
from guided.lalr.scanner import scanner_of, spelling_of
from guided.lalr.sources import lark_pattern, lark_string
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.render import render
from guided.patterns.tree import (
    Alternate,
    Chars,
    Complement,
    Concat,
    Intersect,
    Literal,
    Look,
    Repeat,
    alternate,
    concat,
    fold,
    rebuilt,
    repeat,
)
from guided.patterns.tree import Node as Tree
from guided.schema.frontend.json_values import parse_json
from guided.schema.frontend.type_patterns import type_pattern
from guided.schema.strings.ecma import parse_ecma

__all__ = ["tables_of_llguidance"]

_NAME = re.compile(r"[!?]{0,2}(_?[A-Za-z][\w-]*)")
_LETTER = re.compile(r"[A-Za-z]")
_TEMPLATE = re.compile(r"\{(?![ \t]*[0-9,])")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*+"')
# An escape that JSON lacks, behind escapes that it may have.
_HEX = re.compile(r"((?<!\\)(?:\\\\)*)\\x([0-7][0-9a-fA-F])")
_PATTERN = re.compile(r"/((?:\\.|[^/\\\n])++)/([imslux]*)")
_COUNT = re.compile(r"~[ \t]*([0-9]{1,9})(?:[ \t]*\.\.[ \t]*([0-9]{1,9}))?")
_IMPORT = re.compile(
    r"%import[ \t]+common[ \t]*(?:\.[ \t]*(?P<name>\w+)(?:[ \t]*->[ \t]*(?P<alias>\w+))?|\((?P<names>[\w, \t]*)\))"
)
_OPTIONS = re.compile(r"%llguidance[ \t]*(\{[^{}]*\})")
_ATTRIBUTE = re.compile(r"[a-z_]*")
_IN_EITHER_CASE = re.compile(r"i(?![\w-])")
# Terminals of Lark's library that are not plain regular expressions there.
_COMMON = {"ESCAPED_STRING": r'"(?:[^"\\\n]|\\[^\n])*"', "C_COMMENT": r"/\*(?:[^*]|\*+[^*/])*\*+/"}
# What is written in another way before a pattern is read: ``\/``, and a dot for any character, which the reader knows at the start only.
_IN_PATTERN = re.compile(r"(\\[^/])|\\/|\(\?s:\.([*+?]?)\)", re.DOTALL)
# Sets of characters in the expression of a terminal that is not a plain pattern.
_EXPRESSION_SETS = 10_000
# Steps that any automaton takes, however small; its expression; a pattern that is compared with a string; and a letter of that.
_PER_AUTOMATON, _PER_EXPRESSION, _PER_PAIR, _PER_LETTER = 200_000, 300_000, 300, 150
_TOO_MANY = "the lexemes of a grammar have too many states: lower the counts of repeats"
_COMPOSE = "put it beside a grammar with a composition (docs/compositions.md)"
_UNSUPPORTED = {
    "stop": "stop= hides the text that ends it: use suffix=, which keeps it, or guided.FreeText(stop=...) of compositions",
    "max_tokens": "a grammar counts no tokens: bound the pattern, as in /.{1,80}/, or use max_tokens of compositions",
    "temperature": "a constraint does not sample: give temperature where texts are generated",
    "%json": f"%json is not supported: a schema is guided.JsonSchema(...); {_COMPOSE}, or write it as rules with its lark()",
    "%regex": f"%regex is not supported: use guided.Substring and {_COMPOSE}",
    "%lark": f"%lark is not supported: use guided.Grammar and {_COMPOSE}",
    "<": 'tokens such as <|x|> and <[5]> are not supported: write the text of the token as a string, "<|x|>"',
    "@": f"other grammars are not at hand: {_COMPOSE}",
    "'": 'a string is written in double quotes: "x"',
    '"': "the string is not closed",
    "/": "the pattern is not closed",
}
# Options of ``%llguidance``; the first says how tokens are computed, not which texts there are.
_OPTION_VALUES = {"no_forcing": (True, False), "allow_initial_skip": (True, False), "skip_repetition": ("many",)}
_KNOWN_OPTIONS = 'no_forcing and allow_initial_skip may be true or false, and skip_repetition may be "many"'
_UNSUPPORTED_OPTIONS = {
    "skip_repetition": '"skip_repetition" may be "many" only: bound ignored text by max_ignored=',
}
_SHARED = re.compile(r" that (\S+) matches too")
_ADVICE = "exclude texts from one with & and ~, as in NAME: /[a-z]+/ & ~/if|else/, or make one terminal of both"


def tables_of_llguidance(text: str, start: str, limits: Limits) -> tuple[LalrTables, str]:
    """Return the tables of a grammar and the name of its start rule in them.

    Raises
    ------
    GrammarError
        The text is not of the dialect, has a part that is not supported, is read in another way by llguidance's lexer, or needs more than
        LALR(1); with rule, line and column.
    LimitError
    """
    reader = _Reader(text, limits)
    reader.read()
    return _Translation(reader, start, limits).tables()


@dataclass(frozen=True, slots=True)
class _Written:
    """A literal: its text in the grammar, and its tree."""

    text: str
    tree: Tree


class _Reader(Reader):
    """Reads the definitions of a text.

    Attributes
    ----------
    rules, terminals : dict of str to Node
        Bodies. A leaf is a name or a literal. In terminals, ``&`` is a node between items, and ``~`` is a node ``not``.
    lazy : set of str
        Terminals that end at their first match.
    ignored : list of Node
    has_initial_skip : bool
        Whether ignored text may begin a text.
    """

    blank = re.compile(r"[ \t]+|(?:#|//)[^\r\n]*|->[ \t]*[!?_a-zA-Z][\w-]*")
    closing: ClassVar = {"(": ")", "[": "]"}

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self.limits = limits
        self.rules: dict[str, Node] = {}
        self.terminals: dict[str, Node] = {}
        self.lazy: set[str] = set()
        self.ignored: list[Node] = []
        # Strings in either case in Lark's notation, by their patterns.
        self.strings: dict[str, str] = {}
        self.has_initial_skip = self._is_terminal = False

    def read(self) -> None:
        self.skip(lines=True)
        while self.place < len(self.text):
            self.rule, begin = "grammar", self.place
            if self.text.startswith("%", begin):
                self._statement()
            elif (name := _NAME.match(self.text, begin)) is not None:
                self.place = name.end()
                self._definition(name[1], begin)
            else:
                raise self.error("a rule or terminal is written `name: ...`")
            self.skip(lines=True)

    def _statement(self) -> None:
        begin, imported = self.place, _IMPORT.match(self.text, self.place)
        if imported is not None:
            self.place = imported.end()
            for name in [imported["name"]] if imported["name"] else map(str.strip, imported["names"].split(",")):
                if name not in _common():
                    raise self.error(f"`common` has no terminal {name}", begin)
                self._define(imported["alias"] or name, Node("leaf", begin, [], _Written(name, _common()[name])))
        elif (found := _OPTIONS.match(self.text, begin)) is not None:
            self.place = found.end()
            try:
                options = parse_json(found[1], limits=self.limits)
            except ValueError as error:
                raise self.error(str(error), begin) from None
            for name, value in options.items():
                if not any(value == one and type(value) is type(one) for one in _OPTION_VALUES.get(name, ())):
                    reason = f"the option {name!r} with {value!r} is not supported: {_KNOWN_OPTIONS}"
                    raise self.error(_UNSUPPORTED_OPTIONS.get(name, reason), begin)
            self.has_initial_skip = options.get("allow_initial_skip", self.has_initial_skip)
        elif self.text.startswith("%ignore", begin):
            self.place += len("%ignore")
            self._is_terminal = True
            self.skip(lines=False)
            self.ignored.append(self.body())
        else:
            raise self.error("the statements are %ignore, %import common.NAME and %llguidance {...}")

    def _define(self, name: str, body: Node) -> None:
        table = self.terminals if name.lstrip("_")[:1].isupper() else self.rules
        if name in table:
            raise self.error(f"{name} is defined twice", body.offset)
        table[name] = body

    def _definition(self, name: str, begin: int) -> None:
        self.rule = name
        self._is_terminal = name.lstrip("_")[:1].isupper()
        is_lazy, suffix = (False, None) if self._is_terminal else self._attributes()
        self.skip(lines=False)
        here = self.text[self.place : self.place + 1]
        if here != ":":
            reasons = {
                "[": "attributes are for rules, in lower case: write the terminal as a rule",
                "{": "templates are not supported: write a rule for each use",
                ".": "llguidance has no priorities: leave it out",
            }
            raise self.error(reasons.get(here, "a definition is written `name: ...`: the sign : is missing"))
        self.place += 1
        self._is_terminal = self._is_terminal or is_lazy
        self.skip(lines=False)
        body = replace(self.body(), offset=begin)
        if is_lazy:
            # Invariant: no name that is read contains a blank.
            lexeme = f"{name} "
            self.lazy.add(lexeme)
            self.terminals[lexeme] = body if suffix is None else Node("sequence", begin, [body, suffix])
            body = Node("leaf", begin, [], lexeme)
        self._define(name, body)

    def _attributes(self) -> tuple[bool, Node | None]:
        """Read ``[lazy, suffix="x", capture]``: whether the rule is a lazy lexeme, and its suffix."""
        is_lazy, suffix = False, None
        if not self._takes("["):
            return is_lazy, suffix
        while not self._takes("]"):
            begin, found = self.place, _ATTRIBUTE.match(self.text, self.place)
            attribute = found[0] if found else ""
            if attribute not in ("lazy", "suffix", "capture"):
                known = "is not an attribute of a rule: these are lazy, suffix=... and capture"
                raise self.error(_UNSUPPORTED.get(attribute, f"{attribute!r} {known}"))
            self.place += len(attribute)
            is_lazy = is_lazy or attribute != "capture"
            if attribute != "lazy" and self._takes("="):
                value = self.item(self.text[self.place : self.place + 1])
                suffix = value if attribute == "suffix" else suffix
            if attribute == "suffix" and suffix is None:
                raise self.error('write suffix="text"', begin)
            self._takes(",")
        return is_lazy, suffix

    def _takes(self, sign: str) -> bool:
        self.skip(lines=False)
        if not self.text.startswith(sign, self.place):
            return False
        self.place += 1
        self.skip(lines=False)
        return True

    # Items

    def append(self, sequence: list[Node], item: Node) -> None:
        """Append an item; ``~`` before it negates it."""
        while sequence and sequence[-1].kind == "~" and item.kind not in ("&", "~"):
            item = Node("not", sequence.pop().offset, [item])
        sequence.append(item)

    def counts(self, here: str) -> tuple[int, int | None] | None:
        """Read how often the item before is repeated."""
        if here == "{":
            return self.numbers("0")
        found = _COUNT.match(self.text, self.place)
        if found is None:
            return super().counts(here)
        self.place = found.end()
        return int(found[1]), int(found[2] or found[1])

    def item(self, here: str) -> Node | None:
        """Read a literal, a name or a sign of terminals."""
        begin = self.place
        if here in ("&", "~"):
            if not self._is_terminal:
                raise self.error(f"{here} is for terminals, which are written in capitals")
            self.place += 1
            return Node(here, begin, [])
        if _STRING.match(self.text, begin):
            tree = self._string()
        elif (found := _PATTERN.match(self.text, begin)) is not None:
            self.place = found.end()
            tree = self.pattern(found[1], found[2].replace("u", ""), begin)
        elif (found := _NAME.match(self.text, begin)) is not None:
            self.place = found.end()
            if _TEMPLATE.match(self.text, self.place):
                raise self.error("templates are not supported: write a rule for each use", begin)
            return Node("leaf", begin, [], found[1])
        else:
            reason = next((reason for sign, reason in _UNSUPPORTED.items() if self.text.startswith(sign, begin)), None)
            if reason is None:
                return None
            raise self.error(reason)
        return Node("leaf", begin, [], _Written(self.text[begin : self.place], tree))

    def _string(self) -> Tree:
        begin, first = self.place, self._letters()
        if self.text.startswith("..", self.place):
            self.place += 2
            last = self._letters()
            if len(first) != 1 or len(last) != 1 or last < first:
                raise self.error('a range is between two single characters in order, as in "a".."z"', begin)
            return Chars(Charset.of([(ord(first), ord(last))]))
        if _IN_EITHER_CASE.match(self.text, self.place):
            self.place += 1
            tree = self.pattern(f"(?i:{re.escape(first)})", "", begin)
            self.strings[render(tree)] = f"{lark_string(first)}i"
            return tree
        return Literal(first)

    def _letters(self) -> str:
        found, value = _STRING.match(self.text, self.place), None
        with suppress(ValueError):
            value = parse_json(_HEX.sub(r"\g<1>\\u00\2", found[0]), limits=self.limits) if found else None
        if found is None or not isinstance(value, str):
            raise self.error(
                'a string is written as in JSON, with the escapes \\n \\r \\t \\b \\f \\/ \\\\ \\" \\uHHHH'
            )
        self.place = found.end()
        return value

    def pattern(self, source: str, flags: str, offset: int) -> Tree:
        """Return the tree of a pattern in the syntax of Rust's ``regex``."""
        source = _IN_PATTERN.sub(
            lambda found: found[1] or (f"(?:[\\s\\S]{found[2]})" if found[2] is not None else "/"), source
        )
        found = type_pattern(f"(?{flags}){source}" if flags else source, is_rust=True)
        reason = "the pattern uses what guided does not read of Rust's regex: a flag, a set operation, a property or a { without a count"
        if found is not None:
            try:
                tree = fold(parse_ecma(found.source, self.limits), _with_sets)
            except PatternError as error:
                raise self.error(f"the pattern is refused: {error.reason}", offset) from None
            if not fold(tree, lambda node, parts: isinstance(node, Look) or any(parts)):
                return tree
            reason = "a lexeme sees no text around it: anchors, \\b and lookaround are not supported"
        raise self.error(reason, offset)


@cache
def _common() -> dict[str, Tree]:
    """Return the terminals of Lark's library ``common``."""
    text = files("lark.grammars").joinpath("common.lark").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not re.match(r"_STRING|ESCAPED_STRING|C_COMMENT", line)]
    reader = _Reader("\n".join([*lines, ""]), Limits())
    reader.read()
    terminals = _Terminals(reader)
    own = {name: reader.pattern(source, "", 0) for name, source in _COMMON.items()}
    return {name: terminals.of(name, name, 0) for name in reader.terminals} | own


class _Terminals:
    """The trees of terminals, by name: plain patterns, without ``&`` and ``~``."""

    def __init__(self, reader: _Reader) -> None:
        self._reader, self._steps = reader, reader.steps
        self._known: dict[str, Tree] = {}
        self._sizes: dict[Any, int] = {}

    def of(self, name: str, user: str, offset: int) -> Tree:
        """Return the tree of a terminal that is used at a place.

        Raises
        ------
        GrammarError
            A terminal is not defined, contains itself, or matches no text.
        LimitError
        """
        reader = self._reader
        # Each terminal behind the one that uses it.
        work: dict[str, tuple[str, int]] = {name: (user, offset)}
        while work:
            name = next(reversed(work))
            if name not in reader.terminals:
                kind = "rule" if name.lstrip("_")[:1].islower() else "terminal"
                advice = f" but not defined: add `{name}: ...`"
                if name in reader.rules:
                    advice = ", and a terminal consists of terminals only"
                raise GrammarError.at(reader.text, f"the {kind} {name} is used{advice}", *work[name])
            body = reader.terminals[name]
            within = [node for node in nodes_of(body) if isinstance(node.leaf, str) and node.leaf not in self._known]
            for node in within[:1]:
                if node.leaf in work:
                    reason = "a terminal cannot contain itself: write a rule, in lower case"
                    raise GrammarError.at(reader.text, reason, name, node.offset)
                work[node.leaf] = name, node.offset
            if not within:
                self._known[name] = self._tree(body, name, is_lazy=name in reader.lazy)
                del work[name]
        return self._known[name]

    def of_body(self, body: Node) -> Tree:
        """Return the tree of ignored text."""
        for node in nodes_of(body):
            if isinstance(node.leaf, str):
                self.of(node.leaf, "grammar", node.offset)
        return self._tree(body, "grammar", is_lazy=False)

    def _tree(self, body: Node, owner: str, *, is_lazy: bool) -> Tree:
        self._sizes[owner] = 0
        return self._plain(folded(body, partial(self._joined, owner)), owner, body.offset, is_lazy=is_lazy)

    def _joined(self, owner: str, node: Node, parts: Sequence[Tree]) -> Tree:
        match node.kind:
            case "leaf":
                tree: Tree = node.leaf.tree if isinstance(node.leaf, _Written) else self._known[node.leaf]
                self._sizes[owner] += self._sizes.get(node.leaf) or fold(tree, _size)
                most = self._reader.limits.pattern_length
                if self._sizes[owner] > most:
                    raise LimitError("pattern_length", self._sizes[owner], most, f"the terminal {owner} is too long")
                return tree
            case "choice":
                return alternate(parts)
            case "not":
                return Complement(parts[0])
            case "repeat" if node.parts[0].kind not in ("&", "~"):
                return repeat(parts[0], node.least, node.most)
            case "sequence":
                groups: list[list[Tree]] = [[]]
                for part, tree in zip(node.parts, parts, strict=True):
                    if part.kind == "~":
                        raise self._refused("~ negates nothing", owner, part)
                    if part.kind == "&":
                        groups.append([])
                    else:
                        groups[-1].append(tree)
                return concat(groups[0]) if len(groups) == 1 else Intersect(tuple(concat(group) for group in groups))
            case "&" | "~":
                return Literal("")
        raise self._refused("& and ~ stand before an item", owner, node)

    def _refused(self, reason: str, owner: str, node: Node) -> GrammarError:
        return GrammarError.at(self._reader.text, reason, owner.strip(), node.offset)

    def _plain(self, tree: Tree, owner: str, offset: int, *, is_lazy: bool) -> Tree:
        """Return a tree of the same texts without ``&`` and ``~``; ``is_lazy``: of those that begin with no other one."""
        if not is_lazy and not fold(tree, lambda node, parts: isinstance(node, Intersect | Complement) or any(parts)):
            return tree
        self._steps.spend(_PER_AUTOMATON + _PER_EXPRESSION, _TOO_MANY)
        automaton = self._automaton(tree)
        if is_lazy:
            self._steps.spend(_PER_AUTOMATON, _TOO_MANY)
            ended = np.where(automaton.accepting[:, None], DEAD, automaton.table)
            automaton = replace(automaton, table=freeze(ended.astype(automaton.table.dtype)))
            automaton = self._automaton(operand_of(automaton))
        operand = operand_of(automaton)
        found = None if automaton.is_empty() else expression(operand.edges, operand.accepting, _EXPRESSION_SETS)
        if found is None:
            reason = "it matches no text" if automaton.is_empty() else "its regular expression is too long"
            raise GrammarError.at(self._reader.text, reason, owner.strip(), offset)
        return found

    def _automaton(self, tree: Tree) -> Automaton:
        limits = self._reader.limits
        return Automaton.from_characters(over_characters(tree, limits, self._steps), limits, self._steps)


def _with_sets(node: Tree, parts: Sequence[Tree]) -> Tree:
    r"""Return a tree with sets for characters that are not in others, as those of ``[^\W\d]`` are read."""
    match rebuilt(node, parts):
        case Concat((Look(Chars(excluded), behind=False, negative=True), Chars(charset))):
            return Chars(charset - excluded)
        case other:
            return other


def _spelled(tree: Tree) -> list[list[str]]:
    """Return, for each place of a string, its letters in all cases."""
    return [[chr(point) for first, last in one.ranges for point in range(first, last + 1)] for one in spelling_of(tree)]


def _size(node: Tree, parts: Sequence[int]) -> int:
    return len(node.text) if isinstance(node, Literal) else 1 + sum(parts)


def _nonempty(node: Tree, parts: Sequence[tuple[Tree | None, bool]]) -> tuple[Tree | None, bool]:
    """Return the texts of a plain tree without the empty one, and whether that is one of them."""
    nullable = [is_nullable for _, is_nullable in parts]
    match node:
        case Literal(text):
            return (node, False) if text else (None, True)
        case Alternate():
            found = [one for one, _ in parts if one is not None]
            return alternate(found) if found else None, any(nullable)
        case Repeat(minimum=least, maximum=most):
            one = parts[0][0]
            if one is None or most == 0:
                return None, least == 0 or nullable[0]
            return repeat(one, 1 if nullable[0] else max(least, 1), most), least == 0 or nullable[0]
        case Concat(items) if all(nullable):
            # The first item that is not empty, and anything after it.
            begun = [concat([one, *items[i + 1 :]]) for i, (one, _) in enumerate(parts) if one is not None]
            return alternate(begun) if begun else None, True
    return node, False


@dataclass(frozen=True, slots=True)
class _Lexeme:
    """A lexeme that rules use: its name for Lark, how it is shown, its first use, and its texts but the empty one."""

    name: str
    shown: str
    rule: str
    offset: int
    tree: Tree
    is_lazy: bool
    is_string: bool


class _Translation:
    """The grammar in Lark's notation."""

    def __init__(self, reader: _Reader, start: str, limits: Limits) -> None:
        self._reader, self._limits, self._start = reader, limits, start
        self._steps = reader.steps
        self._terminals = _Terminals(reader)
        self._names, self._terminal_names = Names(), Names()
        # By definition in Lark's notation.
        self._lexemes: dict[str, _Lexeme] = {}
        self._ignored: _Lexeme | None = None
        # Lazy lexemes and strings that they match.
        self._excluded: list[tuple[str, str]] = []
        # By rule of `_alternatives`: its alternatives.
        self._among: dict[str, list[str]] = {}
        # By leaf: its texts in Lark's notation but the empty one ("" if there are none), and whether that is one of them.
        self._uses: dict[Any, tuple[str, bool]] = {}
        if start not in reader.rules:
            raise GrammarError(f"the start rule is not defined: add `{start}: ...`", start)

    def tables(self) -> tuple[LalrTables, str]:
        reader, start = self._reader, self._names.of(self._start)
        reader.rules = {name: with_operators(name, body) for name, body in reader.rules.items()}
        rules = self._reachable()
        self._ignore()
        lines = [f"%ignore {self._ignored.name}"] if self._ignored else []
        lines += self._alternatives()
        for name in rules:
            body = reader.rules[name]
            written, is_optional = folded(body, partial(self._joined, body))
            lines.append(f"{self._names.of(name)}: {written}{' |' * (is_optional and bool(written))}")
        lines += [f"{one.name}: {definition}" for definition, one in self._lexemes.items()]
        text = "\n".join([*lines, ""])
        offsets = {name: reader.rules[name].offset for name in rules}
        advice = f"; or where a pattern matches a string too, {_ADVICE}" if self._among else ""
        tables = tables_of_rules(text, start, reader, offsets, self._names, self._limits, advice)
        tables = canonical(tables, self._limits, has_initial_skip=reader.has_initial_skip)
        tables = replace(tables, lexer=replace(tables.lexer, takes_longest=True))
        self._check(tables)
        return tables, start

    def _ignore(self) -> None:
        """Enter the lexeme of ignored text."""
        ignored, known = self._reader.ignored, {*self._lexemes}
        if ignored:
            tree = self._terminals.of_body(Node("choice", ignored[0].offset, ignored))
            self._ignored = self._lexeme(tree, "%ignore", "grammar", ignored[0].offset)
            if self._ignored and {*self._lexemes} == known:
                raise self._undecided(self._ignored, "is ignored, and a rule uses it")

    def _reachable(self) -> dict[str, None]:
        """Return the rules that the start rule needs, and enter their lexemes."""
        reader, found = self._reader, {self._start: None}
        work = [self._start]
        for rule in work:
            for node in nodes_of(reader.rules[rule]):
                if node.kind != "leaf":
                    continue
                leaf = node.leaf
                if isinstance(leaf, str) and leaf in reader.rules:
                    if leaf not in found:
                        found[leaf] = None
                        work.append(leaf)
                elif leaf not in self._uses:
                    tree = leaf.tree if isinstance(leaf, _Written) else self._terminals.of(leaf, rule, node.offset)
                    shown = leaf.text if isinstance(leaf, _Written) else leaf.strip()
                    lexeme = self._lexeme(
                        tree, shown, rule, node.offset, is_lazy=isinstance(leaf, str) and leaf in reader.lazy
                    )
                    is_nullable = fold(tree, _nonempty)[1]
                    if is_nullable and lexeme is not None and reader.ignored:
                        reason = f"{shown} may be empty, with ignored text around it: let it match a character, and write {shown}?"
                        raise GrammarError.at(reader.text, reason, rule, node.offset)
                    self._uses[leaf] = lexeme.name if lexeme else "", is_nullable
        return found

    def _lexeme(self, tree: Tree, shown: str, rule: str, offset: int, *, is_lazy: bool = False) -> _Lexeme | None:
        """Return the lexeme of a tree; None if it has only the empty text."""
        nonempty, is_nullable = fold(tree, _nonempty)
        if is_lazy and is_nullable:
            raise GrammarError.at(
                self._reader.text,
                "a lazy lexeme that may be empty is always empty: let it match at least one character",
                rule,
                offset,
            )
        if nonempty is None:
            return None
        pattern = render(nonempty)
        string = lark_string(nonempty.text) if isinstance(nonempty, Literal) else self._reader.strings.get(pattern)
        # Why: Lark gives a token of a pattern the type of a string, whether or not the string is ignored.
        string = None if shown == "%ignore" else string
        definition = string or lark_pattern(f"(?:{pattern})")
        found = self._lexemes.get(definition)
        if found is None:
            name = self._terminal_names.of(shown if _LETTER.search(shown) else f"sign {len(self._lexemes)}").upper()
            found = self._lexemes[definition] = _Lexeme(
                name, shown, rule, offset, nonempty, is_lazy, string is not None
            )
        elif found.is_lazy != is_lazy:
            raise GrammarError.at(self._reader.text, f"{shown} is lazy here and not elsewhere", rule, offset)
        return found

    def _alternatives(self) -> Iterator[str]:
        """Yield a rule for each pattern that matches strings of the grammar too: the pattern or one of them."""
        strings = [(one, _spelled(one.tree)) for one in self._lexemes.values() if one.is_string]
        for lexeme in self._lexemes.values() if strings else ():
            if lexeme.is_string:
                continue
            self._steps.spend(_PER_AUTOMATON, _TOO_MANY)
            automaton = from_tree(lexeme.tree, self._limits)
            self._steps.spend(automaton.table.size, _TOO_MANY)
            # Letters repeat.
            run = cache(automaton.run)
            among = [one.name for one, letters in strings if self._has(automaton, run, lexeme, one, letters)]
            if lexeme.is_lazy:
                # A lazy lexeme excludes others that end where it does.
                self._excluded += [(lexeme.name, name) for name in among]
                continue
            if among and lexeme is self._ignored:
                raise self._undecided(lexeme, "matches a string of a rule too")
            if among:
                name = self._names.of(f"{lexeme.name} ", lexeme.rule)
                self._among[name] = [lexeme.name, *among]
                yield f"{name}: {' | '.join(self._among[name])}"
                for leaf, (used, is_optional) in self._uses.items():
                    if used == lexeme.name:
                        self._uses[leaf] = name, is_optional

    def _has(
        self,
        automaton: Automaton,
        run: Callable[[str, int], int],
        lexeme: _Lexeme,
        string: _Lexeme,
        spelled: Sequence[Sequence[str]],
    ) -> bool:
        """Return whether a string, in each case, is a text of a lexeme; ``spelled``: its letters in all cases; ``run``: its automaton's."""
        states = {0}
        self._steps.spend(_PER_PAIR, _TOO_MANY)
        for letters in spelled:
            self._steps.spend(_PER_LETTER * len(states) * len(letters), _TOO_MANY)
            states = {run(letter, state) if state >= 0 else DEAD for letter in letters for state in states}
            if states == {DEAD}:
                return False
        accepting = {state >= 0 and bool(automaton.accepting[state]) for state in states}
        if len(accepting) > 1:
            raise self._undecided(lexeme, f"matches {string.shown} in some of its cases only")
        return accepting == {True}

    def _joined(self, body: Node, node: Node, parts: Sequence[tuple[str, bool]]) -> tuple[str, bool]:
        """Return a node of a rule's body in Lark's notation, "" if it has only the empty text; and whether it is optional."""
        written = [f"{part}?" if is_optional else part for part, is_optional in parts if part]
        match node.kind:
            case "leaf":
                return self._uses.get(node.leaf) or (self._names.of(node.leaf), False)
            case "choice":
                # Why: an alternative that is a pattern or a string of it may be given twice, which Lark takes as once.
                among = self._among if node is body else {}
                texts = list(dict.fromkeys(text for part, _ in parts if part for text in among.get(part, [part])))
                whole = texts[0] if len(texts) == 1 else f"({' | '.join(texts)})" if texts else ""
                return whole, any(is_optional or not part for part, is_optional in parts)
            case "sequence":
                only = [part for part in parts if part[0]]
                return only[0] if len(only) == 1 else (f"({' '.join(written)})" if written else "", not written)
        (item, is_optional), least, most = parts[0], node.least, node.most
        if not item or most == 0:
            return "", True
        least = 0 if is_optional else least
        self._steps.spend(1 + least, "repeats of a grammar are too long")
        if most is None:
            return (f"({item}+)", least == 0) if least <= 1 else (f"({item}~{least} {item}*)", False)
        return (item if most == 1 else f"({item}~{max(least, 1)}..{most})"), least == 0

    def _check(self, tables: LalrTables) -> None:
        """Refuse a grammar that llguidance's lexer reads in another way.

        Raises
        ------
        GrammarError
        """
        named = {one.name: one for one in self._lexemes.values()}
        names = [terminal.name for terminal in tables.lexer.terminals]
        for context in tables.lexer.contexts if self._excluded else ():
            self._steps.spend(len(context.terminals) + len(self._excluded), "the lexemes of a grammar overlap too much")
            tried = {names[terminal] for terminal in context.terminals}
            for lazy, other in self._excluded:
                if {lazy, other} <= tried:
                    raise self._undecided(named[lazy], f"is lazy, and matches {named[other].shown} too")
        if self._ignored is not None:
            named |= {"": self._ignored, "%ignore": self._ignored}
        try:
            scanner = scanner_of(tables.lexer, self._limits, self._steps)
        except GrammarError as error:
            found = _SHARED.search(error.reason)
            pair = [named[error.rule], named[found[1] if found else error.rule]]
            pair.sort(key=lambda one: one is self._ignored)
            raise self._undecided(pair[0], f"matches a text that {pair[1].shown} matches too") from None
        ended = {one.name for one in self._lexemes.values() if one.is_lazy}
        for name, reason in returns(tables, scanner, ended, self._steps):
            raise self._undecided(named[name], reason)

    def _undecided(self, lexeme: _Lexeme, why: str) -> GrammarError:
        reason = f"{lexeme.shown} {why}, which llguidance's lexer decides in another way: {_ADVICE}"
        return GrammarError.at(self._reader.text, reason, lexeme.rule, lexeme.offset)
