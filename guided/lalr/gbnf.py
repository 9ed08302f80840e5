r"""GBNF, llama.cpp's notation of grammars over characters -> a grammar in Lark's notation whose lexer is scannerless.

``root ::= "[" item ("," item)* "]"``: names of letters, digits, ``-`` and ``_``; strings, classes of characters and ``.``, with the escapes
``\n \r \t \\ \" \[ \] \- \xHH \uHHHH \UHHHHHHHH``; groups, ``|``, ``* + ? {m} {m,} {m,n}``, comments after ``#``. A line break ends a rule,
except in a group, behind ``::=`` or ``|``, and before ``|``.

A rule is *regular* if it refers to regular rules only, or else to itself at the ends of its alternatives: by Arden's lemma
``x ::= a x | b`` has the language ``a* b``. What is regular between two references to other rules becomes one terminal, so that the
parser decides only what needs a stack. A terminal matches no empty text: one that could is optional.

Theorem: if the LALR(1) tables have no conflict, the scannerless lexer reads the language of the text. It ends a lexeme at each of its
matches (`Lexer.is_scannerless`), so all divisions of a text into terminals are tried.

Linear in the text, apart from the patterns: each use of a regular rule repeats its pattern, up to ``Limits.pattern_length``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from typing import Any, TypeAlias

from guided.errors import GrammarError, LimitError
from guided.lalr.notation import Names, Node, Reader, folded, nodes_of, tables_of_rules, with_operators
from guided.lalr.sources import lark_pattern
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.render import render
from guided.patterns.tree import Chars, Literal

__all__ = ["tables_of_gbnf"]

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_HEX = {"x": 2, "u": 4, "U": 8}
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", **{sign: sign for sign in '\\"[]-'}}
# Measured, with what Lark does with the terminal.
_STEPS_PER_CHARACTER = 1_000
_TOO_LONG = "rules without recursion, written out where they are used, are too long"


@dataclass(frozen=True, slots=True)
class _Regular:
    """A pattern; ``nonempty`` is one for its texts without the empty one, and the same unless that is one of them; "" if there are none."""

    pattern: str
    nonempty: str

    @property
    def is_nullable(self) -> bool:
        return self.pattern != self.nonempty


# A sequence: its regular parts, joined where they are neighbours, and others as text in Lark's notation.
_Sequence: TypeAlias = list["_Regular | str"]
# Of a rule x: a and b of ``a x | b``, None for no text.
_Linear: TypeAlias = tuple["_Regular | None", "_Regular | None"] | None
_EMPTY = _Regular("(?:)", "")


def tables_of_gbnf(text: str, root: str, limits: Limits) -> tuple[LalrTables, str]:
    """Return the tables of a grammar and the name of its start rule in them.

    Raises
    ------
    GrammarError
        The text is not GBNF, uses tokens, or needs more than LALR(1), with rule, line and column.
    LimitError
    """
    reader = _Reader(text, limits)
    rules = {name: with_operators(name, body) for name, body in reader.rules().items()}
    translation = _Translation(rules, reader, root, limits)
    lark, name = translation.lark()
    offsets = {rule: body.offset for rule, body in rules.items()}
    tables = tables_of_rules(lark, name, reader, offsets, translation.names, limits)
    return replace(tables, lexer=replace(tables.lexer, is_scannerless=True)), name


class _Reader(Reader):
    """Reads the rules of a text; each body as a tree."""

    blank = re.compile(r"[ \t]+|#[^\r\n]*")

    def rules(self) -> dict[str, Node]:
        found: dict[str, Node] = {}
        self.skip(lines=True)
        while self.place < len(self.text):
            begin = self.place
            name = _NAME.match(self.text, begin)
            if name is None:
                raise self.error("a rule is written `name ::= ...`")
            self.rule, self.place = name[0], name.end()
            self.skip(lines=False)
            if not self.text.startswith("::=", self.place):
                raise self.error("a rule is written `name ::= ...`: the sign ::= is missing")
            if self.rule in found:
                raise self.error(f"the rule {self.rule} is defined twice", begin)
            self.place += 3
            self.skip(lines=True)
            found[self.rule] = replace(self.body(), offset=begin)
            self.skip(lines=True)
        return found

    def item(self, here: str) -> Node | None:
        """Read a string, a class or a name."""
        begin = self.place
        if here == '"':
            return Node("leaf", begin, [], self._string())
        if here in ("[", "."):
            return Node("leaf", begin, [], self._class())
        if (name := _NAME.match(self.text, begin)) is not None:
            if name[0] == "TagDispatch" and self.text.startswith("(", name.end()):
                raise self.error("TagDispatch(...) is not supported: a structural tag has triggered_tags and dispatch")
            self.place = name.end()
            return Node("leaf", begin, [], name[0])
        if here in ("<", "!"):
            raise self.error("tokens such as <x>, <[5]> and !<x> are not supported: write the token's text as a string")
        return None

    def _string(self) -> _Regular:
        letters: list[str] = []
        begin = self.place
        self.place += 1
        while not self.text.startswith('"', self.place):
            letters.append(self._character("string", begin))
        self.place += 1
        return _pattern(render(Literal("".join(letters))))

    def _class(self) -> _Regular:
        begin = self.place
        if self.text[begin] == ".":
            self.place += 1
            return _pattern(render(Chars(Charset.UNIVERSE)))
        self.place += 1
        is_negated = self.text.startswith("^", self.place)
        self.place += is_negated
        ranges: list[tuple[int, int]] = []
        while not self.text.startswith("]", self.place):
            first = last = self._character("class", begin)
            if self.text.startswith("-", self.place) and not self.text.startswith("-]", self.place):
                self.place += 1
                last = self._character("class", begin)
            if last < first:
                raise self.error("a range is from the lower character to the higher", begin)
            ranges.append((ord(first), ord(last)))
        self.place += 1
        charset = Charset.of(sorted(ranges))
        charset = ~charset if is_negated else charset
        if not ranges or not charset:
            raise self.error("the class has no character", begin)
        return _pattern(render(Chars(charset)))

    def _character(self, within: str, opened: int) -> str:
        begin = self.place
        here = self.text[begin : begin + 1]
        if here == "":
            raise self.error(f"the {within} is not closed", opened)
        if here != "\\":
            self.place += 1
            return here
        sign = self.text[begin + 1 : begin + 2]
        width = _HEX.get(sign, 0)
        digits = self.text[begin + 2 : begin + 2 + width]
        self.place += 2 + width
        if sign in _ESCAPED:
            return _ESCAPED[sign]
        if width and re.fullmatch(r"[0-9A-Fa-f]+", digits) and len(digits) == width and int(digits, 16) < 0x110000:
            return chr(int(digits, 16))
        raise self.error(r"the escapes are \n \r \t \\ \" \[ \] \- \xHH \uHHHH and \UHHHHHHHH", begin)


def _pattern(pattern: str) -> _Regular:
    return _Regular(pattern, pattern) if pattern else _EMPTY


class _Translation:
    """The grammar in Lark's notation.

    Attributes
    ----------
    rules : dict of str to Node
    names : Names
    """

    def __init__(self, rules: dict[str, Node], reader: Reader, root: str, limits: Limits) -> None:
        text = reader.text
        self.rules, self._text, self._limits = rules, text, limits
        self._root, self._steps = root, reader.steps
        self._uses = {
            name: [node for node in nodes_of(body) if isinstance(node.leaf, str)] for name, body in rules.items()
        }
        for name, uses in self._uses.items():
            for node in uses:
                if node.leaf not in rules:
                    raise GrammarError.at(
                        text,
                        f"the rule {node.leaf} is used but not defined: add `{node.leaf} ::= ...`",
                        name,
                        node.offset,
                    )
        if root not in rules:
            raise GrammarError(f"the start rule is not defined: add `{root} ::= ...`", root)
        self._regular: dict[str, _Regular] = {}
        self._find_regular()
        self.names = Names()
        self._rule = ""
        self._terminals: dict[str, str] = {}

    def lark(self) -> tuple[str, str]:
        """Return the grammar's text and the name of its start rule."""
        start, lines = self.names.of(self._root), list[str]()
        for name in self.names.rules:
            pattern = self._regular.get(name)
            self._rule = self.names.of(name)
            body: _Sequence = folded(self.rules[name], self._joined) if pattern is None else [pattern]
            lines.append(f"{self._rule}: {self._written(body)}")
        lines += [f"{name}: {lark_pattern(pattern)}" for pattern, name in self._terminals.items()]
        return "\n".join([*lines, ""]), start

    def _terminal(self, pattern: str) -> str:
        """Return the terminal of a pattern, which bears the name of the first rule that needs it."""
        return self._terminals.setdefault(pattern, f"{self._rule.upper()}_{len(self._terminals) + 1}")

    def _spend(self, pattern: str) -> str:
        self._steps.spend(_STEPS_PER_CHARACTER * len(pattern), _TOO_LONG)
        if len(pattern) > self._limits.pattern_length:
            raise LimitError("pattern_length", len(pattern), self._limits.pattern_length, _TOO_LONG)
        return pattern

    def _find_regular(self) -> None:
        """Solve rules whose references are solved, until no more are."""
        needs = {name: {str(node.leaf) for node in uses} - {name} for name, uses in self._uses.items()}
        users: dict[str, list[str]] = {name: [] for name in self.rules}
        for name, needed in needs.items():
            for other in needed:
                users[other].append(name)
        work = [name for name, needed in needs.items() if not needed]
        for name in work:
            solved = folded(self.rules[name], partial(self._linear, name))
            if solved is None:
                continue
            again, rest = solved
            if rest is None:
                raise GrammarError.at(
                    self._text, "the rule derives no text: each alternative needs itself", name, self.rules[name].offset
                )
            loop = [] if again is None else [self._repeated(again, 0, None)]
            self._regular[name] = self._chained([*loop, rest])
            for user in users[name]:
                needs[user].discard(name)
                if not needs[user]:
                    work.append(user)

    def _linear(self, name: str, node: Node, parts: list[_Linear]) -> _Linear:
        """Return the patterns a and b of a node that is ``a x | b`` for its rule x; None if it is not."""
        if any(part is None for part in parts):
            return None
        pairs = [part for part in parts if part is not None]
        match node.kind:
            case "leaf":
                if isinstance(node.leaf, _Regular):
                    return None, node.leaf
                return (_EMPTY, None) if node.leaf == name else (None, self._regular[node.leaf])
            case "choice":
                loops = [again for again, _ in pairs if again is not None]
                ends = [rest for _, rest in pairs if rest is not None]
                return self._any_of(loops) if loops else None, self._any_of(ends) if ends else None
            case "sequence":
                if any(again is not None for again, _ in pairs[:-1]):
                    return None
                before = [rest for _, rest in pairs[:-1] if rest is not None]
                again, rest = pairs[-1] if pairs else (None, _EMPTY)
                return again and self._chained([*before, again]), rest and self._chained([*before, rest])
        ((again, rest),) = pairs
        if again is not None and (node.least, node.most) != (0, 1):
            return None
        if again is not None:
            return again, _EMPTY if rest is None else self._any_of([rest, _EMPTY])
        assert rest is not None, "what does not use the rule has texts"
        return None, self._repeated(rest, node.least, node.most)

    def _joined(self, node: Node, parts: list[_Sequence]) -> _Sequence:
        """Return the sequence of a node, with its regular parts joined."""
        match node.kind:
            case "leaf":
                if isinstance(node.leaf, _Regular):
                    return [node.leaf]
                known = self._regular.get(node.leaf)
                return [self.names.of(node.leaf) if known is None else known]
            case "choice":
                regular = [_regular(part) for part in parts]
                plain = [one for one in regular if one is not None]
                whole: _Sequence = [self._any_of(plain)] if plain else []
                if len(plain) == len(parts):
                    return whole
                written = [self._written(part) for part, one in zip(parts, regular, strict=True) if one is None]
                if plain:
                    written.append(self._written(whole))
                return [f"({' | '.join(dict.fromkeys(written))})"]
            case "sequence":
                found: _Sequence = []
                for is_regular, group in groupby(chain.from_iterable(parts), lambda piece: isinstance(piece, _Regular)):
                    pieces: list[Any] = list(group)
                    found += [self._chained(pieces)] if is_regular else pieces
                return found
        (item,) = parts
        regular_item = _regular(item)
        if regular_item is not None:
            return [self._repeated(regular_item, node.least, node.most)]
        written_item, least, most = f"({self._written(item)})", node.least, node.most
        if most is None:
            return [
                f"{written_item}*"
                if least == 0
                else f"{written_item}+"
                if least == 1
                else f"{written_item}~{least} {written_item}*"
            ]
        return [f"{written_item}~{least}..{most}"] if most else [_EMPTY]

    def _written(self, sequence: _Sequence) -> str:
        texts = []
        for piece in sequence:
            if isinstance(piece, str):
                texts.append(piece)
            elif piece.nonempty:
                texts.append(self._terminal(self._spend(piece.nonempty)) + "?" * piece.is_nullable)
        return self._spend(" ".join(texts))

    def _chained(self, items: Sequence[_Regular]) -> _Regular:
        if not all(item.is_nullable for item in items):
            return _pattern(self._spend("".join(item.pattern for item in items if item != _EMPTY)))
        # A text that is not empty has a first item that is not, and anything after it.
        pattern, begun = "", list[str]()
        for item in reversed(items):
            if item.nonempty:
                begun.append(self._spend(item.nonempty + pattern))
                pattern = item.pattern + pattern
        return _Regular(pattern or "(?:)", self._spend(_joined(begun)))

    def _any_of(self, items: Sequence[_Regular]) -> _Regular:
        items = list(dict.fromkeys(items))
        if len(items) == 1:
            return items[0]
        nonempty = _joined([item.nonempty for item in items])
        is_nullable = any(item.is_nullable for item in items)
        return _Regular(self._spend(f"(?:{nonempty}|)"), nonempty) if is_nullable else _pattern(self._spend(nonempty))

    def _repeated(self, item: _Regular, least: int, most: int | None) -> _Regular:
        if not item.nonempty or most == 0:
            return _EMPTY
        if item.is_nullable:
            least = 0
        body, upper = f"(?:{item.nonempty})", "" if most is None else str(most)
        nonempty = body if most == 1 else f"{body}{{{max(least, 1)},{upper}}}"
        return (
            _Regular(self._spend(f"{body}{{0,{upper}}}"), nonempty) if least == 0 else _pattern(self._spend(nonempty))
        )


def _joined(patterns: Sequence[str]) -> str:
    """Return the alternative of patterns that match something."""
    found = list(dict.fromkeys(pattern for pattern in patterns if pattern))
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})" if found else ""


def _regular(sequence: _Sequence) -> _Regular | None:
    """Return a sequence that is regular as a whole."""
    if not sequence:
        return _EMPTY
    return sequence[0] if len(sequence) == 1 and isinstance(sequence[0], _Regular) else None
