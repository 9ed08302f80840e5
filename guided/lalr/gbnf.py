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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from typing import Any, TypeAlias, TypeVar

from guided.automata.steps import Steps
from guided.errors import GrammarError, LimitError
from guided.lalr.loading import tables_of_text
from guided.lalr.sources import lark_pattern
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.render import render
from guided.patterns.tree import Chars, Literal

__all__ = ["is_gbnf", "tables_of_gbnf"]

# A line that begins with a name and the sign of a definition.
_RULE = re.compile(r"^[ \t]*[A-Za-z0-9_-]+[ \t]*::=", re.MULTILINE)
_BLANK = re.compile(r"[ \t]+|#[^\r\n]*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_COUNTS = re.compile(r"\{([0-9, 	]{1,40})\}")
_HEX = {"x": 2, "u": 4, "U": 8}
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", **{sign: sign for sign in '\\"[]-'}}
_REPEATS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_STEPS_PER_CHARACTER = 16
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
_T = TypeVar("_T")
_EMPTY = _Regular("(?:)", "")


@dataclass(slots=True)
class _Node:
    """A node of a rule's body: a leaf, or ``|``, a sequence or a repeat (``kind``) of others."""

    kind: str
    offset: int
    parts: list["_Node"]
    leaf: _Regular | str = _EMPTY
    least: int = 1
    most: int | None = 1


def is_gbnf(text: str) -> bool:
    """Return whether a text defines its first rule with ``::=``, which no grammar of Lark does."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return _RULE.match(line) is not None
    return False


def tables_of_gbnf(text: str, root: str, limits: Limits) -> tuple[LalrTables, str]:
    """Return the tables of a grammar and the name of its start rule in them.

    Raises
    ------
    GrammarError
        The text is not GBNF, uses tokens, or needs more than LALR(1), with rule, line and column.
    LimitError
    """
    if len(text) > limits.pattern_length:
        raise LimitError("pattern_length", len(text), limits.pattern_length, "the grammar's text is too long")
    translation = _Translation(_Reader(text, limits).rules(), text, root, limits)
    lark, name = translation.lark()
    try:
        tables = tables_of_text(
            lark, start=[name], lexer="contextual", postlex=None, import_paths=(), source=None, limits=limits
        )
    except GrammarError as error:
        reason = error.reason.partition(":")[0]
        rule = translation.rule_of(error.rule)
        raise _error(text, reason, rule, translation.rules[rule].offset) from None
    for conflict in tables.conflicts:
        rule = translation.rule_of(conflict.rule.partition(":")[0])
        reason = (
            "a parser that sees only the next part cannot tell whether this rule ends or continues (LALR(1)): make the choice where the "
            "alternatives differ, or leave out one of two optional parts that can match the same text"
        )
        raise _error(text, reason, rule, translation.rules[rule].offset)
    return replace(tables, lexer=replace(tables.lexer, is_scannerless=True)), name


def _error(text: str, reason: str, rule: str, offset: int) -> GrammarError:
    begin = text.rfind("\n", 0, offset) + 1
    source = text[begin:].partition("\n")[0].rstrip("\r")
    return GrammarError(reason, rule, text.count("\n", 0, offset) + 1, offset - begin + 1, source)


class _Reader:
    """Reads the rules of a text; each body as a tree."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text, self.place, self.rule = text, 0, "grammar"
        self._most_nested = limits.composition_depth

    def rules(self) -> dict[str, _Node]:
        found: dict[str, _Node] = {}
        self._skip(lines=True)
        while self.place < len(self.text):
            begin = self.place
            name = _NAME.match(self.text, begin)
            if name is None:
                raise self._error("a rule is written `name ::= ...`")
            self.rule, self.place = name[0], name.end()
            self._skip(lines=False)
            if not self.text.startswith("::=", self.place):
                raise self._error("a rule is written `name ::= ...`: the sign ::= is missing")
            if self.rule in found:
                raise self._error(f"the rule {self.rule} is defined twice", begin)
            self.place += 3
            self._skip(lines=True)
            found[self.rule] = replace(self._body(), offset=begin)
            self._skip(lines=True)
        return found

    def _body(self) -> _Node:
        """Read alternatives up to the end of the rule; groups that are open are kept on a stack."""
        text, stack = self.text, list[_Node]()
        group = _choice(self.place)
        while True:
            here, sequence = text[self.place : self.place + 1], group.parts[-1].parts
            begin = self.place
            if here == "(":
                if len(stack) == self._most_nested:
                    raise LimitError(
                        "composition_depth", len(stack) + 1, len(stack), "nested groups of a grammar in GBNF"
                    )
                stack.append(group)
                group = _choice(begin)
                self.place += 1
            elif here == ")" and stack:
                stack[-1].parts[-1].parts.append(group)
                group = stack.pop()
                self.place += 1
            elif here == "|":
                group.parts.append(_Node("sequence", begin, []))
                self.place += 1
            elif here in _REPEATS or here == "{":
                if not sequence:
                    raise self._error(f"{here} repeats nothing")
                least, most = _REPEATS[here] if here in _REPEATS else self._counts()
                self.place += here != "{"
                sequence[-1] = _Node("repeat", begin, [sequence[-1]], least=least, most=most)
            elif here == '"':
                sequence.append(_Node("leaf", begin, [], self._string()))
            elif here == "[" or here == ".":
                sequence.append(_Node("leaf", begin, [], self._class()))
            elif (name := _NAME.match(text, begin)) is not None:
                sequence.append(_Node("leaf", begin, [], name[0]))
                self.place = name.end()
            elif not stack and here in ("", "\r", "\n"):
                if not self._continues():
                    return group
            elif here in ("<", "!"):
                raise self._error(
                    "tokens such as <x>, <[5]> and !<x> are not supported: write the token's text as a string"
                )
            else:
                reason = (
                    f"a group is not closed by `)`: it begins at {stack[-1].offset}"
                    if not here
                    else f"{here!r} cannot come here"
                )
                raise self._error(reason)
            self._skip(lines=bool(stack) or here == "|")

    def _continues(self) -> bool:
        """Return whether the next line begins with ``|``, and move there."""
        begin = self.place
        self._skip(lines=True)
        if self.text.startswith("|", self.place):
            return True
        self.place = begin
        return False

    def _skip(self, *, lines: bool) -> None:
        while True:
            found = _BLANK.match(self.text, self.place)
            if found is not None:
                self.place = found.end()
            elif lines and self.text[self.place : self.place + 1] in ("\r", "\n"):
                self.place += 1
            else:
                return

    def _counts(self) -> tuple[int, int | None]:
        found = _COUNTS.match(self.text, self.place)
        least, comma, most = (number.strip() for number in found[1].partition(",")) if found else ("", "", "")
        if found is None or not least.isdigit() or not (most.isdigit() or not most):
            raise self._error("a count is written {2}, {2,} or {2,5}")
        numbers = int(least), int(most) if most else None if comma else int(least)
        if numbers[1] is not None and numbers[1] < numbers[0]:
            raise self._error("a count is from the lower number to the higher")
        self.place = found.end()
        return numbers

    def _string(self) -> _Regular:
        letters: list[str] = []
        self.place += 1
        while not self.text.startswith('"', self.place):
            letters.append(self._character("string"))
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
            first = last = self._character("class")
            if self.text.startswith("-", self.place) and not self.text.startswith("-]", self.place):
                self.place += 1
                last = self._character("class")
            if last < first:
                raise self._error("a range is from the lower character to the higher", begin)
            ranges.append((ord(first), ord(last)))
        self.place += 1
        charset = Charset.of(sorted(ranges))
        charset = ~charset if is_negated else charset
        if not ranges or not charset:
            raise self._error("the class has no character", begin)
        return _pattern(render(Chars(charset)))

    def _character(self, within: str) -> str:
        begin = self.place
        here = self.text[begin : begin + 1]
        if here == "":
            raise self._error(f"the {within} is not closed")
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
        raise self._error(r"the escapes are \n \r \t \\ \" \[ \] \- \xHH \uHHHH and \UHHHHHHHH", begin)

    def _error(self, reason: str, offset: int | None = None) -> GrammarError:
        return _error(self.text, reason, self.rule, self.place if offset is None else offset)


def _choice(offset: int) -> _Node:
    return _Node("choice", offset, [_Node("sequence", offset, [])])


def _pattern(pattern: str) -> _Regular:
    return _Regular(pattern, pattern) if pattern else _EMPTY


class _Translation:
    """The grammar in Lark's notation.

    Attributes
    ----------
    rules : dict of str to _Node
    names : dict of str to str
        The rules by their names in Lark's notation.
    """

    def __init__(self, rules: dict[str, _Node], text: str, root: str, limits: Limits) -> None:
        self.rules, self._text, self._limits = rules, text, limits
        self._root, self._steps = root, Steps(limits.steps)
        self._uses = {
            name: [node for node in _nodes(body) if isinstance(node.leaf, str)] for name, body in rules.items()
        }
        for name, uses in self._uses.items():
            for node in uses:
                if node.leaf not in rules:
                    raise _error(text, f"the rule {node.leaf} is used but not defined", name, node.offset)
        if root not in rules:
            raise GrammarError(f"the start rule is not defined: add `{root} ::= ...`", root)
        self._regular: dict[str, _Regular] = {}
        self._find_regular()
        self.names: dict[str, str] = {}
        self._named: dict[str, str] = {}
        self._rule = ""
        self._terminals: dict[str, str] = {}

    def lark(self) -> tuple[str, str]:
        """Return the grammar's text and the name of its start rule."""
        work, lines = [self._root], list[str]()
        self._name(self._root)
        for name in work:
            known, pattern = len(self._named), self._regular.get(name)
            self._rule = self._named[name]
            body: _Sequence = _folded(self.rules[name], self._joined) if pattern is None else [pattern]
            lines.append(f"{self._rule}: {self._written(body)}")
            work += list(self._named)[known:]
        lines += [f"{name}: {lark_pattern(pattern)}" for pattern, name in self._terminals.items()]
        return "\n".join([*lines, ""]), self._named[self._root]

    def rule_of(self, name: str) -> str:
        """Return the rule of a name in Lark's grammar; Lark makes further rules of one for its repeats, such as ``__x_star_0``."""
        made_of = (known for known in self.names if name.startswith(f"__{known}_"))
        return self.names.get(name) or self.names.get(max(made_of, key=len, default=""), self._root)

    def _terminal(self, pattern: str) -> str:
        """Return the terminal of a pattern, which bears the name of the first rule that needs it."""
        return self._terminals.setdefault(pattern, f"{self._rule.upper()}_{len(self._terminals) + 1}")

    def _name(self, rule: str) -> str:
        found = self._named.get(rule)
        if found is None:
            plain = rule.lower().replace("-", "_").strip("_")
            plain = plain if plain[:1].isalpha() else f"rule_{plain}".rstrip("_")
            found = plain if plain not in self.names else f"{plain}_{len(self.names)}"
            while found in self.names:
                found += "_"
            self._named[rule], self.names[found] = found, rule
        return found

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
            solved = _folded(self.rules[name], partial(self._linear, name))
            if solved is None:
                continue
            again, rest = solved
            if rest is None:
                raise _error(
                    self._text, "the rule derives no text: each alternative needs itself", name, self.rules[name].offset
                )
            loop = [] if again is None else [self._repeated(again, 0, None)]
            self._regular[name] = self._chained([*loop, rest])
            for user in users[name]:
                needs[user].discard(name)
                if not needs[user]:
                    work.append(user)

    def _linear(self, name: str, node: _Node, parts: list[_Linear]) -> _Linear:
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

    def _joined(self, node: _Node, parts: list[_Sequence]) -> _Sequence:
        """Return the sequence of a node, with its regular parts joined."""
        match node.kind:
            case "leaf":
                if isinstance(node.leaf, _Regular):
                    return [node.leaf]
                known = self._regular.get(node.leaf)
                return [self._name(node.leaf) if known is None else known]
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


def _folded(body: _Node, join: Callable[[_Node, list[_T]], _T]) -> _T:
    """Return the value of a body, where ``join`` gives that of a node from those of its parts."""
    values: list[_T] = []
    for node in _nodes(body):
        first = len(values) - len(node.parts)
        values[first:] = [join(node, values[first:])]
    return values[0]


def _nodes(body: _Node) -> Iterator[_Node]:
    """Yield the nodes of a body, each after its parts."""
    stack = [(body, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done or not node.parts:
            yield node
        else:
            stack.append((node, True))
            stack += [(part, False) for part in reversed(node.parts)]
