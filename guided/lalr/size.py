"""Estimates how large a grammar becomes inside Lark, from its text and before Lark reads it.

Lark expands rules: ``a? b? c?`` becomes eight rules, ``(a|b)~30`` becomes 2^30. Templates may instantiate themselves forever, terminals
that name each other twice double in length, and an unclosed quote keeps Lark's lexer matching indefinitely. This module bounds all of these
with a linear pass over the text and a sum over its definitions.

The estimates are upper bounds on what Lark spends on a rule, not only on its number of symbols. Imported files are not counted. Invalid
grammars are left to Lark, whose messages are better.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from guided.errors import GrammarError, LimitError
from guided.lalr.templates import Template, calls_of, cost_of_instances
from guided.limits import Limits

__all__ = ["TOKEN", "check_size"]

# The tokens of a grammar's text; an unclosed literal yields its quote or slash as a sign.
TOKEN = re.compile(
    r"""(?P<skipped>[ \t]+|//[^\n]*|\#[^\n]*|\\[ ]*\n)
    |(?P<newline>\r?\n)
    |(?P<literal>"(?:[^"\\\n]|\\[^\n])*+"|/(?!/)(?:[^/\\]|\\.)*+/)
    |(?P<name>[^\W\d]\w*)
    |(?P<number>[+-]?\d+)
    |(?P<sign>\.\.|->|%\w+|.)""",
    re.VERBOSE | re.DOTALL,
)
# Step cost of a symbol of an expanded rule; Lark also compares all pairs of a rule's symbols.
_SYMBOL = 2_500
# Step cost of a token, of a rule or terminal, and of a literal, which becomes a terminal and a parser state.
_TOKEN, _DEFINITION, _LITERAL = 2_000, 5_000, 12_000
# Counts saturate here, far above every budget.
_LARGE = 1 << 60
# From _SPLIT repeats on, Lark splits a counted repeat into separate rules of at most _PIECE symbols.
_SPLIT, _PIECE = 50, 10


@dataclass(frozen=True, slots=True)
class _Size:
    """Number of expansions of an expression, and the length of the longest."""

    ways: int = 1
    length: int = 1

    def then(self, other: "_Size") -> "_Size":
        return _Size(min(self.ways * other.ways, _LARGE), min(self.length + other.length, _LARGE))

    def either(self, other: "_Size") -> "_Size":
        return _Size(min(self.ways + other.ways, _LARGE), max(self.length, other.length))

    def times(self, count: int) -> "_Size":
        ways = 1
        for _ in range(min(count, _SPLIT)):
            ways = min(ways * self.ways, _LARGE)
        return _Size(ways, min(self.length * count, _LARGE))

    @property
    def cost(self) -> int:
        return min(self.ways * (self.length + 1) * (_SYMBOL + self.length**2), _LARGE)


_ONE, _EMPTY, _NONE = _Size(), _Size(1, 0), _Size(0, 0)


@dataclass(frozen=True, slots=True)
class _Definition:
    """A rule, template or terminal with the tokens of its right-hand side."""

    name: str
    parameters: tuple[str, ...]
    body: list[str]


def check_size(text: str, limits: Limits) -> int:
    """Refuse a grammar that is too large for Lark; return the elementary steps that Lark needs for it.

    Raises
    ------
    LimitError
        The text or its expanded terminals exceed ``pattern_length``, or its rules exceed ``steps``.
    GrammarError
        A literal is not closed, or a template grows without end.
    """
    if len(text) > limits.pattern_length:
        raise LimitError("pattern_length", len(text), limits.pattern_length, "the grammar is too long")
    tokens = _tokens(text)
    definitions = _definitions(tokens)
    terminals = [definition for definition in definitions if definition.name.lstrip("_")[:1].isupper()]
    _check_terminals(terminals, limits)
    rules = [definition for definition in definitions if not definition.name.lstrip("_")[:1].isupper()]
    templates = [Template(rule.name, rule.parameters, calls_of(rule.body), _cost(rule)) for rule in rules]
    literals = {token for token in tokens if token[0] in '"/'}
    read = _TOKEN * len(tokens) + _DEFINITION * len(definitions) + _LITERAL * len(literals)
    return cost_of_instances(templates, limits.steps, read)


def _tokens(text: str) -> list[str]:
    """Return names, literals, signs and newlines.

    Invariant: a literal ends where Lark ends it, at the first quote or slash after pairs of a backslash and another character.
    """
    found: list[str] = []
    position = 0
    while position < len(text):
        token = TOKEN.match(text, position)
        assert token is not None, "any character is a token"
        position = token.end()
        if token["sign"] in ('"', "/"):
            line = text.count("\n", 0, token.start()) + 1
            begin = text.rfind("\n", 0, token.start()) + 1
            heads = _definitions(found)
            rule = heads[-1].name if heads else "grammar"
            kind = "string" if token[0] == '"' else "regular expression"
            source = text[begin:].partition("\n")[0].rstrip("\r")
            reason = f"the {kind} that begins here is never closed: add {token[0]}"
            raise GrammarError(reason, rule, line, token.start() - begin + 1, source)
        if token["skipped"] is None:
            found.append("\n" if token["newline"] else token[0])
    return found


def _definitions(tokens: Sequence[str]) -> list[_Definition]:
    """Return the left and right side of the first colon of each line; Lark refuses another one."""
    heads: list[tuple[int, int]] = []
    line = 0
    for place, token in enumerate(tokens):
        if token == "\n":
            line = place + 1
        elif token == ":" and (not heads or heads[-1][0] != line):
            heads.append((line, place))
    found = []
    for number, (line, colon) in enumerate(heads):
        end = heads[number + 1][0] if number + 1 < len(heads) else len(tokens)
        head = [token for token in tokens[line:colon] if token[0] == "_" or token[0].isalpha()]
        body = list(tokens[colon + 1 : end])
        statement = next((place for place, token in enumerate(body) if token[0] == "%" and len(token) > 1), len(body))
        found.append(_Definition(head[0] if head else "grammar", tuple(head[1:]), body[:statement]))
    return found


def _check_terminals(terminals: Sequence[_Definition], limits: Limits) -> None:
    """Bound the total length of all terminals after expanding the terminals that they name."""
    by_name = {terminal.name: terminal for terminal in terminals}
    lengths: dict[str, int] = {}
    opened: set[str] = set()
    work = [terminal.name for terminal in terminals]
    while work:
        name = work[-1]
        named = [token for token in by_name[name].body if token in by_name]
        missing = [other for other in named if other not in lengths and other not in opened]
        opened.add(name)
        if missing:
            work += missing
            continue
        work.pop()
        own = sum(len(token) for token in by_name[name].body if token[0] in '"/')
        lengths[name] = min(own + sum(lengths.get(other, 0) for other in named) + 1, _LARGE)
    total = sum(lengths.values())
    if total > limits.pattern_length:
        raise LimitError("pattern_length", total, limits.pattern_length, "the terminals written out are too long")


def _cost(definition: _Definition) -> int:
    """Return the cost of a rule after expansion."""
    cost = 0
    # Of each open group: alternatives so far, the current alternative without its last item, and that item.
    frames = [(_NONE, _EMPTY, _EMPTY)]
    body = definition.body
    place = 0
    while place < len(body):
        token = body[place]
        place += 1
        done, before, last = frames[-1]
        match token:
            case "(" | "[":
                frames[-1] = done, before.then(last), _EMPTY
                frames.append((_NONE, _EMPTY, _EMPTY))
            case ")" | "]" if len(frames) > 1:
                frames.pop()
                group = done.either(before.then(last))
                frames[-1] = (*frames[-1][:2], group if token == ")" else group.either(_EMPTY))
            case "|":
                frames[-1] = done.either(before.then(last)), _EMPTY, _EMPTY
            case "?":
                frames[-1] = done, before, last.either(_EMPTY)
            case "*" | "+":
                cost += 2 * last.then(_ONE).cost
                frames[-1] = done, before, _Size(2 if token == "*" else 1, 1)
            case "~":
                low, high, place = _counts(body, place)
                if high < _SPLIT:
                    repeated = _NONE
                    for count in range(low, high + 1):
                        repeated = repeated.either(last.times(count))
                    frames[-1] = done, before, repeated
                else:
                    cost += high.bit_length() * last.times(_PIECE).cost
                    frames[-1] = done, before, _Size(2, 1)
            case "->":
                place += 1
            case "{":
                place = _behind_braces(body, place)
            case _ if token[0] in '"/_' or token[0].isalpha():
                frames[-1] = done, before.then(last), _ONE
    done, before, last = frames[0]
    return cost + done.either(before.then(last)).cost


def _counts(body: Sequence[str], place: int) -> tuple[int, int, int]:
    """Return the counts after ``~``, and the index after them."""
    numbers = []
    while place < len(body) and (body[place] == ".." or body[place].lstrip("+-").isdecimal()):
        if body[place] != "..":
            numbers.append(min(int(body[place][:20]), _LARGE))
        place += 1
    low = max(numbers[0], 0) if numbers else 0
    return low, max(numbers[-1], low) if numbers else 0, place


def _behind_braces(body: Sequence[str], place: int) -> int:
    """Return the index after a template's arguments."""
    depth = 1
    while place < len(body) and depth:
        depth += (body[place] == "{") - (body[place] == "}")
        place += 1
    return place
