"""Do the rules of a grammar keep an Indenter's counts, so that the parser's stack tells them?

An Indenter counts open parentheses and open blocks beside the parser. Where each rule closes what it opens, in order, and nothing within
parentheses derives a line's end or a block, the counts are those of the stack: a DEDENT can come wherever the parser can read one,
a closing parenthesis too, and newlines are left out exactly where the parser has no use for them.
"""

from collections.abc import Collection

from guided.lalr.items import Items
from guided.lalr.tables import LalrTables

__all__ = ["imbalance"]


def imbalance(tables: LalrTables, items: Items) -> str:
    """The rule that breaks the counts, for people; empty where there is none."""
    said = tables.indentation
    if said is None:
        return ""
    numbers = {name: number for number, name in enumerate(tables.symbols[: tables.end])}
    opening = {numbers[name] for name in said.opening if name in numbers}
    closing = {numbers[name] for name in said.closing if name in numbers}
    lines = {numbers[name] for name in (said.newline, said.indent, said.dedent) if name in numbers}
    broken = _deriving(items, lines)
    for rule, side in enumerate(items.sides):
        if not _closes(side, opening, closing) or not _closes(
            side, {numbers.get(said.indent, -1)}, {numbers.get(said.dedent, -1)}
        ):
            return f"{tables.rules[rule]} does not close what it opens"
        depth = 0
        for symbol in side:
            depth -= symbol in closing
            if depth > 0 and symbol in broken:
                return f"{tables.rules[rule]} has lines within parentheses"
            depth += symbol in opening
    return ""


def _closes(side: tuple[int, ...], opening: Collection[int], closing: Collection[int]) -> bool:
    depth = 0
    for symbol in side:
        depth += (symbol in opening) - (symbol in closing)
        if depth < 0:
            return False
    return depth == 0


def _deriving(items: Items, symbols: Collection[int]) -> set[int]:
    """The symbols, and the rules' symbols that derive one of them."""
    users: dict[int, set[int]] = {}
    for origin, side in zip(items.origins, items.sides, strict=True):
        for symbol in side:
            users.setdefault(symbol, set()).add(origin)
    found, work = set(symbols), list(symbols)
    while work:
        for origin in users.get(work.pop(), ()):
            if origin not in found:
                found.add(origin)
                work.append(origin)
    return found
