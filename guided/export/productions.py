"""Productions as data, with simplification and a depth check."""

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from guided.errors import LimitError
from guided.fixpoint.worklist import post_order

__all__ = ["Productions", "Symbol", "Terminal", "check_depth", "shortened"]

# Longest chain of rules that end in each other: Python's stack holds about a thousand frames, and Lark takes one per rule.
_DEEPEST = 700


class Terminal(NamedTuple):
    """A terminal."""

    # Base of its name.
    hint: str
    # A regular expression, in the syntax of `re`.
    pattern: str


# A terminal, or the key of a rule.
Symbol: TypeAlias = "Terminal | tuple[Hashable, ...]"
Productions: TypeAlias = dict[tuple[Hashable, ...], list[tuple[Symbol, ...]]]


def shortened(found: Productions) -> Productions:
    """Return the productions without rules that only rename one symbol, and with rules of rests inlined if used once."""
    start = next(iter(found))
    same = {key: lines[0][0] for key, lines in found.items() if len(lines) == 1 and len(lines[0]) == 1 and key != start}

    def meant(symbol: Symbol) -> Symbol:
        while not isinstance(symbol, Terminal) and symbol in same:
            symbol = same[symbol]
        return symbol

    kept = {key: [tuple(map(meant, line)) for line in lines] for key, lines in found.items() if key not in same}
    uses = Counter(symbol for lines in kept.values() for line in lines for symbol in line)
    once = {key for key in kept if key[0] == "rest" and uses[key] == 1}

    def spread(line: tuple[Symbol, ...]) -> list[tuple[Symbol, ...]]:
        last = line[-1]
        return [(*line[:-1], *end) for end in kept[last]] if last in once else [line]

    return {key: [each for line in lines for each in spread(line)] for key, lines in kept.items() if key not in once}


def check_depth(found: Productions) -> None:
    """Raise for rules that end in rules that end in rules, beyond a depth."""
    ends = {
        key: {line[-1] for line in lines if not isinstance(line[-1], Terminal)} - {key} for key, lines in found.items()
    }
    depth: dict[Symbol, int] = {}
    for key in post_order(found, lambda key: ends[key]):
        depth[key] = 1 + max((depth.get(end, 0) for end in ends[key]), default=0)
    deepest = max(depth.values())
    if deepest > _DEEPEST:
        advice = "objects have too many names; Lark computes lookaheads by recursion"
        raise LimitError("rule_depth", deepest, _DEEPEST, advice)
