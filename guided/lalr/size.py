"""How large a grammar becomes inside Lark, told from its text before Lark sees it.

Lark multiplies out what a rule may look like: ``a? b? c?`` are eight rules, ``(a|b)~30`` are 2^30. Templates may name new instances of
themselves without end, terminals that name each other twice double in length, and one quote that is never closed keeps Lark's lexer
matching for ever. All of this is bounded here, by a linear pass over the text and a sum over what it defines.

The bounds are upper ones, and count what Lark spends on a rule, not only its symbols. What is imported from files is not counted, and
nothing is refused for being wrong: Lark says that better.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from guided.errors import GrammarError, LimitError
from guided.lalr.templates import Template, calls_of, cost_of_instances
from guided.limits import Limits

__all__ = ["TOKEN", "check_size"]

# The tokens of a grammar's text; a literal that is never closed gives its quote or slash as a sign.
TOKEN = re.compile(
    r"""(?P<skipped>[ \t]+|//[^\n]*|\#[^\n]*|\\[ ]*\n)
    |(?P<newline>\r?\n)
    |(?P<literal>"(?:[^"\\\n]|\\.)*+"|/(?!/)(?:[^/\\]|\\.)*+/)
    |(?P<name>[^\W\d]\w*)
    |(?P<number>[+-]?\d+)
    |(?P<sign>\.\.|->|%\w+|.)""",
    re.VERBOSE | re.DOTALL,
)
# Elementary steps that a symbol of a multiplied out rule costs Lark; it also compares all pairs of a rule's symbols with each other.
_SYMBOL = 2_500
# Counts are cut here: they are far above every budget.
_LARGE = 1 << 60
# From here on Lark splits counted repeats into rules of their own, with at most so many symbols.
_SPLIT, _PIECE = 50, 10


@dataclass(frozen=True, slots=True)
class _Size:
    """How many ways there are to write something, and the symbols of the longest."""

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
    """A rule, template or terminal: the tokens on its right."""

    name: str
    parameters: tuple[str, ...]
    body: list[str]


def check_size(text: str, limits: Limits) -> None:
    """Refuse a grammar that is too large for Lark.

    Raises
    ------
    LimitError
        ``pattern_length`` is passed by the text or by its terminals written out, or ``steps`` by its rules.
    GrammarError
        A literal is never closed, or a template grows without end.
    """
    if len(text) > limits.pattern_length:
        raise LimitError("pattern_length", len(text), limits.pattern_length, "the grammar is too long")
    definitions = _definitions(_tokens(text))
    terminals = [definition for definition in definitions if definition.name.lstrip("_")[:1].isupper()]
    _check_terminals(terminals, limits)
    rules = [definition for definition in definitions if not definition.name.lstrip("_")[:1].isupper()]
    templates = [Template(rule.name, rule.parameters, calls_of(rule.body), _cost(rule)) for rule in rules]
    cost_of_instances(templates, limits.steps)


def _tokens(text: str) -> list[str]:
    """Names, literals, signs and newlines.

    Invariant: a literal ends where Lark ends it, at the first quote or slash behind pairs of a backslash and another character.
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
    """What stands on the left and on the right of each colon."""
    heads: list[tuple[int, int]] = []
    line = 0
    for place, token in enumerate(tokens):
        if token == "\n":
            line = place + 1
        elif token == ":":
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
    """Bound the length of all terminals with the terminals that they name written out."""
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
    """What a rule costs Lark, multiplied out."""
    cost = 0
    # Of each open group: alternatives so far, the one being read without its last item, and that.
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
    """The counts behind ``~``, and where reading goes on."""
    numbers = []
    while place < len(body) and (body[place] == ".." or body[place].lstrip("+-").isdecimal()):
        if body[place] != "..":
            numbers.append(min(int(body[place][:20]), _LARGE))
        place += 1
    low = max(numbers[0], 0) if numbers else 0
    return low, max(numbers[-1], low) if numbers else 0, place


def _behind_braces(body: Sequence[str], place: int) -> int:
    """Where reading goes on behind a template's arguments."""
    depth = 1
    while place < len(body) and depth:
        depth += (body[place] == "{") - (body[place] == "}")
        place += 1
    return place
