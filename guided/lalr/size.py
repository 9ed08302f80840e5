"""Estimates how large a grammar becomes inside Lark, from its text and before Lark reads it.

Lark expands rules: ``a? b? c?`` becomes eight rules, ``(a|b)~30`` becomes 2^30. Templates that use themselves with other arguments may grow
forever, so they are refused. Terminals that name each other twice double in length. Lark parses the pattern of a terminal again at each
level of its groups and of the terminals that it names, and visits all rules again for each rule in a chain that nothing refers to. This
module bounds all of these with a linear pass over the text and sums over its definitions.

The estimates are upper bounds on what Lark spends on a rule, not only on its number of symbols. Lark's own grammars are counted where they
are imported, other imported files are not. Invalid grammars are left to Lark, whose messages are better.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from guided.errors import GrammarError, LimitError
from guided.fixpoint.worklist import post_order
from guided.lalr.imports import packaged_text
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
# Step cost of a character of a terminal that is written out, and of another parse of it by Lark.
_CHARACTER, _AGAIN = 240, 80
# Characters by which a node of a terminal's tree counts where Lark copies it.
_NODE = 10
# Share of the steps of all rules that a visit to all of them takes.
_VISIT = 50
# Step cost of a use of a template, and of a token of its arguments.
_CALL = 500
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
    """A rule, template, terminal or ignored text with the tokens of its right-hand side."""

    name: str
    parameters: tuple[str, ...]
    body: list[str]

    @property
    def is_terminal(self) -> bool:
        return self.name.lstrip("_%")[:1].isupper()


@dataclass(frozen=True, slots=True)
class _Written:
    """Length of a terminal with all terminals that it names, and the characters that Lark parses and copies for it."""

    length: int
    parsed: int


@dataclass(frozen=True, slots=True)
class _Module:
    """One of Lark's own grammars: its terminals, and the steps that Lark needs for it."""

    terminals: Mapping[str, _Written]
    cost: int


def check_size(text: str, limits: Limits, starts: Collection[str] = ()) -> int:
    """Return the elementary steps that Lark needs for a grammar.

    Parameters
    ----------
    starts : collection of str
        The start rules.

    Raises
    ------
    LimitError
        The text or its expanded terminals exceed ``pattern_length``.
    GrammarError
        A literal is not closed, a terminal uses itself, or a template grows without end.
    """
    if len(text) > limits.pattern_length:
        raise LimitError("pattern_length", len(text), limits.pattern_length, "the grammar is too long")
    tokens = _tokens(text)
    definitions = _definitions(tokens)
    cost, known = 0, dict[str, _Written]()
    imported = [(found, names) for name, names in _imports(tokens) if (found := _module(name)) is not None]
    for module, names in imported:
        known.update((alias, module.terminals[name]) for alias, name in names.items() if name in module.terminals)
    cost += sum({id(module): module.cost for module, _ in imported}.values())
    written = _written([one for one in definitions if one.is_terminal], known)
    length = sum(one.length for one in written)
    if length > limits.pattern_length:
        raise LimitError("pattern_length", length, limits.pattern_length, "the terminals written out are too long")
    cost += _CHARACTER * length + _AGAIN * sum(one.parsed for one in written)
    return _cost_of_all(tokens, definitions, starts, cost)


