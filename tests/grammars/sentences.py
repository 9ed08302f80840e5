"""Random sentences of a grammar: derivations from its rules, spelled with lexemes that samples have.

A derivation prefers rules that were used less than others, so a few hundred sentences use all of them. Where it gets long, it takes the
shortest way to its end. Two lexemes have a blank between them where the grammar ignores blanks; Python's lines are indented.

Sentences are a corpus: each of them is one of the grammar's texts, and a parser has to say so.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import lark
from lark.grammar import Rule, Symbol

from tests.grammars.loading import INDENTED, parser_of

__all__ = ["derivations", "lexemes", "sentences"]


def lexemes(name: str, texts: Iterable[str]) -> dict[str, list[str]]:
    """Every lexeme that the texts have of each terminal, sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        for token in parser_of(name).parse_interactive(text).exhaust_lexer():
            found[token.type].add(str(token))
    return {terminal: sorted(spellings) for terminal, spellings in found.items()}


def sentences(name: str, texts: Iterable[str], count: int, length: int = 30, seed: int = 0) -> Iterator[str]:
    """Random sentences with about ``length`` lexemes at most, spelled with the lexemes of ``texts``."""
    spellings = lexemes(name, texts)
    random_ = random.Random(f"{name} {seed}")
    blank = " " if any(_is_blank(parser_of(name), ignored) for ignored in parser_of(name).ignore_tokens) else ""
    for derived in derivations(parser_of(name).rules, count, length, random_):
        yield _spelled(derived, spellings, blank, name in INDENTED, random_)


def derivations(rules: Sequence[Rule], count: int, length: int, random_: random.Random) -> Iterator[list[str]]:
    """Sequences of terminals that the rules derive from ``start``."""
    by_origin: dict[Symbol, list[Rule]] = defaultdict(list)
    for rule in rules:
        by_origin[rule.origin].append(rule)
    costs = _costs(rules)
    used: Counter[Rule] = Counter()
    for _ in range(count):
        stack: list[Symbol] = [next(origin for origin in by_origin if origin.name == "start")]
        # Invariant: ``owed`` is the least number of terminals that the stack derives.
        owed = costs[stack[0]]
        derived: list[str] = []
        while stack:
            symbol = stack.pop()
            if symbol not in by_origin:
                derived.append(symbol.name)
                owed -= 1
                continue
            owed -= costs[symbol]
            options = by_origin[symbol]
            prices = [sum(costs[part] for part in rule.expansion) for rule in options]
            fitting = [i for i, price in enumerate(prices) if len(derived) + owed + price <= length]
            if fitting:
                rule = random_.choices([options[i] for i in fitting], [1 / (1 + used[options[i]]) for i in fitting])[0]
            else:
                rule = options[prices.index(min(prices))]
            used[rule] += 1
            stack.extend(reversed(rule.expansion))
            owed += sum(costs[part] for part in rule.expansion)
        yield derived


def _costs(rules: Sequence[Rule]) -> Mapping[Symbol, int]:
    """The least number of terminals that each symbol derives; one for those of rules that derive none, so no choice is free."""
    costs: dict[Symbol, int] = {}
    for rule in rules:
        costs.update({part: 1 for part in rule.expansion if part.is_term})
    changed = True
    while changed:
        changed = False
        for rule in rules:
            if all(part in costs for part in rule.expansion):
                price = max(1, sum(costs[part] for part in rule.expansion))
                if price < costs.get(rule.origin, price + 1):
                    costs[rule.origin] = price
                    changed = True
    return costs


def _spelled(
    terminals: Sequence[str],
    spellings: Mapping[str, Sequence[str]],
    blank: str,
    is_indented: bool,
    random_: random.Random,
) -> str:
    parts: list[str] = []
    depth, is_new_line = 0, True
    for terminal in terminals:
        if is_indented and terminal in ("_INDENT", "_DEDENT"):
            depth += 1 if terminal == "_INDENT" else -1
        elif is_indented and terminal == "_NEWLINE":
            parts.append("\n")
            is_new_line = True
        else:
            parts.append("    " * depth if is_new_line and is_indented else blank if parts else "")
            parts.append(random_.choice(spellings[terminal]))
            is_new_line = False
    return "".join(parts)


def _is_blank(parser: lark.Lark, terminal: str) -> bool:
    pattern = parser.get_terminal(terminal).pattern.to_regexp()
    return lark.lexer.re.compile(pattern).fullmatch("x ", 1) is not None