def _cost_of_all(tokens: Sequence[str], definitions: Sequence[_Definition], starts: Collection[str], cost: int) -> int:
    """Return the steps of all rules and literals, and those of reading all tokens, plus `cost`."""
    rules = [definition for definition in definitions if not definition.is_terminal]
    literals = {token for token in tokens if token[0] in '"/'}
    cost += _TOKEN * len(tokens) + _DEFINITION * len(definitions) + _LITERAL * len(literals)
    # Lark compares all pairs of parameters.
    cost += sum(len(rule.parameters) ** 2 for rule in rules)
    total = cost + _cost_of_instances(rules)
    return total + _visits(rules, starts) * (total // _VISIT)


def _cost_of_instances(rules: Sequence[_Definition]) -> int:
    """Return the cost of all rules, those included that Lark makes of templates.

    Lark makes a rule of each template and arguments that occur. This counts one for each use of a template by another definition.

    Raises
    ------
    GrammarError
        A template leads back to itself with other arguments, or uses a parameter as a template.
    """
    numbers = {rule.name: number for number, rule in enumerate(rules)}
    calls = [
        [call for call in _calls(rule.body) if call != (rule.name, tuple(" , ".join(rule.parameters).split()))]
        for rule in rules
    ]
    costs = [-1] * len(rules)
    for number in post_order(
        range(len(rules)), lambda one: [numbers[name] for name, _ in calls[one] if name in numbers]
    ):
        rule = rules[number]
        cost = _cost(rule)
        for name, arguments in calls[number]:
            used = costs[numbers[name]] if name in numbers else 0
            if used < 0 or name in rule.parameters:
                reason = "a template may use itself only with its own parameters, and no parameter as a template"
                raise GrammarError(reason, rule.name)
            cost += used + _CALL * (1 + len(arguments))
        costs[number] = min(cost, _LARGE)
    return sum(cost for rule, cost in zip(rules, costs, strict=True) if not rule.parameters)


def _calls(body: Sequence[str]) -> Collection[tuple[str, tuple[str, ...]]]:
    """Return the templates that a rule uses, each with the tokens of its arguments; a use within these is one token."""
    found: dict[tuple[str, tuple[str, ...]], int] = {}
    opened: list[list[str]] = [[]]
    for token in body:
        if token == "{":
            opened.append([])
        elif token == "}" and len(opened) > 1:
            arguments = tuple(opened.pop())
            name = opened[-1].pop() if opened[-1] else ""
            opened[-1].append(f"{{{found.setdefault((name, arguments), len(found))}}}")
        else:
            opened[-1].append(token)
    return found


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
            names = [one.name for one in _definitions(found) if one.name[0] != "%"]
            rule = names[-1] if names else "grammar"
            kind = "string" if token[0] == '"' else "regular expression"
            reason = f"the {kind} that begins here is never closed: add {token[0]}"
            if text.startswith("'\"", max(token.start() - 1, 0)):
                reason = 'strings are written in double quotes, and a double quote in one as \\"'
            raise GrammarError.at(text, reason, rule, token.start())
        if token["skipped"] is None:
            found.append("\n" if token["newline"] else token[0])
    return found


def _definitions(tokens: Sequence[str]) -> list[_Definition]:
    """Return the left and right side of the first colon of each line, and ignored texts as terminals; Lark refuses another colon.

    What extends a definition is part of it, and what overrides it replaces it.
    """
    heads: list[tuple[int, int]] = []
    line = 0
    for place, token in enumerate(tokens):
        if token == "\n":
            line = place + 1
        elif token == "%ignore":
            heads.append((place, place))
        elif token == ":" and (not heads or heads[-1][0] < line):
            heads.append((line, place))
    found: dict[str, _Definition] = {}
    for number, (line, begin) in enumerate(heads):
        end = heads[number + 1][0] if number + 1 < len(heads) else len(tokens)
        head = [token for token in tokens[line:begin] if token[0] == "_" or token[0].isalpha()]
        body = list(takewhile(lambda token: token[0] != "%" or len(token) == 1, tokens[begin + 1 : end]))
        name = f"%IGNORED {number}" if tokens[begin] != ":" else head[0] if head else "grammar"
        if name in found and tokens[line] != "%override":
            found[name].body.extend(["|", *body])
        else:
            found[name] = _Definition(name, tuple(head[1:]), body)
    return list(found.values())


def _imports(tokens: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the modules that a grammar imports, each with what its names are called here."""
    statement: list[str] | None = None
    for token in (*tokens, "\n"):
        if statement is not None and (token in ("\n", "%import")):
            path = list(takewhile(lambda part: part not in ("(", "->"), statement))
            rest = [part for part in statement[len(path) :] if part[0] == "_" or part[0].isalpha()]
            if "(" in statement:
                yield "".join(path), {name: name for name in rest}
            elif path:
                yield "".join(path[:-2]), {rest[0] if rest else path[-1]: path[-1]}
            statement = None
        if token == "%import":
            statement = []
        elif statement is not None:
            statement.append(token)


@cache
def _module(name: str) -> _Module | None:
    """Return one of Lark's own grammars; None if there is none of this name."""
    text = packaged_text(name)
    if text is None:
        return None
    tokens = _tokens(text)
    definitions, known = _definitions(tokens), dict[str, _Written]()
    for other, names in _imports(tokens):
        module = _module(other)
        if module is not None:
            known.update((alias, module.terminals[name]) for alias, name in names.items() if name in module.terminals)
    terminals = [one for one in definitions if one.is_terminal]
    written = dict(zip((one.name for one in terminals), _written(terminals, known), strict=True))
    return _Module({**known, **written}, _cost_of_all(tokens, definitions, [one.name for one in definitions], 0))


def _written(terminals: Sequence[_Definition], known: Mapping[str, _Written]) -> list[_Written]:
    """Return the sizes of terminals; ``known`` are those of imported ones.

    Raises
    ------
    GrammarError
        A terminal uses itself.
    """
    by_name = {terminal.name: terminal for terminal in terminals}
    found = dict(known)
    opened: set[str] = set()
    work = [terminal.name for terminal in terminals]
    while work:
        name = work[-1]
        if name in opened and name in found:
            work.pop()
            continue
        missing = [other for other in dict.fromkeys(by_name[name].body) if other in by_name and other not in found]
        # Invariant: what is opened and not found is under way, so that the work above it comes from it.
        opened.add(name)
        if not opened.isdisjoint(missing):
            reason = (
                f"the terminal {name} uses itself: only rules can be recursive, so write it as the rule {name.lower()}"
            )
            raise GrammarError(reason, name)
        if missing:
            work += missing
            continue
        work.pop()
        found[name] = _size_of(by_name[name].body, found)
    return [found[terminal.name] for terminal in terminals]


def _size_of(body: Sequence[str], known: Mapping[str, _Written]) -> _Written:
    length, parsed, levels = 1, 0, 1
    for token in body:
        if token in ("(", "["):
            levels += 1
        elif token in (")", "]"):
            levels = max(levels - 1, 1)
        named = known.get(token)
        own = named.length if named is not None else len(token) if token[0] in '"/' else 0
        length += own
        parsed += levels * own + (named.parsed if named is not None else 0) + _NODE
    return _Written(min(length, _LARGE), min(parsed + length, _LARGE))


def _visits(rules: Sequence[_Definition], starts: Collection[str]) -> int:
    """Return how often Lark visits all rules to drop those that no other one refers to, at most."""
    numbers = {rule.name: number for number, rule in enumerate(rules)}
    named = [{numbers[one] for one in rule.body if one in numbers} - {number} for number, rule in enumerate(rules)]
    waiting = [0] * len(rules)
    for others in named:
        for other in others:
            waiting[other] += 1
    kept = {numbers[name] for name in starts if name in numbers}
    work = [number for number, count in enumerate(waiting) if not count and number not in kept]
    visits, before = 0, [0] * len(rules)
    for number in work:
        # Each repeat and template may become a rule of its own, which is dropped only after the one that has it.
        behind = before[number] + 1 + sum(token in "*+~{" for token in rules[number].body)
        visits = max(visits, behind)
        for other in named[number]:
            before[other] = max(before[other], behind)
            waiting[other] -= 1
            if not waiting[other] and other not in kept:
                work.append(other)
    return visits


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
